"""Grounding: the first window of an answer."""

import json

import pytest

import fabula
from fabula.core.errors import InputError
from tests.moment_toys import lines


def scored(tmp_path, gt, pred, **options):
    refs = [{"id": i, "video": "v", "windows": w} for i, w in gt.items()]
    preds = [{"id": i, "windows": w} for i, w in pred.items()]
    options = options or {"task": "grounding"}
    return fabula.score(lines(tmp_path / "p.jsonl", preds), lines(tmp_path / "gt.jsonl", refs), **options)


def test_by_hand(tmp_path):
    gt = {1: [[0, 10]], 2: [[0, 10]], 3: [[0, 10]], 4: [[0, 10], [50, 60]]}
    pred = {1: [[0, 5]], 2: [], 3: [[20, 30], [0, 10]], 4: [[50, 60]]}
    result = scored(tmp_path, gt, pred)
    assert result["Grounding"].values == {"r1@0.3": 2 / 4, "r1@0.5": 2 / 4, "r1@0.7": 1 / 4, "miou": 1.5 / 4}
    assert result.counts["unparsed"] == 1


def test_missing_answers(tmp_path):
    gt, pred = {1: [[0, 10]], 2: [[0, 10]]}, {1: [[0, 10]]}
    assert scored(tmp_path, gt, pred)["Grounding"].value == 1 / 2
    assert scored(tmp_path, gt, pred, protocol="timechat-tvg")["Grounding"].value == 1


def test_timechats_files(tmp_path):
    gt, pred = tmp_path / "gt.json", tmp_path / "p.json"
    times = [[0, 10], [0, 10]]
    gt.write_text(
        json.dumps(
            {"annotations": [{"id": i, "image_id": "a", "caption": "x", "timestamp": t} for i, t in enumerate(times)]}
        )
    )
    pred.write_text(json.dumps({"0": {"timestamp": [[0, 4]]}, "1": {"timestamp": []}}))
    result = fabula.score(pred, gt, protocol="timechat-tvg")
    assert result["Grounding"].values == {"r1@0.3": 1 / 2, "r1@0.5": 0, "r1@0.7": 0, "miou": pytest.approx(0.4 / 2)}
    assert any("one file writes them as text" in w for w in result.warnings)
    with pytest.raises(InputError, match="no answered query is among the references"):
        pred.write_text(json.dumps({"zero": {"timestamp": [[0, 4]]}}))
        fabula.score(pred, gt, task="grounding")
