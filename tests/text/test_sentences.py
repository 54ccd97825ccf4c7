"""Many sentences at once: what the kernels count over numbered rows is what the readable twins count one by one."""

from __future__ import annotations

import math
import random
from threading import Thread

import numpy as np
import pytest

from fabula import _kernels, text
from fabula.text import _sentences, bleu, cider, meteor, rouge
from fabula.text.placed import Pairs

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
    monkeypatch.setattr(_sentences, "LIMIT", 40)
    monkeypatch.setattr(_sentences, "shared", _sentences.Memory())
    candidates, references = draw_items(9, 60)
    documents = cider.Documents(references[:20])
    items = list(zip(candidates, references, strict=True))
    at_once, parts = cider.scores(items, documents), []
    for k in range(0, 60, 5):
        parts += cider.scores(items[k : k + 5], documents)
    assert parts == at_once
    assert len(documents.memory.numbers) <= 40 + len(documents.memory.keep) or len(documents.memory.numbers) < 60


def test_documents_are_counted_again_where_the_common_memory_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sentences, "LIMIT", 60)
    monkeypatch.setattr(_sentences, "shared", _sentences.Memory())
    candidates, references = draw_items(9, 60, most=1)
    documents, own = cider.Documents(references[:20]), cider.Documents([])
    assert documents.memory is _sentences.shared is own.memory
    items = list(zip(candidates, references, strict=True))
    wanted, parts, rows = cider.scores(items, cider.Idf.from_references(references[:20])), list[float](), set[int]()
    for k in range(0, 60, 5):
        parts += cider.scores(items[k : k + 5], documents)
        bleu.stats_many([f"another sentence {k} {n}" for n in range(20)], [["and one"]] * 20)  # somebody else's
        rows.add(id(documents.rows))
    assert parts == pytest.approx(wanted, abs=0) and len(rows) > 1
    assert cider.Documents([["a"]] * 31).memory is not _sentences.shared  # too many to be kept with others


def test_weights_are_logarithms() -> None:
    assert _kernels.NATIVE is not None
    df = np.array([0, 1, 2, 70_000, 10**6, 3], np.int64)
    found = _kernels.NATIVE.Sentences.weights(df, 10**6)
    assert found.tolist() == [math.log(10**6) - math.log(max(1, n)) for n in df.tolist()]
    for wrong, documents in ((df, 10**6 - 1), (-df, 10**6), (df, 0)):
        with pytest.raises(ValueError):
            _kernels.NATIVE.Sentences.weights(wrong, documents)


def test_groups_counted_in_one_room_do_not_meet() -> None:
    """A room for counting serves many calls: what one group had is nothing to the next."""
    candidates, references = draw_items(11, 90)
    items = list(zip(candidates, references, strict=True))
    alone = [cider.scores_within(items[k : k + 9], [0] * 9) for k in range(0, 90, 9)]
    for _ in range(3):
        assert cider.score_groups(items, [9] * 10) == [score for group in alone for score in group]


@pytest.mark.parametrize("choice", ["native", "python"])
def test_places_of_sentences_say_what_sentences_say(choice: str) -> None:
    candidates, references = draw_items(6, 50)
    placed = Pairs.lay(candidates, references)
    assert placed.items() == (candidates, references) and len(set(placed.texts)) == len(placed.texts)
    idf = cider.Idf.from_references(references[:30])
    with _kernels.using(choice):
        assert np.array_equal(bleu.stats_pairs(placed), bleu.stats_many(candidates, references))
        assert np.array_equal(rouge.score_pairs(placed), rouge.scores(candidates, references))
        items = list(zip(candidates, references, strict=True))
        assert cider.score_pairs(placed, idf).tolist() == cider.scores(items, idf)
        assert cider.score_pair_groups(placed, [20, 30]).tolist() == cider.score_groups(items, [20, 30])
        one = Pairs.of(placed.texts, placed.candidates, placed.references[placed.starts[:-1]])
        expected = meteor.table(*one.items(), crowded="zero")
        assert all(np.array_equal(a, b) for a, b in zip(meteor.score_pairs(one), expected, strict=True))


def test_places_that_are_not_there() -> None:
    engine, at = meteor._engine(meteor.open_index()), np.zeros(1, np.int64)
    for candidates, references in ((at + 1, at), (at, at - 1), (at, np.zeros(2, np.int64))):
        with pytest.raises((ValueError, IndexError)):
            engine.pairs_at(["a dog"], candidates, references, 1)


def test_batches_of_places_do_not_show() -> None:
    texts = [f"a dog number {k} runs after {k % 7} cats" for k in range(9000)]  # more than a batch
    c, r = np.arange(9000), (np.arange(9000) * 31) % 9000
    found = meteor.score_pairs(Pairs.of(texts, c, r))
    some = np.arange(0, 9000, 450)
    expected = meteor.table([texts[k] for k in some], [[texts[k]] for k in r[some]])
    assert np.array_equal(found.stats[some], expected.stats) and np.array_equal(found.scores[some], expected.scores)


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


def test_what_is_forgotten_is_made_again_and_scores_the_same() -> None:
    candidates, references = draw_items(11, 40)
    engine = meteor._engine(meteor.open_index())
    made = []
    for _ in range(2):
        text.forget()
        before = engine.aligned()
        found = meteor.table(candidates, references)
        made.append((found.stats.tolist(), bleu.stats_many(candidates, references).tolist(), engine.aligned() - before))
        assert _sentences.shared.numbers
    assert made[0] == made[1] and made[0][2] > 0
    text.forget()
    assert not _sentences.shared.numbers and not text.tokens_by_sentence


def test_groups_of_no_items_are_passed_over() -> None:
    items = [("a b", ["a b"]), ("c", ["a b", "c d"]), ("a", ["a"])]
    fast = cider.score_groups(items, [0, 2, 0, 1, 0])
    with _kernels.using("python"):
        assert cider.score_groups(items, [0, 2, 0, 1, 0]) == pytest.approx(fast)


def test_nothing_to_count() -> None:
    assert bleu.stats_many([], []).shape == (0, 10) and bleu.segments(np.zeros((0, 10), np.int64)).shape == (0, 4)
    assert rouge.scores([], []).shape == (0,) and cider.scores([], cider.Idf(1, {})) == []
    assert cider.scores_within([], []) == []
