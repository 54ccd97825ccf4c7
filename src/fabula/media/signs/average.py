"""Small letters, read from several pictures at once: cuts of one line are laid upon each other, and their mean read.

    chain      a line that goes on from look to look; its first cut is the reference
    register   a further cut onto the reference: an affine map that maximises their correlation (ECC; Evangelidis &
               Psarakis, TPAMI 2008; cv2.findTransformECC)
    mean       of 4, 8, 16 … cuts is read as one; noise of the camera and of compression goes, and letters between
               pixels come out, for each picture samples them elsewhere

Lines that the recogniser is sure of are left alone. Chains begin anew with each stretch of the film (looks.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.media.base import Pictures
from fabula.media.people.base import import_cv2
from fabula.media.signs.base import Line, SignModel, box_iou, is_near
from fabula.media.signs.ocr import HEIGHT, Found, recognise
from fabula.media.signs.vote import fold_text, likeness

SURE = 0.97  # confidence from which a line needs no others
UNSURE = 0.3  # and below which it is hardly text
FEWEST = 3  # letters
ALIKE = 0.45  # likeness of two readings of one line; half is added where they stand in one place
PLACE = 0.5  # intersection over union from which it is one place
CORRELATED = 0.8  # from which a cut is registered
FIRST = 4  # cuts of the first mean; the next ones are read when these have doubled
MOST = 64  # cuts of a mean
LINES = 30  # of one look
WIDER = 1.1  # times the reference, from which a line shows more than that
MISSED = 3  # cuts in a row that do not fit
LEAST_PIXELS, MOST_PIXELS = 24, 1600  # of a cut's width

Floats = NDArray[np.float32]


@dataclass
class Chain:
    """A line over several looks."""

    line: Line
    reference: Floats  # [H, W] grey
    total: Floats  # [H, W, 3]
    count: int = 1
    missed: int = 0
    reading: Line | None = None  # of the mean
    used: bool = field(default=True)

    @classmethod
    def begin(cls, line: Line, cut: Pictures) -> Chain:
        return cls(line, to_grey(cut), cut.astype(np.float32))


class Averager:
    """The chains of a stretch."""

    def __init__(self, model: SignModel) -> None:
        self.model = model
        self.chains: list[Chain] = []

    def improve(self, found: Found) -> list[Line]:
        """The lines of a look, those that were unsure as the mean of several looks reads, where that is surer."""
        for chain in self.chains:
            chain.used = False
        lines = list(found.lines)
        unsure = [i for i, line in enumerate(lines) if UNSURE <= line.confidence < SURE and len(line.letters) >= FEWEST]
        for i in unsure[:LINES]:
            if LEAST_PIXELS <= found.cuts[i].shape[1] <= MOST_PIXELS:
                lines[i] = self.improve_line(lines[i], found.cuts[i])
        self.chains = [chain for chain in self.chains if chain.used]
        return lines

    def improve_line(self, line: Line, cut: Pictures) -> Line:
        chain = self.find(line)
        if chain is None:
            self.chains.append(Chain.begin(line, cut))
            return line
        chain.used, chain.line = True, line
        if cut.shape[1] > WIDER * chain.reference.shape[1] or chain.missed >= MISSED:
            self.chains[self.chains.index(chain)] = Chain.begin(line, cut)
            return line
        fitted = register(cut, chain.reference)
        if fitted is None:
            chain.missed += 1
            return line
        if chain.count < MOST:
            chain.total += fitted
            chain.count, chain.missed = chain.count + 1, 0
            if chain.count >= FIRST and chain.count & (chain.count - 1) == 0:
                mean = np.clip(np.rint(chain.total / chain.count), 0, 255).astype(np.uint8)
                letters, sure, space = recognise(mean, self.model)
                chain.reading = Line(line.box, letters, sure, space, line.found, chain.count)
        return better(line, chain.reading)

    def find(self, line: Line) -> Chain | None:
        """The chain that a line goes on with."""
        text, best, found = fold_text(line.letters), 0.0, None
        for chain in self.chains:
            if chain.used or not is_near(line.box, chain.line.box):
                continue
            place = box_iou(line.box, chain.line.box) >= PLACE
            like = float(place) / 2 + max(
                likeness(text, fold_text(one.letters)) for one in (chain.line, chain.reading or chain.line)
            )
            if like >= ALIKE and like > best:
                best, found = like, chain
        return found


def better(line: Line, mean: Line | None) -> Line:
    """The reading of the mean in the place of the line, where it is surer and not much shorter."""
    if mean is None or mean.confidence <= line.confidence or len(mean.letters) < len(line.letters) - 1:
        return line
    return mean._replace(box=line.box, found=line.found)


def to_grey(cut: Pictures) -> Floats:
    grey: Floats = import_cv2().cvtColor(cut, import_cv2().COLOR_RGB2GRAY).astype(np.float32)
    return grey


def register(cut: Pictures, reference: Floats) -> Floats | None:
    """A cut as it lies upon the reference; None where it does not fit."""
    cv2: Any = import_cv2()
    width = reference.shape[1]
    grey = to_grey(cut)
    best: tuple[float, Any] = (-1.0, None)
    for shift in sorted({0, cut.shape[1] - width}):  # the left ends, or the right ones, upon each other
        start = np.array([[1, 0, shift], [0, 1, 0]], np.float32)
        moved = cv2.warpAffine(
            grey, start, (width, HEIGHT), flags=cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE
        )
        fit = correlation(moved, reference)
        if fit > best[0]:
            best = (fit, start)
    if best[1] is None:
        return None
    stop = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 1e-3)
    try:
        fit, map_ = cv2.findTransformECC(reference, grey, best[1], cv2.MOTION_AFFINE, stop, None, 5)
    except cv2.error:  # it does not converge
        return None
    if not fit >= CORRELATED or not is_mild(map_):
        return None
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    fitted: Floats = cv2.warpAffine(cut, map_, (width, HEIGHT), flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return fitted.astype(np.float32)


def correlation(a: Floats, b: Floats) -> float:
    x, y = a - a.mean(), b - b.mean()
    length = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / length if length > 0 else 0.0


def is_mild(map_: Floats) -> bool:
    """Whether an affine map neither turns nor stretches much."""
    return bool(np.abs(map_[:, :2] - np.eye(2)).max() <= 0.25)
