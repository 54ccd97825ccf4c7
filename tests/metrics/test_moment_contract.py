"""What every metric of moments owes its user. A new file is tested by existing."""

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.core.rows import Rows
from fabula.data.moments import Query, Ranking, Saliency, VideoNumbers
from fabula.evaluate.rankings import Reading, moment_rows
from fabula.metrics import room
from fabula.metrics.moments import MomentMetric
from tests.metrics.test_contract import variants as all_variants

ALL = {cls.name: cls for cls in room.all() if issubclass(cls, MomentMetric)}
every = pytest.mark.parametrize("cls", ALL.values(), ids=ALL.keys())

RNG = np.random.default_rng(3)
NUMBERS = VideoNumbers({f"v{i}": i for i in range(4)})
SECONDS, CLIPS = 40.0, 20


def query(i: int) -> Query:
    start = float(RNG.integers(0, 20))
    end = start + float(RNG.integers(2, 18))
    clips = tuple(range(int(start // 2), int(start // 2) + 3))
    marks = tuple(tuple(float(m) for m in RNG.integers(0, 5, 3)) for _ in clips)
    return Query(i, f"v{i % 4}", ((start, end),), SECONDS, None, Saliency(clips, (*marks[:-1], (4.0, 4.0, 4.0))))


QUERIES = {i: query(i) for i in range(30)}


def guess(q: Query) -> Ranking:
    starts = RNG.integers(0, 25, 12).astype(float)
    spans = np.stack([starts, starts + RNG.integers(2, 15, 12)], axis=1)
    return Ranking(q.id, spans, RNG.permutation(12) / 12, RNG.integers(0, 4, 12), RNG.normal(size=CLIPS))


def answer(q: Query) -> Ranking:
    saliency = np.zeros(CLIPS)
    assert q.saliency is not None
    for clip, marks in zip(q.saliency.clips, q.saliency.marks, strict=True):
        saliency[clip] = sum(marks)
    return Ranking(q.id, np.array(q.windows), np.ones(1), np.array([NUMBERS[q.video]]), saliency)


GUESSES = [("", guess(q)) for q in QUERIES.values()]
ANSWERS = [("", answer(q)) for q in QUERIES.values()]


def variants(cls) -> list[MomentMetric]:
    return [m for m in all_variants(cls) if getattr(m, "clip", 2.0) > 1e-3]


def rows(metric, answers) -> Rows:
    return moment_rows([metric], QUERIES, answers, Reading(NUMBERS)).rows[metric]


@every
def test_fold_gives_its_fields(cls):
    for m in variants(cls):
        values = m.fold(rows(m, GUESSES))
        assert tuple(values) == m.fields == m.names()
        assert m.primary in m.fields
        assert all(type(v) is float and 0 <= v <= 1 for v in values.values()), (str(m), values)


@every
def test_rows_hold_the_fields_and_are_numbers(cls):
    table = rows(cls(), GUESSES)
    assert set(cls().fields) <= set(table.columns)
    assert all(np.isfinite(column).all() for column in table.columns.values())
    assert table.keys == tuple(QUERIES)


@every
def test_the_answers_cannot_be_beaten(cls):
    metric = cls()
    perfect = metric.fold(rows(metric, ANSWERS))
    assert perfect[cls().primary] >= metric.fold(rows(metric, GUESSES))[cls().primary]
    if cls.needs == "windows":
        assert {v for f, v in perfect.items() if not f.startswith("long")} == {1.0}


def test_clips_are_not_cut_to_dust():
    with pytest.raises(InputError, match="query 0: 40 s in clips of 1e-08 s"):
        rows(ALL["HL_mAP"](clip=1e-8), GUESSES)


@every
def test_no_answer_scores_0(cls):
    for nothing in ([], [("", Ranking(q, np.zeros((0, 2)))) for q in QUERIES]):
        metric = cls()
        found = moment_rows([metric], QUERIES, nothing, Reading(NUMBERS))
        assert metric in found.absent or set(metric.fold(found.rows[metric]).values()) == {0.0}


@every
def test_shards_fold_to_the_whole(cls):
    for m in variants(cls):
        whole = rows(m, GUESSES)
        shards = [whole.take(range(start, len(whole), 3)) for start in range(3)]
        joined = Rows.of((row for shard in shards for row in shard.dicts()), unit="query")
        assert m.fold(joined) == pytest.approx(m.fold(whole), abs=1e-12)


@every
def test_the_order_of_rankings_does_not_matter(cls):
    metric = cls()
    assert metric.fold(rows(metric, GUESSES[::-1])) == metric.fold(rows(metric, GUESSES))
