"""Small things that no other test looked at: each with the number or the sentence that would change."""

import json
from pathlib import Path

import pytest

import fabula
from fabula.core.errors import InputError
from fabula.data.moments import Moment, Query, Ranking
from fabula.evaluate.rankings import moment_rows
from fabula.io.answers.answer import parse
from fabula.match._matrix import matrix
from fabula.metrics.moments import vcmr
from fabula.text.meteor.stem import stem


def test_suppression_wants_every_score():
    """One answer without a score among others with one is enough."""
    queries = {1: Query(1, "v", ((0.0, 10.0),))}
    answers = [("", Ranking.of(1, [Moment(0, 10, "v", 0.9), Moment(1, 9, "v")]))]
    with pytest.raises(InputError, match="nms needs scores"):
        moment_rows([vcmr.Metric(nms=0.5)], queries, answers)


def test_nothing_is_a_matrix_without_rows():
    assert matrix([]).shape == (0, 0) and matrix([[], []]).shape == (2, 0)


def test_short_words_of_the_stemmer():
    """Snowball leaves words of two letters alone; of three, the plural goes only behind a vowel further on."""
    assert [stem(w) for w in ("as", "is", "dies", "ties", "gas", "cries")] == ["as", "is", "die", "tie", "gas", "cri"]


def test_the_graph_metric_that_reads_one_sentence_is_named_beside_others(tmp_path: Path):
    lines = [{"id": "s", "captions": ["P1 runs.", "P2 sits."]}]
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    files = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    result = fabula.score(*files, task="identity", metrics=["METEOR", "SPICE(tok=ptb)"])
    assert any("reads a captionset as one sentence" in line for line in result.warnings)
    plain = fabula.score(*files, task="identity", metrics=["METEOR", "SPICE(tok=none)"])
    assert not any("one sentence" in line for line in plain.warnings)


def test_fields_of_rankings_that_are_not_used_are_said(tmp_path: Path):
    refs, preds = tmp_path / "refs.jsonl", tmp_path / "preds.jsonl"
    refs.write_text(json.dumps({"id": 1, "video": "v", "windows": [[0, 10]]}) + "\n")
    preds.write_text(json.dumps({"id": 1, "windows": [[0, 10]], "mood": "good"}) + "\n")
    result = fabula.score(preds, refs, task="grounding")
    assert any("'mood' (1)" in line for line in result.warnings)


def test_a_time_before_the_beginning_stays_before_it():
    (event,) = parse("-5 to 10 seconds: a dog runs").events
    assert event.segment.start == -5.0


def test_a_box_that_is_turned_round_can_be_turned_back_only_by_its_corners(tmp_path: Path):
    preds = tmp_path / "preds.jsonl"
    preds.write_text(json.dumps({"image_id": 1, "boxes": [[0, 0, 9, 9]], "captions": ["a dog"], "scores": [1]}) + "\n")
    refs = tmp_path / "refs.jsonl"
    refs.write_text(json.dumps({"image_id": 1, "boxes": [[9, 9, 0, 0]], "captions": ["a dog"]}) + "\n")
    ask = {"task": "regions", "refs_format": "xyxy", "format": "xyxy"}
    turned = fabula.score(preds, refs, repair="swap", **ask)
    assert turned["DenseCap_mAP"].values["detmap"] == pytest.approx(1.0)
    with pytest.raises(InputError, match="turned round or has no size"):
        fabula.score(preds, refs, **ask)
