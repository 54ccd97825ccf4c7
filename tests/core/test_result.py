"""Score and Result: the published JSON."""

import json

from fabula.core.result import Result, Score

SCORE = Score("PRF", {"precision": 0.5, "recall": 1.0, "f1": 2 / 3}, "f1", "PRF@0.5|sets:1")


def test_a_score_says_its_primary_number():
    assert SCORE.value == 2 / 3
    assert SCORE.to_dict() == {
        "precision": 0.5,
        "recall": 1.0,
        "f1": 2 / 3,
        "value": 2 / 3,
        "signature": "PRF@0.5|sets:1",
        "ci": None,
    }


def test_numbers_at_each_threshold_are_in_the_json_where_there_are_some():
    at = {"0.3": {"value": 0.5}, "0.5": {"value": 0.25}}
    assert Score("METEOR", {"value": 0.375}, "value", "METEOR", by_threshold=at).to_dict()["by_threshold"] == at
    assert "by_threshold" not in SCORE.to_dict()


def test_an_interval_around_the_primary_number():
    score = Score("mIoU", {"value": 0.0}, "value", "mIoU", ci={"value": (0.0, 0.25)})
    assert score.to_dict()["ci"] == [0.0, 0.25]  # a score of 0 has an interval too


def test_keys_of_the_json():
    result = Result("0", "dense", "default", {"PRF": SCORE}, {"videos": 1}, ("careful",))
    assert result["PRF"] is SCORE
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(document) == ["fabula", "task", "protocol", "scores", "counts", "warnings"]
    assert document["warnings"] == ["careful"]
    assert document["scores"]["PRF"]["f1"] == 2 / 3


def test_the_mean_of_nothing_is_null_in_the_json():
    score = Score("iSPICE", {"value": float("nan")}, "value", "iSPICE", ci={"value": (float("nan"), 1.0)})
    assert json.loads(json.dumps(score.to_dict(), allow_nan=False))["value"] is None
    assert score.to_dict()["ci"] == [None, 1.0]
