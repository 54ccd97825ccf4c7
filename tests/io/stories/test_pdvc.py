"""PDVC's predictions: a submission with more to say."""

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
    corpus, notes = io.read(put(DOCUMENTS["pdvc"]))
    assert corpus.format == "pdvc"
    assert corpus["v_kite"] == Story("v_kite", (Event(Segment(0.0, 10.5), "A kite rises.", 0.9),), 30.5)
    assert corpus["v_soup"] == Story("v_soup")
    assert corpus.external["valid_video_num"] == 2
    assert notes.lines() == [
        "fields of predicted events that were not used: "
        "'raw_box' (1), 'sentence_score' (1), 'query_id' (1), 'pred_event_count' (1)"
    ]


@pytest.mark.parametrize("field", ["proposal_score", "vid_duration", "raw_box", "sentence_score", "query_id"])
def test_one_field_of_its_own_is_enough_to_know_it(field: str, put: Put) -> None:
    entry = {"sentence": "a", "timestamp": [0, 1], field: 1}
    assert io.read(put({"results": {"empty": [], "v": [entry]}}))[0].format == "pdvc"
    assert io.read(put({"results": {"v": [{"sentence": "a", "timestamp": [0, 1]}]}}))[0].format == "submission"


def test_as_a_submission_its_fields_are_noted(put: Put) -> None:
    corpus, notes = io.read(put(DOCUMENTS["pdvc"]), "submission")
    assert corpus["v_kite"].events[0].score is None
    assert "'proposal_score' (1)" in notes.lines()[0]


def events(*changes: dict[str, Any]) -> dict[str, Any]:
    return {"results": {"v_a": [{"sentence": "a", "timestamp": [0, 1]} | change for change in changes]}}


@pytest.mark.parametrize(
    ("document", "field", "seen"),
    [
        (events({"proposal_score": "high"}), "event 0 proposal_score", "expected a number, saw the string 'high'"),
        (events({"proposal_score": None}), "event 0 proposal_score", "expected a number, saw null"),
        (events({"proposal_score": float("nan")}), "event 0 proposal_score", "expected a finite number"),
        (events({"vid_duration": True}), "event 0 vid_duration", "expected a number, saw true"),
        (events({"vid_duration": 1}, {"vid_duration": True}), "event 1 vid_duration", "expected a number, saw true"),
        (events({"vid_duration": None}), "event 0 vid_duration", "expected a number, saw null"),
        (events({"vid_duration": float("nan")}), "event 0 vid_duration", "expected a finite number, saw nan"),
        (events({"vid_duration": -3}), "event 0 vid_duration", "a duration of -3 seconds"),
        (events({"vid_duration": 3}, {"vid_duration": 4}), "event 1 vid_duration", "4 seconds, but 3 in an earlier"),
    ],
)
def test_refusals(document: Any, field: str, seen: str, refused: Refused) -> None:
    error = refused(document)
    assert (error.video, error.field) == ("v_a", field)
    assert seen in error.problem


def test_written_with_what_there_is(tmp_path: Path) -> None:
    corpus = corpus_of(
        [Story("v", (Event(Segment(0, 1), "a", 0.5), Event(Segment(1, 2), "b")), 3.0), Story("w", (), 9.0)]
    )
    notes = io.write(corpus, tmp_path / "out.json", "pdvc")
    assert json.loads((tmp_path / "out.json").read_text())["results"]["v"] == [
        {"sentence": "a", "timestamp": [0, 1], "proposal_score": 0.5, "vid_duration": 3.0},
        {"sentence": "b", "timestamp": [1, 2], "vid_duration": 3.0},
    ]
    assert notes.lines() == ["lost in writing: the durations of 1 videos without events: 'w'"]
