"""Queries and clips as a retriever reads them: windows in seconds become clips, frames become clips, words vectors.

labels   inside: st = ⌊t0/clip⌋, ed = ⌈t1/clip⌉ − 1, the last clip that the moment touches (with end="inside")
         ceil:   ed = ⌈t1/clip⌉, one past it, as XML and ReLoCLNet label; at the last clip it is the last
         hero:   ed = ⌈t1/clip⌉ − 1, but at least st + 1
clips    frames of a store, `rate` a second, pooled to clips (VERIFIED: the maximum of a second)
longer videos   windows: cut into windows that overlap · cut: the rest is not seen (XML) · mean: averaged down to
         max_clips (ReLoCLNet, whose labels then no longer fit)
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import get_worker_info

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.data.moments import Id, Query, Span
from fabula.io.moments import choose_captions, read_queries
from fabula.learn.retrieval.bpe import Tokens
from fabula.learn.retrieval.contract import Batch, Labels, pad_rows
from fabula.learn.retrieval.search import cut_windows, overlap_of
from fabula.learn.text_features import find_words, key_in
from fabula.media.sentences import digest
from fabula.media.stores.features import Features, Frames

Granularity = Literal["fig", "cog"]
T = TypeVar("T")
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
KEPT = 1 << 30  # bytes of clips in memory
MANY_WORDS = 100_000  # characters; a query is a sentence


# ---------------------------------------------------------------------------------------------------------------------
# Queries


def read_moments(
    path: str | Path, notes: Notes, granularity: Granularity = "fig", format: str | None = None
) -> dict[Id, Query]:
    """The queries of a file as they are; how many windows end after their video is noted.

    `granularity`: of VERIFIED's files, the coarse or the fine caption is the query's text.
    """
    queries = read_queries([path], Notes(), choose_captions(path, granularity == "cog", format))
    for id, query in queries.items():
        if query.duration is not None and any(end > query.duration for _, end in query.windows):
            notes.add("{n} moments end after their video; they are learnt up to there", name_id(id))
    return queries


def cut_windows_of(query: Query, file: object = None) -> tuple[Span, ...]:
    """The windows of a query inside its video: the training targets."""
    if query.duration is None:
        return query.windows
    windows = tuple((s, min(e, query.duration)) for s, e in query.windows if s < query.duration)
    if not windows:
        raise InputError(
            f"a window begins at {query.windows[0][0]:g} s, the video ends at {query.duration:g} s",
            file=file,
            video=query.id,
            noun="query",
            hint="correct the annotation, or leave it out",
        )
    return windows


def label_spans(window: tuple[float, float], clip: float, clips: int, rule: Labels) -> tuple[int, int]:
    """First and last clip of a window in seconds, by a rule of labels; both are clips that there are."""
    start, end = window
    if rule == "inside":
        first = math.floor(start / clip + 1e-6)
        last = max(first, math.ceil(end / clip - 1e-6) - 1)
    elif rule == "ceil":
        first, last = math.floor(start / clip), math.ceil(end / clip)
    elif rule == "hero":
        first = math.floor(start / clip)
        last = max(math.ceil(end / clip) - 1, first + 1)
    else:
        raise SpecError(f"labels is {rule!r}; it may be inside, ceil or hero")
    return min(first, clips - 1), min(last, clips - 1)


# ---------------------------------------------------------------------------------------------------------------------
# Words


def split_words(text: str | None, id: Id, file: object = None) -> list[str]:
    """The words of a query in small letters; one that has none is an error."""
    words = WORD.findall((text or "")[:MANY_WORDS].lower())
    if not words:
        raise InputError(
            "a query without words" if not (text or "").strip() else f"a query without words: {shown(text)}",
            file=file,
            video=id,
            noun="query",
            hint="write the query in words",
        )
    return words


class Words:
    """Queries as vectors of their words, [L, E] each: from a store, by query id; or made by hashing, which needs
    nothing and knows nothing. Or as ids, [L]: of a vocabulary of words, or where that is empty of RoBERTa's tokens."""

    def __init__(
        self, config: Any, store: Features | None = None, notes: Notes | None = None, tokens: Tokens | None = None
    ) -> None:
        self.config, self.store, self.notes, self.tokens = config, store, notes or Notes(), tokens
        self.known: dict[str, Tensor] = {}
        vocabulary: Sequence[str] = getattr(config, "vocabulary", ())
        self.ids = {word: i for i, word in enumerate(vocabulary)}
        self.kind = getattr(config, "words", "ids")
        if self.kind == "ids" and tokens is None and not self.ids:
            problem = "the model reads RoBERTa's tokens; name the folder of their vocab.json and merges.txt"
            raise SpecError(f"{problem} (--tokenizer, or fabula.moments(…, tokenizer=…))")
        if self.kind == "ids" and self.ids and tokens is not None:
            raise SpecError("the model reads words of its own vocabulary; leave the tokenizer out")
        if self.kind == "store" and store is None:
            raise SpecError("the model reads words from a store; name it (--words), or use --set words=hashing")
        if self.kind == "store" and store is not None and store.dim != config.query_dim:
            raise InputError(
                f"words of {store.dim} channels; the model takes {config.query_dim}",
                file=store.path,
                hint="use the word features the model was trained on",
            )

    def __call__(self, query: Query) -> Tensor:
        most = self.config.max_words
        if self.kind == "store":
            assert self.store is not None
            rows = torch.from_numpy(find_words(self.store, query.id, query.text))
        elif self.kind == "hashing":
            rows = torch.stack([self.vector(word) for word in self.cut(split_words(query.text, query.id), query.id)])
        elif self.tokens is not None:
            split_words(query.text, query.id)  # a query without words is an error
            row = self.cut(self.tokens((query.text or "")[:MANY_WORDS]), query.id)
            return torch.tensor(row)
        else:
            unknown = len(self.ids) - 1
            words = self.cut(split_words(query.text, query.id), query.id)
            return torch.tensor([self.ids.get(word, unknown) for word in words])
        rows = rows[:most].float()
        return scale_rows(rows) if self.config.normalize else rows

    def check(self, queries: Iterable[Query], notes: Notes) -> None:
        """Every query has words, before hours of training; those that have too many are noted."""
        if self.store is not None and self.kind == "store":
            for query in queries:
                if (key := key_in(self.store, query.id, query.text)) not in self.store:
                    self.store[key]  # raises, with the store's name
        else:
            own_notes, self.notes = self.notes, notes
            for query in queries:
                self.cut(split_words(query.text, query.id), query.id)
            self.notes = own_notes

    def cut(self, words: list[T], id: Id) -> list[T]:
        most = self.config.max_words
        if len(words) > most:
            self.notes.add(f"{{n}} queries have more than {most} words; the first {most} are read", name_id(id))
        return words[:most]

    def vector(self, word: str) -> Tensor:
        if word not in self.known:
            self.known[word] = torch.from_numpy(hash_word(word, self.config.query_dim))
        return self.known[word]


def hash_word(word: str, dim: int) -> NDArray[np.float32]:
    """A vector of length 1 that depends on the word alone."""
    x = np.random.default_rng(digest("word", word)).standard_normal(dim)
    return np.asarray(x / np.linalg.norm(x), dtype=np.float32)


def scale_rows(x: Tensor) -> Tensor:
    """x / (‖x‖ + 1e-5) row by row, as TVR's code reads features."""
    y: Tensor = x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) + 1e-5)
    return y


# ---------------------------------------------------------------------------------------------------------------------
# Clips


def pool_clips(frames: Frames, per_clip: float, pool: str = "max") -> Frames:
    """Frames [F, C] → clips [T, C], `per_clip` frames each, the last clip of what is left."""
    if abs(per_clip - 1) < 1e-6:
        return frames
    if per_clip < 1:
        raise SpecError(f"{per_clip:g} frames a clip; clips cannot be shorter than frames are apart")
    T = max(1, math.ceil(len(frames) / per_clip - 1e-6))
    starts = np.minimum((np.arange(T) * per_clip + 1e-6).astype(np.int64), len(frames) - 1)
    if pool == "max":
        return np.maximum.reduceat(frames, starts, axis=0)
    counts = np.diff(np.append(starts, len(frames)))
    return np.asarray(np.add.reduceat(frames, starts, axis=0) / counts[:, None], dtype=np.float32)


def average_down(clips: Frames, most: int) -> Frames:
    """At most so many clips: neighbours are averaged, as ReLoCLNet reads longer videos."""
    n = len(clips)
    if n <= most:
        return clips
    bounds = np.minimum(np.round(np.arange(most + 1) / most * n).astype(np.int64), n - 1)
    return np.stack([clips[s:e].mean(0) if s < e else clips[s] for s, e in itertools.pairwise(bounds)])


class Clips(Mapping[str, Tensor]):
    """The clips of every video, [T, C]: one store, or several side by side, pooled and scaled.

    `keep`: the last that were read stay in memory, KEPT bytes of them, as training wants them; else one video. Workers
    of a loader, of whom each has its own, share the room.
    """

    def __init__(self, stores: Sequence[Features], config: Any, rate: float | None = None, keep: bool = True) -> None:
        if not stores:
            raise SpecError("no features")
        self.stores, self.config = stores, config
        self.cache: dict[str, Tensor] | None = {} if keep else None
        self.size = 0  # bytes of what is kept
        self.last: tuple[str | None, Tensor] = (None, torch.empty(0))
        known = [rate or rate_of(store) for store in stores]
        self.assumed = [per_second is None for per_second in known]  # without a rate: one feature a clip
        self.rates = [per_second or 1 / config.clip for per_second in known]
        dim = sum(store.dim for store in stores)
        if config.feature_dim not in (0, dim):
            raise InputError(
                f"features of {dim} channels; the model takes {config.feature_dim}",
                file=stores[0].path,
                hint="use the features the model was trained on",
            )

    def __getitem__(self, video: str) -> Tensor:
        if self.cache is not None and video in self.cache:
            self.cache[video] = clips = self.cache.pop(video)  # the last to go now
            return clips
        if self.last[0] == video:
            return self.last[1]
        parts = []
        for store, rate in zip(self.stores, self.rates, strict=True):
            part = torch.from_numpy(pool_clips(store[video], rate * self.config.clip))
            parts.append(scale_rows(part) if self.config.normalize else part)
        T = min(map(len, parts))
        if max(map(len, parts)) - T > 2:
            raise InputError(
                f"its features are {' and '.join(str(len(p)) for p in parts)} clips long",
                file=self.stores[-1].path,
                video=video,
                hint="extract them from the same video",
            )
        clips = torch.cat([p[:T] for p in parts], -1)
        long = getattr(self.config, "long", "windows")
        if long == "cut":
            clips = clips[: self.config.max_clips]
        elif long == "mean":
            clips = torch.from_numpy(average_down(clips.numpy(), self.config.max_clips))
        self.last = video, clips
        if self.cache is not None:
            self.cache[video], self.size = clips, self.size + clips.untyped_storage().nbytes()
            worker = get_worker_info()
            while self.size > KEPT // (worker.num_workers if worker else 1):
                self.size -= self.cache.pop(next(iter(self.cache))).untyped_storage().nbytes()
        return clips

    def check(self, queries: Iterable[Query], notes: Notes) -> None:
        """Check by their number that features last as long as their videos; else times mean the wrong clips.

        An error with the rate that fits if none is known; a note if the store or the user names one.
        """
        durations = durations_of({query.id: query for query in queries}, self)
        for store, rate, assumed in zip(self.stores, self.rates, self.assumed, strict=True):
            counts = {video: count_of(store, video) for video in durations}
            off = {v: n for v, n in counts.items() if n and lasts_otherwise(n / rate, durations[v], self.config.clip)}
            if off and assumed:
                (video, n), fit = next(iter(off.items())), round_rate([n / durations[v] for v, n in off.items()])
                problem = f"features last {n / rate:g} s, the annotation says {durations[video]:g} s"
                more = f" (so it is with {len(off):,} of {len(durations):,} videos)" if len(off) > 1 else ""
                hint = f"give --rate {fit:g}" if fit != rate else f"extract them again, or use --rate {fit:g}"
                if fit * self.config.clip < 1 - 1e-6:
                    hint = f"extract more of them than {fit:g} a second, or train with --set clip={1 / fit:g}"
                raise InputError(problem + more, file=store.path, video=video, hint=hint)
            for video in off:
                notes.add("features of {n} videos last longer or shorter than the annotation says", name_id(video))
            if assumed and not durations:
                problem = f"{store.path.name} has no rate, and the queries have no durations"
                notes.add(f"{problem}: features are taken as one a clip of {self.config.clip:g} s; else give --rate")

    def seconds(self, video: str) -> float:
        """The duration of a video's features, by their number; 0 if the store cannot count them."""
        return min(count_of(store, video) / rate for store, rate in zip(self.stores, self.rates, strict=True))

    def __contains__(self, video: object) -> bool:
        return all(video in store for store in self.stores)

    def __iter__(self) -> Iterator[str]:
        return (v for v in self.stores[0] if v in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def simulated(self) -> bool:
        return any(bool(store.metadata.get("simulated")) for store in self.stores)


def count_of(store: Any, video: str) -> int:
    """The number of features of a video; a store that can count does not read them."""
    return int(store.count(video)) if hasattr(store, "count") else len(store[video])


def lasts_otherwise(seconds: float, duration: float, clip: float) -> bool:
    """Whether features last longer or shorter than their video, by more than 2 clips and 5 %."""
    gap = abs(seconds - duration)
    return gap > 2 * clip and gap > 0.05 * duration


def round_rate(rates: Sequence[float]) -> float:
    """The middle rate: a whole number, or one in so many whole seconds, where it is close to that; else 3 digits."""
    middle = float(np.median(rates))
    whole = round(middle) if middle >= 1 else 1 / round(1 / middle)
    return whole if abs(whole - middle) <= 0.05 * middle else float(f"{middle:.3g}")


def rate_of(store: Features) -> float | None:
    """Features per second, if the store has them."""
    recipe = store.metadata.get("recipe")
    rate = store.metadata.get("rate", recipe.get("rate") if isinstance(recipe, Mapping) else None)
    return float(rate) if isinstance(rate, int | float) and not isinstance(rate, bool) and rate > 0 else None


# ---------------------------------------------------------------------------------------------------------------------
# Data sets


@dataclass
class Example:
    """One query, and the clips among which it is looked for."""

    name: str
    query: Tensor  # [L, E] or [L]
    video: str
    clips: Tensor  # [T, C]
    duration: float  # seconds, of the clips
    span: tuple[int, int]
    windows: Tensor  # [W, 2] seconds from the first of the clips
    saliency: Tensor | None = None  # [T]


class Moments:
    """Queries with their clips, for training. A longer video is shown by the window that has most of the moment."""

    def __init__(self, queries: Sequence[Query], clips: Clips, words: Words) -> None:
        self.queries, self.clips, self.words, self.config = list(queries), clips, words, clips.config
        for query in self.queries:
            if query.video not in clips:
                clips.stores[0][query.video]  # raises, with the store's name
                clips[query.video]
        self.notes = Notes()
        clips.check(self.queries, self.notes)

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, i: int) -> Example:
        query, c = self.queries[i], self.config
        clips = self.clips[query.video]
        windows = cut_windows_of(query)
        window = windows[0] if len(windows) == 1 else windows[int(torch.randint(len(windows), ()))]
        first, last = label_spans(window, c.clip, len(clips), c.labels)
        begin, end = best_window(first, last, cut_windows(len(clips), c.max_clips, overlap_of(c)))
        whole = len(clips) * c.clip if query.duration is None else query.duration
        shown_ = min(whole - begin * c.clip, (end - begin) * c.clip)
        times = torch.tensor(windows, dtype=torch.float32) - begin * c.clip
        times = times.clamp(0, max(shown_, 1e-3))
        times = times[times[:, 1] > times[:, 0]]
        span = (max(first, begin) - begin, min(last, end - 1) - begin)
        marks = None if query.saliency is None else mark_clips(query, begin, end)
        return Example(str(query.id), self.words(query), query.video, clips[begin:end], shown_, span, times, marks)

    @staticmethod
    def collate(examples: Sequence[Example]) -> Batch:
        query, query_mask = pad_rows([e.query for e in examples])
        video, video_mask = pad_rows([e.clips for e in examples])
        marks = None
        if any(e.saliency is not None for e in examples):
            none = [torch.full((len(e.clips),), -1.0) if e.saliency is None else e.saliency for e in examples]
            marks, there = pad_rows(none)
            marks = marks.masked_fill(~there, -1.0)
        return Batch(
            [e.name for e in examples],
            query,
            query_mask,
            video,
            video_mask,
            torch.tensor([e.duration for e in examples]),
            torch.tensor([e.span for e in examples]),
            [e.windows for e in examples],
            marks,
            [e.video for e in examples],
        )


def best_window(first: int, last: int, windows: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The window that shows most of a moment; of several the one in whose middle it lies."""

    def rank(window: tuple[int, int]) -> tuple[int, float]:
        begin, end = window
        shared = min(last, end - 1) - max(first, begin) + 1
        return -shared, abs(first + last - begin - end)

    return min(windows, key=rank)


def mark_clips(query: Query, begin: int, end: int) -> Tensor:
    """The mean mark of each clip, 0 where none is given. [T]"""
    assert query.saliency is not None
    marks = torch.zeros(end - begin)
    for clip, rating in zip(query.saliency.clips, query.saliency.marks, strict=True):
        if begin <= clip < end:
            marks[clip - begin] = sum(rating) / max(1, len(rating))
    return marks


def durations_of(queries: Mapping[Id, Query], clips: Clips) -> dict[str, float]:
    """The duration of every video of the queries, in seconds, if the annotation or the store has it."""
    stored = clips.stores[0].metadata.get("durations")
    stored = stored if isinstance(stored, Mapping) else {}
    durations: dict[str, float] = {}
    for query in queries.values():
        if query.duration is not None:
            durations.setdefault(query.video, query.duration)
    for query in queries.values():
        seconds = stored.get(query.video)
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0:
            durations.setdefault(query.video, float(seconds))
    return durations
