"""YouCook2's own annotations: one file, two subsets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabula import io
from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Event, Segment, Story
from tests.io.story_toys import DOCUMENTS, corpus_of

Put = Callable[..., Path]
Refused = Callable[..., InputError]


def test_read_all(put: Put) -> None:
    corpus, notes = io.read(put(DOCUMENTS["youcook2"]))
    assert corpus.format == "youcook2"
    assert corpus["soup"] == Story("soup", (Event(Segment(1.0, 2.0), "boil the soup"),), 12.0)
    assert notes.lines() == [
        "videos of 2 subsets were read (1 'training', 1 'validation'); 'youcook2:SUBSET' reads one of them",
        "fields of videos that were not used: 'recipe_type' (2), 'video_url' (2)",
    ]


def test_read_one_subset(put: Put) -> None:
    corpus, notes = io.read(put(DOCUMENTS["youcook2"]), "youcook2:validation")
    assert list(corpus) == ["soup"]
    assert corpus.format == "youcook2:validation"
    assert len(notes.lines()) == 1


def test_a_subset_that_is_not_there(put: Put) -> None:
    path = put(DOCUMENTS["youcook2"])
    with pytest.raises(SpecError, match=r"file\.json has no subset 'validaton'; did you mean 'validation'\?"):
        io.read(path, "youcook2:validaton")
    with pytest.raises(SpecError, match="has no subset 'x'; there are: training, validation"):
        io.read(path, "youcook2:x")
    with pytest.raises(SpecError, match="no video names its subset"):
        io.read(put({"database": {"a": {"annotations": []}}}), "youcook2:training")


def test_a_video_without_a_subset_is_refused_when_one_is_asked_for(refused: Refused) -> None:
    database = {"a": {"subset": "training", "annotations": []}, "b": {"annotations": []}}
    error = refused({"database": database}, "youcook2:training")
    assert (error.video, error.problem) == ("b", "the key 'subset' is missing")


def test_a_test_set_without_answers(put: Put) -> None:
    entry = {"duration": 9, "subset": "testing"}
    corpus, notes = io.read(put({"database": {"a": entry, "b": entry | {"annotations": []}}}))
    assert corpus["a"] == Story("a", (), 9.0)
    assert notes.lines() == ["1 videos have no 'annotations' and were read as videos without events: 'a'"]


def test_segments_without_sentences(put: Put) -> None:
    corpus, _ = io.read(put({"database": {"a": {"annotations": [{"segment": [0, 1], "id": 0}]}}}))
    assert corpus["a"].events == (Event(Segment(0.0, 1.0)),)


def test_file_order_is_kept_and_said(put: Put) -> None:
    steps = [{"segment": [5, 6], "id": 1, "sentence": "b"}, {"segment": [0, 1], "id": 0, "sentence": "a"}]
    corpus, notes = io.read(put({"database": {"v": {"annotations": steps}}}))
    assert corpus["v"].captions == ["b", "a"]
    assert notes.lines() == ["1 videos list annotations in another order than their 'id'; file order is kept: 'v'"]


def entry(**changes: Any) -> dict[str, Any]:
    return {"database": {"a": {"duration": 9, "subset": "training", "annotations": []} | changes}}


def step(**changes: Any) -> dict[str, Any]:
    return entry(annotations=[{"segment": [0, 1], "id": 0, "sentence": "a"} | changes])


@pytest.mark.parametrize(
    ("document", "video", "field", "seen"),
    [
        ([], None, "the root", "expected an object"),
        ({}, None, None, "the key 'database' is missing"),
        ({"database": []}, None, "database", "expected an object, saw a list of 0"),
        ({"database": {"a": 3}}, "a", "its entry", "expected an object, saw the number 3"),
        (entry(subset=3), "a", "subset", "expected text, saw the number 3"),
        (entry(duration="9"), "a", "duration", "expected a number, saw the string '9'"),
        (entry(duration=-9), "a", "duration", "a duration of -9 seconds"),
        (entry(annotations=None), "a", "annotations", "expected a list, saw null"),
        (entry(annotations=[[0, 1]]), "a", "annotations[0]", "expected an object, saw a list of 2"),
        (entry(annotations=[{"id": 0}]), "a", "annotations[0]", "the key 'segment' is missing"),
        (step(segment=[0]), "a", "annotations[0] segment", "saw 1 entries"),
        (step(segment=[0, None]), "a", "annotations[0] segment[1]", "expected a number, saw null"),
        (step(segment=[float("nan"), 1]), "a", "annotations[0] segment[0]", "expected a finite number"),
        (step(id="0"), "a", "annotations[0] id", "expected a number, saw the string '0'"),
        (step(sentence=None), "a", "annotations[0] sentence", "expected text, saw null"),
    ],
)
def test_refusals(document: Any, video: str | None, field: str | None, seen: str, refused: Refused) -> None:
    error = refused(document, "youcook2")
    assert (error.video, error.field) == (video, field)
    assert seen in error.problem


def test_written_with_a_subset(tmp_path: Path) -> None:
    corpus = corpus_of([Story("v", (Event(Segment(0, 1), "a", 0.5), Event(Segment(1, 2))), 3.0)])
    notes = io.write(corpus, tmp_path / "out.json", "youcook2:validation")
    assert json.loads((tmp_path / "out.json").read_text()) == {
        "database": {
            "v": {
                "duration": 3.0,
                "subset": "validation",
                "annotations": [{"segment": [0, 1], "id": 0, "sentence": "a"}, {"segment": [1, 2], "id": 1}],
            }
        }
    }
    assert notes.lines() == ["lost in writing: the scores of 1 events: 'v' event 0"]
