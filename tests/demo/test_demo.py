"""The demo corpus: it reads without remarks, and the metrics disagree on it as its docstring says."""

from __future__ import annotations

import json

import pytest

import fabula
from fabula import demo
from fabula.core.result import Result

METRICS = ["SODA_d", "mIoU", "mJaccard", "PRF", "OrderedPRF", "SODA_c(text=exact,tok=none)"]


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    refs = list(demo.REFERENCES.values())
    return {name: fabula.score(path, refs, metrics=METRICS) for name, path in demo.SYSTEMS.items()}


@pytest.mark.parametrize("path", [*demo.REFERENCES.values(), *demo.SYSTEMS.values()], ids=lambda p: p.stem)
def test_files_read_without_remarks(path):
    corpus, notes = fabula.read(path)
    assert notes.lines() == []
    assert corpus.format == ("activitynet" if path in demo.REFERENCES.values() else "submission")
    assert corpus.captioned and all(story.captions for story in corpus.values())
    assert all(caption[0].isupper() and caption.endswith(".") for s in corpus.values() for caption in s.captions)


def test_two_annotators_who_disagree():
    one, two = (fabula.read(path)[0] for path in demo.REFERENCES.values())
    assert len(one) == 15
    assert set(one) - set(two) == {"demo_kite"} and not set(two) - set(one)
    assert sum(len(one[v]) != len(two[v]) for v in two) >= 5
    for v in one:
        assert 4 <= len(one[v]) <= 8 and 30 <= one[v].duration <= 240
    for corpus in (one, two):
        for story in corpus.values():
            assert all(e.segment.sound and e.segment.end <= story.duration for e in story.events)
            assert story.in_order() is story


def test_captions_hold_what_trips_a_tokeniser():
    text = " ".join(path.read_text("utf-8") for path in demo.REFERENCES.values())
    assert all(piece in text for piece in (", ", "'", "500", "café", "jalapeño"))


def test_warnings_are_the_intended_ones(results):
    assert results["good"].warnings == ()
    (reversed_segment,) = results["over_segmenting"].warnings
    (missing,) = results["out_of_order"].warnings
    assert "reversed" in reversed_segment and "'demo_printer' event 14" in reversed_segment
    assert "no prediction" in missing and "'demo_market'" in missing


def test_over_segmenting_wins_where_references_choose_and_loses_one_to_one(results):
    good, over = results["good"], results["over_segmenting"]
    assert over["mIoU"].value > good["mIoU"].value + 0.05
    assert over["mJaccard"].value > good["mJaccard"].value + 0.05
    assert over["PRF"].values["recall"] > good["PRF"].values["recall"]
    assert over["PRF"].values["precision"] < good["PRF"].values["precision"] - 0.3
    assert over["SODA_d"].value < good["SODA_d"].value - 0.2


def test_out_of_order_is_seen_only_by_times_and_words_together(results):
    good, late = results["good"], results["out_of_order"]
    for metric in ("SODA_d", "mIoU", "mJaccard", "PRF"):
        assert late[metric].value == pytest.approx(good[metric].value, abs=0.05), metric
    assert late["SODA_c"].value < good["SODA_c"].value / 10
    assert max(results, key=lambda name: results[name]["SODA_d"].value) == "good"


def test_out_of_order_would_be_told_right_with_its_captions_sorted(results):
    """The words are all there: the bags of words of its captions meet the reference's, video by video."""
    pred, ref = fabula.read(demo.SYSTEMS["out_of_order"])[0], fabula.read(demo.REFERENCES["annotator_1"])[0]
    for video, story in pred.items():
        told, meant = ({w for c in s.captions for w in c.lower().strip(".").split()} for s in (story, ref[video]))
        assert len(told & meant) / len(told) > 0.6, video


def test_submissions_have_the_challenge_shape():
    for path in demo.SYSTEMS.values():
        assert json.loads(path.read_text("utf-8")).keys() == {"version", "results", "external_data"}
