"""Films of coded pictures, and what a right answer about them is.

film = CodedFilm(7, 30.0, events=(CodedEvent(2.0, 9.0, (1, 3)), …))
write_coded_film("a.mp4", film)
film.story()            [{"start": 2.0, "end": 9.0, "caption": "P1 and P3 lift the red kettle"}, …]
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.media.coded.code import PictureCode, draw_code
from fabula.media.decode import import_av

VERBS = ("lift", "open", "paint", "fold", "mend", "turn", "fill", "lock", "shake", "sell", "hold", "clean", "count")
THINGS = (  # 13 · 20 captions are more than a film has events
    *("kettle", "door", "basket", "chair", "bowl", "map", "clock", "cart", "stone", "wheel"),
    *("bottle", "gate", "bell", "cloth", "coin", "lamp", "box", "rope", "plate", "flag"),
)
COLOURS = ("red", "blue", "green", "white", "black", "brown", "grey", "pink", "gold", "silver", "orange", "purple")
MOST = 255  # events of a film
FARTHEST = (1 << 20) / 1000  # seconds of an event


@dataclass(frozen=True, slots=True)
class CodedEvent:
    """From start to end, with these people (1 to 8)."""

    start: float
    end: float
    people: tuple[int, ...] = (1,)


@dataclass(frozen=True, slots=True)
class CodedFilm:
    """What is shown when. Events follow each other, and do not overlap."""

    number: int  # 0 to 255
    seconds: float
    events: tuple[CodedEvent, ...]
    fps: int = 10

    def __post_init__(self) -> None:
        ends = 0.0
        if not 0 <= self.number <= 255 or len(self.events) > MOST:
            raise SpecError(f"film {self.number} with {len(self.events)} events; numbers to 255, events to {MOST}")
        for event in self.events:
            if not ends <= event.start < event.end <= self.seconds or event.end - event.start >= FARTHEST:
                raise SpecError(f"{event} overlaps, is too long or leaves the film")
            ends = event.end

    def code_at(self, time: float) -> PictureCode:
        """What the picture at this time says."""
        ms = round(time * 1000)
        for k, event in enumerate(self.events, 1):
            start, end = round(event.start * 1000), round(event.end * 1000)
            if start <= ms < end:
                people = sum(1 << (p - 1) for p in event.people)
                return PictureCode(ms, k, ms - start, end - ms, people, self.number)
        return PictureCode(ms, film=self.number)

    def codes(self) -> Iterator[PictureCode]:
        """Of every picture."""
        return (self.code_at(i / self.fps) for i in range(round(self.seconds * self.fps)))

    def story(self) -> list[JsonDict]:
        """The right answer."""
        codes = [self.code_at(event.start) for event in self.events]
        spans = zip(self.events, codes, strict=True)
        return [{"start": e.start, "end": e.end, "caption": write_caption(code)} for e, code in spans]


def write_caption(code: PictureCode) -> str:
    """The caption of a picture's event: a function of what stands in the picture."""
    names = code.names()
    who = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "somebody"
    verb = VERBS[code.event % len(VERBS)] + ("" if len(names) > 1 else "s")
    thing = THINGS[code.event // len(VERBS) % len(THINGS)]
    return f"{who} {verb} the {COLOURS[code.film % len(COLOURS)]} {thing}"


def make_film(number: int, seconds: float, fps: int = 10, seed: int = 0) -> CodedFilm:
    """A film with events of 2 to 9 s on whole tenths of a second, and pauses between some of them."""
    rng = random.Random(f"{seed}/{number}")
    events: list[CodedEvent] = []
    at = rng.randint(0, 20) / 10
    while len(events) < MOST:
        end = at + rng.randint(20, 90) / 10
        if end > seconds:
            break
        people = tuple(sorted(rng.sample(range(1, 9), rng.randint(1, 3))))
        events.append(CodedEvent(round(at, 1), round(end, 1), people))
        at = end + rng.choice((0, rng.randint(5, 30) / 10))
    return CodedFilm(number, seconds, tuple(events), fps)


def write_coded_film(path: str | Path, film: CodedFilm, height: int = 240, width: int = 320) -> Path:
    """As MPEG-4 of good quality, in the container that the name says."""
    av = import_av()
    path = Path(path)
    rate = Fraction(film.fps)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mpeg4", rate=rate)
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        stream.bit_rate = 2_000_000
        stream.codec_context.time_base = 1 / rate
        for i, code in enumerate(film.codes()):
            frame = av.VideoFrame.from_ndarray(draw_code(code, height, width), "rgb24")
            frame.pts, frame.time_base = i, 1 / rate
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
    return path
