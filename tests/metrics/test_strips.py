"""Videos with very many events: strip by strip the same digits, and what cannot fit is refused before it is begun."""

import numpy as np
import pytest

from fabula.core import memory
from fabula.core.errors import FabulaError
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.match.ordered import MarkedRows, OrderedRows, PathRows, marked_pairs, ordered_python
from fabula.metrics import metric
from fabula.metrics.stories import Stories
from fabula.metrics.stories._families.localised import Localised
from fabula.pair import strips

WORDS = ["a dog runs", "the dog is running", "a man walks", "two men walk home", "a cat", "the man and the dog"]
STORIES = [
    *["SODA_a", "SODA_b", "SODA_c", "SODA_d", "OrderedPRF", "PRF@0.3/0.5", "StartPRF@1/3", "mIoU", "mJaccard"],
    *["SODA_a(backtrack=marked,segments=raw)", "SODA_b(backtrack=marked,columns=sorted,roles=gold-as-hypothesis)"],
    *["SODA_c(text=cider)", "SODA_c(text=cider,roles=gold-as-hypothesis,columns=sorted)", "SODA_b(text=cider)"],
    *["SODA_c(text=rouge,segments=swap,eps=1e-08)", "SODA_d(refs=merged)", "SODA_c(refs=best,tok=none)"],
    *["DVC_METEOR", "DVC_METEOR(agg=corpus,garbage=abc)", "DVC_CIDEr", "DVC_CIDEr(idf=video,garbage=last)"],
    *["DVC_ROUGE_L(garbage=random)", "DVC_BLEU_4", "DVC_BLEU_2(garbage=last)", "DVC_SPICE"],
    *["DVC_iSPICE", "DVC_Text(garbage=random)", "SODA_parts", "SODA_parts(backtrack=marked)"],
    *["DVC_CIDEr(garbage=random,refs=merged)", "DVC_CIDEr(idf=video,garbage=random)", "DVC_METEOR(garbage=last)"],
]


def told(rng: np.random.Generator, id: str, most: int) -> Story:
    """Events of all kinds, also reversed, empty and negative ones."""
    ends = np.sort(rng.integers(-2, 14, (rng.integers(1, most), 2)), axis=1).astype(float)
    ends[rng.random(len(ends)) < 0.1] = (9, 3)
    return Story(id, tuple(Event(Segment(a, b), WORDS[rng.integers(len(WORDS))]) for a, b in ends.tolist()))


@pytest.fixture
def data() -> Stories:
    rng = np.random.default_rng(3)
    sides = [{f"v{k}": told(rng, f"v{k}", 14) for k in range(8)} for _ in range(3)]
    return Stories([Corpus(sides[0]), Corpus(sides[1])], Corpus(sides[2] | {"v7": Story("v7")}))


def cut(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    monkeypatch.setattr(strips, "CELLS", cells)
    monkeypatch.setattr(Localised, "portion", cells)


@pytest.mark.parametrize("asked", STORIES)
def test_a_metric_cut_into_strips_gives_the_same_digits(asked, data, monkeypatch):
    made = metric(asked)
    whole = made.table(data)
    for cells in (1, 11, 60):
        cut(monkeypatch, cells)
        parts = made.table(data)
        assert parts.keys == whole.keys and parts.columns.keys() == whole.columns.keys()
        for name, column in whole.columns.items():
            assert parts[name].tolist() == column.tolist(), (name, cells)


@pytest.mark.parametrize("asked", ["SODA_b", "SODA_c", "SODA_d", "OrderedPRF@0.2", "SODA_b(backtrack=marked)"])
def test_the_pairs_that_are_drawn_are_the_same(asked, data, monkeypatch):
    made = metric(asked)
    whole = made.match_corpora(data.refs, data.preds)
    assert any(found for sets in whole.values() for found in sets)
    cut(monkeypatch, 11)
    assert made.match_corpora(data.refs, data.preds) == whole


@pytest.mark.parametrize("step", [1, 3, 50])
def test_a_matching_of_rows_is_that_of_the_matrix(step):
    rng = np.random.default_rng(step)
    for _ in range(60):
        C = rng.integers(-1, 4, (rng.integers(1, 12), rng.integers(1, 20))) / 2
        rows, path, marks = OrderedRows(C.shape[1]), PathRows(*C.shape), MarkedRows(*C.shape)
        for start in range(0, len(C), step):
            for kind in (rows, path, marks):
                kind.add(C[start : start + step])
        value, pairs = ordered_python(C)
        assert (rows.value, path.value, marks.value) == (value, value, value)
        assert path.pairs() == pairs and marks.pairs() == marked_pairs(C)


def test_portions_and_strips_hold_what_they_may():
    many = Story("v", tuple(Event(Segment(k, k + 1)) for k in range(10)))
    few = many.part(0, 2)
    cut_up = list(strips.strips(many, few, 6))
    assert [len(part) for part in cut_up] == [3, 3, 3, 1]
    assert tuple(e for part in cut_up for e in part.events) == many.events
    assert list(strips.strips(many, few, 20)) == [many]
    pairs = [(few, few), (few, few), (many, many), (few, few)]
    assert [len(some) for some in strips.portions(pairs, 8)] == [2, 1, 1]
    assert list(strips.portions([], 8)) == []


def test_what_cannot_fit_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 3_000_000)
    with pytest.raises(
        FabulaError, match=r"1000000 × 40 events would need 10 MB of memory and 3\.0 MB are free; ask for"
    ):
        PathRows(1_000_000, 40)
    MarkedRows(500_000, 40)
    memory.require(3_000_000, "this", "that")


@pytest.mark.parametrize(("count", "said"), [(7, "7 bytes"), (1_500, "1.5 kB"), (2.5e10, "25 GB"), (4e15, "4000 TB")])
def test_sizes_are_said_in_words(count, said):
    assert memory.size(count) == said
