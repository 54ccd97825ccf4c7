"""Where a system is weak: scores of videos, and what was found of events, by what they are like.

length     seconds of a reference event                     thirds of all that are compared
events     how many events the video has                    thirds
position   middle of the event / duration of the video      beginning, middle, end of the video
overlap    share of the event that others also cover        none, some
words      words of the reference caption                   thirds

Videos stand in a slice by the mean over their reference events (position is of events alone); their number is the
metric's fold over their rows, with its interval. Events are matched one to one, the largest IoU first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fabula.core.rows import Rows
from fabula.data.stories import Corpus, Story, join_spans
from fabula.match.greedy import greedy_many
from fabula.metrics import Metric
from fabula.pair.grid import Grid, before
from fabula.pair.strips import MANY, portions
from fabula.pair.tiou import shared
from fabula.stats.bootstrap import Interval
from fabula.stats.choose import choose_apart
from fabula.stats.resampling import Resampling
from fabula.stats.sample import Sample

Array = NDArray[np.float64]
ATTRIBUTES = ("length", "events", "position", "overlap", "words")
FOUND = 0.5  # IoU from which an event counts as found


@dataclass(frozen=True, slots=True)
class VideoSlice:
    """Videos of one kind, and the metric over them."""

    attribute: str
    label: str
    videos: int
    value: float
    interval: Interval | None  # None: too few videos for one
    ci_method: str = ""


@dataclass(frozen=True, slots=True)
class EventSlice:
    """Reference events of one kind, and what was found of them."""

    attribute: str
    label: str
    events: int
    found: float  # share matched with IoU ≥ 0.5
    iou: float  # mean IoU of their matches, 0 for an event without one


def describe_events(refs: Sequence[Story]) -> Array:
    """length, events, position, overlap and words of every event of stories that have some, end to end. [E, 5]"""
    counts = np.array([len(ref) for ref in refs], np.int64)
    of = np.repeat(np.arange(len(refs)), counts)  # [E]
    every = join_spans(refs)  # [E, 2]
    ends = np.maximum.reduceat(every[:, 1], before(counts)) if len(refs) else np.zeros(0)
    whole = np.array([ref.duration or end or 1.0 for ref, end in zip(refs, ends.tolist(), strict=True)])
    words = np.array([float(len((e.caption or "").split())) for ref in refs for e in ref.events])
    columns = [every[:, 1] - every[:, 0], counts[of], every.mean(axis=1) / whole[of], share_covered(refs, every), words]
    return np.stack(columns, axis=1).astype(np.float64)


def share_covered(refs: Sequence[Story], every: Array) -> Array:
    """The largest share of each event that another one of its story covers. [E]"""
    most: list[Array] = []
    for portion in portions([(ref, ref) for ref in refs], MANY):
        grid = Grid.of(portion)
        own = join_spans(grid.refs)
        inter = np.where(grid.row == grid.column, 0.0, shared(own[grid.gold], own[grid.guess]))
        most.append(np.maximum.reduceat(inter, np.flatnonzero(np.diff(grid.gold, prepend=-1))))
    share: Array = np.concatenate([np.zeros(0), *most]) / np.maximum(every[:, 1] - every[:, 0], 1e-12)
    return share


def find_cuts(attribute: str, values: Array) -> tuple[Array, list[str]]:
    """Where slices end, and what they are called: value < cuts[0] is the first."""
    if attribute == "position":
        return np.array([1 / 3, 2 / 3]), ["beginning", "middle", "end"]
    if attribute == "overlap":
        return np.array([1e-9]), ["none", "some"]
    edges = np.unique(np.quantile(values, [1 / 3, 2 / 3]))
    edges = edges[edges > values.min()]
    shown = [f"{x:.3g}" for x in edges]
    if not len(edges):
        return edges, ["all"]
    middle = [f"{a} … {b}" for a, b in pairwise(shown)]
    return edges, [f"< {shown[0]}", *middle, f"≥ {shown[-1]}"]


def cut_slices(attribute: str, values: Array) -> list[tuple[str, NDArray[np.int64]]]:
    """The slices that are not empty: what they are called, and who is in them."""
    edges, labels = find_cuts(attribute, values)
    places = np.searchsorted(edges, values, side="right")
    return [(label, np.flatnonzero(places == k)) for k, label in enumerate(labels) if (places == k).any()]


def find_attributes(sets: Sequence[Corpus]) -> list[tuple[int, str]]:
    """The attributes these references have: column and name."""
    worded = any(ref.captioned for ref in sets)
    return [(a, name) for a, name in enumerate(ATTRIBUTES) if name != "words" or worded]


def event_slices(sets: Sequence[Corpus], pred: Corpus) -> list[EventSlice]:
    pairs = [(story, pred.get(v) or Story(v)) for ref in sets for v, story in ref.items() if len(story)]
    events = describe_events([ref for ref, _ in pairs])  # [E, 5]
    iou = match_events(pairs)  # [E]
    return [
        EventSlice(name, label, len(at), float((iou[at] >= FOUND).mean()), float(iou[at].mean()))
        for a, name in find_attributes(sets)
        for label, at in cut_slices(name, events[:, a])
    ]


def mean_by(of: NDArray[np.int64], values: Array, size: int) -> Array:
    """The means of the rows that belong together, added in their order. [N, 5], [size, 5]"""
    counts = np.bincount(of, minlength=size)[:, None]
    sums = np.stack([np.bincount(of, column, size) for column in values.T], axis=1)
    means: Array = sums / counts
    return means


def video_slices(sets: Sequence[Corpus], rows: Rows, metric: Metric, how: Resampling) -> list[VideoSlice]:
    stories = [(v, story) for ref in sets for v, story in ref.items() if len(story)]
    known = {v for v, _ in stories}
    videos = [v for v in dict.fromkeys(rows.keys) if v in known]
    place = {v: i for i, v in enumerate(videos)}
    stories = [(v, story) for v, story in stories if v in place]
    refs = [story for _, story in stories]
    of = np.repeat(np.arange(len(refs)), [len(ref) for ref in refs])
    each = mean_by(of, describe_events(refs), len(refs))  # [S, 5]
    means = mean_by(np.array([place[v] for v, _ in stories], np.int64), each, len(videos))  # [V, 5]
    slices = [
        (name, label, {videos[i] for i in at})
        for a, name in find_attributes(sets)
        if name != "position"
        for label, at in cut_slices(name, means[:, a])
    ]
    inside = [[i for i, key in enumerate(rows.keys) if key in members] for *_, members in slices]
    sampled = [Sample.of(rows.take(at), metric) for at in inside]
    bounds = choose_apart(sampled, how)
    return [
        VideoSlice(name, label, len(at), sample.value, chosen.interval, chosen.method)
        for (name, label, at), sample, chosen in zip(slices, sampled, bounds, strict=True)
    ]


def match_events(pairs: Sequence[tuple[Story, Story]]) -> Array:
    """The IoU of every reference event with its match; 0 without one. [E]"""
    found: list[Array] = []
    for portion in portions(pairs, MANY):
        grid = Grid.of(portion)
        iou, best = grid.iou(), np.zeros(int(grid.shapes[:, 0].sum()))
        chosen = greedy_many(iou, grid.shapes)
        best[grid.gold[chosen]] = iou[chosen]
        found.append(best)
    return np.concatenate([np.zeros(0), *found])
