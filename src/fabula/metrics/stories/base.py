"""Metrics of stories: one video's reference events against its predicted events.

The rules that differ between published evaluators are parameters here, so that a metric file states only its measure:

refs     mean: each reference set alone, numbers averaged over sets · best: per video, the set with the highest primary
         number · merged: the events of all sets together · single: refuse more than one set
missing  zero: a reference video without predictions counts as 0 · drop: it does not count
         empty: nor does one whose prediction has no events, unless none has any
order    time: both sides sorted by start, end and words, so that no number depends on the order of a file
         start: both sides sorted by start alone, ties as in the file · predictions: so, and only the predictions
         file: neither is sorted
top      where a metric has it, only N predictions of a video count: with order=time the most confident ones; with the
         orders of published evaluators, or where the file gives no confidences, the first ones of the file
segments checked: reversed, zero-length and negative ones match nothing · raw: no segment is judged
         swap: not judged either, and the ends of a reversed one are exchanged
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import SpecError
from fabula.core.notes import Progress
from fabula.core.rows import Rows
from fabula.data.event_order import Order, pool_stories, sort_events
from fabula.data.stories import Corpus, Story, join_words
from fabula.metrics.base import Array, CachedList, Data, Metric, Row, once
from fabula.pair import strips
from fabula.pair.grid import Cells, Grid
from fabula.pair.tiou import Matrix, Spans, forward, overlap
from fabula.text import token_table
from fabula.text.placed import Tokens

BLOCK = 1024  # videos
CACHED = 1 << 21  # cells of the matrices of all blocks: where there are more, each metric makes its own
RULES = 1 << 20  # cells of all that is kept for several rules, about 100 bytes each; of four rules in any case

TOP_RULE = "only {} predictions of a video count: the most confident with order=time, else the first of the file"

Pair = tuple[Story, Story]  # reference, prediction
Video = tuple[str, Sequence[Story | None], Story | None]  # its id, its reference stories by set, its predicted one
T = TypeVar("T")


def portioned(pairs: Sequence[Pair], cells: int | None = None) -> list[Sequence[Pair]]:
    """Runs of pairs of stories with at most so many cells together, each of which keeps what is made of it."""
    size = once(pairs, "cells", lambda: sum(len(ref) * len(pred) for ref, pred in pairs))
    if size <= (cells or strips.CELLS):
        return [pairs] if pairs else []
    found: list[Sequence[Pair]] = once(
        pairs, ("portions", cells), lambda: list(map(CachedList, strips.portions(pairs, cells)))
    )
    return found


class PairedStories(CachedList[Pair]):
    """The stories of a block that are compared, pair by pair, and whose each pair is."""

    def __init__(self, pairs: Iterable[Pair], videos: Iterable[str], refset: Sequence[int] | NDArray[np.int64]) -> None:
        super().__init__(pairs)
        self.videos = tuple(videos)
        self.refset = np.array(refset, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Stories:
    """Reference sets and predictions. `statistics`: of a corpus of which this is a part, counted before."""

    refs: Sequence[Corpus]
    preds: Corpus
    statistics: Any = None
    made: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What is made of these stories, shared by all metrics and by all runs over them."""
        if key not in self.made:
            self.made[key] = make()
        found: T = self.made[key]
        return found

    @property
    def videos(self) -> list[str]:
        """Those of the references, in the order of first appearance."""
        return self.once("videos", lambda: list(dict.fromkeys(chain.from_iterable(self.refs))))

    def __len__(self) -> int:
        return len(self.videos)

    def blocks(self, whole: bool) -> Iterator[list[Video]]:
        if whole in self.made:
            yield from self.made[whole]
            return
        videos, blocks = self.videos, list[CachedList[Video]]()
        few, room = self.cells <= CACHED, max(4, min(12, RULES // max(1, self.cells)))
        size = max(1, len(videos)) if whole else BLOCK
        for start in range(0, len(videos), size):
            ids = videos[start : start + size]
            block = CachedList[Video](((v, [ref.get(v) for ref in self.refs], self.preds.get(v)) for v in ids), room)
            if few:
                blocks.append(block)
            yield block
        if few:
            self.made[whole] = blocks

    @property
    def cells(self) -> int:
        """Of all matrices of references and predictions together."""

        def count() -> int:
            size = {v: len(story) for v, story in self.preds.items()}
            return sum(len(story) * size.get(v, 0) for ref in self.refs for v, story in ref.items())

        return self.once("cells", count)

    @property
    def is_small(self) -> bool:
        """True where it can be kept with all that was made of it."""
        return self.cells <= RULES

    def tokens(self, tok: str, ascii_only: bool) -> Tokens:
        """Every caption that is compared, and its tokens."""

        def make() -> Tokens:
            texts = dict.fromkeys(join_words(self.scored()))
            if None in texts:
                for story in self.scored():
                    _ = story.captions  # says whose are missing
            return Tokens(token_table(cast("list[str]", list(texts)), tok, ascii_only))

        return self.once(("tokens", tok, ascii_only), make)

    def scored(self) -> Iterator[Story]:
        """All stories that are compared: predictions of other videos are none."""
        for ref in self.refs:
            yield from ref.values()
        known = set(self.videos)
        yield from (story for video, story in self.preds.items() if video in known)


class Match(NamedTuple):
    """A reference and a prediction that a metric matched, by their places in their own stories."""

    g: int
    p: int
    iou: float
    text: float | None  # the caption score, where the metric reads captions


@dataclass(frozen=True, kw_only=True)
class StoryMetric(Metric):
    """Base of metrics over stories. Write `unit`, or instead of it `many` where it should be fast; leave the rest."""

    reads: ClassVar[str] = "stories"
    tasks: ClassVar[tuple[str, ...]] = ("dense", "procedure")
    portion: ClassVar[int | None] = None  # cells of matrices that are worked on at once; None: strips.CELLS
    keeps_events: ClassVar[bool] = False  # True where more of an event is read than its columns hold
    rules: ClassVar[Mapping[str, str]] = {
        "refs=mean": "each reference set counts on its own and the sets are averaged",
        "refs=best": "only the reference set that serves the prediction best counts",
        "refs=merged": "the events of all reference sets are pooled",
        "refs=single": "one reference set is taken",
        "missing=zero": "a reference video without predictions counts as 0",
        "missing=drop": "reference videos without predictions are left out",
        "missing=empty": "reference videos without a predicted event are left out",
        "order=time": "both sides are sorted by start, end and words",
        "order=start": "both sides are sorted by start alone; events that start together stay as in the file",
        "order=predictions": "only the predictions are sorted, by start alone",
        "order=file": "events stay in file order",
        "segments=checked": "malformed segments match nothing",
        "segments=raw": "segments are not judged",
        "segments=swap": "the ends of reversed segments are exchanged",
        "eps=0": "nothing is added to unions",
        "eps": "{} is added to every union",
    }

    refs: Literal["mean", "best", "merged", "single"] = "mean"
    missing: Literal["zero", "drop", "empty"] = "zero"
    order: Literal["time", "start", "predictions", "file"] = "time"
    segments: Literal["checked", "raw", "swap"] = "checked"
    eps: float = 0.0  # added to the union in every IoU

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eps < 0:
            raise SpecError(f"{self.name}: eps={self.eps:g}; what is added to a union is 0 or more")

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        """One video → one row. `ref` has at least one event; `pred` may have none."""
        raise NotImplementedError(f"{self.name} has neither unit nor many; write one of them")

    def many(self, pairs: Sequence[Pair], ctx: Any) -> Mapping[str, Array]:
        """Videos → columns: as many as have `portion` cells together, or a single one that has more."""
        return Rows.of({"video": "", **self.unit(ref, pred, ctx)} for ref, pred in pairs).columns

    # ── what is compared ────────────────────────────────────────────────────────────────────────────────────────────

    def check_sets(self, sets: int) -> None:
        if self.refs == "single" and sets > 1:
            raise SpecError(f"{self} takes one reference set, {sets} were given; say refs=mean, best or merged")

    def tabulate(self, pairs: Sequence[Pair], ctx: Any) -> Mapping[str, Array]:
        """`many` of any number of videos."""
        parts = []
        for portion in portioned(pairs, self.portion):
            parts.append(Rows(("",) * len(portion), np.zeros(len(portion), np.int64), self.many(portion, ctx)))
        return Rows.joined(parts).columns

    def grid(self, pairs: Sequence[Pair]) -> Grid:
        """Every reference with every prediction of all pairs of stories."""
        found: Grid = once(pairs, Grid, lambda: Grid.of(pairs))
        return found

    def tiles(self, pairs: Sequence[Pair]) -> Iterator[Grid]:
        """Every cell of all pairs of stories: one grid, or of a single large pair some references at a time."""
        ref, pred = pairs[0]
        if strips.is_large(ref, pred):
            yield from (Grid.of([(part, pred)]) for part in strips.strips(ref, pred))
        else:
            yield self.grid(pairs)

    def sizes(self, pairs: Sequence[Pair]) -> tuple[Array, Array]:
        """How many references and how many predictions each pair of stories has. [N], [N]"""
        large = strips.is_large(*pairs[0])
        shapes = np.array([[len(ref), len(pred)] for ref, pred in pairs]) if large else self.grid(pairs).shapes
        G, P = shapes.T.astype(np.float64)
        return G, P

    def ious(self, grid: Grid) -> Cells:
        """`iou` of all pairs of stories. [C]"""
        return grid.iou(self.eps, raw=self.segments != "checked", swap=self.segments == "swap")

    def iou(self, ref: Story, pred: Story) -> Matrix:
        """[G, P]"""
        return self.overlaps(ref.spans[:, None], pred.spans[None])

    def overlaps(self, g: Spans, p: Spans) -> Matrix:
        """`iou` of spans that stand opposite each other: […, 2] and […, 2] → […]."""
        if self.segments == "swap":
            g, p = forward(g), forward(p)
        return overlap(g, p, self.eps, raw=self.segments != "checked")

    def is_left_out(self, pred: Story | None) -> bool:
        """True where a video with this prediction does not count."""
        return (pred is None and self.missing == "drop") or (self.missing == "empty" and not pred)

    def table_without(self, rows: Rows, data: Data, progress: Progress) -> Rows:
        if self.missing != "empty":
            return rows
        return replace(self, missing="zero").with_judge(self.session).table(data, progress)

    def rows(self, block: Sequence[Video], ctx: Any) -> Rows:
        paired = self.pair_up(block)
        if not paired:
            return Rows.of([])
        rows = Rows(paired.videos, paired.refset, self.tabulate(paired, ctx))
        return self.best_rows(rows) if self.refs == "best" else rows

    def pair_up(self, block: Sequence[Video]) -> PairedStories:
        """What is compared in a block of videos; metrics whose rules for that agree share it."""
        paired: PairedStories = once(block, ("paired", *self.layout), lambda: self.pair_stories(block))
        return paired

    @property
    def layout(self) -> tuple[object, ...]:
        return self.keeps_events, self.refs == "merged", self.missing, self.order, self.param("top")

    def pair_stories(self, block: Sequence[Video]) -> PairedStories:
        """The stories of each video that are compared under the rules above, by set; none where it does not count."""
        top = self.param("top")
        videos, refset, golds, guesses = list[str](), list[int](), list[list[Story]](), list[int]()
        preds: list[Story] = []
        for video, refs, pred in block:
            if self.is_left_out(pred):
                continue
            pred = Story(video) if pred is None else pred
            sets = [(k, ref) for k, ref in enumerate(refs) if ref is not None and len(ref)]
            groups = [(0, [ref for _, ref in sets])] if self.refs == "merged" and sets else [(k, [r]) for k, r in sets]
            for k, group in groups:
                videos.append(video)
                refset.append(k)
                golds.append(group)
                guesses.append(len(preds))
            preds.append(take_top(pred, top, self.order))
        order: Order = "file" if self.order == "predictions" else self.order
        if self.refs == "merged":
            refs_sorted = pool_stories(videos, golds, order, self.keeps_events)
        else:
            refs_sorted = sort_events([story for (story,) in golds], order, self.keeps_events)
        preds = sort_events(preds, "start" if self.order == "predictions" else self.order, self.keeps_events)
        return PairedStories(zip(refs_sorted, (preds[k] for k in guesses), strict=True), videos, refset)

    def best_rows(self, rows: Rows) -> Rows:
        """Of each video the row of the reference set that serves the prediction best; the first on ties."""
        return take_best(rows, self.primary)

    def matches(self, pairs: Sequence[Pair], ctx: Any) -> list[list[Match]]:
        """Where it draws "pairs": which events of each two stories it matched, in the order of the references."""
        raise NotImplementedError(f"{self.name} matches no pairs of its own")

    def match_corpora(
        self, refs: Sequence[Corpus], preds: Corpus, data: Stories | None = None
    ) -> dict[str, list[list[Match]]]:
        """`matches` of every video by reference set, with events by their places in the stories as files tell them.

        `data`: the same, as they were scored; what was made of them for that is not made again.
        """
        if data is None or data.preds is not preds or len(data.refs) != len(refs):
            data = Stories(refs, preds)
        found: dict[str, list[list[Match]]] = {}
        ctx = self.prepare(data)
        for block in data.blocks(self.whole):
            paired = self.pair_up(block)
            matches: dict[str, dict[int, list[Match]]] = {}
            for video, k, own in zip(paired.videos, paired.refset.tolist(), self.matches(paired, ctx), strict=True):
                matches.setdefault(video, {})[k] = own
            for video, stories, pred in block:
                found[video] = self.place_matches(matches.get(video, {}), stories, pred)
        return found

    def place_matches(
        self, matches: Mapping[int, list[Match]], refs: Sequence[Story | None], pred: Story | None
    ) -> list[list[Match]]:
        """Matches between the stories of `pair_stories` as matches between those that it made them of, set by set."""
        placed: list[list[Match]] = [[] for _ in refs]
        if pred is None:
            return placed
        columns = event_order(pred, self.order, predicted=True)
        for k, found in matches.items():
            rows = self.place_references(refs, k)
            for match in found:
                at, g = rows[match.g]
                placed[at].append(match._replace(g=g, p=columns[match.p]))
        return placed

    def place_references(self, refs: Sequence[Story | None], k: int) -> list[tuple[int, int]]:
        """(set, place in it) of every event of the reference story that `pair_stories` makes for set k."""
        if self.refs != "merged" and (ref := refs[k]) is not None:
            return [(k, g) for g in event_order(ref, self.order)]
        sets = [(i, ref) for i, ref in enumerate(refs) if ref is not None]
        places = [(i, g) for i, ref in sets for g in range(len(ref))]
        paired = Story("", tuple(event for _, ref in sets for event in ref.events))
        return [places[n] for n in event_order(paired, self.order)]


def event_order(story: Story, order: str, predicted: bool = False) -> Sequence[int]:
    """Where each event stands in the file, once they are in the order that a metric reads them in."""
    if order == "time":
        return story.order
    if order == "start" or (order == "predictions" and predicted):
        return story.start_order
    return range(len(story))


def sort_story(story: Story, order: str, predicted: bool = False) -> Story:
    """The story in the order that a metric reads it in."""
    return story.rearranged(list(event_order(story, order, predicted)))


def take_best(rows: Rows, column: str) -> Rows:
    """Of each video the row with the greatest number, the first of equals."""
    return rows.take(find_best(rows, column)).as_set(0) if len(rows) else rows


def find_runs(rows: Rows) -> NDArray[np.int64]:
    """Where the rows of each video begin."""
    return np.flatnonzero([a != b for a, b in zip(rows.keys, (None, *rows.keys[:-1]), strict=True)])


def find_best(rows: Rows, column: str) -> NDArray[np.int64]:
    """Of each run of rows of one video the first with the greatest number."""
    starts = find_runs(rows)
    run = np.repeat(np.arange(len(starts)), np.diff([*starts, len(rows)]))
    top = np.flatnonzero(rows[column] == np.maximum.reduceat(rows[column], starts)[run])
    found: NDArray[np.int64] = top[np.flatnonzero(np.diff(run[top], prepend=-1))]
    return found


def take_top(pred: Story, top: int | None, order: str) -> Story:
    """The N most confident predictions with order=time; else, or where the file gives no confidences, its first N."""
    if top is None or top >= len(pred):
        return pred
    scores = pred.scores if order == "time" else None
    if scores is None or np.isnan(scores).all():
        return pred.part(0, top)
    ranked = np.argsort(-scores, kind="stable")  # the first of equals first, those without a confidence last
    return pred.rearranged(sorted(ranked[:top].tolist()))


def mean_each(values: Array, counts: Array) -> Array:
    """The mean of each run of so many values, none of them empty. [ΣN] → [N]"""
    return np.array([run.mean() for run in np.split(values, np.cumsum(counts.astype(np.int64))[:-1])])
