"""Every protocol against the numbers its published program gave on small files (README.md has where they come from)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula import protocols

HERE = Path(__file__).parent
DEMO = Path(fabula.__file__).parent / "demo"
RECORDS = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(HERE.glob("*.json"))}
CASES = [
    pytest.param(record["protocol"], case, id=f"{record['protocol']}-{case['name']}")
    for record in RECORDS.values()
    for case in record["cases"]
]
FIELDS = {"name", "preds", "refs", "task", "options", "scores", "crash", "note", "tolerance", "source"}
TOLERANCE = 1e-9  # absolute, where a case has none of its own


def found(name: str) -> Path:
    """A file of a record: beside this one, or of the demo corpus."""
    return DEMO / name.removeprefix("demo:") if name.startswith("demo:") else HERE / name


def scored(protocol: str, case: dict[str, Any]) -> dict[str, float]:
    """Label/part → number, as the record has it; paths among the options are found as the others are."""
    options = {k: found(v) if k == "sets" else v for k, v in case.get("options", {}).items()}
    if case.get("task"):
        options["task"] = case["task"]
    result = fabula.score(found(case["preds"]), [found(r) for r in case["refs"]], protocol=protocol, **options)
    return {f"{label}/{part}": value for label, score in result.scores.items() for part, value in score.values.items()}


@pytest.mark.parametrize(("protocol", "case"), CASES)
def test_the_published_programs_numbers(protocol: str, case: dict[str, Any], kernels: str) -> None:
    try:
        ours = scored(protocol, case)
    except fabula.FabulaError:
        if "crash" in case:  # the published program ends there, too: one clean line is enough
            return
        raise
    if "crash" in case:
        assert all(map(math.isfinite, ours.values())), ours
        return
    allowed = case.get("tolerance", TOLERANCE)
    wrong = {
        name: (ours.get(name), theirs)
        for name, theirs in case["scores"].items()
        if name not in ours or not math.isclose(ours[name], theirs, rel_tol=0, abs_tol=allowed)
    }
    assert not wrong, f"ours, theirs: {wrong}"


def test_every_protocol_has_its_record() -> None:
    assert set(RECORDS) == set(protocols.room.names())


@pytest.mark.parametrize("stem", RECORDS)
def test_a_record_says_where_its_numbers_come_from(stem: str) -> None:
    record = RECORDS[stem]
    assert set(record) == {"protocol", "evaluator", "cases"}
    assert record["protocol"] == stem
    assert {"repository", "commit", "files", "run"} <= set(record["evaluator"])
    names = [case["name"] for case in record["cases"]]
    assert len(names) == len(set(names))
    for case in record["cases"]:
        assert set(case) <= FIELDS, case["name"]
        assert ("scores" in case) != ("crash" in case), case["name"]
        assert all(found(name).is_file() for name in (case["preds"], *case["refs"])), case["name"]


def test_no_input_stands_there_unused() -> None:
    cases = [case for record in RECORDS.values() for case in record["cases"]]
    options = [v for case in cases for k, v in case.get("options", {}).items() if k == "sets"]
    used = {found(name) for case in cases for name in (case["preds"], *case["refs"])} | set(map(found, options))
    assert {file for file in (HERE / "inputs").rglob("*") if file.is_file()} <= used
