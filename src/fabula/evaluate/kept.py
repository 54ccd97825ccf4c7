"""What is kept of queries, images and sets for whoever draws or lists them: first answers, and how they were judged.

Predictions are read as a stream and forgotten; of each query and image the first FIRST stay, however many there are.
Overlaps are those of pair/, claims of references those of the metric; a report computes none (evaluate/pairs.py has the
pairs of stories).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fabula.core.rows import group_keys
from fabula.data.identity import ClipCaptions, ClipSet
from fabula.data.moments import Id, Query, Ranking, Rankings, VideoNumbers
from fabula.data.regions import Picture
from fabula.data.result import Result
from fabula.metrics.moments import Block
from fabula.pair.tiou import hull_iou

if TYPE_CHECKING:
    from fabula.metrics.identity import fitb
    from fabula.metrics.moments import MomentMetric
    from fabula.metrics.regions import RegionMetric

FIRST = 10  # answers of a query
SUREST = 100  # detections of an image
REACHED = 0.5  # IoU from which an answer is called right, where nothing else says so

Values = Mapping[str | int, float]


def values_of(result: Result, name: str) -> tuple[str, Values] | None:
    """One number a unit, and which field it is: the primary one where rows have it or a unit has it alone."""
    rows, metric, primary = result.rows.get(name), result.metrics.get(name), result.scores[name].primary
    if rows is None:
        return None
    fields = [primary, *(f for f in result.scores[name].values if f != primary)]
    for at in fields:
        if at in rows.columns and rows[at].ndim == 1:
            return at, rows.by_key(at)
    if metric is None:
        return None
    units = group_keys(rows.keys)
    found = metric.each_unit_value(rows, primary, units, np.arange(len(units)))
    return primary, dict(zip(units.place, found.tolist(), strict=True))


# --- queries ---------------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """One answer as it was judged."""

    start: float
    end: float
    video: str | None  # None: the query's own
    score: float | None
    iou: float  # with the window that it fits best; 0 in another video
    window: int | None  # which one


@dataclass(slots=True)
class Answers:
    """The queries, and the first answers to each, list by list ("" where a file has one)."""

    queries: Mapping[Id, Query]
    numbers: VideoNumbers
    metric: MomentMetric | None = None  # whose reader finds windows in answers that are words
    lists: dict[str, dict[Id, Ranking]] = field(default_factory=dict)
    names: dict[int, str] | None = None

    def tap(self, stream: Iterable[tuple[str, Ranking | Rankings]]) -> Iterator[tuple[str, Ranking | Rankings]]:
        """The stream as it is; its heads stay here."""
        for name, batch in stream:
            known = self.lists.setdefault(name, {})
            for ranking in cut_rankings(batch) if isinstance(batch, Rankings) else (cut_ranking(batch),):
                known[ranking.id] = ranking
            yield name, batch

    def find(self, name: str, id: Id) -> Ranking | None:
        """A query's answers; an id that one file writes as text and the other as a number is one."""
        known = self.lists[name]
        if id in known:
            return known[id]
        twin: Id = str(id) if isinstance(id, int) else int(id) if id.isascii() and id.isdigit() else id
        return known.get(twin) if str(twin) == str(id) else None

    def judge(self, query: Query, ranking: Ranking) -> list[Answer]:
        """Each answer with its overlap; of an answer in words, the windows that the metric reads in it."""
        if ranking.answer is not None and self.metric is not None:
            ranking = Ranking(query.id, self.metric.read(Block.of_rankings([query], [ranking], self.numbers)).spans)
        if self.names is None:
            self.names = {number: video for video, number in self.numbers.items()}
        own = self.numbers.get(query.video)
        windows = np.array(query.windows, dtype=np.float64).reshape(-1, 2)
        found = np.zeros((len(ranking), 1))
        if len(windows) and len(ranking):
            found = np.nan_to_num(hull_iou(ranking.spans[:, None], windows[None]))
        best = found.argmax(axis=1)
        videos = [None] * len(ranking) if ranking.videos is None else ranking.videos.tolist()
        scores = [None] * len(ranking) if ranking.scores is None else ranking.scores.tolist()
        out = []
        for i, ((start, end), video, score) in enumerate(zip(ranking.spans.tolist(), videos, scores, strict=True)):
            there = video is None or video == own
            iou = float(found[i, best[i]]) if there else 0.0
            named = None if there else self.names.get(video, "a video that the file does not name")
            out.append(Answer(start, end, named, score, iou, int(best[i]) if iou > 0 else None))
        return out


def cut_ranking(ranking: Ranking) -> Ranking:
    """Its first answers, as arrays of their own: those of the file can be forgotten."""
    if len(ranking) <= FIRST:
        return ranking
    scores = None if ranking.scores is None else ranking.scores[:FIRST].copy()
    videos = None if ranking.videos is None else ranking.videos[:FIRST].copy()
    return replace(ranking, spans=ranking.spans[:FIRST].copy(), scores=scores, videos=videos)


def cut_rankings(some: Rankings) -> Rankings:
    """The same of many end to end."""
    place = np.arange(len(some.spans)) - np.repeat(np.cumsum(some.counts) - some.counts, some.counts)
    first = place < FIRST
    scores = None if some.scores is None else some.scores[first]
    return Rankings(some.ids, np.minimum(some.counts, FIRST), some.spans[first], scores, some.videos[first])


# --- images ----------------------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """A detection and the reference that it overlaps most. Boxes are left, top, right, bottom."""

    box: tuple[float, ...]
    caption: str
    score: float
    reference: int | None  # which merged reference; None: it overlaps none
    iou: float
    first: bool  # no surer detection has picked that reference
    meteor: float | None  # None: it was not asked for


class Reference(NamedTuple):
    """A reference region, with the captions of all boxes that were merged into it."""

    box: tuple[float, ...]
    captions: Sequence[str]


@dataclass(slots=True)
class Described:
    """The reference images, and the surest detections in each."""

    refs: Mapping[str, Picture]
    preds: dict[str, Picture] = field(default_factory=dict)

    def keep(self, picture: Picture) -> None:
        if picture.id not in self.preds:
            self.preds[picture.id] = cut_picture(picture)

    def judge(self, result: Result, name: str, id: str) -> tuple[list[Reference], list[Claim]]:
        """What a metric of the result merged and matched in an image, surest first."""
        metric: RegionMetric = result.metrics[name]
        rows, pred = result.rows[name], self.preds.get(id)
        boxes, texts, order, served = metric.serve(self.refs[id], pred)
        golds = [Reference(tuple(box), words) for box, words in zip(boxes.tolist(), texts, strict=True)]
        if pred is None or served is None or pred.scores is None:
            return golds, []
        place = group_keys(rows.keys).place.get(id)
        words = np.zeros(len(order)) if place is None else rows["meteor"][place][: len(order)]
        corners, low = pred.corners(int(metric.pixel)), min(metric.ious)
        return golds, [
            Claim(
                box=tuple(corners[i].tolist()),
                caption=pred.captions[i],
                score=float(pred.scores[i]),
                reference=j if j >= 0 and iou > 0 else None,
                iou=iou,
                first=first,
                meteor=float(words[d]) if first and iou >= low else None,
            )
            for d, (i, j, iou, first) in enumerate(
                zip(order.tolist(), served.picked.tolist(), served.iou.tolist(), served.first.tolist(), strict=True)
            )
        ]


def cut_picture(picture: Picture) -> Picture:
    """Its surest detections. A reference is claimed surest first, so that they are judged as among all."""
    if picture.scores is None or len(picture) <= SUREST:
        return picture
    at = np.argsort(-picture.scores, kind="stable")[:SUREST]
    captions = tuple(picture.captions[i] for i in at.tolist())
    return replace(picture, boxes=picture.boxes[at], captions=captions, scores=picture.scores[at])


# --- sets of clips ---------------------------------------------------------------------------------------------------


class Blank(NamedTuple):
    """A blank, who belongs into it, who was said, and in how many of its pairs with other blanks that is right."""

    clip: str
    truth: str
    given: str | None
    right: int
    pairs: int


@dataclass(frozen=True, slots=True)
class Filled:
    """The sets whose blanks were judged."""

    sets: Mapping[str, ClipSet]
    captions: Mapping[str, tuple[ClipCaptions, ...]] = field(default_factory=dict)  # of all sets that have them

    def clips(self) -> list[str]:
        """The names of all clips, each once."""
        listed = [one.clip for captions in self.captions.values() for one in captions]
        blanks = [clip.id for id, s in self.sets.items() if id not in self.captions for clip in s.clips]
        return list(dict.fromkeys([*listed, *blanks]))

    def judge(self, result: Result, name: str, id: str) -> list[Blank]:
        """Every blank of a set, as the metric read both sides."""
        metric: fitb.Metric = result.metrics[name]
        clips = self.sets[id]
        truth, predicted = metric.truth(clips), metric.predicted(clips)
        whose = [clip.id for clip in clips.clips for _ in clip.truth]
        out = []
        for x, (clip, who, answer) in enumerate(zip(whose, truth, predicted, strict=False)):
            right = sum(
                answer is not None and predicted[y] is not None and (who == truth[y]) == (answer == predicted[y])
                for y in range(len(truth))
                if y != x
            )
            out.append(Blank(clip, who, answer, right, len(truth) - 1))
        return out
