"""Many sentences at once: what the kernels count over numbered rows is what the readable twins count one by one."""

from __future__ import annotations

import random
from threading import Thread

import numpy as np
import pytest

from fabula import _kernels
from fabula.text import _told, bleu, cider, meteor, rouge

pytestmark = pytest.mark.skipif(_kernels.NATIVE is None, reason="no compiled kernels here")

WORDS = [
    "a",
    "the",
    "man",
    "woman",
    "dog",
    "cat",
    "runs",
    "sits",
    "on",
    "in",
    "red",
    "blue",
    "'s",
    "n't",
    "-lrb-",
    "é",
    "犬",
    "x�y",
    "1",
    "2",
]
ODD = ["", " ", "  a  b ", "a\u00a0b c", "a\u3000b", "\x1c a\x85b", "a a a a a a a", "a\nb\tc", "one"]


def draw_items(seed: int, count: int = 300, most: int = 4) -> tuple[list[str], list[list[str]]]:
    chance = random.Random(seed)

    def sentence() -> str:
        if chance.random() < 0.1:
            return chance.choice(ODD)
        return " ".join(chance.choices(WORDS, k=chance.choice([1, 3, 8, 15, 70])))

    pool = [sentence() for _ in range(count)]
    return [chance.choice(pool) for _ in range(count)], [
        chance.choices(pool, k=chance.randint(1, most)) for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threads", ["1", "3"])
def test_kernels_and_twins_count_alike(seed: int, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_THREADS", threads)
    candidates, references = draw_items(seed)
    items, groups = list(zip(candidates, references, strict=True)), [k // 7 for k in range(len(candidates))]
    idf = cider.Idf.from_references(references[:100])
    documents = cider.Documents(references[:100])

    def count() -> list[np.ndarray]:
        stats = bleu.stats_many(candidates, references)
        return [
            stats,
            bleu.segments(stats),
            bleu.segments(np.cumsum(stats, axis=0)),
            rouge.scores(candidates, references),
            np.array(cider.scores(items, idf)),
            np.array(cider.scores(items, documents)),
            np.array(cider.scores_within(items, groups)),
            np.array(cider.scores_within(items, cider.corpus_scope(len(items)))),
        ]

    fast = count()
    with _kernels.using("python"):
        slow = count()
    for k, (a, b) in enumerate(zip(fast, slow, strict=True)):
        if k < 4:
            assert np.array_equal(a, b)
        else:
            assert a == pytest.approx(b, abs=1e-12, rel=1e-12)
    assert fast[4] == pytest.approx(fast[5], abs=0)


def test_a_memory_that_is_full_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_told, "LIMIT", 40)
    monkeypatch.setattr(_told, "shared", _told.Memory())
    candidates, references = draw_items(9, 60)
    documents = cider.Documents(references[:20])
    items = list(zip(candidates, references, strict=True))
    at_once, parts = cider.scores(items, documents), []
    for k in range(0, 60, 5):
        parts += cider.scores(items[k : k + 5], documents)
    assert parts == at_once
    assert len(documents.memory.numbers) <= 40 + len(documents.memory.keep) or len(documents.memory.numbers) < 60


def test_sentences_told_from_several_threads() -> None:
    wanted = [bleu.stats_many(*draw_items(seed)) for seed in range(6)]
    found: dict[int, np.ndarray] = {}

    def work(seed: int) -> None:
        found[seed] = bleu.stats_many(*draw_items(seed))

    crew = [Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert all(np.array_equal(found[seed], wanted[seed]) for seed in range(6))


def test_statistics_of_many_pairs_score_as_those_of_one() -> None:
    candidates, references = draw_items(3, 80)
    found = meteor.table(candidates, references)
    assert found.scores.tolist() == [meteor.score_of(tuple(row)) for row in found.stats.tolist()]
    assert meteor.scores_of(found.stats).tolist() == found.scores.tolist()
    rows = [meteor.Segment(tuple(s), x) for s, x in zip(found.stats.tolist(), found.scores.tolist(), strict=True)]
    summed = meteor.without_perfect_chunks(found.stats).sum(axis=0, keepdims=True)
    assert meteor.scores_of(summed)[0] == meteor.aggregate(rows)


def test_pairs_that_are_asked_for_again_score_the_same() -> None:
    candidates, references = draw_items(5, 40)
    first = meteor.table(candidates, references)
    again = meteor.table(candidates[::-1], references[::-1])
    assert np.array_equal(first.stats, again.stats[::-1]) and np.array_equal(first.scores, again.scores[::-1])


def test_groups_of_no_items_are_passed_over() -> None:
    items = [("a b", ["a b"]), ("c", ["a b", "c d"]), ("a", ["a"])]
    fast = cider.score_groups(items, [0, 2, 0, 1, 0])
    with _kernels.using("python"):
        assert cider.score_groups(items, [0, 2, 0, 1, 0]) == pytest.approx(fast)


def test_nothing_to_count() -> None:
    assert bleu.stats_many([], []).shape == (0, 10) and bleu.segments(np.zeros((0, 10), np.int64)).shape == (0, 4)
    assert rouge.scores([], []).shape == (0,) and cider.scores([], cider.Idf(1, {})) == []
    assert cider.scores_within([], []) == []
