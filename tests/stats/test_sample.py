"""A resample is a weight for each video; the fast path and the fold itself agree."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import fabula
from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.data.stories import Item
from fabula.metrics import metric, room
from fabula.metrics.captions import Items
from fabula.metrics.stories import StoryMetric
from fabula.stats import Mean, Sample, bootstrap, randomisation, samples
from fabula.stats.bootstrap import draws, interval, jackknife
from fabula.stats.resampling import Resampling
from tests.stats.made import skewed, table
from tests.toys import corpus, rows

REFS = [
    corpus({f"v{i}": [(0, 10, "a dog runs"), (12, 20 + i, "it stops")] for i in range(6)}),
    corpus({f"v{i}": [(0, 9 + i, "a dog walks")] for i in range(1, 6)}),
]
PRED = corpus({f"v{i}": [(0, 8 + i, "a dog runs off"), (15, 19, "it stops")] for i in range(5)})
WORDS = ["a dog runs in the park", "the old man reads", "she stirs the soup slowly", "a boat leaves the harbour"]
ITEMS = [Item(i, f"{WORDS[i % 4]} again", (WORDS[i % 4], WORDS[(i + 1) % 4])) for i in range(9)]


class Slow:
    """The same metric without its totals."""

    def __init__(self, made):
        self.fold, self.primary = made.fold, made.primary

    def sums(self, rows):
        return None


def test_all_rows_of_a_video_come_along():
    rows = Rows.of([{"video": v, "refset": k, "value": x} for v, k, x in [("a", 0, 1.0), ("a", 1, 0.0), ("b", 0, 0.5)]])
    for folding in (Mean(), Mean(plain=True)):
        sample = Sample.of(rows, folding)
        assert sample.value == (0.75 + 0.0) / 2
        # set 0: (2·1 + 0.5)/3, set 1: 0 · then only b: set 1 is not drawn and does not count
        assert sample.under(np.array([[2.0, 1.0], [0.0, 2.0]])) == pytest.approx([(2.5 / 3 + 0) / 2, 0.5])


STORIES = [
    m
    for cls in room.all()
    if issubclass(cls, StoryMetric) and set(cls.tasks) & {"dense", "procedure"}
    for m in [cls(**{k: v for k, v in {"text": "exact", "tok": "none"}.items() if k in cls.defaults()})]
    if "METEOR" not in m.name and not m.uses_llm
] + [metric("PRF(f1=means)"), metric("PRF(f1=levels)@0.3/0.7"), metric("SODA_d(missing=drop)")]


@pytest.mark.parametrize("made", STORIES, ids=str)
def test_the_fast_path_is_the_fold_of_stories(made):
    found = rows(made, REFS, PRED)
    fast, slow = Sample.of(found, made), Sample.of(found, Slow(made))
    if fast.totals is None:
        pytest.skip(f"{made.name} folds every resample")
    W = next(draws(len(fast.videos), 20, seed=3))
    assert fast.under(W) == pytest.approx(slow.under(W), abs=1e-12)
    assert fast.value == slow.value == made.fold(found)[made.primary]


CAPTIONS = [m for m in (cls() for cls in room.all() if cls.reads == "captions") if "spice" not in m.name.lower()]
CAPTIONS = [m for m in CAPTIONS if not m.uses_llm]


@pytest.mark.parametrize("made", [*CAPTIONS, metric("METEOR(agg=mean)")], ids=str)
def test_the_fast_path_is_the_fold_of_captions(made):
    found = made.table(Items(ITEMS))
    fast, slow = Sample.of(found, made), Sample.of(found, Slow(made))
    assert fast.totals is not None
    W = next(draws(len(fast.videos), 20, seed=3))
    assert fast.under(W) == pytest.approx(slow.under(W), abs=1e-12)


def test_the_slow_path_gives_the_same_draws_jackknife_and_p():
    rng = np.random.default_rng(1)
    a, b = table(skewed(rng, 20)), table(skewed(rng, 20))
    fast = samples([(a, Mean()), (b, Mean())])
    slow = samples([(a, Mean(plain=True)), (b, Mean(plain=True))])
    assert bootstrap(fast, 30, seed=2) == pytest.approx(bootstrap(slow, 30, seed=2))
    assert jackknife(fast[0]) == pytest.approx(jackknife(slow[0]))
    assert randomisation(*fast, trials=99, seed=4) == randomisation(*slow, trials=99, seed=4)


def test_a_seed_is_an_argument_and_blocks_do_not_show(monkeypatch):
    sample = Sample.of(table(skewed(np.random.default_rng(1), 30)), Mean())
    whole = bootstrap([sample], 50, seed=5)
    monkeypatch.setattr(importlib.import_module("fabula.stats.bootstrap"), "CELLS", 7 * 30)
    assert bootstrap([sample], 50, seed=5) == pytest.approx(whole, rel=1e-14)  # a sum may round otherwise
    assert (bootstrap([sample], 50, seed=6) != whole).any()


def test_what_cannot_be_resampled_is_said():
    with pytest.raises(SpecError, match="no rows"):
        Sample.of(Rows.of([]), Mean())
    a, b = (Sample.of(table(np.ones((n, 1))), Mean()) for n in (2, 3))
    with pytest.raises(SpecError, match=r"stats\.samples"):
        bootstrap([a, b], 10)
    with pytest.raises(SpecError, match="at least 1"):
        bootstrap([a], 0)


def test_missing_drop_pairs_over_all_videos():
    """A system that left a video out is folded over its own; the draw may still hold the video."""
    seen = fabula.compare(
        {"a": PRED, "b": REFS[0]}, REFS[0], metrics=["SODA_d(missing=drop)"], resamples=200, task="procedure"
    )
    line = seen["SODA_d"]
    assert seen.videos == 6 and line.values["b"] == 1
    assert line.values["a"] == fabula.score(PRED, REFS[0], metrics="SODA_d(missing=drop)")["SODA_d"].value


def listed(told, order):
    return replace(told, stories={v: told[v] for v in order})


@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_the_order_of_videos_does_not_show(test):
    """Twelve videos: 2^12 exchanges are more than are tried, so that the seed decides."""
    rng = np.random.default_rng(3)
    told = {f"v{i}": [(0, 10 + i, "a dog runs"), (12 + i, 30, "it stops")] for i in range(12)}
    first, second = ({v: [(a, b * w, c) for a, b, c in s] for v, s in told.items()} for w in (0.9, 0.7))
    corpora = [corpus(d) for d in (told, first, second)]
    how = {"metrics": ["SODA_d", "mIoU", "PRF(f1=levels)"], "task": "procedure"}

    def found(order):
        refs, a, b = (listed(c, order) for c in corpora)
        ci = fabula.score(a, refs, ci=Resampling(resamples=300), **how)
        seen = fabula.compare({"a": a, "b": b}, refs, test=test, resamples=300, **how)
        duels = [[(d.interval, d.p, d.p_holm) for d in line.duels] for line in seen.lines.values()]
        return [s.ci for s in ci.scores.values()], duels, [line.intervals for line in seen.lines.values()]

    videos = list(told)
    assert found(videos) == found(videos[::-1]) == found(rng.permutation(videos).tolist())


def test_rows_of_any_key_have_an_order():
    rng = np.random.default_rng(2)
    keys = [3, "3", 20, "v", ("a", 1), ("a", "b"), *range(30, 40)]
    drawn, x = [keys[i % len(keys)] for i in range(48)], rng.random(48)
    rows = Rows(tuple(range(48)), np.arange(48) % 3 // 2, {"value": x}, "query", tuple(drawn))
    moved = rows.take(rng.permutation(48))
    for folding in (Mean(), Mean(plain=True)):
        a, b = Sample.of(rows, folding), Sample.of(moved, folding)
        assert a.videos == b.videos and (bootstrap([a], 50) == bootstrap([b], 50)).all()
        assert (jackknife(a) == jackknife(b)).all() and interval(a, resamples=99) == interval(b, resamples=99)
