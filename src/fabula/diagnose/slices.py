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

from fabula.core.nouns import Corpus, Story
from fabula.core.rows import Rows
from fabula.match.greedy import greedy
from fabula.metrics import Metric
from fabula.pair.tiou import intersection, tiou
from fabula.stats.bootstrap import Interval, interval
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
    interval: Interval


@dataclass(frozen=True, slots=True)
class EventSlice:
    """Reference events of one kind, and what was found of them."""

    attribute: str
    label: str
    events: int
    found: float  # share matched with IoU ≥ 0.5
    iou: float  # mean IoU of their matches, 0 for an event without one


def describe_events(ref: Story) -> Array:
    """length, events, position, overlap and words of every event. [G, 5]"""
    spans = ref.spans
    length = spans[:, 1] - spans[:, 0]
    whole = ref.duration or float(spans[:, 1].max()) or 1.0
    words = [float(len((e.caption or "").split())) for e in ref.events]
    columns = [length, np.full(len(ref), len(ref)), spans.mean(axis=1) / whole, share_covered(spans), np.array(words)]
    return np.stack(columns, axis=1).astype(np.float64)


def share_covered(spans: Array) -> Array:
    """The largest share of each event that another one covers. [G]"""
    inter = intersection(spans, spans)
    np.fill_diagonal(inter, 0.0)
    share: Array = inter.max(axis=1) / np.maximum(spans[:, 1] - spans[:, 0], 1e-12)
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
    told = [(story, pred.get(v)) for ref in sets for v, story in ref.items() if len(story)]
    events = np.concatenate([describe_events(ref) for ref, _ in told])  # [E, 5]
    iou = np.concatenate([match_events(ref, some) for ref, some in told])  # [E]
    return [
        EventSlice(name, label, len(at), float((iou[at] >= FOUND).mean()), float(iou[at].mean()))
        for a, name in find_attributes(sets)
        for label, at in cut_slices(name, events[:, a])
    ]


def video_slices(sets: Sequence[Corpus], rows: Rows, metric: Metric, how: Resampling) -> list[VideoSlice]:
    described: dict[str | int, list[Array]] = {}
    for ref in sets:
        for v, story in ref.items():
            if len(story):
                described.setdefault(v, []).append(describe_events(story).mean(axis=0))
    videos = [v for v in dict.fromkeys(rows.keys) if v in described]
    means = np.array([np.mean(described[v], axis=0) for v in videos])  # [V, 5]
    out = []
    for a, name in find_attributes(sets):
        for label, at in cut_slices(name, means[:, a]) if name != "position" else ():
            inside = {videos[i] for i in at}
            sample = Sample.of(rows.take([i for i, key in enumerate(rows.keys) if key in inside]), metric)
            bounds = interval(sample, level=how.level, method=how.method, resamples=how.resamples, seed=how.seed)
            out.append(VideoSlice(name, label, len(inside), sample.value, bounds))
    return out


def match_events(ref: Story, pred: Story | None) -> Array:
    """The IoU of every reference event with its match; 0 without one. [G]"""
    best = np.zeros(len(ref))
    if pred is not None and len(pred):
        iou = tiou(ref.spans, pred.spans)
        for g, p in greedy(iou)[1]:
            best[g] = iou[g, p]
    return best
