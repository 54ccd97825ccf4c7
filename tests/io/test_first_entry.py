"""What a long JSON file begins with: the first object of its list, wherever that list stands."""

import json
from pathlib import Path

import pytest

from fabula.documents.document import open_document
from fabula.io.answers.answer import LONGEST, parse

ENTRY = {"image_id": 7, "caption": "a dog"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([ENTRY, {"other": 1}], ENTRY),
        ([], {}),
        ([[1, 2]], {}),
        ({"annotations": [ENTRY]}, {"annotations": None, **ENTRY}),
        ({"info": {"year": 2014}, "images": [{"id": 7}], "annotations": [ENTRY]}, {"annotations": None, **ENTRY}),
        ({"results": [ENTRY]}, {"results": None, **ENTRY}),
        ({"annotations": []}, {"annotations": None}),
        ({"annotations": {"a": 1}}, {}),
        ({"v_1": 3, "annotations": [ENTRY]}, {}),
        ({}, {}),
    ],
    ids=str,
)
def test_the_first_entry(tmp_path: Path, document: object, expected: object) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(document))
    assert open_document(path).first_entry == expected


def test_an_answer_that_is_too_long_is_quoted_in_part() -> None:
    text = "0 to 5 seconds: a dog. " * (LONGEST // 20)
    answer = parse(text)
    (refused,) = answer.audit.refused
    assert refused.line == text[:200] and f"{len(text):,} characters" in refused.why
    assert not answer.events and parse(text[:LONGEST]).events
