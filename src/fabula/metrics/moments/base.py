"""Metrics of moments: a query's windows against the ranking that a system gives, a block of queries at a time.

missing   zero: a query that the predictions do not name counts as a miss · drop: it does not count · error: refuse
repeated  error: a query that a list answers twice is refused · last: its last answer counts, as where evaluators keep
          answers by id · join: its answers are laid end to end, each cut to `top` first, as QVHighlights' mAP does it
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.rows import Rows
from fabula.data.moments import Id, Query, Ranking, Rankings, VideoNumbers
from fabula.io.answers.readers import READERS, read_frames
from fabula.metrics.base import Metric, Values

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Columns = dict[str, Floats]  # [Q] each
EMPTY = np.zeros((0, 2))


@dataclass(frozen=True, eq=False)
class Block:
    """Some queries with their rankings laid end to end. Q queries, M answers."""

    queries: Sequence[Query]
    counts: Ints  # [Q] how many answers each has
    spans: Floats  # [M, 2]
    listed_scores: Floats | None  # [M] None: no answer has one
    videos: Ints  # [M]
    own: Ints  # [Q] the video of each query
    answered: NDArray[np.bool_]  # [Q] False where the predictions do not name the query
    saliency: Sequence[Floats | None]  # [Q] one number per clip, where there is one
    texts: Sequence[str | None] | None = None  # [Q] answers in words; None: no query has one
    paces: Sequence[float | None] | None = None  # [Q] seconds a frame, where words count frames; None: none does
    numbers: VideoNumbers = dataclasses.field(default_factory=VideoNumbers, repr=False)  # of videos that answers name
    readings: dict[str, Block] = dataclasses.field(default_factory=dict, repr=False)  # with the windows of a reader

    @cached_property
    def of(self) -> Ints:
        """Which query each answer belongs to. [M]"""
        return np.repeat(np.arange(len(self)), self.counts)

    @cached_property
    def place(self) -> Ints:
        """Each answer's place from 0, as listed. [M]"""
        return np.arange(len(self.spans)) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)

    @cached_property
    def scores(self) -> Floats:
        """NaN where there is none. [M]"""
        return np.full(len(self.spans), np.nan) if self.listed_scores is None else self.listed_scores

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Is it the query's video? [M]"""
        right: NDArray[np.bool_] = self.videos == np.repeat(self.own, self.counts)
        return right

    @classmethod
    def of_rankings(cls, queries: Sequence[Query], rankings: Sequence[Ranking | None], numbers: VideoNumbers) -> Block:
        """From one ranking per query; None: the predictions do not name it."""
        counts = np.array([0 if r is None else len(r.spans) for r in rankings], dtype=np.int64)
        texts = [None if r is None else r.answer for r in rankings]
        paces = [None if r is None else r.pace for r in rankings]
        filled = [(q, r, len(r)) for q, r in zip(queries, rankings, strict=True) if r is not None and len(r)]
        spans = np.concatenate([r.spans for _, r, _ in filled]) if filled else EMPTY
        scores = [np.full(n, np.nan) if r.scores is None else r.scores for _, r, n in filled]
        videos = [np.full(n, numbers[q.video]) if r.videos is None else r.videos for q, r, n in filled]
        return cls(
            queries,
            counts,
            spans,
            np.concatenate(scores) if scores else np.zeros(0),
            np.concatenate(videos) if videos else np.zeros(0, dtype=np.int64),
            number_videos(queries, numbers),
            np.array([r is not None for r in rankings], dtype=bool),
            [None if r is None else r.saliency for r in rankings],
            texts if any(text is not None for text in texts) else None,
            paces if any(pace is not None for pace in paces) else None,
            numbers,
        )

    @classmethod
    def of_answers(cls, queries: Sequence[Query], answers: Rankings, numbers: VideoNumbers) -> Block:
        """From answers that are end to end already."""
        own, n = number_videos(queries, numbers), len(queries)
        parts = answers.counts, answers.spans, answers.scores, answers.videos
        return cls(queries, *parts, own, np.ones(n, dtype=bool), [None] * n, None, None, numbers)

    def __len__(self) -> int:
        return len(self.queries)

    def read_by(self, name: str) -> Block:
        """The block with the windows that a reader finds in answers given in words; as it is where there are none."""
        if self.texts is None:
            return self
        if name not in self.readings:
            paces = self.paces or [None] * len(self)
            listed = self.by_query(np.arange(len(self.spans)))
            rankings: list[Ranking | None] = [None] * len(self)
            for i, (query, text, pace) in enumerate(zip(self.queries, self.texts, paces, strict=True)):
                if text is not None:
                    windows = np.array(read_frames(name, text, pace), dtype=np.float64).reshape(-1, 2)
                    rankings[i] = Ranking(query.id, windows)
                elif self.answered[i]:
                    rankings[i] = Ranking(query.id, self.spans[listed[i]])
            self.readings[name] = Block.of_rankings(self.queries, rankings, self.numbers)
        return self.readings[name]

    @cached_property
    def listed_windows(self) -> tuple[Floats, Ints]:
        """The queries' windows end to end [W, 2]; and how many each has [Q]."""
        counts = np.fromiter((len(q.windows) for q in self.queries), dtype=np.int64, count=len(self))
        ends = chain.from_iterable(w for q in self.queries for w in q.windows)
        return np.fromiter(ends, dtype=np.float64, count=2 * int(counts.sum())).reshape(-1, 2), counts

    def windows(self) -> tuple[Floats, Ints]:
        """The same a row per query, NaN where it has fewer [Q, W, 2]; and how many each has [Q]."""
        windows, counts = self.listed_windows
        out = np.full((len(self), int(counts.max(initial=1)), 2), np.nan)
        out[np.arange(out.shape[1]) < counts[:, None]] = windows
        return out, counts

    def by_query(self, at: Ints) -> list[Ints]:
        """Which of these answers, sorted by query, each query has. [Q]"""
        return np.split(at, np.searchsorted(self.of[at], np.arange(1, len(self))))[: len(self)]

    def own_answers(self) -> Iterator[tuple[Floats, Floats]]:
        """Of each query the answers in its own video, as listed [P, 2], and its windows [G, 2]."""
        at, _ = self.ranked("file", None, right=True)
        for query, own in zip(self.queries, self.by_query(at), strict=True):
            yield self.spans[own], np.array(query.windows, dtype=np.float64).reshape(-1, 2)

    def ranked(self, order: str, top: int | None, right: bool = False) -> tuple[Ints, Ints]:
        """The answers that count, query by query and best first: which [K], and at which place [K].

        With `right`, of these the ones in the query's video, at the place they have among all.
        """
        if order == "score":  # of one score the earlier first, so that no number depends on a file's order
            start, end = np.where(np.isnan(self.scores)[:, None], 0.0, self.spans).T  # without a score: as listed
            at = np.lexsort((self.place, self.right, end, start, -self.scores, self.of))
            place = places(self.of[at], len(self))
        else:
            at, place = np.arange(len(self.of)), self.place
        if top is not None:
            at, place = at[place < top], place[place < top]
        return (at[self.right[at]], place[self.right[at]]) if right else (at, place)


def number_videos(queries: Sequence[Query], numbers: VideoNumbers) -> Ints:
    """The number of each query's own video. [Q]"""
    return np.fromiter((numbers[q.video] for q in queries), dtype=np.int64, count=len(queries))


def places(of: Ints, n: int) -> Ints:
    """How many entries of the same query stand before each; `of` is sorted. [M]"""
    counts = np.bincount(of, minlength=n)
    return np.arange(len(of)) - (np.cumsum(counts) - counts)[of]


def first_place(of: Ints, place: Ints, n: int) -> Floats:
    """The best place, from 1, that each query has among these; infinite where it has none. [Q]"""
    out = np.full(n, np.inf)
    np.minimum.at(out, of, place + 1.0)
    return out


@dataclass(frozen=True, kw_only=True)
class MomentMetric(Metric):
    """Base of metrics over queries. Write `units` and `names`."""

    reads: ClassVar[str] = "moments"
    tasks: ClassVar[tuple[str, ...]] = ("moments",)
    answers: ClassVar[str] = ""  # which list of a file with several it reads; "" where there is one
    needs: ClassVar[Literal["windows", "videos", "saliency"]] = "windows"
    late: ClassVar[frozenset[str]] = frozenset({"repeated"})
    rules: ClassVar[Mapping[str, str]] = {
        "repeated=error": "a query that is answered twice is refused",
        "repeated=last": "of two answers to a query the last counts",
        "repeated=join": "two answers to a query are laid end to end",
        "missing=zero": "a query without an answer counts as a miss",
        "missing=drop": "queries without an answer are left out",
        "missing=error": "a query without an answer ends the evaluation",
        "order=file": "the list's order ranks, whatever the scores say",
        "order=score": "answers are ranked by their scores, those of one score by their start",
        "cmp=>": "the overlap must exceed τ",
        "cmp=>=": "the overlap must reach τ",
        "reader=fabula": "windows are read from words by our own rules",
        "reader": "windows are read from words as {} reads them",
        "mean=no": "each τ has its own number",
        "mean=yes": "the mean over τ is reported besides",
        "digits=float64": "overlaps are computed in double precision",
        "digits=mixed": "overlaps in single precision are held against τ in double: one of exactly 0.7 is a miss",
        "digits=float32": "overlaps and τ are held in single precision",
        "over=queries": "every query counts the same",
        "over=sources": "every data set that queries come from counts the same",
        "unread=zero": "an answer that cannot be read counts as 0",
        "unread=drop": "answers that cannot be read are left out",
    }

    missing: Literal["zero", "drop", "error"] = "zero"
    repeated: Literal["error", "last", "join"] = "error"

    def __post_init__(self) -> None:
        """The numbers reported depend on the parameters: every k, every threshold; a reader has its own name."""
        super().__post_init__()
        if (reader := self.param("reader")) is not None:
            object.__setattr__(self, "reader", READERS.get(reader).name)
        names = self.names()
        object.__setattr__(self, "fields", names)
        object.__setattr__(self, "primary", type(self).primary if type(self).primary in names else names[0])

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The fields, in order."""

    @abstractmethod
    def units(self, block: Block) -> Columns:
        """One number per query and column. A query without a ranking counts as one with an empty ranking."""

    def rows(self, block: Block, ctx: object) -> Rows:
        block = self.read(block)
        keys = tuple(q.id for q in block.queries)
        videos = tuple(q.video for q in block.queries)  # queries of one video are not independent
        return Rows(keys, np.zeros(len(keys), dtype=np.int64), self.units(block), unit="query", clusters=videos)

    def group(self, rows: Rows, queries: Mapping[Id, Query]) -> Rows:
        """Rows of all queries; with over=sources those of each data set are a set of their own: sets are averaged."""
        if self.param("over") != "sources":
            return rows
        kinds = sorted({q.type or "" for q in queries.values()})
        number = {kind: i for i, kind in enumerate(kinds)}
        of = [number[queries[key].type or ""] for key in rows.keys]
        return dataclasses.replace(rows, refset=np.array(of, dtype=np.int64))

    def read(self, block: Block) -> Block:
        """Windows in place of words, by the metric's own reader where it has one."""
        return block.read_by(self.param("reader") or "fabula")

    def combine(self, rows: Rows) -> Values:
        """The mean of each field; over the queries of weight 1 where the rows have a weight `n …` for it."""
        totals = {field: float(self.weights(rows, field).sum()) for field in self.fields}
        return {field: float(rows[field].sum()) / total if total else 0.0 for field, total in totals.items()}

    def weights(self, rows: Rows, field: str) -> Floats:
        return rows.columns.get(self.weight(field), np.ones(len(rows)))

    def sums(self, rows: Rows) -> Floats | None:
        return self.influencing_columns(rows, self.primary)

    def influencing_columns(self, rows: Rows, field: str) -> Floats:
        return np.stack([rows[field], self.weights(rows, field)], axis=1)

    def unit_value(self, rows: Rows, field: str) -> float:
        return self.fold(rows)[field] if self.weights(rows, field).any() else float("nan")

    def weight(self, field: str) -> str:
        """The column that says which queries a field is averaged over."""
        return f"n {field}"


@dataclass(frozen=True, kw_only=True)
class PerQuery(MomentMetric):
    """Base of metrics that hold all answers of a query against all its windows. Write `one` and `names`."""

    tasks: ClassVar[tuple[str, ...]] = ()  # where it is asked for
    answers: ClassVar[str] = "SVMR"
    perfect_score: ClassVar[str] = ""

    @abstractmethod
    def one(self, answer: Floats, wanted: Floats) -> dict[str, float]:
        """The numbers of one query, 0 where one is not among them: answer [P, 2], wanted [G, 2]."""

    def units(self, block: Block) -> Columns:
        columns: Columns = {name: np.zeros(len(block)) for name in self.names()}
        for q, (answer, wanted) in enumerate(block.own_answers()):
            for name, value in self.one(answer, wanted).items():
                columns[name][q] = value
        return columns
