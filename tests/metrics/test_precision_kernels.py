"""Average precision by the kernels: to the last bit what numpy makes of the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fabula import _kernels
from fabula.data.moments import Query, Ranking, Saliency, VideoNumbers
from fabula.metrics import metric
from fabula.metrics.moments import Block
from fabula.metrics.moments.hl import LEVELS
from fabula.metrics.precision import (
    precision_of_clips,
    precision_of_clips_python,
    precision_of_windows,
    precision_of_windows_python,
)
from tests.metrics.oracles import highlight

needs_kernels = pytest.mark.skipif(_kernels.NATIVE is None, reason="no compiled kernels here")
TAUS = (0.0, 0.3, 0.5, 0.7, 0.95)


@needs_kernels
@pytest.mark.parametrize("P", [0, 1, 2, 7, 8, 10, 17, 128, 129, 300])
@pytest.mark.parametrize("W", [0, 1, 2, 5])
def test_windows(P: int, W: int) -> None:
    draw = np.random.default_rng(P * 10 + W)
    for coarse in (False, True):
        iou = draw.random((20, P, W))
        iou = np.round(iou, 1) if coarse else iou  # many ties
        iou[draw.random(iou.shape) < 0.2] = -1.0
        iou[draw.random(iou.shape) < 0.02] = np.nan
        iou[draw.random(iou.shape) < 0.02] = np.inf
        given, there = draw.random((20, P)) < 0.8, draw.random((20, W)) < 0.7
        found, wanted = (f(iou, given, there, TAUS) for f in (precision_of_windows, precision_of_windows_python))
        assert found.tolist() == wanted.tolist()


@needs_kernels
@pytest.mark.parametrize("A", [1, 2, 3, 8, 11])
@pytest.mark.parametrize("steps", ["recall", "scores"])
def test_clips(A: int, steps: str) -> None:
    draw = np.random.default_rng(A)
    for decimals in (0, 1, 12):
        counts = draw.integers(0, 90, 60)
        marks = draw.integers(0, 5, (counts.sum(), A)).astype(np.float64)
        marks[: counts[:5].sum()] = 4.0  # nothing but highlights
        scores = np.round(draw.normal(size=len(marks)), decimals)
        levels = list(LEVELS.values())
        found, wanted = (
            f(marks, scores, counts, levels, steps) for f in (precision_of_clips, precision_of_clips_python)
        )
        assert found.tolist() == wanted.tolist()


def test_scores_that_are_no_numbers_are_left_to_numpy() -> None:
    marks, counts = np.full((4, 2), 4.0), np.array([4])
    scores = np.array([0.5, np.inf, 0.3, 0.1])
    found = precision_of_clips(marks, scores, counts, [2.0], "recall")
    assert found.tolist() == precision_of_clips_python(marks, scores, counts, [2.0], "recall").tolist()


@needs_kernels
def test_what_does_not_fit_is_refused() -> None:
    kernels = _kernels.NATIVE
    assert kernels is not None
    marks, scores, counts = np.zeros((4, 2)), np.zeros(4), np.array([4])
    for wrong in (
        (marks[:, :1], scores, counts),
        (marks, scores[1:], counts),
        (marks, scores, counts - 1),
        (marks, scores, np.array([5, -1])),
        (marks, scores + np.nan, counts),
    ):
        with pytest.raises(ValueError, match=r"annotators|fit together|negative|finite"):
            kernels.clip_precision(*wrong, [2.0], True)
    iou, given, there = np.zeros((2, 3, 4)), np.zeros((2, 3), bool), np.zeros((2, 4), bool)
    for odd in ((iou, given[1:], there), (iou, given, there[:, 1:]), (iou, there, given)):
        with pytest.raises(ValueError, match="fit together"):
            kernels.window_precision(*odd, [0.5])


@pytest.mark.parametrize("name", ["HL_mAP", "HL_mAP(steps=scores)", "HL_Hit1", "HL_Hit1(clip=4)"])
def test_many_queries_are_scored_as_each_alone(name: str) -> None:
    draw = np.random.default_rng(5)
    queries, rankings = [], []
    for q in range(60):
        clips = tuple(int(c) for c in draw.integers(0, 10, draw.integers(0, 6)))  # some twice: the last marks count
        marks = tuple(tuple(map(float, draw.integers(0, 5, 1 + q % 3))) for _ in clips)
        duration = 1.0 if not clips and q % 2 else 40.0  # shorter than a clip: nothing to judge
        queries.append(Query(q, "v", ((0.0, 4.0),), duration, None, Saliency(clips, marks)))
        saliency = None if q % 7 == 3 else np.round(draw.random(draw.integers(0, 30)), 1)
        rankings.append(Ranking(q, np.zeros((0, 2)), None, None, saliency))
    own, levels = metric(name), list(LEVELS.items())
    found = own.units(Block.of_rankings(queries, rankings, VideoNumbers({"v": 0})))
    for q, (query, ranking) in enumerate(zip(queries, rankings, strict=True)):
        C = int(query.duration / own.clip)
        marks = np.zeros((C, len(query.saliency.marks[0]) if query.saliency.marks else 1))
        for clip, row in zip(query.saliency.clips, query.saliency.marks, strict=True):
            marks[clip] = row
        judged = ranking.saliency is not None and len(ranking.saliency) and C
        wanted = [highlight(own, (marks >= least) * 1.0, ranking.saliency) if judged else 0.0 for _, least in levels]
        assert [found[level][q] for level, _ in levels] == wanted
