"""The kernels of moments against their Python twins, on rankings that are anything but well-behaved."""

import numpy as np
import pytest

from fabula import _kernels
from fabula.benchmarks.tvr.predictions import Known, translate_python
from fabula.data.moments import Query, Rankings, VideoNumbers
from fabula.evaluate.rankings import oddities, oddities_python
from fabula.metrics import metric
from fabula.metrics.moments import Block

pytestmark = pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
GRID = np.round(np.arange(0, 6, 0.1), 1)  # many overlaps fall exactly on a threshold


def block(seed: int) -> Block:
    rng = np.random.default_rng(seed)
    numbers = VideoNumbers({v: i for i, v in enumerate("abc")})
    queries = [
        Query(
            i, str(rng.choice(list("abc"))), tuple(map(tuple, rng.choice(GRID, (int(rng.integers(1, 6)), 2)).tolist()))
        )
        for i in range(int(rng.integers(0, 30)))
    ]
    counts = rng.integers(0, 12, len(queries))
    answers = rng.choice(GRID, (int(counts.sum()), 4))  # a column is a view, as a reader has it
    answers[rng.random(len(answers)) < 0.05] = 1e39  # infinite as float32
    scores = np.where(rng.random(len(answers)) < 0.02, np.nan, np.round(rng.random(len(answers)), 1))
    videos = rng.integers(0, 3, len(answers))
    given = Rankings([q.id for q in queries], counts, answers[:, 1:3], None if seed % 5 == 0 else scores, videos)
    return Block.of_answers(queries, given, numbers)


SPECS = [
    "VCMR",
    "SVMR",
    "VCMR(cast=float32,iou=0/0.3/0.5/0.7)",
    "SVMR(cast=float32,top=3,k=1/2)",
    "VCMR(cmp=>,agree=1,top=5)",
    "VCMR(agree=3,agree_from=2)",
]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")
def test_the_first_right_answer(spec, seed):
    wanted = metric(spec)
    with _kernels.using("native"):
        fast = wanted.units(block(seed))
    with _kernels.using("python"):
        slow = wanted.units(block(seed))
    assert list(fast) == list(slow)
    for name in fast:
        np.testing.assert_array_equal(fast[name], slow[name], err_msg=name)


@pytest.mark.parametrize("seed", range(25))
def test_what_is_odd(seed):
    some = block(seed)
    with _kernels.using("native"):
        fast = oddities(some)
    assert [x.tolist() for x in fast] == [x.tolist() for x in oddities_python(some)]


@pytest.mark.parametrize("seed", range(25))
def test_numbers_of_videos(seed):
    rng = np.random.default_rng(seed)
    theirs = np.unique(rng.integers(-5, 20, int(rng.integers(1, 25))))
    known = Known(theirs, rng.permutation(len(theirs)))
    good = rng.choice(theirs, (50, 2)).astype(float)[:, 0]
    with _kernels.using("native"):
        assert known.translate(good).tolist() == translate_python(good, theirs, known.ours).tolist()
        for bad in (0.5, -6.0, 20.0, 1e300, float("nan"), *sorted(set(range(20)) - set(theirs.tolist()))):
            mixed = np.append(good, bad)
            assert known.translate(mixed) is None
            assert translate_python(mixed, theirs, known.ours) is None
    assert translate_python(good, theirs[:0], known.ours[:0]) is None


def test_columns_that_do_not_fit_are_refused():
    some = block(1)
    with pytest.raises(ValueError, match="do not fit"):
        _kernels.NATIVE.oddities(some.counts[1:], some.spans, some.listed_scores)
