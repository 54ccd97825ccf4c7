"""A judge of descriptions whose answers come from a table: prompts of made-up copies of the published programs.

table   {"events": {text: answer}, "relations": {"text || event ; event": answer}}          AutoDQ
        {"answers": {question: answer}, "matches": {question: judgement}}                   VDC

A list of answers is given one after the other, try by try; the last one stays.
"""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabula.benchmarks.aurora import prompts as aurora
from fabula.benchmarks.lmms import prompts as lmms
from fabula.benchmarks.tarsier import prompts as tarsier
from fabula.benchmarks.vlmevalkit import prompts as vlmevalkit
from fabula.llm import EndpointOptions
from fabula.llm.session import Session
from tests.judges import answering

EXAMINED = ({"events", "relations"}, {"answers", "matches"})  # what such a table has
CUT = "\x1f"
SGLANG = f"""
@function
def gener_pred_response(s, pred_cap, q):
    s += system("answer")
    s += user(f"answers{CUT}{{q}}{CUT}{{pred_cap}}")
    s += assistant(gen("answer_1", max_tokens=256))

@function
def gener_pred_score(s, qa):
    s += system("compare")
    s += user(f"matches{CUT}{{qa['question']}}{CUT}{{qa['answer']}}")
    s += assistant(gen("answer_1", max_tokens=256))
"""
TARSIER = f"""
def call_azure_gpt_api(events, reference, prediction, model):
    if len(events) == 0:
        events = [reference]
    return client.create(model=model, messages=[{{"role": "user", "content":
        f"relations{CUT}{{prediction}}{CUT}{{events}}"}}])

def call_azure_gpt_api_for_events(caption, model):
    return client.create(model=model, messages=[{{"role": "user", "content": f"events{CUT}{{caption}}"}}])
"""
DREAM = f"""
EXTRACTION_PROMPT = ("events{CUT}" "{{caption}}")
RELATIONSHIP_PROMPT = "relations{CUT}{{prediction}}{CUT}{{events}}"
"""
VDC = f'''
SYSTEM_CAL_SCORE_PROMPT = """compare"""
SYSTEM_GENER_PRED_PROMPT = """answer"""
USER_GENER_PRED_PROMPT = """answers{CUT}{{q}}{CUT}{{pred_cap}}"""

def prepare_score_prompt(item):
    if isinstance(item, pd.Series):
        item = item.to_dict()
    prompt = f"""matches{CUT}{{item['question']}}{CUT}{{item['answer']}}"""
    return prompt
'''
FILES = {
    tarsier.PATH: TARSIER,
    vlmevalkit.DREAM: DREAM,
    vlmevalkit.VDC: VDC,
    lmms.PATH: SGLANG,
    aurora.PATH: SGLANG,
}


@contextmanager
def made_up_copies() -> Iterator[Path]:
    """A folder that stands where --judge-prompts would name a clone."""
    with tempfile.TemporaryDirectory() as name:
        for path, text in FILES.items():
            file = Path(name) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        yield Path(name)


def look_up(table: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    kind, first, *rest = body["messages"][-1]["content"].split(CUT)
    key = f"{first} || {' ; '.join(map(str, ast.literal_eval(rest[0])))}" if kind == "relations" else first
    found = table[kind][key]
    return str(found[min(body.get("seed", 0), len(found) - 1)] if isinstance(found, list) else found)


@contextmanager
def examined_by(table: Mapping[str, Any]) -> Iterator[Session]:
    """A session whose judge looks up what it is asked."""
    options = EndpointOptions(url="fake:", model="table", retries=0)
    with made_up_copies() as folder, answering(options, lambda body: look_up(table, body), folder) as session:
        yield session
