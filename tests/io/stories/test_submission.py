"""Submissions to the dense captioning challenge: {"results": {video: [{sentence, timestamp}]}}."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabula import io
from fabula.core.errors import InputError
from fabula.data.stories import Event, Segment, Story
from tests.io.story_toys import DOCUMENTS, corpus_of

Put = Callable[..., Path]
Refused = Callable[..., InputError]


def test_read(put: Put) -> None:
    corpus, notes = io.read(put(DOCUMENTS["submission"]))
    assert corpus.format == "submission"
    assert corpus["v_soup"] == Story("v_soup", (Event(Segment(1.0, 2.0), "Soup boils."),))
    assert corpus.external == {"version": "VERSION 1.0", "external_data": {"used": False, "details": ""}}
    assert notes.lines() == []


def test_the_header_is_written_back_and_missing_parts_are_filled(put: Put, tmp_path: Path) -> None:
    corpus, _ = io.read(put({"results": {"v": []}, "version": "mine", "team": "blue"}))
    io.write(corpus, tmp_path / "out.json", "submission")
    assert json.loads((tmp_path / "out.json").read_text()) == {
        "version": "mine",
        "external_data": {"used": False, "details": ""},
        "team": "blue",
        "results": {"v": []},
    }


def test_events_without_words_and_with_more_fields(put: Put) -> None:
    events = [{"timestamp": [0, 1]}, {"timestamp": [1, 2], "label": 3}, {"timestamp": [1, 2], "sentence": "", "x": 1}]
    corpus, notes = io.read(put({"results": {"v": events}}))
    assert [e.caption for e in corpus["v"].events] == [None, None, ""]
    assert notes.lines() == ["fields of predicted events that were not used: 'label' (1), 'x' (1)"]


def test_no_videos_are_noted(put: Put) -> None:
    _, notes = io.read(put({"results": {}}))
    assert notes.lines()[0].startswith("the file has no videos")


def event(**changes: Any) -> dict[str, Any]:
    return {
        "results": {"v_a": [{"sentence": "a", "timestamp": [0, 1]}, {"sentence": "b", "timestamp": [1, 2]} | changes]}
    }


@pytest.mark.parametrize(
    ("document", "video", "field", "seen"),
    [
        ([], None, "the root", "expected an object, saw a list of 0"),
        ({"version": "1"}, None, None, "the key 'results' is missing"),
        ({"results": []}, None, "results", "expected an object, saw a list of 0"),
        ({"results": None}, None, "results", "expected an object, saw null"),
        ({"results": {"v_a": {}}}, "v_a", "its events", "expected a list, saw an object of 0"),
        ({"results": {"v_a": [7]}}, "v_a", "event 0", "expected an object, saw the number 7"),
        ({"results": {"v_a": [{"sentence": "a"}]}}, "v_a", "event 0", "the key 'timestamp' is missing"),
        (event(timestamp=None), "v_a", "event 1 timestamp", "expected a list, saw null"),
        (event(timestamp=[1]), "v_a", "event 1 timestamp", "saw 1 entries"),
        (event(timestamp=[1, "2"]), "v_a", "event 1 timestamp[1]", "saw the string '2'"),
        (event(timestamp=[False, 2]), "v_a", "event 1 timestamp[0]", "saw false"),
        (event(timestamp=[1, float("nan")]), "v_a", "event 1 timestamp[1]", "saw nan"),
        (event(timestamp=[1, float("inf")]), "v_a", "event 1 timestamp[1]", "saw inf"),
        (event(sentence=None), "v_a", "event 1 sentence", "expected text, saw null"),
        (event(sentence=["b"]), "v_a", "event 1 sentence", "expected text, saw a list of 1"),
        (event(sentence="x" * 10_000_000), "v_a", "event 1 sentence", "10,000,000 characters"),
    ],
)
@pytest.mark.parametrize("format", ["submission", "pdvc"])
def test_refusals(
    document: Any, video: str | None, field: str | None, seen: str, format: str, refused: Refused
) -> None:
    error = refused(document, format)
    assert (error.video, error.field) == (video, field)
    assert seen in error.problem


def test_half_a_character_in_a_caption_is_replaced_with_a_note(put: Put, tmp_path: Path) -> None:
    corpus, notes = io.read(put('{"results": {"v": [{"sentence": "smile \\ud83d", "timestamp": [0, 1]}]}}'))
    assert corpus["v"].captions == ["smile \ufffd"]
    assert "half a character" in notes.lines()[0]


def test_half_a_character_elsewhere_is_written_as_it_was_read(put: Put, tmp_path: Path) -> None:
    corpus, _ = io.read(put('{"results": {}, "team": "\\ud83d"}'))
    io.write(corpus, tmp_path / "out.json", "submission")
    assert io.read(tmp_path / "out.json")[0].external["team"] == "\ud83d"


def test_a_header_that_is_no_json_number_is_not_written(put: Put, tmp_path: Path) -> None:
    corpus, _ = io.read(put('{"results": {}, "METEOR": NaN}'))
    with pytest.raises(InputError, match="cannot be written"):
        io.write(corpus, tmp_path / "out.json", "submission")


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    corpus = corpus_of([Story("v", (Event(Segment(0, 1), None, 0.5),), 3.0)])
    assert io.write(corpus, tmp_path / "out.json", "submission").lines() == [
        "lost in writing: the durations of 1 videos: 'v'",
        "lost in writing: the scores of 1 events: 'v' event 0",
        "1 events have no caption and no 'sentence': densevid_eval cannot read them: 'v' event 0",
    ]
