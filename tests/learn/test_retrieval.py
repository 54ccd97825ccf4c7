"""Decoding, corpus search, data and files of moment retrieval: against brute force, pencil and `fabula.score`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.moments import Query, clip_seconds  # noqa: E402
from fabula.learn.models import reloclnet, xml  # noqa: E402
from fabula.learn.retrieval.answers import list_answers, score_answers, write_answers  # noqa: E402
from fabula.learn.retrieval.contract import Batch  # noqa: E402
from fabula.learn.retrieval.data import (  # noqa: E402
    Clips,
    Moments,
    Words,
    average_down,
    cut_windows_of,
    label_spans,
    pool_clips,
    read_moments,
)
from fabula.learn.retrieval.decode import (  # noqa: E402
    Decoding,
    RankedMoments,
    keep_best,
    rank_moments,
    score_spans,
    suppress_spans,
)
from fabula.learn.retrieval.search import cut_windows, encode_corpus, rows_of, search_corpus  # noqa: E402
from fabula.learn.retrieval.simulate import Recipe, simulate_moments  # noqa: E402
from fabula.match.nms import nms  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402

SMALL: dict[str, Any] = {
    "feature_dim": 16, "query_dim": 16, "hidden": 16, "heads": 2, "max_clips": 12, "max_words": 8, "min_length": 1,
    "max_length": 5, "words": "hashing",
}  # fmt: skip
CAPTIONS = [
    ("a", 9.5, [2.0, 6.0], "a man eats", "a tall man eats soup"),
    ("a", 9.5, [6.0, 12.0], "he sits", "he sits on a red sofa"),
    ("b", 12.0, [0.0, 5.0], "a man eats", "a boy eats an apple"),
    ("c", 31.0, [20.0, 24.0], "a dog runs", "a dog runs home"),
]
KEYS = ("video", "duration", "time", "cog_desc", "fig_desc")
ROWS = [{"desc_id": i + 1, **dict(zip(KEYS, row, strict=True))} for i, row in enumerate(CAPTIONS)]


@pytest.fixture
def fig(tmp_path: Path) -> Path:
    path = tmp_path / "fig.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def store(fig: Path, tmp_path: Path) -> Features:
    path = tmp_path / "store.safetensors"
    notes = Notes()
    simulate_moments(read_moments(fig, notes), read_moments(fig, notes, "cog"), path, Recipe(dim=16))
    return Features(path)


def model_of(module: Any = xml, **changes: Any) -> Any:
    torch.manual_seed(0)
    return module.Model(module.Config.tiny(**SMALL | changes)).eval()


# -- decoding ---------------------------------------------------------------------------------------------------------


def found_of(rows: list[tuple[float, ...]]) -> RankedMoments:
    """[start, end, score] or [video, start, end, score]"""
    t = torch.tensor([r if len(r) == 4 else (0, *r) for r in rows], dtype=torch.float64)[None]
    return RankedMoments(t[..., 0].long(), t[..., 1:3], t[..., 3])


def test_nms_of_the_spec() -> None:
    rows = [(0, 10, 0.9), (0, 6, 0.8), (5, 15, 0.7), (20, 30, 0.1)]
    found = found_of(rows)
    assert suppress_spans(found.span, found.video, found.score, 0.5)[0].tolist() == [True, False, True, True]
    kept = keep_best(found, torch.tensor([[True, False, True, True]]), 2)
    assert kept.span[0].tolist() == [[0, 10], [5, 15]]


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.6, 1.0])
def test_nms_of_many_queries_is_that_of_one(threshold: float) -> None:
    rng = np.random.default_rng(0)
    Q, K = 7, 40
    start = rng.integers(0, 20, (Q, K)) * 0.5
    span = np.stack([start, start + rng.integers(1, 12, (Q, K)) * 0.5], -1)
    video, score = rng.integers(0, 3, (Q, K)), -np.sort(-rng.permuted(np.arange(1, Q * K + 1)).reshape(Q, K), axis=1)
    stays = suppress_spans(torch.tensor(span), torch.tensor(video), torch.tensor(score), threshold)
    for q in range(Q):
        assert torch.nonzero(stays[q])[:, 0].tolist() == nms(span[q], score[q], threshold, video[q]).tolist()


def brute_spans(start: Any, end: Any, weight: Any, d: Decoding) -> list[tuple[float, int, int, int]]:
    R, T = start.shape
    every = [
        (float(weight[r] * start[r, s] * end[r, e]), r, s, e)
        for r in range(R)
        for s in range(T)
        for e in range(T)
        if d.min_length <= e - s < d.max_length
    ]
    return sorted(every, reverse=True)[: d.before_nms]


def test_spans_are_those_of_a_loop_over_all() -> None:
    torch.manual_seed(0)
    start, end = torch.rand(2, 3, 9).softmax(-1), torch.rand(2, 3, 9).softmax(-1)
    weight = torch.rand(2, 3) + 0.1
    d = Decoding(min_length=2, max_length=6, before_nms=20)
    for decoding in (d, replace(d, unravel=9)):  # the published way is the same where every video has as many clips
        spans = score_spans(start, end, weight, decoding)
        for q in range(2):
            ours = list(zip(spans.row[q].tolist(), spans.first[q].tolist(), spans.last[q].tolist(), strict=True))
            assert ours == [one[1:] for one in brute_spans(start[q], end[q], weight[q], d)]


def test_unravelled_by_another_width_spans_run_backwards() -> None:
    """What becomes of the published program's list where no video of the corpus is as long as the model allows."""
    torch.manual_seed(0)
    start, end = torch.rand(1, 5, 9).softmax(-1), torch.rand(1, 5, 9).softmax(-1)
    spans = score_spans(start, end, torch.ones(1, 5), Decoding(min_length=1, max_length=6, unravel=12))
    assert (spans.last <= spans.first).any()


@pytest.mark.parametrize(("first", "last"), [(2, 12), (5, 30), (1, 180)])
def test_lengths_of_the_seed(first: int, last: int) -> None:
    """min_length + 1 … max_length clips: 3–12, 6–30, 2–180 s."""
    T = 200
    flat = torch.full((1, 1, T), 1 / T)
    d = Decoding(min_length=first, max_length=last, before_nms=10**6)
    spans = score_spans(flat, flat, torch.ones(1, 1), d)
    seconds = clip_seconds(spans.first[0].numpy(), spans.last[0].numpy(), 1.0)
    there = spans.score[0].numpy() > 0
    lengths = (seconds[:, 1] - seconds[:, 0])[there]
    assert (lengths.min(), lengths.max()) == (first + 1, last)


def test_a_video_shorter_than_the_shortest_moment_has_none() -> None:
    spans = score_spans(
        torch.ones(1, 1, 2), torch.ones(1, 1, 2), torch.ones(1, 1), Decoding(min_length=2, max_length=9)
    )
    assert spans.score.shape == (1, 0)


def test_nms_may_see_the_listed_alone() -> None:
    rows = [(0, 10, 0.9), (0, 9, 0.8), (20, 30, 0.7)]
    listed = rank_moments(found_of(rows), Decoding(nms=0.5, after_nms=2, nms_reads="listed"))[1]
    every = rank_moments(found_of(rows), Decoding(nms=0.5, after_nms=2))[1]
    assert (listed.score[0] > 0).tolist() == [True, False]
    assert every.span[0].tolist() == [[0, 10], [20, 30]]


# -- labels, clips, words ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "rule", "label"),
    [
        ((1.0, 5.2), "inside", (0, 3)),
        ((1.0, 5.2), "ceil", (0, 4)),
        ((1.0, 5.2), "hero", (0, 3)),
        ((3.0, 4.5), "inside", (2, 2)),
        ((3.0, 4.5), "ceil", (2, 3)),
        ((3.0, 4.5), "hero", (2, 3)),
        ((9.0, 30.0), "inside", (6, 9)),
        ((9.0, 30.0), "ceil", (6, 9)),
        ((14.9, 15.0), "hero", (9, 9)),
    ],
)
def test_labels(window: tuple[float, float], rule: Any, label: tuple[int, int]) -> None:
    assert label_spans(window, 1.5, 10, rule) == label


def test_labels_inside_are_read_back_as_they_were() -> None:
    for start in range(8):
        for end in range(start + 1, 10):
            label = label_spans((start * 1.5, end * 1.5), 1.5, 10, "inside")
            assert clip_seconds(*label, 1.5, "inside").tolist() == [start * 1.5, end * 1.5]


def test_frames_become_clips_by_their_maximum() -> None:
    frames = np.arange(10, dtype=np.float32)[:, None]
    assert pool_clips(frames, 4)[:, 0].tolist() == [3, 7, 9]
    assert pool_clips(frames, 4, "mean")[:, 0].tolist() == [1.5, 5.5, 8.5]
    assert pool_clips(frames, 1) is frames
    with pytest.raises(SpecError, match="shorter"):
        pool_clips(frames, 0.5)


def test_longer_videos_are_averaged_as_published() -> None:
    ours = average_down(np.arange(40, dtype=np.float32)[:, None], 7)[:, 0]
    assert ours.tolist() == [2.5, 8.0, 13.5, 19.5, 25.5, 31.0, 36.0]  # ../shared/spec/vectors-models


def test_ends_after_the_video_are_cut_and_counted(fig: Path) -> None:
    notes = Notes()
    queries = read_moments(fig, notes)
    assert queries[2].windows == ((6.0, 12.0),)  # as annotated: evaluators read it so
    assert cut_windows_of(queries[2], fig) == ((6.0, 9.5),)  # as learnt
    assert notes.lines() == ["1 moments end after their video; they are learnt up to there: 2"]
    late = Query(9, "a", ((9.5, 10.0),), 9.5, "a man")
    with pytest.raises(InputError, match=r"begins at 9\.5 s, the video ends at 9\.5 s"):
        cut_windows_of(late, fig)
    assert [q.text for q in read_moments(fig, Notes(), "cog").values()] == [row["cog_desc"] for row in ROWS]


def test_bad_queries_cost_one_line(store: Features) -> None:
    config = xml.Config.tiny(**SMALL)
    notes = Notes()
    words = Words(config, notes=notes)
    for text in (None, "", "   ", "…!?"):
        with pytest.raises(InputError, match="without words"):
            words(Query(7, "a", ((0.0, 1.0),), 2.0, text))
    assert len(words(Query(7, "a", ((0.0, 1.0),), 2.0, "word " * 10_000))) == 8
    assert "more than 8 words" in notes.lines()[0]
    with pytest.raises(InputError, match="16 channels; the model takes 9"):
        Clips([store], xml.Config.tiny(**SMALL | {"feature_dim": 9}))
    clips = Clips([store], config)
    with pytest.raises(InputError, match="no features of this video"):
        Moments([Query(1, "nowhere", ((0.0, 1.0),), 2.0, "a man")], clips, words)
    with pytest.raises(SpecError, match="from a store"):
        Words(replace(config, words="store"))


def test_stores_side_by_side(store: Features, tmp_path: Path) -> None:
    write_features(tmp_path / "two", [(v, np.ones((len(store[v]) * 2, 3), np.float32)) for v in store], {"rate": 2.0})
    both = Clips([store, Features(tmp_path / "two")], xml.Config.tiny(**SMALL | {"feature_dim": 19}))
    assert both["a"].shape == (10, 19)
    assert both["a"][:, :16].norm(dim=-1).allclose(torch.ones(10), atol=1e-4)  # each is scaled on its own
    assert both["a"][:, 16:].norm(dim=-1).allclose(torch.ones(10), atol=1e-4)


def test_a_longer_video_is_learnt_by_the_window_that_shows_the_moment(store: Features, fig: Path) -> None:
    config = xml.Config.tiny(**SMALL)
    data = Moments(list(read_moments(fig, Notes()).values()), Clips([store], config), Words(config))
    example = data[3]
    assert len(example.clips) == 12  # of 31
    whole = data.clips["c"]
    first, last = example.span
    begin = next(s for s, e in cut_windows(31, 12, 5) if torch.equal(whole[s:e], example.clips))
    assert (begin + first, begin + last) == (20, 23)
    assert example.windows.tolist() == [[20.0 - begin, 24.0 - begin]]
    batch = data.collate([data[i] for i in range(4)])
    assert batch.video.shape == (4, 12, 16) and batch.videos == ["a", "a", "b", "c"]
    assert batch.to("cpu").names == batch.names


# -- models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [xml, reloclnet])
def test_what_a_video_is_batched_with_does_not_change_its_answer(module: Any) -> None:
    """Unless the published rule is asked for."""
    torch.manual_seed(1)
    short, long = torch.randn(5, 16), torch.randn(12, 16)
    query, mask = torch.randn(1, 4, 16), torch.ones(1, 4, dtype=torch.bool)
    for pads, same in (("hidden", True), ("seen", False)):
        model = model_of(module, pads=pads)
        with torch.no_grad():
            q = model.encode_query(query, mask)
            alone = encode_corpus(model, [("s", short, 5.0)])
            beside = encode_corpus(model, [("s", short, 5.0), ("l", long, 12.0)])
            one, _ = model.span_logits(q.spans, alone.rows.spans[0], alone.rows.mask[0])
            two, _ = model.span_logits(q.spans, beside.rows.spans[0], beside.rows.mask[0])
        assert torch.allclose(one[0], two[0, :5], atol=1e-4) == same


def test_another_query_of_the_same_video_is_no_negative() -> None:
    scores = torch.zeros(3, 3)
    rivals = xml.find_rivals(["a", "a", "b"], 3, "other", scores.device)
    assert rivals.tolist() == [[False, False, True], [False, False, True], [True, True, False]]
    drawn, there = xml.draw_negatives(scores, rivals, None)
    assert drawn[:2].tolist() == [2, 2] and there.all()
    none = xml.find_rivals(["a", "a"], 2, "other", scores.device)
    assert not xml.draw_negatives(torch.zeros(2, 2), none, 5)[1].any()
    assert xml.find_rivals(["a", "a"], 2, "all", scores.device).sum() == 2


@pytest.mark.parametrize("module", [xml, reloclnet])
def test_hard_negatives_and_spans_begin_when_told(module: Any) -> None:
    model = model_of(module, hard_from=3, span_from=2)
    states = []
    for epoch in range(4):
        model.begin(epoch, 0)
        states.append((model.hard, model.spans_on))
    assert states == [(False, False), (False, False), (False, True), (True, True)]


@pytest.mark.parametrize("module", [xml, reloclnet])
def test_biases_and_norms_do_not_decay(module: Any) -> None:
    from fabula.learn.options import Settings

    model = model_of(module)
    some, none = model.parameter_groups(Settings(weight_decay=0.01))
    assert (some["weight_decay"], none["weight_decay"]) == (0.01, 0.0)
    assert len(some["params"]) + len(none["params"]) == len(list(model.parameters()))
    assert all(p.ndim > 1 for p in some["params"])


# -- search -----------------------------------------------------------------------------------------------------------


def corpus_and_queries(model: Any, lengths: list[int], Q: int = 5) -> tuple[Any, Any, Any]:
    torch.manual_seed(2)
    videos = [(f"v{i}", torch.randn(n, 16), float(n)) for i, n in enumerate(lengths)]
    corpus = encode_corpus(model, videos, 3)
    with torch.no_grad():
        queries = model.encode_query(torch.randn(Q, 4, 16), torch.ones(Q, 4, dtype=torch.bool))
    return corpus, queries, torch.arange(Q) % len(lengths)


@pytest.mark.parametrize("module", [xml, reloclnet])
def test_blocks_do_not_change_what_is_found(module: Any) -> None:
    model = model_of(module)
    corpus, queries, own = corpus_and_queries(model, [7, 12, 30, 5, 9])
    d = Decoding.of(model.config, videos=3, before_nms=30, after_nms=10)
    [(_, whole)] = list(search_corpus(model, queries, corpus, d, own))
    parts = list(search_corpus(model, queries, corpus, d, own, room=1))
    assert [part for part, _ in parts] == [slice(i, i + 1) for i in range(5)]
    for name in ("vcmr", "svmr"):
        for i, tensor in enumerate(getattr(whole, name)):
            joined = torch.cat([getattr(a, name)[i] for _, a in parts])
            torch.testing.assert_close(joined, tensor, rtol=1e-4, atol=0)
    assert torch.equal(torch.cat([a.vr_videos for _, a in parts]), whole.vr_videos)


def test_rows_of_videos_are_their_own_and_no_more() -> None:
    counts = torch.tensor([1, 4, 1, 2])
    corpus: Any = SimpleNamespace(counts=counts, firsts=counts.cumsum(0) - counts)
    at, there = rows_of(torch.tensor([[3, 0], [1, 2], [0, 2]]), corpus)
    assert at.shape == (3, 5)
    assert [row[mask].tolist() for row, mask in zip(at, there, strict=True)] == [[6, 7, 0], [1, 2, 3, 4, 5], [0, 5]]


def test_windows_cover_a_video_and_hold_every_short_moment_whole() -> None:
    for clips in (1, 12, 13, 31, 100):
        windows = cut_windows(clips, 12, 5)
        assert {t for s, e in windows for t in range(s, e)} == set(range(clips))
        assert all(e - s == min(12, clips) for s, e in windows)
        for first in range(clips - 5):
            assert any(s <= first and first + 5 < e for s, e in windows)
    with pytest.raises(SpecError):
        cut_windows(20, 5, 5)


@pytest.mark.parametrize("count", [5, 300])
def test_moments_of_a_long_video_are_those_of_its_parts(count: int) -> None:
    """Parts end to end, up to an hour: each window that is a part gives what the part alone gives, later by where it
    begins."""
    model = model_of(max_length=6)  # windows of 12 share 6: every part is a window
    torch.manual_seed(3)
    parts = [torch.randn(12, 16) for _ in range(count)]
    alone = encode_corpus(model, [(f"p{i}", p, 12.0) for i, p in enumerate(parts)])
    film = encode_corpus(model, [("film", torch.cat(parts), 12.0 * count)])
    assert len(film.rows) == 2 * count - 1
    with torch.no_grad():
        queries = model.encode_query(torch.randn(2, 4, 16), torch.ones(2, 4, dtype=torch.bool))
    d = Decoding.of(model.config, nms=None, before_nms=10**6, after_nms=10**6, videos=count)
    [(_, separate)] = list(search_corpus(model, queries, alone, d, room=10**9))
    [(_, joined)] = list(search_corpus(model, queries, film, d, torch.zeros(2, dtype=torch.int64), room=10**9))
    for q in range(2):
        ours: dict[tuple[float, float], list[float]] = {}
        for (s, e), w in zip(joined.vcmr.span[q].tolist(), joined.vcmr.score[q].tolist(), strict=True):
            ours.setdefault((s, e), []).append(w)
        known = {(s, e) for s, e in joined.svmr.span[q].tolist()}
        for v, (s, e), w in zip(*(t[q].tolist() for t in separate.vcmr), strict=True):
            at = (s + 12 * v, e + 12 * v)
            assert w == 0 or (at in known and any(score == pytest.approx(w, rel=1e-4) for score in ours[at]))
        assert float(separate.vr_weights[q].max()) <= float(joined.vr_weights[q, 0]) * (1 + 1e-5)
    suppressed = next(iter(search_corpus(model, queries, film, replace(d, nms=0.5, before_nms=200))))[1].vcmr
    there = suppressed.score[0] > 0
    kept = nms(suppressed.span[0][there], suppressed.score[0][there], 0.5, top=None)
    assert kept.tolist() == list(range(int(there.sum())))


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_are_scored_as_what_was_found(fig: Path, store: Features, tmp_path: Path) -> None:
    model = model_of()
    queries = read_moments(fig, Notes())
    clips, words = Clips([store], model.config), Words(model.config)
    data = Moments(list(queries.values()), clips, words)
    batch: Batch = data.collate([data[i] for i in range(len(data))])
    corpus = encode_corpus(model, [(v, clips[v], float(len(clips[v]))) for v in ("a", "b", "c")])
    with torch.no_grad():
        encoded = model.encode_query(batch.query, batch.query_mask)
    own = torch.tensor([corpus.number[q.video] for q in queries.values()])
    answers = [
        answer
        for part, found in search_corpus(model, encoded, corpus, Decoding.of(model.config), own)
        for answer in list_answers(list(queries)[part], found)
    ]
    scores = score_answers(answers, queries, corpus.names)
    write_answers(tmp_path / "tvr.json", "tvr", answers, queries, corpus.names)
    for protocol in (None, "tvr", "reloclnet"):
        given = {"protocol": protocol} if protocol else {"task": "moments"}
        result = fabula.score(tmp_path / "tvr.json", fig, **given)
        for name in ("VCMR", "SVMR", "VR"):
            for field, value in result[name].values.items():
                assert scores[f"{name}_{field}"] == pytest.approx(value), (protocol, name, field)
    write_answers(tmp_path / "qv.jsonl", "qvhighlights", answers, queries, corpus.names)
    found = fabula.score(tmp_path / "qv.jsonl", fig, task="grounding")["Grounding"].values
    assert found["r1@0.5"] == pytest.approx(scores["SVMR_r1@0.5"])
    write_answers(tmp_path / "own.jsonl", "lines", answers, queries, corpus.names)
    lines = fabula.score(tmp_path / "own.jsonl", fig, task="moments", metrics="VCMR")["VCMR"].values
    assert lines["r10@0.5"] == pytest.approx(scores["VCMR_r10@0.5"])
    elsewhere = [replace(answer, svmr=None) for answer in answers]
    with pytest.raises(SpecError, match="windows of the query's own video: there are none"):
        write_answers(tmp_path / "no.jsonl", "qvhighlights", elsewhere, queries, corpus.names)
    assert not (tmp_path / "no.jsonl").exists()


def test_simulated_clips_say_so_and_are_the_same_again(fig: Path, store: Features, tmp_path: Path) -> None:
    assert store.metadata["simulated"] is True and "no video was seen" in str(store.metadata["note"])
    simulate_moments(
        read_moments(fig, Notes()), read_moments(fig, Notes(), "cog"), tmp_path / "b.safetensors", Recipe(dim=16)
    )
    again = Features(tmp_path / "b.safetensors")
    assert all((store[v] == again[v]).all() for v in store)
    assert {v: len(store[v]) for v in store} == {"a": 10, "b": 12, "c": 31}


def test_clips_in_memory_are_bounded(tmp_path, monkeypatch):
    """The last read ones are kept, in workers a share of the room; what was kept or read again is the same."""
    from types import SimpleNamespace

    from fabula.learn.retrieval import data
    from fabula.media.stores.features import Features, write_features

    rng = np.random.default_rng(0)
    videos = {f"v{i}": rng.random((10, 4), dtype=np.float32) for i in range(6)}
    write_features(tmp_path / "f.safetensors", videos.items(), {"rate": 1.0})
    clips = data.Clips([Features(tmp_path / "f.safetensors")], xml.Config(feature_dim=4, clip=1.0, normalize=False))
    monkeypatch.setattr(data, "KEPT", 3 * 10 * 4 * 4)
    for name in ("v0", "v1", "v2", "v0", "v3"):
        assert clips[name].tolist() == videos[name].tolist()
    assert list(clips.cache) == ["v2", "v0", "v3"] and clips.size == data.KEPT
    monkeypatch.setattr(data, "get_worker_info", lambda: SimpleNamespace(num_workers=3))
    assert clips["v4"].tolist() == videos["v4"].tolist() and list(clips.cache) == ["v4"]
    monkeypatch.setattr(data, "KEPT", 3)  # less than one video
    assert clips["v5"].tolist() == videos["v5"].tolist() and not clips.cache and clips.size == 0
