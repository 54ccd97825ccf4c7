"""Windows and marks as QD-DETR reads them (Moon et al., CVPR 2023), and its answers about videos of any length.

    windows   seconds → fractions of clips × clip length, in order of centre
    marks     what the annotators gave a clip, added (QVHighlights: 3 × 0 … 4); where there are no marks, 1 in a window
    pairs     two clips that must be more salient than two others: the best marked over the worst marked, a relevant
              one over one that is not (drawn anew each time; where all are relevant, the first pair once more)

A longer video is cut into windows (retrieval/search.py). To be learnt it is shown by the one that has most of a moment;
asked, all of them are, their answers laid on one time line, those that overlap a better one left out, and the saliency
of a clip that several saw is its mean. A video of one window is answered as the model answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fabula.core.errors import InputError
from fabula.core.notes import Notes, name_id
from fabula.data.moments import Id, Query, Ranking
from fabula.learn.models.qd_detr import Config, HighlightBatch, Model
from fabula.learn.retrieval.answers import Form
from fabula.learn.retrieval.contract import pad_rows
from fabula.learn.retrieval.data import Clips, Words, best_window
from fabula.learn.retrieval.search import cut_windows
from fabula.match.nms import nms


@dataclass(frozen=True)
class Example:
    """One query, and the clips of its video among which it is looked for."""

    name: Id
    words: Tensor  # [W, E]
    clips: Tensor  # [L, C]
    duration: float  # seconds, of the clips
    windows: Tensor  # [K, 2] fractions
    marks: Tensor  # [L]
    pairs: Tensor  # [2, 2] good, bad
    video: str


class Highlights:
    """Queries with their clips. `learn=False`: for prediction; windows and marks are not read and may be missing."""

    def __init__(
        self,
        queries: Iterable[Query],
        clips: Clips,
        words: Words,
        learn: bool = True,
        notes: Notes | None = None,
        form: Form = "tvr",  # of the file that a prediction is written to
    ) -> None:
        self.queries, self.clips, self.words, self.learn, self.form = list(queries), clips, words, learn, form
        self.config: Config = clips.config
        self.names = list(dict.fromkeys(q.video for q in self.queries))
        self.note = ""  # for the file
        self.notes = Notes() if notes is None else notes
        for query in self.queries:
            if query.video not in clips:
                for store in clips.stores:
                    store[query.video]  # raises, with the store's name
        clips.check(self.queries, self.notes)
        if learn and notes is not None:
            for query in self.queries:
                self.check(query, notes)

    def check(self, query: Query, notes: Notes) -> None:
        """What of a query the features do not show."""
        n = len(self.clips[query.video])
        if all(start >= n * self.config.clip for start, _ in query.windows):
            raise InputError(
                f"its moment begins after its features end, at {n * self.config.clip:g} s",
                video=query.id,
                noun="query",
                hint="leave the query out, or extract features again",
            )
        if any(end > n * self.config.clip + 1e-6 for _, end in query.windows):
            notes.add("{n} moments end after their features and are cut there", name_id(query.id))
        if query.saliency is not None and any(clip >= n for clip in query.saliency.clips):
            notes.add("{n} queries mark clips that have no features; these marks are not read", name_id(query.id))

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, i: int) -> Example:
        """For training: the query with the window of its video that has most of its first moment."""
        query, c = self.queries[i], self.config
        clips = self.clips[query.video]
        places = cut_windows(len(clips), c.max_clips, c.overlap)
        begin, end = places[0]
        if len(places) > 1 and self.learn:
            start, stop = query.windows[0]
            begin, end = best_window(int(start / c.clip), max(int(stop / c.clip - 1e-6), int(start / c.clip)), places)
        return self.show(query, clips, begin, end)

    def show(self, query: Query, clips: Tensor, begin: int, end: int) -> Example:
        """A query with some clips of its video."""
        c = self.config
        whole = query.duration if query.duration is not None else len(clips) * c.clip
        duration = max(min(whole - begin * c.clip, (end - begin) * c.clip), 1e-3)
        windows = torch.zeros(0, 2)
        marks, pairs = torch.zeros(end - begin), torch.zeros(2, 2, dtype=torch.int64)
        if self.learn:
            windows = draw_windows(place_windows(query, begin, end, c.clip), c.most_windows)
            marks, relevant = mark_clips(query, begin, end, c.clip)
            pairs = draw_pairs(marks, relevant)
        return Example(query.id, self.words(query), clips[begin:end], duration, windows, marks, pairs, query.video)

    def parts(self, i: int) -> list[tuple[int, Example]]:
        """For prediction: the query with every window of its video, and the first clip of each."""
        query, c = self.queries[i], self.config
        clips = self.clips[query.video]
        return [(b, self.show(query, clips, b, e)) for b, e in cut_windows(len(clips), c.max_clips, c.overlap)]

    @staticmethod
    def collate(examples: Sequence[Example]) -> HighlightBatch:
        features, mask = pad_rows([e.clips for e in examples])
        words, word_mask = pad_rows([e.words for e in examples])
        windows, window_mask = pad_rows([e.windows for e in examples], max(1, *(len(e.windows) for e in examples), 1))
        marks, _ = pad_rows([e.marks for e in examples])
        pairs = torch.stack([e.pairs for e in examples])
        duration = torch.tensor([e.duration for e in examples])
        return HighlightBatch(
            [e.name for e in examples], features, mask, words, word_mask, duration, windows, window_mask, marks,
            pairs[:, 0], pairs[:, 1], [e.video for e in examples],
        )  # fmt: skip


def place_windows(query: Query, begin: int, end: int, clip: float) -> Tensor:
    """Windows as fractions of these clips, in order of centre; those outside are left out. [K, 2]"""
    times = (torch.tensor(query.windows, dtype=torch.float64) / clip - begin) / (end - begin)
    times = times.clamp(0, 1)
    times = times[times[:, 1] > times[:, 0]]
    return times[times.sum(1).argsort(stable=True)].float()


def draw_windows(windows: Tensor, most: int | None) -> Tensor:
    """At most so many, drawn; in their order. [K, 2]"""
    if most is None or len(windows) <= most:
        return windows
    return windows[torch.randperm(len(windows))[:most].sort().values]


def mark_clips(query: Query, begin: int, end: int, clip: float) -> tuple[Tensor, Tensor]:
    """The sum of each clip's marks [L], and which clips are relevant [L]."""
    marks, relevant = torch.zeros(end - begin), torch.zeros(end - begin, dtype=torch.bool)
    if query.saliency is not None:
        for at, rating in zip(query.saliency.clips, query.saliency.marks, strict=True):
            if begin <= at < end:
                marks[at - begin], relevant[at - begin] = sum(rating), True
        return marks, relevant
    centres = (torch.arange(begin, end) + 0.5) * clip
    for start, stop in query.windows:
        inside = (centres >= start) & (centres < stop)
        if not inside.any() and start < end * clip and stop > begin * clip:  # shorter than a clip
            inside = (centres - (start + stop) / 2).abs() == (centres - (start + stop) / 2).abs().min()
        relevant |= inside
    return relevant.float(), relevant


def draw_pairs(marks: Tensor, relevant: Tensor) -> Tensor:
    """Good and bad clips, two pairs; a clip with itself if all clips are alike. [2, 2]"""
    marked, rest = relevant.nonzero()[:, 0], (~relevant).nonzero()[:, 0]
    if not len(marked):
        return torch.zeros(2, 2, dtype=torch.int64)
    order = marked[marks[marked].argsort(stable=True)]
    best, worst = order[-1], order[0]
    good, bad = best, worst
    if len(rest):
        good, bad = marked[torch.randint(len(marked), ())], rest[torch.randint(len(rest), ())]
    return torch.stack([torch.stack([best, good]), torch.stack([worst, bad])])


# ---------------------------------------------------------------------------------------------------------------------
# Answers


def find_highlights(
    model: Model, data: Highlights, batch_size: int = 32, watch: Callable[[int], None] = lambda done: None
) -> Iterator[Ranking]:
    """The answer to every query, in their order."""
    model.eval()
    device = next(model.parameters()).device
    waiting: list[tuple[Query, list[int], list[Example]]] = []

    def answer() -> Iterator[Ranking]:
        examples = [e for _, _, shown in waiting for e in shown]
        rankings: list[Ranking] = []
        for k in range(0, len(examples), batch_size):
            rankings += model.predict(data.collate(examples[k : k + batch_size]).to(device))
        at = 0
        for query, offsets, shown in waiting:
            parts_found = rankings[at : at + len(shown)]
            at += len(shown)
            yield (
                parts_found[0] if len(parts_found) == 1 else join_windows(query.id, parts_found, offsets, model.config)
            )
        waiting.clear()

    queued = 0
    for i, query in enumerate(data.queries):
        parts = data.parts(i)
        waiting.append((query, [b for b, _ in parts], [e for _, e in parts]))
        queued += len(parts)
        if queued >= batch_size:
            yield from answer()
            queued = 0
            watch(i + 1)
    yield from answer()
    watch(len(data))


def join_windows(id: Id, rankings: Sequence[Ranking], offsets: Sequence[int], config: Config) -> Ranking:
    """One answer of the answers about a video's windows, which begin at these clips."""
    spans = np.concatenate([r.spans + b * config.clip for r, b in zip(rankings, offsets, strict=True)])
    scores = np.concatenate([r.scores for r in rankings if r.scores is not None])
    order = nms(spans, scores, config.join if config.nms is None else min(config.join, config.nms), top=None)
    marks = [r.saliency for r in rankings if r.saliency is not None]
    n = max(b + len(m) for b, m in zip(offsets, marks, strict=True))
    total, count = np.zeros(n), np.zeros(n)
    for b, m in zip(offsets, marks, strict=True):
        total[b : b + len(m)] += m
        count[b : b + len(m)] += 1
    return Ranking(id, spans[order], scores[order], saliency=total / np.maximum(count, 1))
