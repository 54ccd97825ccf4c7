"""What metrics of captioned regions share: records of every detection, and average precision as a fold over them.

merge    reference boxes with this IoU or more are one, with several captions
pixel    1: the sides of a box given by corners are x2 − x1 + 1, as in DenseCap · 0: x2 − x1
claim    best: the first detection to overlap a reference most has it, however little it overlaps, at every threshold
         threshold: at each threshold, the first among those that overlap it enough
stray    nothing: a detection that overlaps no reference takes none · last: it takes the last one of the image
missing  zero: the references of an image without detections count as missed · drop: they do not count
passing  direct: captions reach METEOR as they are · pipe: as pycocoevalcap's line protocol hands them over
ties     together: detections of one score count at once, at the place of the last of them; who picks first among them,
         and what equal overlaps pick, goes by place and words of the boxes, so that no number depends on the order of a
         file · file: as the file has them
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isnan, nan
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.core.rows import CROWDED, Rows
from fabula.data.regions import Picture
from fabula.match.boxes import Served, find_priors, merge_boxes, serve
from fabula.metrics.base import Metric
from fabula.pair.box_iou import box_iou
from fabula.text import meteor

Floats = NDArray[np.float64]
EMPTY = np.zeros(0)
BLOCK = 64  # images
CELLS = 1 << 20  # of a matrix of IoU: about 60 bytes each while it is made
COLUMNS = ("score", "ok", "iou", "prior", "meteor")
Judge = Callable[[Sequence[str], Sequence[Sequence[str]]], Sequence[float]]  # candidates, references → scores
Sides = tuple[Picture, Picture | None]  # a reference image, and what was detected in it
Question = tuple[int, str, Sequence[str]]  # place of a record, candidate, references


@dataclass(frozen=True, slots=True)
class Pictures:
    """Reference images by id; predictions of some of them, under the same ids, read as a stream."""

    refs: Mapping[str, Picture]
    preds: Iterable[Picture]
    judge: Judge | None = None  # who compares captions, where that is not METEOR

    def __len__(self) -> int:
        return len(self.refs)

    def blocks(self, whole: bool) -> Iterator[list[Sides]]:
        """The images with detections, as they come."""
        stream = iter(self.preds)
        while block := list(islice(stream, BLOCK)):
            yield [(self.refs[pred.id], pred) for pred in block if len(pred)]


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """The detections of one image, surest first. [P] each"""

    npos: int  # reference boxes, merged
    score: Floats
    ok: Floats  # 1 where the detection is the first to pick its reference
    iou: Floats
    prior: Floats  # claim=threshold: the best IoU among detections that picked the reference before
    meteor: Floats  # 0 until it is filled in; stays 0 where it can change nothing
    questions: tuple[Question, ...]  # the captions that METEOR must compare


@dataclass(frozen=True, kw_only=True)
class RegionMetric(Metric):
    """Base of metrics over images with captioned boxes. Write `combine`.

    A row per image: how many reference boxes (merged) and detections it has, and the records of its detections, surest
    first, filled up with zeros to the length of the longest.
    """

    reads: ClassVar[str] = "regions"
    perfect_score: ClassVar[str] = "references that overlap by 0.7 are merged, and copies of both are one too many"
    tasks: ClassVar[tuple[str, ...]] = ("regions",)
    rules: ClassVar[Mapping[str, str]] = {
        "merge": "reference boxes that overlap by {} are one",
        "pixel=0": "a box is as wide as its corners are apart",
        "pixel=1": "a box is one pixel wider and higher than its corners are apart",
        "claim=best": "a detection claims the reference that it overlaps most before any threshold is looked at",
        "claim=threshold": "a detection claims its reference anew at each threshold",
        "stray=nothing": "a detection that overlaps no reference claims none",
        "stray=last": "a detection that overlaps no reference claims the last one of its image (index -1)",
        "missing=zero": "the references of an image without detections count as missed",
        "missing=drop": "the references of an image without detections do not count",
        "passing=direct": "captions reach METEOR as they are",
        "passing=pipe": "captions reach METEOR by a line protocol: candidates lose '|||' and double blanks, references "
        "are cut at '|||'",
        "ties=together": "detections of one score count at once, whatever stands first in the file",
        "ties=file": "detections of one score, and references that are overlapped equally, count as the file has them",
    }
    late: ClassVar[frozenset[str]] = frozenset({"ties"})

    ious: tuple[float, ...] = (0.3, 0.4, 0.5, 0.6, 0.7)
    meteors: tuple[float, ...] = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
    merge: float = 0.7
    pixel: Literal["0", "1"] = "0"
    claim: Literal["best", "threshold"] = "best"
    stray: Literal["nothing", "last"] = "nothing"
    missing: Literal["zero", "drop"] = "zero"
    passing: Literal["direct", "pipe"] = "direct"
    ties: Literal["together", "file"] = "together"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.merge > 0:
            raise SpecError(f"{self.name}: merge={self.merge:g}; boxes are merged from an overlap above 0 on")

    @property
    def rows_key(self) -> object:
        """What the records depend on."""
        ends = min(self.ious), max(self.ious)  # METEOR is computed where one of them may ask for it
        return ends, self.merge, self.pixel, self.claim, self.stray, self.missing, self.passing, self.ties

    def prepare(self, data: Pictures) -> Judge:
        return data.judge or meteors

    def table(self, data: Pictures, progress: Progress = silent) -> Rows:  # type: ignore[override]
        """In the references' order, with those that nothing was detected in."""
        found = super().table(data, progress)
        absent = dict.fromkeys(data.refs) if self.missing == "zero" else {}
        for id in found.keys:
            absent.pop(str(id), None)
        everything = Rows.joined([found, self.rows([(data.refs[id], None) for id in absent], meteors)])
        place = {id: i for i, id in enumerate(everything.keys)}
        progress(self.name, len(data), len(data))
        return everything.take([place[id] for id in data.refs if id in place])

    def rows(self, block: Sequence[Sides], ctx: Judge) -> Rows:
        records = [self.unit(ref, pred) for ref, pred in block]
        crowded = fill(records, ctx)
        return tabulate([ref.id for ref, _ in block], records, crowded)

    def unit(self, ref: Picture | None, pred: Picture | None) -> Records:
        """One image. Without references (None, or none in it), every detection is wrong."""
        boxes, texts, order, served = self.serve(ref, pred)
        if served is None or pred is None or pred.scores is None:
            return Records(len(boxes), EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, ())
        prior = find_priors(served) if self.claim == "threshold" else np.zeros(len(order))
        live = (served.iou > 0) & (served.iou >= min(self.ious))
        live &= served.first if self.claim == "best" else prior < max(self.ious)
        places, own = order[live].tolist(), served.picked[live].tolist()
        questions = tuple(
            (d, *self.pass_captions(pred.captions[i], texts[j]))
            for d, i, j in zip(np.flatnonzero(live).tolist(), places, own, strict=True)
        )
        ok, meteor = served.first.astype(np.float64), np.zeros(len(order))
        return Records(len(boxes), pred.scores[order], ok, served.iou, prior, meteor, questions)

    def serve(
        self, ref: Picture | None, pred: Picture | None
    ) -> tuple[Floats, list[list[str]], NDArray[np.int64], Served | None]:
        """The references, merged; the captions of each; the detections, surest first; and what each of them got."""
        pixel = int(self.pixel)
        ordered = self.ties == "together"
        boxes, texts = merge_references(ref, self.merge, pixel, ordered)
        if pred is None or not len(pred) or pred.scores is None:
            return boxes, texts, np.zeros(0, dtype=np.int64), None
        order = sort_boxes(pred, -pred.scores) if ordered else np.argsort(-pred.scores, kind="stable")
        parts = box_strips(boxes, pred.corners(pixel)[order], pixel)
        return boxes, texts, order, serve(parts, len(boxes) - 1 if self.stray == "last" else -1)

    def count_unsettled(self, rows: Rows) -> int:
        """How many detections the published program may rank otherwise than the file has them."""
        return 0

    def pass_captions(self, candidate: str, texts: Sequence[str]) -> tuple[str, Sequence[str]]:
        return meteor.as_pycocoevalcap(candidate, texts) if self.passing == "pipe" else (candidate, texts)


def sort_boxes(picture: Picture, first: Floats) -> NDArray[np.int64]:
    """The places of the boxes of an image, sorted by `first` [N], by their corners and by their words. [N]"""
    keys = np.column_stack([first, picture.corners()])
    order = np.lexsort(keys.T[::-1])
    if (keys[order][1:] == keys[order][:-1]).all(axis=1).any():  # words are looked at where all else is equal
        listed = keys.tolist()
        order = np.array(sorted(order.tolist(), key=lambda i: (listed[i], picture.captions[i])), dtype=np.int64)
    return order


def merge_references(
    ref: Picture | None, merge: float, pixel: int, ordered: bool = False
) -> tuple[Floats, list[list[str]]]:
    """Merged boxes, the mean of their group, and the captions of each; `ordered`: sorted first. [M, 4], M lists"""
    if ref is None or not len(ref):
        return np.zeros((0, 4)), []
    corners, captions = ref.corners(pixel), ref.captions
    if ordered:
        order = sort_boxes(ref, np.zeros(len(ref)))
        corners, captions = corners[order], tuple(captions[i] for i in order.tolist())
    step = max(1, CELLS // len(corners))  # very many boxes: only their IoU with some is in memory
    groups = merge_boxes(lambda at: box_iou(corners[at], corners, pixel), len(corners), merge, step)
    if len(groups) == len(corners):
        return corners, [[caption] for caption in captions]
    boxes = np.array([corners[group].mean(axis=0) for group in groups])
    return boxes, [[captions[i] for i in group] for group in groups]


def box_strips(g: Floats, p: Floats, pixel: int) -> Iterator[Floats]:
    """IoU of all boxes of g with some of p at a time. [G, p] each"""
    step = max(1, CELLS // max(1, len(g)))
    for start in range(0, len(p), step):
        yield box_iou(g, p[start : start + step], pixel)


def meteors(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """NaN where no reference could be aligned: it counts as 0."""
    found = meteor.segments(candidates, references, crowded="zero")
    return [nan if s.crowded and not s.score else s.score for s in found]


def fill(block: Sequence[Records], judge: Judge) -> Floats:
    """METEOR where it can change a number, the same captions once; how many of each image were beyond it. [N]"""
    pairs: dict[tuple[str, tuple[str, ...]], list[tuple[int, int]]] = {}
    crowded = np.zeros(len(block))
    for n, records in enumerate(block):
        for d, candidate, references in records.questions:
            pairs.setdefault((candidate, tuple(references)), []).append((n, d))
    if not pairs:
        return crowded
    scores = judge([c for c, _ in pairs], [r for _, r in pairs])
    for places, score in zip(pairs.values(), scores, strict=True):
        for n, d in places:
            block[n].meteor[d] = 0.0 if isnan(score) else score
            crowded[n] += isnan(score)
    return crowded


def tabulate(ids: Sequence[str], rows: Sequence[Records], crowded: Floats) -> Rows:
    K = max((len(r.score) for r in rows), default=0)
    columns = {name: np.zeros((len(rows), K)) for name in COLUMNS}
    for i, records in enumerate(rows):
        for name in COLUMNS:
            columns[name][i, : len(records.score)] = getattr(records, name)
    counts = {
        "references": np.array([r.npos for r in rows], dtype=np.float64),
        "detections": np.array([len(r.score) for r in rows], dtype=np.float64),
    }
    if crowded.any():
        counts[CROWDED] = crowded
    return Rows(tuple(ids), np.zeros(len(rows), dtype=np.int64), counts | columns, unit="image")
