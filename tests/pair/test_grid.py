"""Grids: many videos at once give what each gives alone."""

import numpy as np
import pytest

from fabula.data.stories import Event, Segment, Story
from fabula.pair.captions import Captions
from fabula.pair.grid import Grid
from fabula.pair.tiou import forward, tiou

WORDS = ["a", "b", "c", "a b", "d"]


def told(rng: np.random.Generator, n: int) -> Story:
    """Segments of all kinds, also reversed, empty and negative ones."""
    ends = rng.integers(-2, 12, (n, 2)).astype(float).tolist()
    return Story("v", tuple(Event(Segment(a, b), WORDS[rng.integers(len(WORDS))]) for a, b in ends))


@pytest.fixture
def pairs():
    rng = np.random.default_rng(5)
    return [(told(rng, rng.integers(0, 6)), told(rng, rng.integers(0, 14))) for _ in range(60)]


def joined(matrices):
    return np.concatenate([np.zeros(0), *(m.ravel() for m in matrices)]).tolist()


@pytest.mark.parametrize("eps", [0.0, 1e-8])
@pytest.mark.parametrize("raw", [False, True])
def test_iou_is_that_of_each_pair(pairs, eps, raw):
    grid = Grid.of(pairs)
    assert grid.iou(eps, raw).tolist() == joined(tiou(g.spans, p.spans, eps, raw) for g, p in pairs)
    swapped = joined(tiou(forward(g.spans), forward(p.spans), eps, raw) for g, p in pairs)
    assert grid.iou(eps, raw, swap=True).tolist() == swapped


def test_turned_is_the_transpose(pairs):
    grid = Grid.of(pairs)
    cells = np.arange(len(grid.pair), dtype=float)
    ends = np.cumsum(grid.shapes.prod(axis=1))[:-1]
    matrices = [m.reshape(s) for m, s in zip(np.split(cells, ends), grid.shapes, strict=True)]
    turned = np.empty_like(cells)
    turned[grid.turned()] = cells
    assert turned.tolist() == joined(m.T for m in matrices)


def test_sum(pairs):
    grid = Grid.of(pairs)
    cells = np.random.default_rng(6).random(len(grid.pair))
    chosen = cells > 0.5
    by_hand = [float(sum(cells[(grid.pair == n) & chosen].tolist())) for n in range(len(grid))]
    assert grid.sum(cells, chosen).tolist() == by_hand


def test_no_pairs():
    grid = Grid.of([])
    assert len(grid) == 0 and grid.iou().shape == (0,) and grid.sum(np.zeros(0), np.zeros(0, bool)).shape == (0,)


def score_pair(captions, g, p):
    """By the scorer itself. [G, P]"""
    if not (len(g) and len(p)):
        return np.zeros((len(g), len(p)))
    if captions.roles == "gold-as-hypothesis":
        scores = captions.scorer.pairs(g.captions, p.captions)
    else:
        scores = captions.scorer.pairs(p.captions, g.captions).T
    return scores[:, sorted(range(len(p)), key=str)] if captions.sorted_columns else scores


@pytest.mark.parametrize("sorted_columns", [False, True])
@pytest.mark.parametrize("roles", ["prediction-as-hypothesis", "gold-as-hypothesis"])
@pytest.mark.parametrize("scorer", ["exact", "meteor"])
def test_caption_scores_are_those_of_the_matrices(pairs, scorer, roles, sorted_columns):
    grid = Grid.of(pairs)
    captions = Captions(scorer, roles, "none", False, sorted_columns)
    whole = np.array(joined(score_pair(captions, g, p) for g, p in pairs))
    assert whole.tolist() == joined(captions.matrix(g, p) for g, p in pairs)
    assert captions.scores(grid, np.ones(len(grid.pair), bool)).tolist() == whole.tolist()
    wanted = np.random.default_rng(7).random(len(grid.pair)) > 0.5
    some = captions.scores(grid, wanted)
    assert some[wanted].tolist() == whole[wanted].tolist()
    if scorer == "meteor":  # the others cost next to nothing and may be scored
        assert not some[~wanted].any()
