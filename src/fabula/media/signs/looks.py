"""Which pictures of a film are looked at, and from when to when each text stays where it was read.

    look      at (i + ½)/fps, where a small grey picture differs from that of the last look, and every `still` seconds;
              soon again after a new text, so that two pictures say what it is; and where a stretch of a minute begins
    since     the text's place is followed back through the grey pictures, picture by picture, towards the look before;
    until     … and on towards the look after: normalised correlation (cv2.matchTemplate) within a few pixels

So the times of a text are those of pictures that were never read, which would cost a hundred times as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.media.base import Pictures
from fabula.media.decode import Video
from fabula.media.people.base import import_cv2
from fabula.media.pipeline import Stages
from fabula.media.signs.average import Averager
from fabula.media.signs.base import Box, Line, Look, Sighting, SignModel, box_iou
from fabula.media.signs.ocr import Found, read_picture

STRETCH = 60.0  # seconds of a film that are finished at once
GREY = 640  # pixels of the longer side of a grey picture
FIELD = 8  # pixels of the fields whose change is looked at, on a grey picture made smaller by 4
CHANGE = 4.0  # grey levels that the mean of a field differs by, from which a picture has changed
AGAIN = 0.1  # seconds after which a new text is looked at again
REACH = 4  # pixels that a text may move from one grey picture to the next
SAME = 0.6  # correlation from which a place shows the same text
MOST_GREYS = 256  # between two looks; of more, every second one is forgotten
FOLLOWED = 60  # lines of a look whose times are refined; with more, a page of text, those of the looks serve

Grey = NDArray[np.uint8]  # [H, W]


@dataclass
class Stretch:
    """A minute of a film, looked at."""

    number: int
    looks: list[Look] = field(default_factory=list)
    turned: int = 0
    surplus: int = 0


class GreyPicture(NamedTuple):
    time: float
    picture: Grey


@dataclass
class Pending:
    """The last look; how long its texts stay is known when the next one comes."""

    time: float
    lines: list[Line]
    since: list[float]
    grey: Grey


class FilmWalk:
    """One walk over a film, in whose course some pictures are read."""

    def __init__(
        self, path: Path, model: SignModel, read: Callable[[Pictures, SignModel], Found] = read_picture
    ) -> None:
        self.video, self.model, self.read = Video(path, model.fps), model, read
        self.shape = (0, 0)  # width and height of the film on the screen
        self.greys: list[GreyPicture] = []  # from the last look on
        self.pending: Pending | None = None
        self.averager = Averager(model)
        self.again = math.inf  # when the last look is to be confirmed
        self.stages = Stages()

    def stretches(self, last_look: Callable[[int], float | None] = lambda k: None) -> Iterator[Stretch]:
        """The minutes of the film in which something is looked at. `last_look` names, for a minute that an earlier run
        has finished, when its last picture was looked at: it is not read again."""
        now: Stretch | None = None
        with closing(self.stages.ahead("decode", self.video.steps())) as steps:
            for t, frame, numbers in steps:
                k, time = int(t // Fraction(STRETCH)), float(t)
                done = last_look(k)
                if done is not None:  # what comes after its last look is seen by the next stretch
                    now = None
                    self.pending, self.again = None, math.inf
                    if round(time, 3) < done:
                        self.greys = []
                    else:
                        self.push(time, frame)
                    continue
                begins = now is None or now.number != k
                grey = self.push(time, frame)
                if begins or self.is_wanted(time, grey, len(numbers) > 0):
                    found = self.look(time, frame, now, first=begins)
                    if begins:
                        if now is not None:
                            yield now
                        now = Stretch(k)
                    assert now is not None
                    now.turned, now.surplus = now.turned + found.turned, now.surplus + found.surplus
        if now is not None:
            self.close(float(self.video.end), now)
            yield now

    # when to look

    def push(self, time: float, frame: Any) -> Grey:
        """The grey picture of a frame; where it is as the one before, that one stands for it."""
        grey = self.shrink(frame)
        if self.greys and not differs(grey, self.greys[-1].picture, CHANGE / 2):
            grey = self.greys[-1].picture
        self.greys.append(GreyPicture(time, grey))
        if len(self.greys) > MOST_GREYS:
            self.greys = [*self.greys[:-2:2], *self.greys[-2:]]
        return grey

    def shrink(self, frame: Any) -> Grey:
        """A frame upright, grey, its longer side GREY pixels at most."""
        width, height = max(1, round(frame.width * self.video.ratio)), frame.height
        scale = min(1.0, GREY / max(width, height))
        w, h = max(1, round(width * scale)), max(1, round(height * scale))
        grey = frame.reformat(width=w, height=h, format="gray", interpolation="AREA").to_ndarray()
        turns = round((frame.rotation or 0) / 90) % 4  # as decode.py turns them
        self.shape = (height, width) if turns % 2 else (width, height)
        upright: Grey = np.ascontiguousarray(np.rot90(grey, turns))
        return upright

    def is_wanted(self, time: float, grey: Grey, on_grid: bool) -> bool:
        last = self.pending
        if last is None or time >= self.again:
            return True
        if not on_grid:
            return False
        return time - last.time >= self.model.still or differs(grey, last.grey, CHANGE)

    # a look

    def look(self, time: float, frame: Any, now: Stretch | None, first: bool) -> Found:
        """Read a picture; the look before it is now known whole, and goes to its stretch. `first`: of a stretch, which
        must not depend on what was read before it."""
        if first:
            self.averager = Averager(self.model)
        with self.stages.clock("read"):
            found = self.read(self.convert(frame), self.model)
        with self.stages.clock("average"):
            lines = self.averager.improve(found)
        with self.stages.clock("follow"):
            self.close(time, now)
            greys = self.greys[::-1]
            since = [time if len(lines) > FOLLOWED else follow_back(greys, line, time) for line in lines]
        before = [] if first or self.pending is None else self.pending.lines
        confirmed = not first and time >= self.again
        fresh = any(not is_known(line, before) for line in lines)
        self.again = time + AGAIN if fresh and not confirmed else math.inf
        grey = self.shrink(frame)
        self.greys = [GreyPicture(time, grey)]
        self.pending = Pending(time, lines, since, grey)
        return found

    def convert(self, frame: Any) -> Pictures:
        """The whole picture, or a smaller one where it is too large."""
        width, height = frame.width * self.video.ratio, frame.height
        scale = self.model.longest / max(width, height)
        self.video.resize = max(1, round(min(width, height) * scale)) if scale < 1 else None
        return self.video.convert(frame)

    def close(self, time: float, now: Stretch | None) -> None:
        """The look before this moment, whose texts are followed on until then, goes to its stretch."""
        last = self.pending
        if last is None or now is None:
            return
        many = len(last.lines) > FOLLOWED
        until = [time if many else follow_on(self.greys, line, time) for line in last.lines]
        sightings = [Sighting(*three) for three in zip(last.lines, last.since, until, strict=True)]
        now.looks.append(Look(last.time, sightings))


def follow_back(greys: list[GreyPicture], line: Line, time: float) -> float:
    """The first moment at which a text stands there; `greys` go back from the look that read it."""
    for grey, shift in zip(greys, walk_place(greys, line.box), strict=False):
        if shift is None:
            break
        time = grey.time
    return time


def follow_on(greys: list[GreyPicture], line: Line, time: float) -> float:
    """The moment at which a text is gone: that of the first picture without it, or `time`, when these end."""
    for grey, shift in zip(greys, walk_place(greys, line.box), strict=False):
        if shift is None:
            return grey.time
    return time


def differs(a: Grey, b: Grey, least: float) -> bool:
    """Whether some field of two grey pictures differs by so many levels, on average over its pixels."""
    if a is b:
        return False
    if a.shape != b.shape:
        return True
    cv2 = import_cv2()
    H, W = a.shape
    change = cv2.absdiff(a, b)
    fields = cv2.resize(change, (max(1, W // FIELD), max(1, H // FIELD)), interpolation=cv2.INTER_AREA)
    return bool(fields.max() >= least)


def is_known(line: Line, lines: list[Line]) -> bool:
    """Whether a look before had such a text there."""
    return any(line.letters == other.letters and box_iou(line.box, other.box) > 0 for other in lines)


def walk_place(greys: list[GreyPicture], box: Box) -> Iterator[tuple[int, int] | None]:
    """Where the place of a text in the first grey picture is in each one; None where it does not show the text."""
    if not greys:
        return
    first = greys[0].picture
    H, W = first.shape
    left, right = max(0, int(box[0] * W)), min(W, max(int(box[0] * W) + 4, math.ceil(box[2] * W)))
    top, bottom = max(0, int(box[1] * H)), min(H, max(int(box[1] * H) + 4, math.ceil(box[3] * H)))
    cv2 = import_cv2()
    pattern = sharpen(first[top:bottom, left:right])
    flat = pattern.size == 0 or float(pattern.std()) < 1.0
    x, y = left, top
    h, w = pattern.shape
    last = first
    for grey in greys:
        picture = grey.picture
        if picture is last or flat:
            yield x, y
            continue
        if picture.shape != first.shape:
            yield None
            return
        x0, y0, x1, y1 = max(0, x - REACH), max(0, y - REACH), min(W, x + w + REACH), min(H, y + h + REACH)
        window = sharpen(picture[y0:y1, x0:x1])
        if window.shape[0] < h or window.shape[1] < w:
            yield None
            return
        match = cv2.matchTemplate(window, pattern, cv2.TM_CCOEFF_NORMED)
        dy, dx = np.unravel_index(int(np.argmax(match)), match.shape)
        if not float(match[dy, dx]) >= SAME:
            yield None
            return
        x, y, last = x0 + int(dx), y0 + int(dy), picture
        yield x, y


def sharpen(patch: Grey) -> NDArray[np.float32]:
    """A patch less its blurred self: strokes, not the panel that they stand on."""
    cv2 = import_cv2()
    plain = patch.astype(np.float32)
    sharp: NDArray[np.float32] = plain - cv2.blur(plain, (9, 9)) if patch.size else plain
    return sharp
