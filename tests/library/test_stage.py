"""The vector stage: exact is brute force, an index is measured with texts before it is trusted."""

import json
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.library import ann
from fabula.library.embedders.base import unit
from fabula.library.find import Searcher
from fabula.library.stage import BLOCK, Exact, choose, top_rows
from tests.library.made import make_store


def brute(matrix, q, k):
    s = matrix.astype(np.float64) @ q.astype(np.float64)
    return np.argsort(-s, kind="stable")[:k]


@pytest.mark.parametrize("n", [1, 5, 100, 3000])
@pytest.mark.parametrize("queries", [1, 3])
def test_top_rows_are_those_of_brute_force(n, queries):
    rng = np.random.default_rng(n)
    matrix, q = (unit(rng.normal(size=(m, 16))) for m in (n, queries))
    rows, best = top_rows(matrix, q, 10)
    for b in range(queries):
        assert rows[b].tolist() == brute(matrix, q[b], 10).tolist()
        assert best[b] == pytest.approx(matrix[rows[b]] @ q[b], abs=1e-6)


def test_blocks_are_joined(monkeypatch):
    from fabula.library import stage

    monkeypatch.setattr(stage, "BLOCK", 64)
    rng = np.random.default_rng(0)
    matrix, q = unit(rng.normal(size=(1000, 8))), unit(rng.normal(size=(4, 8)))
    rows, _ = top_rows(matrix, q, 50)
    assert [row.tolist() for row in rows] == [brute(matrix, one, 50).tolist() for one in q]
    assert BLOCK > 64


def test_equal_scores_come_in_the_order_of_clips():
    matrix = np.ones((300, 4), np.float32) / 2
    for queries in (np.ones((1, 4), np.float32), np.ones((2, 4), np.float32)):
        assert top_rows(matrix, queries, 5)[1][0].tolist() == [2.0] * 5
    assert top_rows(matrix, np.ones((2, 4), np.float32), 5)[0][1].tolist() == [0, 1, 2, 3, 4]


class Words:
    """Texts are random directions apart from all clips: the gap between modalities, at its plainest."""

    name, weak = "words", None

    def texts(self, texts):
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=24) for text in texts]
        return unit(np.array(rows) * 0.5 + np.eye(24)[0] * 3)


DIMS = 24
RECIPE = {"embedder": "words", "dims": DIMS, "weights": {}}


def make_clips(folder):
    """Some thousand clips, and no index over them."""
    rng = np.random.default_rng(5)
    videos = {f"v{i}.mp4": unit(rng.normal(size=(80, DIMS)) + rng.normal(size=DIMS) * 2) for i in range(60)}
    return make_store(folder / "store", videos, RECIPE)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return make_clips(tmp_path_factory.mktemp("clips"))


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A store of its own, with an index that was measured."""
    store = make_clips(tmp_path_factory.mktemp("indexed"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ann, "EXACT_BELOW", 1000)
        plan = ann.build(store, Words())
    assert plan.good and plan.recall >= 0.99 and plan.texts == 128
    return store


@pytest.fixture
def small(monkeypatch):
    """An index pays from 100,000 clips on; here from a thousand."""
    from fabula.library import stage

    monkeypatch.setattr(ann, "EXACT_BELOW", 1000)
    monkeypatch.setattr(stage, "EXACT_BELOW", 1000)


def test_a_small_store_is_exact_and_takes_no_index(clips):
    stage, choice = choose(clips)
    assert isinstance(stage, Exact) and choice.stage == "exact" and "4,800 clips" in choice.why
    with pytest.raises(SpecError, match="all are compared"):
        ann.build(clips, Words())


def test_a_store_without_an_index_says_so(clips, small):
    assert choose(clips)[1].why.startswith("4,800 clips, and no index is built")


def test_an_index_is_built_measured_and_asked(indexed, small):
    stage, choice = choose(indexed)
    assert choice.stage == "index" and "recall@100" in choice.why
    by_index, exact = Searcher(indexed, Words()), Exact.of(indexed)
    q = Words().texts(["a new question"])[0]
    assert len(np.intersect1d(stage.top(q, 100).clip, exact.top(q, 100).clip)) >= 98
    found = by_index.find("a dog")
    assert found.stage == "index" and found.moments

    plain = Searcher(indexed, Words())
    plain.chosen = (indexed.version, exact, choice)
    same = zip(plain.find("a dog").moments[:5], found.moments[:5], strict=True)
    for a, b in same:  # what is usual comes from other samples, so a border may move
        assert a.video == b.video and a.score == pytest.approx(b.score, abs=1e-5)
    assert {m.video for m in by_index.find("a dog", videos=["v3.mp4"]).moments} == {"v3.mp4"}
    assert by_index.find("a dog then a cat").stage == "index"


def test_an_index_that_finds_too_little_is_not_used(indexed, small):
    path = indexed.folder / ann.FILE
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "recall": 0.97}))
    stage, choice = choose(indexed)
    assert isinstance(stage, Exact) and "finds 0.970" in choice.why
    path.write_text(json.dumps({**told, "table": "clips-before"}))
    assert "vectors made before" in choose(indexed)[1].why
    path.write_text(json.dumps(told))


def test_the_test_texts_are_many_and_different():
    assert len(set(ann.test_texts())) == len(ann.test_texts()) == 256


class Sized:
    """What a plan asks of a store."""

    manifest = SimpleNamespace(tables={"clips": "clips_1"})

    def __len__(self):
        return 4800


def test_the_first_rung_that_finds_enough_is_taken_and_judged_by_other_queries(monkeypatch):
    """Of 1,000 lists a share is read, more on each rung; even queries choose, odd ones say how good it is."""
    asked, said = [], []

    def measure(store, plan, queries, truth):
        asked.append((plan.probes, queries[:, 0].tolist()))
        return (0.97 if queries[0, 0] else ann.WANTED if plan.probes >= 150 else 0.5), 0.001

    monkeypatch.setattr(ann, "measure", measure)
    queries = np.arange(5, dtype=np.float32)[:, None]
    plan = ann.choose_plan(Sized(), queries, np.zeros((5, 1), np.int64), 1000, said.append)
    assert asked == [(50, [0, 2, 4]), (100, [0, 2, 4]), (200, [0, 2, 4]), (200, [1, 3])]
    assert (plan.probes, plan.recall, plan.texts, plan.lists) == (200, 0.97, 2, 1000)
    assert [t["probes"] for t in plan.tried] == [50, 100, 200] and len(said) == 3
    assert said[0] == "50 lists read: recall 0.5000, 1 ms"
