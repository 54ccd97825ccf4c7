"""A judge that answers from a table: prompts of a made-up lmms-eval, so that nobody's text is needed or shipped."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula.benchmarks.plm import judges as plm
from fabula.llm import EndpointOptions
from fabula.llm.fake import read_prompt
from fabula.llm.session import Session
from fabula.text import opened
from fabula.text.judges import judge
from fabula.text.neural import model
from tests.judges import answering

Table = Mapping[str, Mapping[str, str]] | Callable[[str, str], str]  # reference → prediction → answer
LACKING = '{"score": 0}'  # of a pair that is not listed
PARTS = "\x1f"
MADE_UP = f'''
"""Prompts in words of these tests."""
HEAD = "grade this, "

def get_caption_judge_prompt(gt, pred):
    system = HEAD + "from 0 to 10"
    return [{{"role": "system", "content": system}}, {{"role": "user", "content": f"{{pred}}{PARTS}{{gt}}"}}]

def get_sgqa_judge_prompt(question, pred, target):
    said = f"{{pred}}{PARTS}{{target}}{PARTS}{{question}}"
    return [{{"role": "system", "content": "yes or no"}}, {{"role": "user", "content": said}}]
'''


@contextmanager
def made_up_package(text: str = MADE_UP) -> Iterator[Path]:
    """A folder with that much of lmms-eval, found before any other."""
    package, judges = plm.PACKAGE, [judge(name) for name in ("plm", "plm-rcap")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / plm.PATH
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
        (Path(folder) / "lmms_eval" / "__init__.py").write_text("raise ImportError('nobody imports this')\n")
        sys.path.insert(0, folder)
        plm.PACKAGE = "made-up-lmms-eval"
        forget(judges)
        try:
            yield file
        finally:
            sys.path.remove(folder)
            sys.path_importer_cache.pop(folder, None)
            plm.PACKAGE = package
            forget(judges)


def forget(judges: list[Any]) -> None:
    plm.find_prompt.cache_clear()
    for known in judges:
        vars(known).pop("prompt", None)  # its hash, kept once it is known


@contextmanager
def judged_by(table: Table) -> Iterator[Session]:
    """A session whose judge looks every pair up."""

    def reply(body: dict[str, Any]) -> str:
        pred, gold, *_ = body["messages"][-1]["content"].split(PARTS)
        return table(gold, pred) if callable(table) else table.get(gold, {}).get(pred, LACKING)

    with made_up_package(), answering(EndpointOptions(url="fake:", model="table"), reply=reply) as session:
        yield session


CLONE = Path(__file__).parents[1] / "benchmarks" / "timechat_captioner"  # a stand-in for the published file


@contextmanager
def counted_by(table: Mapping[str, str]) -> Iterator[Session]:
    """A session whose judge of checklists answers by the caption that it is shown."""

    def reply(body: dict[str, Any]) -> str:
        return table.get(read_prompt(body).rpartition("told: ")[2].removesuffix("\n"), "nothing")

    with pytest.MonkeyPatch.context() as patch, answering(EndpointOptions(model="table"), reply=reply) as session:
        patch.setenv("FABULA_TIMECHAT_CAPTIONER", str(CLONE))
        yield session


@contextmanager
def encoded_by_minilm() -> Iterator[None]:
    """The folder of MiniLM in the place of roberta-large: the only weights that a package carries."""
    try:
        folder = model.find_folder("minilm")
    except fabula.FabulaError as error:
        pytest.skip(f"{error}: the record was made with its weights")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as home:
        (Path(home) / "roberta-large").symlink_to(folder)
        patch.setenv("FABULA_MODELS", home)
        forget_models()
        yield
    forget_models()


def forget_models() -> None:
    for kept in (model.open_model, model.digest, opened):
        kept.cache_clear()
