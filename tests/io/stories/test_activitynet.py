"""ActivityNet Captions ground truth: one sentence per timestamp, numbers that are numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabula import io
from fabula.core.errors import InputError
from fabula.data.stories import Corpus, Event, Segment, Story
from tests.io.story_toys import DOCUMENTS, corpus_of

Put = Callable[..., Path]
Refused = Callable[..., InputError]


def test_read(put: Put) -> None:
    corpus, notes = io.read(put(DOCUMENTS["activitynet"]))
    assert corpus.format == "activitynet"
    assert corpus["v_kite"] == Story(
        "v_kite",
        (Event(Segment(0.0, 10.5), "A kite rises."), Event(Segment(12.0, 30.0), "It falls.")),
        30.5,
    )
    assert list(corpus) == ["v_kite", "v_soup"]
    assert notes.lines() == []


def test_timestamps_alone_are_a_segmentation(put: Put) -> None:
    corpus, notes = io.read(put({"v": {"timestamps": [[0, 1]]}}))
    assert corpus["v"] == Story("v", (Event(Segment(0.0, 1.0)),))
    assert notes.lines() == []


def test_faulty_segments_are_read_as_they_are(put: Put) -> None:
    corpus, _ = io.read(put({"v": {"timestamps": [[5, 2], [3, 3], [-1, 2]]}}))
    assert [e.segment for e in corpus["v"].events] == [Segment(5, 2), Segment(3, 3), Segment(-1, 2)]


def test_other_fields_are_noted(put: Put) -> None:
    _, notes = io.read(put({"v": {"timestamps": [], "url": "x"}, "w": {"timestamps": [], "url": "y", "fps": 3}}))
    assert notes.lines() == ["fields of videos that were not used: 'url' (2), 'fps' (1)"]


def entry(**changes: Any) -> dict[str, Any]:
    return {"v_a": {"duration": 9, "timestamps": [[0, 1], [2, 3]], "sentences": ["a", "b"]} | changes}


def without(key: str) -> dict[str, Any]:
    document = entry()
    del document["v_a"][key]
    return document


@pytest.mark.parametrize(
    ("document", "field", "seen"),
    [
        ([], "the root", "expected an object, saw a list of 0"),
        ('"text"', "the root", "saw the string 'text'"),
        (None, "the root", "saw null"),
        ({"v_a": []}, "its entry", "expected an object, saw a list of 0"),
        (without("timestamps"), None, "the key 'timestamps' is missing"),
        (entry(timestamps={}), "timestamps", "expected a list, saw an object of 0"),
        (entry(timestamps=[[0, 1], [2]]), "timestamps[1]", "expected [start, end], saw 1 entries"),
        (entry(timestamps=[[0, 1], [2, 3, 4]]), "timestamps[1]", "expected [start, end], saw 3 entries"),
        (entry(timestamps=[[0, 1], 2]), "timestamps[1]", "expected a list, saw the number 2"),
        (entry(timestamps=[[0, 1], [2, "3"]]), "timestamps[1][1]", "expected a number, saw the string '3'"),
        (entry(timestamps=[[0, 1], [2, True]]), "timestamps[1][1]", "expected a number, saw true"),
        (entry(timestamps=[[None, 1], [2, 3]]), "timestamps[0][0]", "expected a number, saw null"),
        (entry(timestamps=[[float("nan"), 1], [2, 3]]), "timestamps[0][0]", "expected a finite number, saw nan"),
        (entry(timestamps=[[float("-inf"), 1], [2, 3]]), "timestamps[0][0]", "saw -inf"),
        (entry(timestamps=[[10**400, 1], [2, 3]]), "timestamps[0][0]", "expected a finite number, saw 1000"),
        ('{"v_a": {"timestamps": [[0, 1e400]]}}', "timestamps[0][1]", "expected a finite number, saw inf"),
        (entry(sentences=["a"]), "sentences", "2 timestamps but 1 sentences"),
        (entry(sentences="ab"), "sentences", "expected a list, saw the string 'ab'"),
        (entry(sentences=None), "sentences", "expected a list, saw null"),
        (entry(sentences=["a", 7]), "sentences[1]", "expected text, saw the number 7"),
        (entry(sentences=["a", None]), "sentences[1]", "expected text, saw null"),
        (entry(sentences=["a", "x" * 10_000_000]), "sentences[1]", "a caption of 10,000,000 characters"),
        (entry(duration="9"), "duration", "expected a number, saw the string '9'"),
        (entry(duration=0), "duration", "a duration of 0 seconds"),
        (entry(duration=None), "duration", "expected a number, saw null"),
    ],
)
def test_refusals(document: Any, field: str | None, seen: str, refused: Refused) -> None:
    error = refused(document, "activitynet")
    assert error.field == field
    assert seen in error.problem
    assert error.video == (None if field == "the root" else "v_a")


def test_a_video_id_with_half_a_character_is_refused(refused: Refused) -> None:
    assert "half a character" in str(refused('{"v\\ud800": {"timestamps": []}}'))


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    some = (Event(Segment(0, 1), "a", 0.5), Event(Segment(1, 2), None))
    corpus = corpus_of([Story("v", some, 3.0)], external={"version": "1"})
    notes = io.write(corpus, tmp_path / "out.json", "activitynet")
    assert notes.lines() == [
        "lost in writing: the scores of 1 events: 'v' event 0",
        "lost in writing: the header ('version')",
        "1 events without a caption stand beside captioned ones: written as '': 'v' event 1",
    ]
    assert io.read(tmp_path / "out.json")[0]["v"].captions == ["a", ""]


def test_a_number_that_is_none_is_not_written(tmp_path: Path) -> None:
    corpus = Corpus({"v": Story("v", (Event(Segment(float("nan"), 1.0)),))})
    with pytest.raises(InputError, match=r"out\.json: cannot be written"):
        io.write(corpus, tmp_path / "out.json", "activitynet")
    assert not (tmp_path / "out.json").exists()
