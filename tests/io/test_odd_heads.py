"""Files whose beginning is broken, nested without end, or no object at all; numbers beyond all arrays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.checks import CheckRequest, kind_of
from fabula.core.errors import FabulaError, InputError
from fabula.core.notes import Notes
from fabula.data.moments import VideoNumbers
from fabula.documents.document import find_top_keys, open_document, parse_first_object
from fabula.io import captions, identity, moments, regions

BEGINNINGS = {
    "deep": '{"qid": ' + "[" * 100_000,
    "deep objects": '{"qid": ' * 100_000,
    "cut": '{"qid": 1, "relevant_windows": [[1,',
    "a broken key": '{"qid\\x": 1, "relevant_windows',
    "a key cut off": '{"a": 1, "b\\',
    "a broken escape": '{"\\u12": 1, "id": 2, "windows": [',
    "no object": "7",
    "a list": "[1, 2]",
    "text": '"abc"',
    "null": "null",
    "a control character": '{"a\x01": 1}',
    "an integer without end": '{"id": ' + "9" * 5000 + ', "windows": []}',
    "nan": "NaN",
    "colons": ":" * 50 + "{" + ":" * 50,
}
DOCUMENTS = [
    '{"annotations": [5]}',
    '{"annotations": ["a"]}',
    '{"annotations": [[1, 2]]}',
    '{"annotations": [null]}',
    '{"results": [1.5]}',
    '{"regions": [true]}',
    "[5]",
    "[[]]",
    '["a"]',
    "[null]",
    '{"annotations": 5}',
    '{"images": [], "annotations": [[["a", 1]]]}',
]


def ways(path: Path) -> list[object]:
    return [
        lambda: kind_of(CheckRequest(path)).look(CheckRequest(path)),
        lambda: moments.read_queries([path], Notes()),
        lambda: list(moments.read_rankings(path, VideoNumbers(), Notes())[0]),
        lambda: regions.read_references([path], Notes()),
        lambda: captions.read_items(path),
        lambda: captions.is_items(path),
        lambda: identity.read_sets(path, Notes()),
        lambda: open_document(path).first_object,
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.txt", "a.csv"])
@pytest.mark.parametrize(
    "content", [*BEGINNINGS.values(), *DOCUMENTS], ids=[*BEGINNINGS, *map(str, range(len(DOCUMENTS)))]
)
def test_whatever_a_file_begins_with_is_read_or_named(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    for way in ways(path):
        try:
            way()  # type: ignore[operator]
        except FabulaError as error:
            assert len(str(error)) <= 500 and str(error).isprintable()


def test_the_keys_of_a_broken_line_are_those_that_can_be_read() -> None:
    assert list(parse_first_object('{"\\u12": 1, "id": 2, "windows": [')) == ["id", "windows"]
    assert find_top_keys('{"a": {"b": 1}, "c":') == ["a", "c"]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**53, 10**400, 2**64])
@pytest.mark.parametrize("lines", [True, False])
def test_a_number_of_a_video_that_no_array_holds_is_named(tmp_path: Path, number: int, lines: bool) -> None:
    path = tmp_path / ("a.jsonl" if lines else "a.json")
    rows = {"desc_id": 1, "predictions": [[0, 0, 1, 0.5]]}
    first = {"video2idx": {"kite": number}}
    path.write_text(f"{json.dumps(first)}\n{json.dumps(rows)}\n" if lines else json.dumps({**first, "VCMR": [rows]}))
    with pytest.raises(InputError, match=r"video2idx 'kite': expected a whole number, saw the number"):
        list(moments.read_rankings(path, VideoNumbers(), Notes())[0])


BIG = [2**63, -(2**70), 10**400]


@pytest.mark.parametrize("big", BIG, ids=["63 bits", "70 bits", "400 digits"])
@pytest.mark.parametrize(
    "line",
    [
        {"id": 0, "video": "v", "windows": [[0, 1]], "clips": ["BIG"], "marks": [[1]]},
        {"id": "BIG", "video": "v", "windows": [[0, 1]]},
        {"id": 0, "video": "v", "windows": [["BIG", 1]], "duration": 5},
        {"id": 0, "video": "v", "windows": [[0, 1]], "duration": "BIG"},
        {
            "qid": "BIG",
            "vid": "v",
            "relevant_windows": [[0, 1]],
            "relevant_clip_ids": ["BIG"],
            "saliency_scores": [["BIG"]],
        },
        {"desc_id": "BIG", "vid_name": "v", "ts": [0, 1], "desc": "x", "duration": 4},
        {
            "image_id": "BIG",
            "boxes": [["BIG", 1, 2, 3]],
            "captions": ["a"],
            "scores": ["BIG"],
            "width": "BIG",
            "height": 3,
        },
        {"id": "BIG", "events": [{"start": 0, "end": "BIG", "score": "BIG"}]},
        {"id": "BIG", "cand": "a", "refs": ["a"]},
        {"id": "v", "answer": "from 0 to 3 seconds, a", "fps": "BIG", "frames": "BIG", "duration": "BIG"},
    ],
)
def test_numbers_beyond_64_bits_are_read_or_named_in_every_field(tmp_path: Path, line: object, big: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(line).replace('"BIG"', str(big)))
    for way in ways(path):
        try:
            way()  # type: ignore[operator]
        except FabulaError as error:
            assert len(str(error)) <= 500
