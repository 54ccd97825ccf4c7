"""SODA as a product: the identity, the chain of bounds, and each factor on a story that lacks that one thing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabula.core.errors import SpecError
from fabula.data.stories import Event, Segment, Story
from fabula.diagnosis import factors
from fabula.diagnosis._assignment import assignment, assignment_many
from fabula.diagnosis.factors import find_bounds
from fabula.match import hungarian
from fabula.match.ordered import ordered
from fabula.metrics import metric
from fabula.pair.grid import Grid
from tests.toys import GOLD_STORIES, PREDICTED_STORIES, corpus, fold

EXACT = "SODA_c(text=exact,tok=none)"
UNIT = st.floats(0, 1, allow_subnormal=False)
SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 6))


@given(SHAPES.flatmap(lambda s: arrays(float, s, elements=UNIT)))
def test_assignment_is_scipys(C):
    value, pairs = assignment(C)
    assert value == pytest.approx(hungarian(C)[0])
    assert len(pairs) == min(C.shape) == len({i for i, _ in pairs}) == len({j for _, j in pairs})
    assert value == pytest.approx(sum(C[i, j] for i, j in pairs))


@pytest.mark.parametrize("ties", [False, True])
def test_assignments_of_many_matrices(ties, kernels):
    chance = np.random.default_rng(3)
    some = [chance.random(chance.integers(0, 8, 2)) for _ in range(300)]
    some = [np.round(C, 1) * (chance.random(C.shape) < 0.6) - 0.2 if ties else C for C in some]
    shapes = np.array([C.shape for C in some])
    values, chosen = assignment_many(np.concatenate([C.ravel() for C in some]), shapes)
    start = 0
    for C, value in zip(some, values.tolist(), strict=True):
        at = np.argwhere(chosen[start : start + C.size].reshape(C.shape))
        assert (value, [tuple(pair) for pair in at.tolist()]) == assignment(C)  # of equals the same, to the last digit
        start += C.size


def test_assignment_of_nothing():
    assert assignment(np.zeros((0, 3))) == (0.0, []) == assignment(np.zeros((2, 0)))


def bounds_of_one(iou, captions):
    """n, L, W, S of one video as the file has the equations."""

    def exchanged(pairs):
        weight = np.array([iou[g, p] for g, p in pairs])
        return assignment(weight[:, None] * captions[[g for g, _ in pairs]])[0]

    C, share = iou * captions, 2 / sum(iou.shape)
    (L, by_iou), (U, by_both) = assignment(iou), assignment(C)
    W = max(U, exchanged(by_iou), exchanged(by_both))
    return {"n": min(iou.shape) * share, "L": L * share, "W": min(W, L) * share, "S": ordered(C)[0] * share}


def test_many_videos_have_the_bounds_of_each():
    chance = np.random.default_rng(7)
    videos = [chance.random((2, *chance.integers(1, 7, 2))) for _ in range(60)]
    grid = Grid.of([tuple(Story("v", (Event(Segment(0, 1)),) * n) for n in iou.shape) for iou, _ in videos])
    found = find_bounds(
        grid, *(np.concatenate([side.ravel() for side in sides]) for sides in zip(*videos, strict=True))
    )
    for n, (iou, captions) in enumerate(videos):
        assert {name: column[n] for name, column in found.items()} == pytest.approx(bounds_of_one(iou, captions))


@given(SHAPES.flatmap(lambda s: st.tuples(*[arrays(float, s, elements=UNIT)] * 2)))
def test_the_chain_never_rises_and_ends_at_f1(matrices):
    iou, captions = matrices
    b = bounds_of_one(iou, captions)
    slack = 1e-9
    assert 1 + slack >= b["n"] >= b["L"] - slack and b["L"] >= b["W"] - slack and b["W"] >= b["S"] - slack
    assert b["S"] == pytest.approx(2 * ordered(iou * captions)[0] / sum(iou.shape))


@pytest.mark.parametrize(
    "asked", ["SODA_c", "SODA_d", "SODA_c(missing=drop)", "SODA_c(text=rouge,refs=merged)", "SODA_d(refs=best)"]
)
def test_the_product_is_the_score(asked):
    refs = [corpus(GOLD_STORIES), corpus({"v_a": GOLD_STORIES["v_a"][1:], "v_b": GOLD_STORIES["v_a"]})]
    pred = corpus(PREDICTED_STORIES)
    seen = factors(metric(asked), refs, pred)
    assert seen.product == pytest.approx(fold(asked, refs, pred)["f1"], abs=1e-12)
    assert all(0 <= x <= 1 + 1e-12 for x in seen.to_dict().values())


REF = [(0, 10, "a"), (20, 30, "b")]


@pytest.mark.parametrize(
    ("pred", "expected"),
    [
        (REF, (1, 1, 1, 1)),
        ([*REF, (50, 60, "c"), (70, 80, "d")], (4 / 6, 1, 1, 1)),  # count: 2·2/(2 + 4)
        ([(0, 5, "a"), (20, 25, "b")], (1, 0.5, 1, 1)),  # localisation: both IoU ½
        ([(0, 10, "a"), (20, 30, "z")], (1, 1, 0.5, 1)),  # captions: one of two is right
        ([(0, 10, "b"), (20, 30, "a")], (1, 1, 1, 0)),  # order: right words, wrong places
        ([], (0, 0, 0, 0)),
    ],
)
def test_one_thing_lacking(pred, expected):
    seen = factors(metric(EXACT), [corpus({"v": REF})], corpus({"v": pred}))
    assert (seen.count, seen.localisation, seen.captions, seen.order) == pytest.approx(expected)


def test_crossing_events_are_a_matter_of_order():
    """References 0–100 and 10–30 told as 9–31 and 10–110: one to one both fit, in order only one."""
    refs, pred = corpus({"v": [(0, 100), (10, 30)]}), corpus({"v": [(9, 31), (10, 110)]})
    seen = factors(metric("SODA_d"), [refs], pred)
    assert seen.count == seen.captions == 1 and seen.order < 1
    assert seen.localisation == pytest.approx((90 / 110 + 20 / 22) / 2)


def test_only_where_pairs_and_sum_are_one_matrix():
    for asked in ("SODA_b", "SODA_a", "PRF"):
        with pytest.raises(SpecError, match="SODA_c and SODA_d are"):
            factors(metric(asked), [corpus({"v": REF})], corpus({"v": REF}))
