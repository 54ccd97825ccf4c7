"""Score and Result: the published JSON."""

import json
import sys

import pytest

from fabula.core.errors import MissingExtra
from fabula.data.result import Result, Score

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


def scored(name, metric, short):
    return Score(name, {"precision": 0.5, "recall": 1.0, "f1": 2 / 3}, "f1", f"{metric}|videos:3|fabula:0", short=short)


TWO = Result(
    "0",
    "dense",
    "default",
    {
        "A": scored("A", "A(x=1,y=2)", "A(y=2)|videos:3|fabula:0"),
        "B": scored("B", "B(x=1,y=2)", "B(y=2,z=3)@0.5|videos:3|meteor:1.5|fabula:0"),
        "mIoU": Score("mIoU", {"value": 0.25}, "value", "mIoU|videos:3", {"value": (0.125, 0.5)}, short="mIoU|y=2"),
    },
    {"videos": 3, "missing": 0},
    ("careful",),
)


def test_a_result_is_printed_in_a_few_lines():
    two = Result(TWO.fabula, TWO.task, TWO.protocol, {n: TWO[n] for n in "AB"}, TWO.counts, TWO.warnings)
    assert (
        repr(two).splitlines()
        == str(two).splitlines()
        == [
            "dense · protocol default · ×100 · 3 videos",
            "metric      P       R     F1",
            "A       50.00  100.00  66.67",
            "B       50.00  100.00  66.67",
            "all: y=2|videos:3|fabula:0",
            "B: z=3|@0.5|meteor:1.5",
            "1 warning in .warnings",
        ]
    )
    html = two._repr_html_()
    assert "<table>" in html and "66.67" in html and "<code>B: z=3|@0.5|meteor:1.5</code>" in html


def test_names_in_html_are_text():
    evil = Result("0", "<b>", "x", {"<script>": SCORE}, {})
    assert "<script>" not in evil._repr_html_() and "<b>" not in evil._repr_html_()


def test_one_number_a_name():
    assert TWO.flat() == {
        "A/precision": 0.5,
        "A/recall": 1.0,
        "A/f1": 2 / 3,
        "B/precision": 0.5,
        "B/recall": 1.0,
        "B/f1": 2 / 3,
        "mIoU": 0.25,
        "mIoU.low": 0.125,
        "mIoU.high": 0.5,
    }


def test_a_result_as_a_frame():
    pytest.importorskip("pandas")
    frame = TWO.to_pandas()
    assert list(frame["metric"]) == ["A", "A", "A", "B", "B", "B", "mIoU"] and list(frame["high"])[-1] == 0.5
    assert frame[frame["primary"]]["number"].tolist() == ["f1", "f1", "value"]


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"\[pandas\]"):
        TWO.to_pandas()


def test_a_number_called_short_is_no_signature():
    """MR_mAP over short windows; of other metrics `short` is the signature without defaults."""
    score = Score("MR_mAP", {"map": 0.5, "short": 0.25}, "map", "MR_mAP(iou=0.5)|queries:2", short="MR_mAP|queries:2")
    assert score.to_dict()["short"] == 0.25
    assert Score("mIoU", {"value": 0.5}, "value", "mIoU(a=1)", short="mIoU").to_dict()["short"] == "mIoU"
