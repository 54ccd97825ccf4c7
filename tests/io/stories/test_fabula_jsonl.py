"""Fabula's own lines: everything is carried, every complaint names its line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabula import io
from fabula.core.errors import InputError
from fabula.data.stories import Event, Segment, Story
from fabula.documents.fields import Source
from fabula.io.stories import fabula_jsonl
from tests.io.story_toys import DOCUMENTS, corpus_of

Put = Callable[..., Path]
Refused = Callable[..., InputError]


def lines(*objects: Any) -> str:
    return "".join(json.dumps(line) + "\n" for line in objects)


def test_read(put: Put) -> None:
    corpus, notes = io.read(put(lines(*DOCUMENTS["fabula"]), "file.jsonl"))
    assert corpus.format == "fabula"
    assert corpus["v_kite"] == Story(
        "v_kite",
        (Event(Segment(0.0, 10.5), "A kite rises.", 0.9), Event(Segment(12.0, 30.0), "It falls.")),
        30.5,
    )
    assert notes.lines() == []


def test_blank_lines_windows_lines_and_no_last_newline(put: Put) -> None:
    text = lines(*DOCUMENTS["fabula"]).replace("\n", "\r\n\r\n").rstrip()
    assert len(io.read(put(text, "file.jsonl"))[0]) == 2


def test_named_the_file_may_be_called_anything(put: Put) -> None:
    assert len(io.read(put(lines(*DOCUMENTS["fabula"]), "file.txt"), "fabula")[0]) == 2
    assert len(io.read(put(gzip.compress(lines(*DOCUMENTS["fabula"]).encode()), "file.jsonl.gz"))[0]) == 2


def test_a_file_of_no_lines_has_no_videos(put: Put) -> None:
    corpus, notes = io.read(put("", "file.jsonl"))
    assert len(corpus) == 0
    assert notes.lines()[0].startswith("the file has no videos")


def test_unknown_keys_are_noted(put: Put) -> None:
    line = {
        "id": "v",
        "split": "val",
        "events": [{"start": 0, "end": 1, "label": 3}, {"start": 0, "end": 1, "label": 4}],
    }
    _, notes = io.read(put(lines(line), "file.jsonl"))
    assert notes.lines() == [
        "fields of videos that were not used: 'split' (1)",
        "fields of events that were not used: 'label' (2)",
    ]


FINE = {"id": "fine", "events": []}


def event(**changes: Any) -> dict[str, Any]:
    return {"id": "v", "events": [{"start": 0, "end": 1, "caption": "a"} | changes]}


@pytest.mark.parametrize(
    ("line", "video", "field", "seen"),
    [
        ([], None, "line 2", "expected an object, saw a list of 0"),
        (None, None, "line 2", "expected an object, saw null"),
        ({"events": []}, None, "line 2", "the key 'id' is missing"),
        ({"id": 3, "events": []}, None, "line 2 id", "expected text, saw the number 3"),
        ({"id": "v"}, "v", "line 2", "the key 'events' is missing"),
        ({"id": "v", "events": {}}, "v", "line 2 events", "expected a list, saw an object of 0"),
        ({"id": "v", "events": [[0, 1]]}, "v", "line 2 events[0]", "expected an object, saw a list of 2"),
        ({"id": "v", "events": [{"end": 1}]}, "v", "line 2 events[0]", "the key 'start' is missing"),
        ({"id": "v", "events": [{"start": 1}]}, "v", "line 2 events[0]", "the key 'end' is missing"),
        ({"id": "v", "duration": "9", "events": []}, "v", "line 2 duration", "saw the string '9'"),
        ({"id": "v", "duration": 0, "events": []}, "v", "line 2 duration", "a duration of 0 seconds"),
        (event(start="0"), "v", "line 2 events[0] start", "expected a number, saw the string '0'"),
        (event(end=True), "v", "line 2 events[0] end", "expected a number, saw true"),
        (event(end=float("nan")), "v", "line 2 events[0] end", "expected a finite number, saw nan"),
        (event(end=10**400), "v", "line 2 events[0] end", "expected a finite number"),
        (event(caption=None), "v", "line 2 events[0] caption", "expected text, saw null"),
        (event(score="high"), "v", "line 2 events[0] score", "expected a number, saw the string 'high'"),
        (FINE, "fine", "line 2", "this video id stands twice, first on line 1"),
    ],
)
def test_refusals(line: Any, video: str | None, field: str, seen: str, refused: Refused) -> None:
    error = refused(lines(FINE, line), name="file.jsonl")
    assert (error.video, error.field) == (video, field)
    assert seen in error.problem


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ('{"id": "v", ', "the JSON ends too early"),
        ('{"id": "v" "events"}', "not JSON"),
        ('{"id": "v", "id": "w", "events": []}', "the key 'id' stands twice"),
        ('{"id": "v", "events": []} {}', "Extra data"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "v", "duration": ' + "9" * 5000 + "}", "not a usable number"),
    ],
)
def test_broken_lines_are_named(line: str, seen: str, refused: Refused) -> None:
    error = refused(lines(FINE) + "\n" + line + "\n", name="file.jsonl")
    assert error.field == "line 3"
    assert seen in str(error)


def test_bytes_that_are_not_text_are_named_by_line(refused: Refused) -> None:
    assert refused(lines(FINE).encode() + b'{"id": "\xe9"}\n', name="file.jsonl").field == "line 2"


def test_another_shape_on_the_first_line(refused: Refused) -> None:
    error = refused(lines({"qid": 1, "query": "x"}), name="file.jsonl")
    assert "the first line is an object with 'qid', 'query': no known format" in str(error)


def test_written_line_by_line() -> None:
    corpus = corpus_of([Story("a", (Event(Segment(0, 1), None, 0.5),)), Story("b", (), 3.0)])
    pieces = iter(fabula_jsonl.write_stories(corpus, Source(Path("out.jsonl"))))
    assert next(pieces) == '{"id": "a", "events": [{"start": 0, "end": 1, "score": 0.5}]}\n'
    assert next(pieces) == '{"id": "b", "duration": 3.0, "events": []}\n'


def test_a_story_is_yielded_before_the_next_line_is_read() -> None:
    def source_lines() -> Any:
        yield 1, FINE
        raise AssertionError("read too far")

    assert next(fabula_jsonl.read_stories(source_lines(), Source(Path("f.jsonl")))).id == "fine"


def test_only_the_header_is_lost(tmp_path: Path) -> None:
    corpus = corpus_of([Story("a", (Event(Segment(0, 1), "x", 0.5),), 2.0)], external={"version": 1, "team": 2})
    notes = io.write(corpus, tmp_path / "out.jsonl", "fabula")
    assert notes.lines() == ["lost in writing: the header ('version', 'team')"]
