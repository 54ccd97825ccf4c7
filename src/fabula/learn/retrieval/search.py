"""Search of a corpus of encoded videos: encoded once, searched often; memory does not grow with queries × videos.

A video longer than the model sees is several rows, windows that overlap; the corpus knows whose and from when they are.
Scores are computed for a block of queries and a block of rows at a time; of a block of queries (`room` numbers) the
score of every video is kept, and of the best 100 the spans are looked for. What is discrete, and the dot products with
the clips of those videos, is compiled (_kernels/retrieval.cpp) where tensors are float32 on the CPU; the functions that
end in `_python` are its readable twins, which define the answer and serve everywhere else. Ties go by place in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from fabula.core.errors import SpecError
from fabula.learn.retrieval.contract import Queries, Retriever, Videos, kernels_for, pad_rows, thread_count
from fabula.learn.retrieval.decode import (
    ROOM,
    Decoding,
    RankedMoments,
    Spans,
    best_places,
    rank_moments,
    score_spans,
    to_seconds,
)

CACHED = 400_000  # numbers of a table that a processor's cache holds, and memory that is used again
LANES = 32  # sums of a dot product, of every 32nd number each


@dataclass
class Corpus:
    """Encoded videos. N videos, R ≥ N rows; a video's rows are consecutive."""

    names: list[str]  # [N]
    durations: Tensor  # [N] seconds
    rows: Videos  # [R, T, …]
    owner: Tensor  # [R] int64, the number of each row's video, rising
    offset: Tensor  # [R] int64, the clip of the video with which the row begins
    extent: Tensor | None = None  # [R] int64, clips of a row behind which `rows.spans` is 0; None: not known
    number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.number = {name: i for i, name in enumerate(self.names)}
        if len(self.number) < len(self.names):
            raise SpecError("a video is twice in the corpus")
        self.counts = torch.bincount(self.owner, minlength=len(self.names))  # [N] rows of each
        self.firsts = self.counts.cumsum(0) - self.counts

    def __len__(self) -> int:
        return len(self.names)


class Window(NamedTuple):
    """Some clips of a video."""

    video: int
    offset: int
    clips: Tensor  # [T, C]


def cut_windows(clips: int, most: int, overlap: int) -> list[tuple[int, int]]:
    """Where windows of `most` clips begin and end so that they cover a video; neighbours share `overlap` clips.

    A moment of up to overlap + 1 clips lies in one of them whole. The last one ends with the video.
    """
    if clips <= most:
        return [(0, clips)]
    step = most - overlap
    if step < 1:
        raise SpecError(f"windows of {most} clips cannot share {overlap}")
    starts = [*range(0, clips - most, step), clips - most]
    return [(s, s + most) for s in starts]


def overlap_of(config: Any) -> int:
    """How many clips neighbouring windows share: the longest moment, at most half a window."""
    return int(min(config.max_length, config.max_clips // 2))


def encode_corpus(
    model: Retriever,
    videos: Iterable[tuple[str, Tensor, float]],
    batch_size: int = 64,
    pad_to: int | None = None,
    watch: Callable[[int], None] = lambda done: None,
) -> Corpus:
    """Encode name, clips [T, C], duration of each; a batch of rows at a time.

    `pad_to`: rows are padded to so many clips, not to the batch's longest; it matters only to a model that sees pads.
    """
    c = model.config
    names: list[str] = []
    durations: list[float] = []
    owner: list[int] = []
    offset: list[int] = []
    parts: list[Videos] = []
    extents: list[Tensor] = []

    def windows() -> Iterator[Window]:
        for i, (name, clips, duration) in enumerate(videos):
            names.append(name)
            durations.append(duration)
            for start, end in cut_windows(len(clips), c.max_clips, overlap_of(c)):
                yield Window(i, start, clips[start:end])
            watch(i + 1)

    with torch.inference_mode():
        for batches in gather_batches(batch_rows(windows(), batch_size), ROOM):
            encoded, extent = encode_batches(model, batches, pad_to)
            parts.append(encoded)
            extents.append(extent)
            owner += [w.video for batch in batches for w in batch]
            offset += [w.offset for batch in batches for w in batch]
    if not parts:
        raise SpecError("no video to search")
    rows = parts[0] if len(parts) == 1 else join_videos(parts, max(v.mask.shape[1] for v in parts))
    return Corpus(names, torch.tensor(durations), rows, torch.tensor(owner), torch.tensor(offset), torch.cat(extents))


def batch_rows(windows: Iterable[Window], size: int) -> Iterator[list[Window]]:
    pending: list[Window] = []
    for window in windows:
        pending.append(window)
        if len(pending) == size:
            yield pending
            pending = []
    if pending:
        yield pending


def gather_batches(batches: Iterable[list[Window]], room: int) -> Iterator[list[list[Window]]]:
    """Batches together as long as they have no more than so many numbers, but at least one."""
    pending: list[list[Window]] = []
    size = 0
    for batch in batches:
        numbers = sum(w.clips.numel() for w in batch)
        if pending and size + numbers > room:
            yield pending
            pending, size = [], 0
        pending.append(batch)
        size += numbers
    if pending:
        yield pending


def encode_batches(model: Retriever, batches: Sequence[Sequence[Window]], pad_to: int | None) -> tuple[Videos, Tensor]:
    """The rows of these batches, and their extents: how many clips of each can matter.

    A model whose answer depends on no more than `reach` clips behind a video's end is shown no more of them, and rows
    of like length together. One that does not say is shown the batches as they are.
    """
    reach = getattr(model, "reach", None)
    rows = [w.clips for batch in batches for w in batch]
    shown = [pad_to or max(len(w.clips) for w in batch) for batch in batches for _ in batch]  # clips of a row's batch
    device = next(model.parameters()).device
    if reach is None:
        encoded = []
        for batch in batches:
            features, mask = pad_rows([w.clips for w in batch], pad_to)
            encoded.append(in_float(model.encode_video(features.to(device), mask.to(device))))
        return join_videos(encoded, max(shown)), torch.tensor(shown)
    extent = [min(len(clips) + reach, most) for clips, most in zip(rows, shown, strict=True)]
    order = sorted(range(len(rows)), key=extent.__getitem__)
    size = len(batches[0]) if device.type != "cpu" else max(1, CACHED // (max(extent) * max(1, model.config.hidden)))
    out: Videos | None = None
    for i in range(0, len(order), size):
        few = order[i : i + size]
        features, mask = pad_rows([rows[r] for r in few], extent[few[-1]])
        part = in_float(model.encode_video(features.to(device), mask.to(device)))
        behind = torch.arange(mask.shape[1]) >= torch.tensor([extent[r] for r in few])[:, None]
        out = place_rows(out, part, torch.tensor(few), behind, (len(rows), max(extent)))
    assert out is not None
    return out, torch.tensor(extent)


def in_float(rows: Videos) -> Videos:
    """Encodings in float32, whatever precision they were computed in."""
    search = rows.search.float()
    return Videos(search, search if rows.spans is rows.search else rows.spans.float(), rows.mask)


def place_rows(out: Videos | None, part: Videos, at: Tensor, behind: Tensor, shape: tuple[int, int]) -> Videos:
    """The rows of a part at their places, 0 `behind` what matters; the first part makes the room for all."""
    if out is None:
        search = part.search.new_zeros(*shape, *part.search.shape[2:])
        spans = search if part.spans is part.search else part.spans.new_zeros(*shape, *part.spans.shape[2:])
        out = Videos(search, spans, part.mask.new_zeros(shape))
    at, T = at.to(part.mask.device), part.mask.shape[1]
    hidden = behind.to(part.mask.device)[..., None]
    out.search[at, :T] = part.search.masked_fill(hidden, 0.0)
    if out.spans is not out.search:
        out.spans[at, :T] = part.spans.masked_fill(hidden, 0.0)
    out.mask[at, :T] = part.mask
    return out


def join_videos(parts: Sequence[Videos], T: int) -> Videos:
    """Batches one behind another, 0 behind their ends, as the published programs join them. [R, T, …]"""

    def join(tensors: Sequence[Tensor]) -> Tensor:
        R, tail = sum(len(t) for t in tensors), tensors[0].shape[2:]
        out = tensors[0].new_zeros(R, T, *tail)
        at = 0
        for t in tensors:
            out[at : at + len(t), : t.shape[1]] = t
            at += len(t)
        return out

    search = join([v.search for v in parts])
    same = all(v.search is v.spans for v in parts)
    return Videos(search, search if same else join([v.spans for v in parts]), join([v.mask for v in parts]))


def score_videos(model: Retriever, queries: Queries, corpus: Corpus, room: int = ROOM) -> Tensor:
    """The score of every row [Q, R], a block of rows at a time."""
    T = corpus.rows.mask.shape[1]
    block = max(1, room // max(1, len(queries) * T))
    parts = [model.video_scores(queries, corpus.rows[i : i + block]) for i in range(0, len(corpus.rows), block)]
    return torch.cat(parts, 1)


def best_rows(scores: Tensor, corpus: Corpus) -> Tensor:
    """A video's score is that of its best row. [Q, R] → [Q, N]"""
    if len(corpus) == scores.shape[1]:
        return scores
    out = scores.new_full((len(scores), len(corpus)), -torch.inf)
    return out.scatter_reduce_(1, corpus.owner.to(scores.device).expand(len(scores), -1), scores, "amax")


class Answers(NamedTuple):
    """What the search has found for Q queries."""

    vcmr: RankedMoments | None  # moments of all videos, after NMS …
    vcmr_listed: RankedMoments | None  # … and before
    svmr: RankedMoments | None  # moments of the query's own video, if it is known …
    svmr_listed: RankedMoments | None
    vr_videos: Tensor | None  # [Q, V] the best videos …
    vr_weights: Tensor | None  # … and exp(α · score)


def search_corpus(
    model: Retriever,
    queries: Queries,
    corpus: Corpus,
    d: Decoding,
    own: Tensor | None = None,
    everywhere: bool = True,
    room: int = ROOM,
) -> Iterator[tuple[slice, Answers]]:
    """Answers for a block of queries at a time. `own` [Q]: the number of the video each is about, where that is known;
    `everywhere`: search all videos."""
    looked_into = min(d.videos, len(corpus)) if everywhere else 1
    K = int(corpus.counts.topk(looked_into).values.sum())  # rows of a query, at most
    numbers = K * corpus.rows.mask.shape[1] * 6  # similarities, logits and probabilities
    block = max(1, min(256, room // max(len(corpus.rows), numbers)))
    with torch.inference_mode():
        for i in range(0, len(queries), block):
            part = slice(i, min(i + block, len(queries)))
            yield part, answer_queries(model, queries[part], corpus, d, None if own is None else own[part], everywhere)


def answer_queries(
    model: Retriever, queries: Queries, corpus: Corpus, d: Decoding, own: Tensor | None, everywhere: bool
) -> Answers:
    """All of a few queries at once."""
    vcmr = vcmr_listed = svmr = svmr_listed = top = weights = None
    if everywhere:
        rows = score_videos(model, queries, corpus)  # [Q, R]
        best, top = best_places(best_rows(rows, corpus), min(d.videos, len(corpus)))
        weights = torch.exp(d.alpha * best)
        vcmr_listed, vcmr = find_spans(model, queries, corpus, top, (rows, None), d)
    if own is not None:
        at, there = rows_of(own[:, None], corpus)  # [Q, W]
        scores = own_scores(model, queries, corpus, at).masked_fill(~there.to(corpus.rows.mask.device), -torch.inf)
        svmr_listed, svmr = find_spans(model, queries, corpus, own[:, None], (None, scores), d)
    return Answers(vcmr, vcmr_listed, svmr, svmr_listed, top, weights)


def own_scores(model: Retriever, queries: Queries, corpus: Corpus, at: Tensor) -> Tensor:
    """The score of some rows of each query, on the model's device; 0 where it is the only one. [Q, W]"""
    if at.shape[1] == 1:
        return torch.zeros(at.shape, device=corpus.rows.mask.device)
    return torch.cat([model.video_scores(queries[q : q + 1], corpus.rows[rows]) for q, rows in enumerate(at)])


def rows_of(videos: Tensor, corpus: Corpus) -> tuple[Tensor, Tensor]:
    """The rows of these videos, video by video [Q, V] → [Q, K], and which of these places there are.

    K is what the query with most rows needs: a film of a hundred windows does not make a hundred of every video.
    """
    videos = videos.cpu()
    count = corpus.counts[videos]  # [Q, V]
    ends = count.cumsum(1)
    k = torch.arange(int(ends[:, -1].max())).expand(len(videos), -1).contiguous()  # [Q, K]
    slot = torch.searchsorted(ends, k, right=True)  # whose row it is; V: none
    there = slot < videos.shape[1]
    slot = slot.clamp(max=videos.shape[1] - 1)
    row = corpus.firsts[videos].gather(1, slot) + k - (ends - count).gather(1, slot)
    return torch.where(there, row, corpus.firsts[videos[:, :1]]), there


def compare_clips(query: Tensor, clips: Tensor, at: Tensor, extent: Tensor | None = None) -> Tensor:
    """query · clip for some rows of each query; behind a row's extent 0. [Q, H], [R, T, H], [Q, K] → [Q, K, T]"""
    query = query.to(clips.dtype).contiguous()  # under autocast it may have another type
    if (kernels := kernels_for(query, clips)) is None:
        return compare_clips_python(query, clips, at)
    T = clips.shape[1]
    extent = torch.full((len(clips),), T) if extent is None else extent
    out = clips.new_empty(*at.shape, T)
    arrays = (t.numpy() for t in (query, clips, at.contiguous(), extent, out))
    kernels.compare_clips(*arrays, thread_count())
    return out


def compare_clips_python(query: Tensor, clips: Tensor, at: Tensor) -> Tensor:
    """The readable twin of the kernel: 32 sums, of every 32nd number each, which are added 16 + 16, 8 + 8, …"""
    H = clips.shape[2]
    out = clips.new_empty(*at.shape, clips.shape[1])
    for q, rows in enumerate(at.to(clips.device)):
        products = F.pad(clips[rows] * query[q], (0, -H % LANES))
        lanes = torch.zeros_like(products[..., :LANES])  # [K, T, 32]
        for h in range(0, products.shape[-1], LANES):
            lanes = lanes + products[..., h : h + LANES]
        while lanes.shape[-1] > 1:
            half = lanes.shape[-1] // 2
            lanes = lanes[..., :half] + lanes[..., half:]
        out[q] = lanes[..., 0]
    return out


def find_spans(
    model: Retriever,
    queries: Queries,
    corpus: Corpus,
    videos: Tensor,
    scores: tuple[Tensor | None, Tensor | None],
    d: Decoding,
) -> tuple[RankedMoments, RankedMoments]:
    """The moments of these videos [Q, V], before and after NMS. Scores of all rows [Q, R], or of just these [Q, V·W]:
    then the video is known, and its best row has weight 1."""
    at, there = rows_of(videos, corpus)  # [Q, K]
    every, own = scores
    if every is not None:
        w = torch.exp(d.alpha * every.gather(1, at.to(every.device)))
    else:
        assert own is not None
        w = torch.exp(d.alpha * (own - own.amax(1, keepdim=True)))
    w, mask = w * there.to(w.device), corpus.rows.mask
    similarity = compare_clips(queries.spans, corpus.rows.spans, at, corpus.extent)  # [Q, K, T]
    step = max(1, CACHED // max(1, similarity[0].numel()))
    parts = []
    for i in range(0, len(at), step):
        few = slice(i, i + step)
        start, end = model.boundaries(similarity[few], mask[at[few]])
        parts.append(score_spans(start.softmax(-1), end.softmax(-1), w[few], d))
    spans = Spans(*(torch.cat(columns) for columns in zip(*parts, strict=True)))
    where = at.gather(1, spans.row.cpu())
    video = corpus.owner[where]
    seconds = to_seconds(spans, corpus.offset[where].to(spans.first.device), corpus.durations[video], d)
    return rank_moments(RankedMoments(video, seconds, spans.score.cpu()), d, known=every is None)
