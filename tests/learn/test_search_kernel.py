"""The compiled search of a corpus finds what its readable twin finds: the same lists, scores and order, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula import _kernels  # noqa: E402
from fabula.learn.models.xml import Boundaries  # noqa: E402
from fabula.learn.retrieval import contract, decode, search  # noqa: E402
from fabula.learn.retrieval.contract import Queries, Videos, best_clip  # noqa: E402
from fabula.learn.retrieval.decode import Decoding, score_spans  # noqa: E402
from fabula.learn.retrieval.search import Corpus, search_corpus  # noqa: E402

pytestmark = pytest.mark.skipif(_kernels.NATIVE is None, reason="the kernels are not compiled")
CASES, PARTS = 1000, 20


class Small:
    """What search asks of a model: two convolutions, the best cosine."""

    def __init__(self, pads: str) -> None:
        self.boundaries = Boundaries(5, pads).requires_grad_(False)

    def video_scores(self, queries: Queries, videos: Videos) -> Any:
        return best_clip(queries.search, videos.search, videos.mask)


def draw_numbers(rng: np.random.Generator, shape: tuple[int, ...], level: bool) -> Any:
    """Any numbers; `level`: of a few values, so that many scores are equal."""
    x = rng.integers(-1, 2, shape) if level else rng.standard_normal(shape)
    return torch.from_numpy(x.astype(np.float32))


def draw_case(rng: np.random.Generator) -> tuple[Any, Queries, Corpus, Decoding, Any]:
    """A corpus of some videos, one or several windows each, and how it is decoded."""
    T, H = int(rng.integers(1, 20)), int(rng.choice([5, 32, 40, 64]))
    N, Q = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    counts = torch.from_numpy(rng.choice([1, 1, 1, 2, 5], N) if rng.random() < 0.5 else np.ones(N, np.int64))
    R, level = int(counts.sum()), bool(rng.random() < 0.4)
    mask = torch.arange(T) < torch.from_numpy(rng.integers(0 if rng.random() < 0.2 else 1, T + 1, R))[:, None]
    if rng.random() < 0.1:
        mask = torch.from_numpy(rng.random((R, T)) < 0.7)  # clips that lack in the midst
    found, spans = draw_numbers(rng, (R, T, H), level), draw_numbers(rng, (R, T, H), level)
    extent = None
    if rng.random() < 0.5:
        extent = torch.from_numpy(rng.integers(0, T + 1, R))
        spans[torch.arange(T) >= extent[:, None]] = 0
    rows = Videos(found, found if extent is None and rng.random() < 0.5 else spans, mask)
    owner = torch.arange(N).repeat_interleave(counts)
    offset = torch.arange(R) * 3 - (torch.arange(R) * 3)[(counts.cumsum(0) - counts)[owner]]
    durations = torch.from_numpy(rng.uniform(1, 2 * T + 3, N))
    corpus = Corpus([f"v{i}" for i in range(N)], durations, rows, owner, offset, extent)
    queries = Queries(draw_numbers(rng, (Q, H), level), draw_numbers(rng, (Q, H), level))
    shortest = int(rng.integers(0, 4))
    changes: dict[str, Any] = {
        "clip": float(rng.choice([1.0, 1.5])), "alpha": float(rng.choice([0.0, 0.5, 20.0, 200.0])),
        "min_length": shortest, "max_length": shortest + int(rng.integers(1, 16)),
        "nms": [None, 0.0, 0.5, 1.0][rng.integers(4)], "end": ["inside", "past"][rng.integers(2)],
        "videos": int(rng.integers(1, 15)), "before_nms": int(rng.integers(1, 60)),
        "after_nms": int(rng.integers(1, 30)), "late": ["cut", "kept"][rng.integers(2)],
        "nms_reads": ["all", "listed"][rng.integers(2)], "own_nms": ["right", "shifted"][rng.integers(2)],
        "unravel": int(T + rng.integers(3)) if rng.random() < 0.1 else None,
    }  # fmt: skip
    own = torch.from_numpy(rng.integers(0, N, Q)) if rng.random() < 0.7 else None
    model: Any = Small(["hidden", "seen"][rng.integers(2)])
    for conv in (model.boundaries.start, model.boundaries.end):
        conv.weight.copy_(draw_numbers(rng, tuple(conv.weight.shape), level))
    return model, queries, corpus, Decoding(**changes), own


@pytest.mark.parametrize("part", range(PARTS))
def test_the_kernel_and_the_twin_list_the_same(part: int) -> None:
    rng = np.random.default_rng(part)
    for case in range(CASES // PARTS):
        asked = draw_case(rng)
        with _kernels.using("native"):
            ours = [answers for _, answers in search_corpus(*asked)]
        with _kernels.using("python"):
            twins = [answers for _, answers in search_corpus(*asked)]
        assert len(ours) == len(twins)
        for mine, other in zip(ours, twins, strict=True):
            for name, a, b in zip(mine._fields, mine, other, strict=True):
                where = f"case {case} of part {part}: {name}"
                assert (a is None) == (b is None), where
                if a is not None:
                    columns = zip(a, b, strict=True) if isinstance(a, decode.RankedMoments) else [(a, b)]
                    assert all(torch.equal(x, y) for x, y in columns), where


def test_a_dot_product_is_the_sum_in_its_order() -> None:
    """Against a loop over the numbers, in float32."""
    rng = np.random.default_rng(0)
    for H in (1, 31, 32, 33, 100):
        q, x = (rng.standard_normal(H).astype(np.float32) for _ in range(2))
        lanes = np.zeros(32, np.float32)
        for h in range(H):
            lanes[h % 32] += q[h] * x[h]
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = lanes[:half] + lanes[half:]
        at = torch.zeros(1, 1, dtype=torch.int64)
        for choice in ("native", "python"):
            with _kernels.using(choice):
                found = search.compare_clips(torch.tensor(q)[None], torch.tensor(x)[None, None], at)
            assert found.item() == lanes[0], (H, choice)


def test_of_equal_spans_the_first_places_are_listed() -> None:
    flat = torch.full((1, 2, 4), 0.25)
    d = Decoding(min_length=1, max_length=3, before_nms=4)
    for choice in ("native", "python"):
        with _kernels.using(choice):
            found = score_spans(flat, flat, torch.ones(1, 2), d)
        assert (found.row.tolist(), found.first.tolist(), found.last.tolist()) == (
            [[0, 0, 0, 0]], [[0, 0, 1, 1]], [[1, 2, 2, 3]],
        )  # fmt: skip


def test_of_equal_videos_the_first_are_listed_and_nan_is_last() -> None:
    values = torch.tensor([[1.0, 3.0, float("nan"), 3.0, 1.0, -torch.inf, 1.0]])
    for choice in ("native", "python"):
        with _kernels.using(choice):
            for most in range(1, 8):
                best, places = decode.best_places(values, most)
                assert places.tolist() == [[1, 3, 0, 4, 6, 2, 5][:most]]
                assert best.tolist() == [[3, 3, 1, 1, 1, -float("inf"), -float("inf")][:most]]


def test_the_best_clip_does_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    query, clips = torch.randn(3, 8), torch.randn(7, 5, 8)
    mask = torch.arange(5) < torch.tensor([5, 3, 0, 1, 5, 5, 2])[:, None]
    training = best_clip(query, clips, mask)
    for size in (1, 12, 2048):
        monkeypatch.setattr(contract, "CLIPS_A_BLOCK", size)
        for choice in ("native", "python"):
            with torch.inference_mode(), _kernels.using(choice):
                torch.testing.assert_close(best_clip(query, clips, mask), training)


def test_what_does_not_fit_is_refused() -> None:
    kernels: Any = _kernels.NATIVE
    one, three = np.zeros((1, 2), np.float32), np.zeros((1, 2, 3), np.float32)
    where, counts = np.zeros((1, 2), np.int64), np.array([1, 2])
    stays = np.ones((1, 2), bool)
    for call in (
        lambda: kernels.best_places(one, np.zeros((1, 3), np.float32), np.zeros((1, 3), np.int64), 1),
        lambda: kernels.best_places(one, np.zeros((1, 1), np.float32), where, 1),
        lambda: kernels.best_of_stretches(one, counts, one.copy(), 0.0, 1),
        lambda: kernels.best_of_stretches(one, np.array([-1, 3]), one.copy(), 0.0, 1),
        lambda: kernels.compare_clips(np.zeros((1, 3), np.float32), three, where + 5, counts, three.copy(), 1),
        lambda: kernels.compare_clips(np.zeros((1, 3), np.float32), three, where, np.array([9]), three.copy(), 1),
        lambda: kernels.compare_clips(np.zeros((1, 4), np.float32), three, where, np.array([2]), three.copy(), 1),
        lambda: kernels.best_spans(three, three, one, 2, 1, where, where, where, one.copy(), 1),
        lambda: kernels.best_spans(three, three, one, 0, 1, where, where, where[:, :1].copy(), one.copy(), 1),
        lambda: kernels.suppress_spans(np.zeros((1, 3, 2)), where, 0.5, stays, 1),
    ):
        with pytest.raises(ValueError, match=r"fit|there|asked|extent"):
            call()


@pytest.mark.parametrize("pads", ["hidden", "seen"])
def test_rows_of_like_length_are_encoded_together_and_come_out_the_same(pads: str, monkeypatch: Any) -> None:
    """Against the batches as they come, for a model that does not say what it reads of pads."""
    from fabula.learn.models import xml

    torch.manual_seed(0)
    model: Any = xml.Model(xml.Config.tiny(feature_dim=8, query_dim=8, max_clips=12, hidden=16, pads=pads)).eval()
    videos = [(f"v{i}", torch.randn(n, 8), float(n)) for i, n in enumerate([7, 12, 3, 30, 1, 9, 12, 4])]
    monkeypatch.setattr(search, "CACHED", 12 * 16 * 2)
    sorted_rows = search.encode_corpus(model, videos, 3)
    monkeypatch.setattr(xml.Model, "reach", None)
    plain = search.encode_corpus(model, videos, 3)
    assert torch.equal(sorted_rows.rows.mask, plain.rows.mask) and torch.equal(sorted_rows.owner, plain.owner)
    lengths = plain.rows.mask.sum(1)
    assert sorted_rows.extent is not None and plain.extent is not None
    assert torch.equal(sorted_rows.extent, torch.minimum(lengths + (2 if pads == "seen" else 0), plain.extent))
    read = torch.arange(12) < sorted_rows.extent[:, None]
    for ours, other in ((sorted_rows.rows.search, plain.rows.search), (sorted_rows.rows.spans, plain.rows.spans)):
        torch.testing.assert_close(ours[read], other[read])
        assert (ours[~read] == 0).all()
