"""What a result keeps for whoever draws it: bounded, and judged as the metrics judge."""

import numpy as np
import pytest

import fabula
from fabula.data.moments import Query, Ranking, Rankings, VideoNumbers
from fabula.data.regions import Picture
from fabula.evaluate.kept import FIRST, SUREST, Answers, cut_picture, cut_rankings, values_of
from tests.moment_toys import iou, lines, tvr_predictions, tvr_queries

RNG = np.random.default_rng(0)


def test_answers_have_their_overlap_with_the_window_they_fit_best(tmp_path):
    windows = [[2.0, 8.0], [20.0, 31.0]]
    queries = tvr_queries(tmp_path / "q.jsonl", {1: ("kitchen", windows), 2: ("garden", [0, 5])})
    rows = [[int(v), *sorted(s), 0.5] for v, s in zip(RNG.integers(0, 2, 30), RNG.uniform(0, 40, (30, 2)), strict=True)]
    preds = tvr_predictions(tmp_path / "p.json", VCMR={1: rows})
    kept = fabula.score(preds, queries, task="moments", metrics="VCMR").kept
    found = kept.judge(kept.queries[1], kept.find("VCMR", 1))
    assert len(found) == FIRST and kept.find("VCMR", 2) is None
    for (video, start, end, _), answer in zip(rows, found, strict=False):
        best = max(iou((start, end), w) for w in windows) if video == 0 else 0.0
        assert answer.iou == pytest.approx(best) and answer.video == (None if video == 0 else "garden")
        if best:
            assert iou((start, end), windows[answer.window]) == pytest.approx(best)


def test_a_stream_passes_whole_and_its_heads_stay():
    counts = np.array([3, 25, 0, 12])
    some = Rankings([1, 2, 3, 4], counts, RNG.random((40, 2)), RNG.random(40), RNG.integers(0, 9, 40))
    for whole, head in zip(some, cut_rankings(some), strict=True):
        assert np.array_equal(head.spans, whole.spans[:FIRST]) and np.array_equal(head.videos, whole.videos[:FIRST])
        assert np.array_equal(head.scores, whole.scores[:FIRST])
    query = Query(7, "v", ((0.0, 1.0),))
    long = Ranking("7", RNG.random((500, 2)))
    kept = Answers({7: query}, VideoNumbers())
    assert [r for _, r in kept.tap([("", long)])] == [long]
    assert len(kept.find("", 7)) == FIRST  # text here, a number there
    assert kept.find("", 7).spans.base is None  # the rest can be forgotten


def test_the_surest_detections_are_judged_as_among_all(tmp_path):
    boxes = RNG.uniform(5, 100, (300, 4))
    many = {"image_id": "1", "boxes": boxes.tolist(), "captions": ["a"] * 300, "scores": RNG.random(300).tolist()}
    refs = {"image_id": "1", "boxes": (boxes[:40] + 3).tolist(), "captions": ["a b"] * 40}
    files = lines(tmp_path / "p.jsonl", [many]), lines(tmp_path / "r.jsonl", [refs])
    result = fabula.score(*files, task="regions")
    golds, claims = result.kept.judge(result, "DenseCap_mAP", "1")
    rows = result.rows["DenseCap_mAP"]
    assert len(claims) == SUREST and len(golds) == rows["references"][0]
    assert [c.score for c in claims] == sorted(many["scores"], reverse=True)[:SUREST]
    for d, claim in enumerate(claims):
        assert claim.first == bool(rows["ok"][0, d]) and claim.iou == pytest.approx(rows["iou"][0, d])
        assert claim.meteor is None or claim.meteor == rows["meteor"][0, d]
    picture = Picture("1", boxes, tuple(map(str, range(300))), np.array(many["scores"]))
    cut = cut_picture(picture)
    assert [int(c) for c in cut.captions] == np.argsort(-picture.scores, kind="stable")[:SUREST].tolist()


def test_blanks_are_right_in_the_pairs_that_the_metric_counts(tmp_path):
    truth = {"a": ["P1", "P2", "P1", "P3"], "b": ["P1", "P1"]}
    given = {"a": ["P1", "P1", "P1", "P2"], "b": ["P1", "_"]}

    def told(side):
        return [{"id": id, "blanks": [[who] for who in ids]} for id, ids in side.items()]

    files = lines(tmp_path / "p.jsonl", told(given)), lines(tmp_path / "r.jsonl", told(truth))
    result = fabula.score(*files, task="identity", metrics="FITB")
    rows = result.rows["FITB"]
    for i, id in enumerate(rows.keys):
        blanks = result.kept.judge(result, "FITB", id)
        right = rows["same_right"][i] + rows["different_right"][i]
        assert sum(b.right for b in blanks) == 2 * right  # a pair is seen from both ends
        assert sum(b.pairs for b in blanks) == 2 * (rows["same_pairs"][i] + rows["different_pairs"][i])
    assert [b.given for b in result.kept.judge(result, "FITB", "b")] == ["P1", None]


def test_a_number_for_every_unit(tmp_path):
    refs = [{"image_id": str(k), "boxes": [[0, 0, 9, 9]], "captions": ["a dog"]} for k in range(3)]
    preds = [{"image_id": str(k), "boxes": [[0, 0, 9, 9]], "captions": [c], "scores": [1]} for k, c in enumerate("ab")]
    preds[0]["captions"] = ["a dog"]
    result = fabula.score(lines(tmp_path / "p.jsonl", preds), lines(tmp_path / "r.jsonl", refs), task="regions")
    field, values = values_of(result, "DenseCap_mAP")
    assert field == "map" and values == pytest.approx({"0": 1.0, "1": 0.0, "2": 0.0})
