"""The vector stage: exact is brute force, from memory or from mapped files; an index is measured with texts."""

import json
import zlib

import numpy as np
import pytest

from fabula.core.errors import InputError, SpecError
from fabula.library import ann, mapped, stage
from fabula.library.embedders.base import unit
from fabula.library.find import Searcher
from fabula.library.mapped import open_mapped
from fabula.library.nearest import exact_products
from fabula.library.stage import Exact, Hits, choose
from fabula.library.store import Store
from tests.library.made import entry_of, make_store


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


def small_limit(patch):
    """Files are mapped, and an index may be built, from 100,000 clips on; here from a thousand."""
    patch.setattr(ann, "IN_MEMORY", 1000)
    patch.setattr(stage, "IN_MEMORY", 1000)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A store of its own, with an index that was measured."""
    store = make_clips(tmp_path_factory.mktemp("indexed"))
    with pytest.MonkeyPatch.context() as patch:
        small_limit(patch)
        plan = ann.build(store, Words())
        assert (plan.lists, plan.probes, plan.texts, plan.tried) == (69, 14, 256, ()) and 0.3 < plan.recall < 1
        with pytest.raises(SpecError, match="--probes 70; the index has 69 lists, of which 1 to 69 are read"):
            ann.build(store, Words(), probes=70)
        plan = ann.build(store, Words(), probes=66)
    assert plan.good and plan.recall >= 0.99 and plan.probes == 66
    return store


@pytest.fixture
def small(monkeypatch):
    small_limit(monkeypatch)


def check_nearest(part, q, k=100):
    """Hits are all rows that count, compared in double; of equal ones the first."""
    rows = np.arange(len(part.clips.clip)) if part.rows is None else part.rows
    score = exact_products(part.clips.vector, q, rows)
    order = np.lexsort((rows, -score))[:k]
    hits = part.top(q, k)
    assert hits.clip.tolist() == part.clips.clip[rows[order]].tolist()
    assert hits.score.tolist() == score[order].astype(np.float32).tolist()
    assert hits.video == [part.names[part.clips.video[row]] for row in rows[order]]


def equal_hits(a: Hits, b: Hits) -> bool:
    return a.clip.tolist() == b.clip.tolist() and a.video == b.video and a.score.tolist() == b.score.tolist()


def test_hits_are_all_clips_compared(clips):
    exact = Exact.of(clips)
    for q in Words().texts(["a dog", "a cat"]):
        check_nearest(exact, q)
        check_nearest(exact.part(["v7.mp4", "v3.mp4", "v59.mp4"]), q)
    assert len(exact.part(["v7.mp4", "v3.mp4"])) == 160 and len(exact.part([])) == 0
    assert exact.part([]).top(q, 5).video == []


def test_some_videos_are_as_if_read_alone(clips):
    """The same hits, sample and tracks as of a stage that holds nothing else."""
    names = ["v7.mp4", "v3.mp4", "v59.mp4"]
    part, alone = Exact.of(clips).part(names), Exact.within(clips, names)
    (q,) = Words().texts(["a dog"])
    assert equal_hits(part.top(q, 50), alone.top(q, 50)) and (part.sample(60) == alone.sample(60)).all()
    assert part.in_order_of_clips() == alone.in_order_of_clips()
    marks = np.arange(240) % 7 == 0
    assert equal_hits(part.top(q, 50, marks), alone.top(q, 50, marks))
    for a, b in zip(part.tracks(names), alone.tracks(names), strict=True):
        assert a.video == b.video and (a.vector == b.vector).all() and (a.start == b.start).all()


# ── mapped files ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def grown(tmp_path):
    """A store that a test may change."""
    return make_clips(tmp_path)


def test_a_large_store_is_mapped_and_finds_the_same(grown, small):
    held = Exact([v.video for v in grown.videos()], grown.vectors())
    files = Exact.of(grown)
    (folder,) = (p for p in (grown.folder / "scan").iterdir() if p.is_dir())
    assert {p.name for p in folder.glob("*.npy")} == {
        f"{name}.npy" for name in ("clip", "video", "start", "end", "vector", "code", "scale", "error")
    }
    assert not files.clips.vector.flags.writeable and (files.clips.vector == held.clips.vector).all()
    for q in Words().texts(["a dog", "a cat"]):
        check_nearest(files, q)
        assert equal_hits(files.top(q, 100), held.top(q, 100))
    again = Exact.of(Store.open(grown.folder))  # they are read, not made
    assert [p for p in (grown.folder / "scan").iterdir() if p.is_dir()] == [folder]
    assert equal_hits(again.top(q, 100), held.top(q, 100))
    found = Searcher(grown, Words()).find("a dog")
    assert found.stage == "exact" and found.why == "4,800 clips: all are compared" and found.moments


def test_files_of_other_rows_are_not_read(grown, small):
    (q,) = Words().texts(["a dog"])
    before = Exact.of(grown)
    with grown.writing() as writer:
        writer.put([entry_of("best.mp4", np.tile(q, (3, 1)))])
    after = Exact.of(grown)
    assert after.top(q, 3).video == ["best.mp4"] * 3 and len(after) == len(before) + 3
    assert len([p for p in (grown.folder / "scan").iterdir() if p.is_dir()]) == 1
    assert before.top(q, 3).video[0] != "best.mp4"  # what is mapped stays as it was
    with grown.writing() as writer:
        writer.remove(["best.mp4"])
    assert equal_hits(Exact.of(grown).top(q, 100), before.top(q, 100))


def test_damaged_files_are_made_again(grown, small):
    (q,) = Words().texts(["a dog"])
    right = Exact.of(grown).top(q, 100)
    (folder,) = (p for p in (grown.folder / "scan").iterdir() if p.is_dir())
    for name, content in (("code.npy", b"\x93NUMPY"), ("names.json", b"{"), ("vector.npy", b""), ("error.npy", None)):
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)
        assert equal_hits(Exact.of(grown).top(q, 100), right), name


def test_without_room_for_files_the_clips_are_in_memory(grown, small, monkeypatch):
    def refuse(*_):
        raise OSError(30, "Read-only file system")

    (q,) = Words().texts(["a dog"])
    monkeypatch.setattr(mapped, "make", refuse)
    assert open_mapped(grown) is None
    check_nearest(Exact.of(grown), q)
    assert [p.name for p in (grown.folder / "scan").iterdir()] == ["lock"]


def test_rows_that_change_while_files_are_made(grown, small, monkeypatch):
    keys = iter(["a", "b"])
    monkeypatch.setattr(mapped, "key_of", lambda store: next(keys))
    assert open_mapped(grown) is None
    assert [p.name for p in (grown.folder / "scan").iterdir()] == ["lock"]


def test_vectors_that_are_not_finite_are_refused(tmp_path, small):
    bad = np.ones((1200, DIMS), np.float32)
    bad[700, 5] = np.inf  # NaN is refused by Lance
    store = make_store(tmp_path / "store", {"a.mp4": bad}, RECIPE)
    with pytest.raises(InputError, match="vector 700 has inf at place 5; a search needs finite numbers"):
        Exact.of(store)
    assert [p.name for p in (store.folder / "scan").iterdir()] == ["lock"]


# ── the index ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_small_store_is_exact_and_takes_no_index(clips):
    exact, choice = choose(clips)
    assert isinstance(exact, Exact) and choice.stage == "exact" and "4,800 clips" in choice.why
    with pytest.raises(SpecError, match="all are compared"):
        ann.build(clips, Words())


def test_an_index_is_built_measured_and_asked(indexed, small):
    lists, choice = choose(indexed)
    assert choice.stage == "index" and "recall@100" in choice.why
    by_index, exact = Searcher(indexed, Words()), Exact.of(indexed)
    q = Words().texts(["a new question"])[0]
    assert len(np.intersect1d(lists.top(q, 100).clip, exact.top(q, 100).clip)) >= 98
    found = by_index.find("a dog")
    assert found.stage == "index" and found.moments

    plain = Searcher(indexed, Words())
    plain.chosen = (indexed.version, exact, choice)
    same = zip(plain.find("a dog").moments[:5], found.moments[:5], strict=True)
    for a, b in same:  # what is usual comes from other samples, so a border may move
        assert a.video == b.video and a.score == pytest.approx(b.score, abs=1e-5)
    assert {m.video for m in by_index.find("a dog", videos=["v3.mp4"]).moments} == {"v3.mp4"}
    assert by_index.find("a dog then a cat").stage == "index"


def test_an_index_of_an_earlier_version_that_finds_too_little_is_not_asked(indexed, small):
    path = indexed.folder / ann.FILE
    document = json.loads(path.read_text())
    tried = [{"probes": 20, "recall": 0.97, "seconds": 0.1}]
    path.write_text(json.dumps({**document, "recall": 0.97, "tried": tried}))
    exact, choice = choose(indexed)
    assert isinstance(exact, Exact) and "all are compared; its index finds 0.970" in choice.why
    path.write_text(json.dumps({**document, "table": "clips-before"}))
    assert "vectors made before" in choose(indexed)[1].why
    path.write_text(json.dumps(document))


def test_the_test_texts_are_many_and_different():
    assert len(set(ann.test_texts())) == len(ann.test_texts()) == 256
