"""lmms-eval's task folder: by the real program where it is installed, and by its contract; logs are scored again."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import fabula
from fabula.hosts import where
from fabula.verbs.command_line import fabula as command

FOLDER = where("lmms-eval")
SAID = "0 - 20 seconds: A woman weighs flour."
NAMES = ("soda_c", "soda_d", "meteor", "cider", "unread_stories")


@pytest.fixture(scope="module")
def utils() -> ModuleType:
    """As lmms-eval loads it: by its path."""
    spec = importlib.util.spec_from_file_location("utils_of_lmms", FOLDER / "utils.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def docs(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def test_where_it_is():
    done = CliRunner().invoke(command, ["where", "lmms-eval"])
    assert done.exit_code == 0 and Path(done.stdout.strip()) == FOLDER and (FOLDER / "fabula_dense.yaml").is_file()


@pytest.mark.parametrize("task", ["dense", "grounding"])
def test_every_function_that_a_task_names_is_there(utils, task):
    text = (FOLDER / f"fabula_{task}.yaml").read_text()
    named = re.findall(r"!function utils\.(\w+)", text)
    assert len(named) >= 9 and all(callable(getattr(utils, name)) for name in named)
    doc = docs(f"{task}.jsonl")[0]
    assert utils.find_video(doc)[0].endswith(".mp4") and isinstance(utils.ask(doc, {"pre_prompt": "a"}), str)
    results = getattr(utils, f"{task}_results")(doc, [SAID])
    assert set(results) == set(re.findall(r"metric: (\w+)", text))
    json.dumps(results)  # --log_samples writes them


def log_of(results: list[dict[str, object]], path: Path) -> Path:
    """As `--log_samples` of 0.7.3 writes it: without doc and arguments."""
    common = {"target": "", "filtered_resps": SAID, "token_counts": [None], "doc_hash": "ab", "input": "?"}
    lines = [{"doc_id": i, **common, **r} for i, r in enumerate(results)]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return path


def test_dense_is_what_fabula_score_says_of_the_log(utils, tmp_path):
    made = [utils.dense_results(doc, [SAID]) for doc in docs("dense.jsonl")]
    log = log_of(made, tmp_path / "x_samples_fabula_dense.jsonl")
    result = fabula.score(log, FOLDER / "dense.jsonl", metrics="SODA_c,SODA_d")
    for name in ("SODA_c", "SODA_d"):
        records = [m[f"fabula_{name}"] for m in made]
        assert getattr(utils, name.lower())(records) == pytest.approx(100 * result[name].value)
    assert 0 < result["SODA_c"].value < 1 and result.counts["missing"] == 0
    silent = [utils.dense_results(doc, ["I cannot tell."]) for doc in docs("dense.jsonl")]
    assert utils.unread_stories([m["fabula_unread"] for m in [*made, *silent]]) == 50
    assert utils.soda_c([m["fabula_SODA_c"] for m in silent]) == 0


def test_grounding_is_what_fabula_score_says_of_the_log(utils, tmp_path):
    made = [utils.grounding_results(doc, [SAID]) for doc in docs("grounding.jsonl")]
    log = log_of(made, tmp_path / "x_samples_fabula_grounding.jsonl")
    result = fabula.score(log, log, task="grounding")
    values = result["Grounding"].values
    ours = {"r1@0.3": utils.r1_30, "r1@0.5": utils.r1_50, "r1@0.7": utils.r1_70, "miou": utils.miou}
    for field, aggregate in ours.items():
        assert aggregate([m["fabula_mIoU"] for m in made]) == pytest.approx(100 * values[field])
    assert 0 < values["miou"] < 1


REAL = """
import json
from lmms_eval import evaluator
from lmms_eval.tasks import TaskManager
from fabula import hosts
manager = TaskManager(include_path=str(hosts.where("lmms-eval")), include_defaults=False)
found = evaluator.simple_evaluate(model="dummy", model_args="response=0 - 20 seconds: A woman weighs flour.",
                                  tasks=["fabula_dense", "fabula_grounding"], task_manager=manager, batch_size=1)
print(json.dumps({task: {k.partition(",")[0]: v for k, v in values.items() if isinstance(v, float)}
                  for task, values in found["results"].items()}))
"""


def test_the_real_program(utils, tmp_path):
    try:
        version("lmms-eval")
    except PackageNotFoundError:
        pytest.skip("lmms-eval is not installed")
    done = subprocess.run([sys.executable, "-c", REAL], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    records = [utils.dense_results(doc, [SAID])["fabula_SODA_c"] for doc in docs("dense.jsonl")]
    assert found["fabula_dense"]["fabula_SODA_c"] == pytest.approx(utils.soda_c(records))
    assert found["fabula_grounding"]["fabula_unread"] == 0 and found["fabula_grounding"]["fabula_R1_50"] > 0
