"""QVHighlights' metrics by hand: windows, lengths, clips; and the rules that move them."""

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError
from fabula.metrics.precision import precision_of_ties
from tests.moment_toys import lines, plain_ap

ROW = {"query": "x", "vid": "v", "duration": 150}


def scored(tmp_path, gt, pred, marks=None, saliency=None, **options):
    """gt and pred {id: windows}; marks {id: {clip: marks}}, saliency {id: numbers}"""
    refs = [{"qid": q, **ROW, "relevant_windows": w} for q, w in gt.items()]
    for ref in refs if marks else ():
        ref |= {"relevant_clip_ids": list(marks[ref["qid"]]), "saliency_scores": list(marks[ref["qid"]].values())}
        ref["duration"] = options.get("duration", 150)
    options.pop("duration", None)
    preds = [{"qid": q, "pred_relevant_windows": w} for q, w in pred.items()]
    for p in preds if saliency else ():
        p["pred_saliency_scores"] = saliency[p["qid"]]
    if not {"protocol", "metrics"} & set(options):
        options["task"] = "highlights"
    return fabula.score(lines(tmp_path / "p.jsonl", preds), lines(tmp_path / "gt.jsonl", refs), **options)


def test_r1_takes_the_best_window(tmp_path):
    gt = {1: [[0, 10], [20, 40]]}
    result = scored(tmp_path, gt, {1: [[20, 36, 0.5]]}, metrics="MR_R1")  # IoU 16/20
    values = result["MR_R1"].values
    assert [values[f"r1@{t}"] for t in ("0.5", "0.75", "0.8", "0.85", "0.95")] == [1, 1, 1, 0, 0]
    # By length: [0, 10] is short and missed, [20, 40] middle and found; there is no long one.
    assert (values["short-r1@0.5"], values["middle-r1@0.5"], values["long-r1@0.5"]) == (0, 1, 0)


def test_r1_by_file_or_by_score(tmp_path):
    gt, pred = {1: [[0, 10]]}, {1: [[50, 60, 0.1], [0, 10, 0.9]]}
    assert scored(tmp_path, gt, pred, metrics="MR_R1")["MR_R1"].value == 1
    assert scored(tmp_path, gt, pred, protocol="qvhighlights", metrics="MR_R1")["MR_R1"].value == 0


def test_ap_by_hand(tmp_path):
    # Hits at ranks 1 and 3 of 2: (1/2)·1 + (1/2)·(2/3)
    gt = {1: [[0, 40], [60, 100]]}
    pred = {1: [[0, 40, 0.9], [110, 140, 0.8], [60, 100, 0.7]]}
    assert scored(tmp_path, gt, pred, metrics="MR_mAP")["MR_mAP"].value == pytest.approx(5 / 6)


def test_a_reference_window_is_taken_once(tmp_path):
    gt = {1: [[0, 40]]}
    pred = {1: [[0, 40, 0.9], [0, 40, 0.8]]}
    assert scored(tmp_path, gt, pred, metrics="MR_mAP")["MR_mAP"].value == 1
    twice = {1: [[0, 40], [100, 140]]}
    assert scored(tmp_path, twice, pred, metrics="MR_mAP")["MR_mAP"].value == 1 / 2


@pytest.mark.parametrize("seed", range(4))
def test_map_against_the_plain_loop(tmp_path, seed):
    rng = np.random.default_rng(seed)

    def window():
        start = int(rng.integers(0, 60)) * 2
        return [start, start + int(rng.integers(1, 15)) * 2]

    gt = {
        q: [[40 * i, 40 * i + int(rng.integers(1, 18)) * 2] for i in range(int(rng.integers(1, 4)))] for q in range(40)
    }
    pred = {
        q: [
            [*(window() if rng.random() < 0.5 else w[int(rng.integers(len(w)))]), float(rng.random())] for _ in range(8)
        ]
        for q, w in gt.items()
    }
    result = scored(tmp_path, gt, pred, metrics="MR_mAP")
    for tau in (0.5, 0.75, 0.95):
        expected = np.mean([plain_ap(gt[q], pred[q], tau) for q in gt])
        assert result["MR_mAP"].values[f"map@{tau}"] == pytest.approx(expected, abs=1e-12)
    for bucket, (low, high) in {"short": (0, 10), "middle": (10, 30), "long": (30, 150)}.items():
        some = {q: [w for w in ws if low < w[1] - w[0] <= high] for q, ws in gt.items()}
        aps = [np.mean([plain_ap(w, pred[q], t / 100) for t in range(50, 100, 5)]) for q, w in some.items() if w]
        assert result["MR_mAP"].values[bucket] == pytest.approx(np.mean(aps), abs=1e-12)


def test_only_ten_windows_count(tmp_path):
    gt = {1: [[0, 40]]}
    pred = {1: [[100, 140, 0.1]] * 10 + [[0, 40, 0.9]]}
    assert scored(tmp_path, gt, pred, metrics="MR_mAP")["MR_mAP"].value == 1  # it is the best of all
    assert scored(tmp_path, gt, pred, protocol="qvhighlights", metrics="MR_mAP")["MR_mAP"].value == 0  # the 11th


def test_silence_raises_the_published_map(tmp_path):
    gt, pred = {1: [[0, 40]], 2: [[0, 40]]}, {1: [[0, 40, 0.9]], 2: []}
    ours = scored(tmp_path, gt, pred, metrics="MR_mAP,MR_R1")
    theirs = scored(tmp_path, gt, pred, protocol="qvhighlights", metrics="MR_mAP,MR_R1")
    assert (ours["MR_mAP"].value, theirs["MR_mAP"].value) == (1 / 2, 1)
    assert (ours["MR_R1"].value, theirs["MR_R1"].value) == (1 / 2, 1 / 2)
    assert ours.counts["empty"] == 1


def test_long_windows(tmp_path):
    gt, pred = {1: [[0, 200]], 2: [[0, 2000]]}, {1: [[0, 200, 1]], 2: [[0, 1, 1]]}
    ours = scored(tmp_path, gt, pred, metrics="MR_mAP")["MR_mAP"].values
    assert (ours["map"], ours["long"]) == (1 / 2, 1 / 2)
    qv = scored(tmp_path, gt, pred, protocol="qvhighlights", metrics="MR_mAP")["MR_mAP"].values
    assert (qv["map"], qv["long"]) == (1 / 2, 0)  # both are longer than 150 s
    lighthouse = scored(tmp_path, gt, pred, protocol="lighthouse", metrics="MR_mAP")["MR_mAP"].values
    assert lighthouse["map"] == 1  # the query with 2,000 s has vanished
    assert "long" not in lighthouse


MARKS = {1: {0: [4, 1, 0], 1: [2, 2, 2]}}


def test_hit1(tmp_path):
    gt, pred = {1: [[0, 4]]}, {1: [[0, 4, 1]]}
    first = scored(tmp_path, gt, pred, MARKS, {1: [0.9, 0.1, 0.5, 0]}, duration=8, metrics="HL_Hit1")
    assert first["HL_Hit1"].values == {"fair": 1, "good": 1, "verygood": 1}  # one annotator is enough
    second = scored(tmp_path, gt, pred, MARKS, {1: [0.1, 0.9, 0.5, 0]}, duration=8, metrics="HL_Hit1")
    assert second["HL_Hit1"].values == {"fair": 1, "good": 0, "verygood": 0}
    beyond = scored(tmp_path, gt, pred, MARKS, {1: [0.1, 0.2, 0.5, 0, 9]}, duration=8, metrics="HL_Hit1")
    assert set(beyond["HL_Hit1"].values.values()) == {0}


def test_highlight_map_by_hand(tmp_path):
    # Four clips, order 2 0 1 3. Fair: annotator 1 has clips 0, 1 at ranks 2, 3: P 1/2, 2/3, interpolated 2/3 both;
    # annotators 2 and 3 have clip 1 at rank 3: 1/3.
    gt, pred = {1: [[0, 4]]}, {1: [[0, 4, 1]]}
    result = scored(tmp_path, gt, pred, MARKS, {1: [0.5, 0.4, 0.9, 0.1]}, duration=8, metrics="HL_mAP")
    assert result["HL_mAP"].values["fair"] == pytest.approx((2 / 3 + 1 / 3 + 1 / 3) / 3)
    assert result["HL_mAP"].values["verygood"] == pytest.approx((1 / 2 + 0 + 0) / 3)


def test_highlights_of_one_score():
    labels = np.array([[1.0], [1.0], [0.0], [1.0]])
    scores = np.array([0.9, 0.9, 0.5, 0.1])  # two at once with P 1, then one with P 3/4
    assert precision_of_ties(labels, scores, "recall").item() == pytest.approx((2 * 1 + 3 / 4) / 3)
    assert precision_of_ties(labels, scores, "scores").item() == pytest.approx((1 + 3 / 4) / 2)
    assert precision_of_ties(np.zeros((4, 1)), scores, "scores").item() == 0
    assert precision_of_ties(np.ones((4, 1)), scores, "scores").item() == 1


def test_clips_without_a_score_have_0(tmp_path):
    gt, pred = {1: [[0, 4]]}, {1: [[0, 4, 1]]}
    few = scored(tmp_path, gt, pred, MARKS, {1: [-1.0]}, duration=8, metrics="HL_mAP")
    same = scored(tmp_path, gt, pred, MARKS, {1: [-1.0, 0, 0, 0]}, duration=8, metrics="HL_mAP")
    assert few["HL_mAP"].values == same["HL_mAP"].values


def test_what_the_files_lack(tmp_path):
    gt, pred = {1: [[0, 4]]}, {1: [[0, 4, 1]]}
    result = scored(tmp_path, gt, pred, protocol="qvhighlights")
    assert list(result.scores) == ["MR_R1", "MR_mAP"]
    assert any("HL_mAP is left out: the references have no marks" in w for w in result.warnings)
    result = scored(tmp_path, gt, pred, MARKS, protocol="qvhighlights", duration=8)
    assert any("HL_mAP is left out: the predictions have no saliency" in w for w in result.warnings)
    with pytest.raises(InputError, match="clip 1 of a video of 1 clips of 2 s"):
        scored(tmp_path, gt, pred, MARKS, {1: [1.0]}, duration=3)


def test_windows_without_scores_stay_in_order(tmp_path):
    result = scored(tmp_path, {1: [[0, 40]]}, {1: [[0, 40], [60, 100]]}, metrics="MR_R1,MR_mAP")
    assert [s.value for s in result.scores.values()] == [1, 1]
    assert any("answers without a score" in w for w in result.warnings)


def test_windows_of_one_score_rank_by_start_and_not_by_the_file(tmp_path):
    gt = {1: [[0, 10]]}
    for pred in ([[50, 60, 0.5], [0, 10, 0.5]], [[0, 10, 0.5], [50, 60, 0.5]]):
        result = scored(tmp_path, gt, {1: pred}, metrics=["MR_R1", "MR_mAP"])
        assert (result["MR_R1"].value, result["MR_mAP"].value) == (1, 1)
        (said,) = (line for line in result.warnings if "one score" in line)
        assert said.startswith("1 queries give all their answers one score; they rank by start (order=file takes")
    listed = scored(tmp_path, gt, {1: [[50, 60, 0.5], [0, 10, 0.5]]}, metrics="MR_R1(order=file)")
    assert listed["MR_R1"].value == 0 and not any("one score" in line for line in listed.warnings)


def test_of_references_that_a_window_overlaps_equally_the_later_is_taken(tmp_path):
    # [0, 20] covers both halves; with the later one taken, [0, 10] finds its own
    pred = {1: [[0, 20, 0.9], [0, 10, 0.8]]}
    for windows in ([[0, 10], [10, 20]], [[10, 20], [0, 10]]):
        assert scored(tmp_path, {1: windows}, pred, metrics="MR_mAP(iou=0.5)")["MR_mAP"].values["map@0.5"] == 1
