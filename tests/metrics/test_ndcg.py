"""NDCG of graded moments: against numbers of the published function, and a pencil."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula.data.moments import Moment, Query, Ranking, Relevant, VideoNumbers
from fabula.metrics import metric
from fabula.metrics.moments import Block


def vectors() -> list[Any]:
    above = (p / "shared" / "spec" / "vectors-2026" / "rvmr_ndcg.json" for p in Path(__file__).resolve().parents)
    found = next((p for p in above if p.is_file()), None)
    return json.loads(found.read_text(encoding="utf-8"))["cases"] if found else []


@pytest.mark.parametrize("case", vectors(), ids=lambda c: c["name"])
def test_numbers_of_the_published_function(case: Any, tmp_path: Path) -> None:
    expected = case["out[K][T]"]
    if "raises" in expected:
        pytest.skip("the published function ends with an error; here an unknown query is a note")
    (tmp_path / "refs.json").write_text(json.dumps(case["ground_truth"]))
    (tmp_path / "preds.json").write_text(json.dumps(case["predictions"]))
    k, iou = "/".join(map(str, case["K"])), "/".join(map(str, case["T"]))
    spec = f"NDCG(k={k},iou={iou},missing=drop)"
    found = fabula.score(tmp_path / "preds.json", tmp_path / "refs.json", task="moments", metrics=spec)["NDCG"].values
    for K, by in expected.items():
        for T, value in by.items():
            assert found[f"ndcg{K}@{T}"] == pytest.approx(value, abs=1e-12), (K, T)


def test_by_hand() -> None:
    """A query that nobody answers counts as 0 unless dropped; without grades windows have grade 1."""
    numbers = VideoNumbers()
    graded = Query(1, "a", ((0.0, 10.0),), graded=(Relevant("a", (0.0, 10.0), 1), Relevant("b", (0.0, 10.0), 3)))
    plain = Query(2, "a", ((0.0, 10.0),))
    found = Ranking.of(1, [Moment(0, 10, "a"), Moment(0, 9, "b"), Moment(0, 10, "b")], numbers)
    block = Block.of_rankings([graded, plain], [found, Ranking.of(2, [Moment(0, 10, "a")], numbers)], numbers)
    ndcg = metric("NDCG(k=2,iou=0.5/0.95)")
    columns = ndcg.units(block)
    best = 7 / 1 + 1 / 1.584962500721156
    assert columns["ndcg2@0.5"] == pytest.approx([(1 + 7 / 1.584962500721156) / best, 1.0])
    assert columns["ndcg2@0.95"] == pytest.approx([1 / best, 1.0])
    silent = Block.of_rankings([plain], [None], numbers)
    assert ndcg.units(silent)["ndcg2@0.5"] == [0.0]


def test_of_equal_overlaps_the_best_grade_then_the_start_decides() -> None:
    """[0, 20] covers [0, 10] and [10, 20] alike; whichever it takes, [0, 10] after it gets what is left."""
    numbers = VideoNumbers()
    found = Ranking.of(1, [Moment(0, 20, "a"), Moment(0, 10, "a")], numbers)
    early, late = Relevant("a", (0.0, 10.0), 2), Relevant("a", (10.0, 20.0), 2)
    by_hand = {"start": 3.0, "file": 3 + 3 / 1.584962500721156}  # with late taken first, early is free for the second
    best = 3 + 3 / 1.584962500721156
    for ties, gained in by_hand.items():
        query = Query(1, "a", ((0.0, 10.0),), graded=(late, early))
        block = Block.of_rankings([query], [found], numbers)
        assert metric(f"NDCG(k=2,iou=0.4,ties={ties})").units(block)["ndcg2@0.4"] == pytest.approx([gained / best])
        turned = Block.of_rankings([query._replace(graded=(early, late))], [found], numbers)
        assert metric(f"NDCG(k=2,iou=0.4,ties={ties})").units(turned)["ndcg2@0.4"] == pytest.approx([3.0 / best])
