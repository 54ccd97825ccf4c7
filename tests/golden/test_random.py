"""Random inputs under the published programs: ties, overlaps, empty sides, thresholds that are just met (README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fabula
from tests.golden.test_golden import RECORDS, TOLERANCE, around, differing, numbers

RANDOM = {
    file.stem: json.loads(file.read_text(encoding="utf-8"))
    for file in sorted((Path(__file__).parent / "random").glob("*"))
}


def write(folder: Path, name: str, document: Any) -> None:
    """One JSON document, or a line an entry; a table as it is."""
    lines = document if name.endswith(".jsonl") else [document]
    text = document if isinstance(document, str) else "".join(json.dumps(line) + "\n" for line in lines)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("protocol", RANDOM)
def test_the_published_programs_numbers_on_random_inputs(protocol: str, tmp_path: Path) -> None:
    wrong = {}
    with around(protocol, {}):
        for i, case in enumerate(RANDOM[protocol]["cases"]):
            for name, document in case["files"].items():
                write(tmp_path, name, document)
            asked = dict(case.get("options", {})) | ({"task": case["task"]} if "task" in case else {})
            refs = [tmp_path / name for name in case["refs"]]
            try:
                result = fabula.score(tmp_path / case["preds"], refs, protocol=protocol, **asked)
            except fabula.core.errors.MissingExtra as error:
                pytest.skip(str(error))
            if apart := differing(numbers(result), case["scores"], case.get("tolerance", TOLERANCE)):
                wrong[i] = apart
    assert not wrong, f"case → ours, theirs: {wrong}"


FEW = {name for name, record in RECORDS.items() if len(record["cases"]) == 1}


def test_a_protocol_with_one_case_has_twenty_random_ones() -> None:
    assert {name for name in FEW if len(RANDOM.get(name, {"cases": ()})["cases"]) < 20} == set()


@pytest.mark.parametrize("protocol", RANDOM)
def test_a_random_record_says_where_its_numbers_come_from(protocol: str) -> None:
    record = RANDOM[protocol]
    assert set(record) == {"protocol", "repository", "commit", "files", "run", "cases"}
    assert record["protocol"] == protocol
    assert (record["repository"], record["commit"]) == tuple(
        RECORDS[protocol]["evaluator"][key] for key in ("repository", "commit")
    )
    for case in record["cases"]:
        assert {"files", "preds", "refs", "scores"} <= set(case), case
        assert {case["preds"], *case["refs"]} == set(case["files"])
