"""The frames of a film for a recipe: index, time on the screen, picture, and the record that says all of it.

    taken = take_frames_for("film.mp4", "fabula/rate(fps=1)")
    taken.samples[3].time        seconds at which this very picture appears
    taken.record                 plain JSON: recipe, decoder, times, sizes, the SHA-256 of every picture
    taken.signature              16 digits of it, for the signature of whatever is asked about these frames

Times are the film's own, whatever rate its header claims; what the recipe's harness would say stands beside them
(`harness_label`). Every picture is decoded in order, none is sought. A film is walked through once, and `stream_frames`
and `stream_sets` give frames as they come, so that an hour of film takes no more memory than a minute.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fabula.core.errors import InputError, SpecError, import_extra
from fabula.documents.fields import JsonDict
from fabula.media.base import RULES, Pictures
from fabula.media.decode import Video, count_turns, import_av
from fabula.media.film_times import FilmTimes, measure_times, see_upright
from fabula.media.sampling import recipe as find_recipe
from fabula.media.sampling.base import FrameRecipe, Selection, SizeRecipe, refuse
from fabula.media.sampling.fabula import TimedRecipe
from fabula.media.shots import shrink

RECORD = 1  # version of the record's form
DIGITS = 16  # of its signature
MOST_DIGITS = 6  # of a time that is said
SMALLEST, LARGEST = 16, 8192  # pixels of a side

Kind = Literal["jpeg", "png"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureFormat:
    """How frames are written: the longest side (0: as the film has it), or the exact size that a recipe gives."""

    side: int = 512  # pixels of the longer side; smaller films stay as they are
    quality: int = 85  # of JPEG
    kind: Kind = "jpeg"
    resizer: SizeRecipe | None = None  # in place of `side`

    def __post_init__(self) -> None:
        if self.side and not SMALLEST <= self.side <= LARGEST:
            raise SpecError(f"side={self.side}; it is 0 for the film's own size, or {SMALLEST} to {LARGEST} pixels")
        if not 1 <= self.quality <= 100:
            raise SpecError(f"quality={self.quality}; it lies between 1 and 100")

    def size(self, height: int, width: int, frames: int) -> tuple[int, int]:
        """Height and width of a written frame, of so many."""
        if self.resizer is not None:
            found = self.resizer.size(height, width, max(1, frames))
            return found.height, found.width
        longest = max(height, width)
        if not self.side or longest <= self.side:
            return height, width
        return max(1, round(height * self.side / longest)), max(1, round(width * self.side / longest))

    def write(self, picture: Pictures) -> bytes:
        cv2 = import_extra("cv2", "writing frames", "features")
        jpeg = [cv2.IMWRITE_JPEG_QUALITY, self.quality] if self.kind == "jpeg" else []
        fine, data = cv2.imencode(f".{self.kind}", picture[..., ::-1], jpeg)
        assert fine
        return bytes(data)

    def to_dict(self) -> JsonDict:
        resizer = None if self.resizer is None else self.resizer.full()
        return {"side": self.side, "quality": self.quality, "kind": self.kind, "resizer": resizer}


@dataclass(frozen=True, slots=True)
class FrameSample:
    """One frame as it is sent."""

    index: int  # of the film's pictures, from 0
    time: float  # seconds at which it appears …
    until: float  # … and at which the next one does
    height: int
    width: int
    data: bytes = field(repr=False, compare=False)
    digest: str  # SHA-256 of the data
    harness_label: str = ""  # the time as the recipe's harness says it
    thumbnail: Pictures | None = field(default=None, repr=False, compare=False)  # where likeness is looked at

    def to_dict(self) -> JsonDict:
        fields = ("index", "time", "until", "height", "width", "harness_label", "digest")
        return {name: getattr(self, name) for name in fields}


@dataclass(frozen=True, slots=True)
class FilmFrames:
    """The frames of a film for a recipe, in the order in which they are sent."""

    samples: tuple[FrameSample, ...]
    record: JsonDict = field(repr=False)

    @property
    def signature(self) -> str:
        return sign_record(self.record)

    def labels(self, digits: int | None = None) -> list[str]:
        """The frames' times as text."""
        return label_times(self.samples, digits)


def sign_record(record: Mapping[str, object]) -> str:
    """Of any plain JSON: the same record has the same signature."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def label_times(samples: Sequence[FrameSample], digits: int | None = None) -> list[str]:
    """Times as text. Without `digits`: as few as keep each label within the time that its own frame is on the screen.

    1.001 s, shown until 1.034 s, is 1.01: at 1.0 s and at 1.1 s another picture is on the screen.
    """
    if digits is not None:
        return [f"{sample.time:.{digits}f}" for sample in samples]
    for k in range(1, MOST_DIGITS + 1):
        labels = [round_up(sample.time, k) for sample in samples]
        if all(Decimal(repr(s.time)) <= t < Decimal(repr(s.until)) for s, t in zip(samples, labels, strict=True)):
            return [str(label) for label in labels]
    return [f"{sample.time:.{MOST_DIGITS}f}" for sample in samples]


def round_up(time: float, digits: int) -> Decimal:
    """To so many digits: never to a moment at which the frame is not there yet."""
    return Decimal(repr(time)).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)


# ── out of a film ──────────────────────────────────────────────────────────────────────────────────────────────────


class TimesDifferError(InputError):
    """Packets and pictures do not agree: the film must be measured by its pictures."""


def take_frames_for(
    path: str | Path, recipe: FrameRecipe | str, pictures: PictureFormat | None = None, exact: bool = False
) -> FilmFrames:
    """The frames that a recipe selects of a film. RecipeError: the recipe's original stops at this film.

    `exact`: measure the film by decoding it once more, rather than by its packets' times."""
    recipe = find_recipe(recipe) if isinstance(recipe, str) else recipe
    pictures = pictures or PictureFormat()
    film = measure_times(path, exact)
    try:
        return take_set(film, recipe, pictures)
    except TimesDifferError:
        return take_set(measure_times(path, exact=True), recipe, pictures)


def take_set(film: FilmTimes, recipe: FrameRecipe, pictures: PictureFormat) -> FilmFrames:
    """The same of a film that is measured."""
    (found,) = stream_sets(film, [recipe], pictures)
    return found


def stream_sets(
    film: FilmTimes, recipes: Sequence[FrameRecipe], pictures: PictureFormat | None = None
) -> Iterator[FilmFrames]:
    """The frames of several recipes of one film, windows that overlap say, in one walk: each set once it is whole.

    Sets come in the order of the recipes, and memory holds the frames of those that are open. TimesDifferError: as
    `walk_pictures` has it."""
    pictures = pictures or PictureFormat()
    waiting = [OpenSet(recipe, select_frames(film, recipe), pictures) for recipe in recipes]
    thumbnails = any(count_likeness(recipe) > 0 for recipe in recipes)
    for index, video, frame in walk_pictures(film, {i for one in waiting for i in one.wanted}):
        drawn = dict[tuple[int, int], FrameSample]()  # by size: a recipe's may depend on how many frames there are
        shape = see_upright(video, frame)
        for one in waiting:
            if index in one.wanted:
                size = pictures.size(*shape, len(one.selection.indices))
                if size not in drawn:
                    drawn[size] = draw_sample(film, video, frame, (index, size, pictures), thumbnails)
                one.found[index] = drawn[size]
        while waiting and waiting[0].last <= index:
            yield waiting.pop(0).close(film)
    for one in waiting:  # without a frame
        yield one.close(film)


@dataclass(slots=True)
class OpenSet:
    """A set whose frames are not all decoded yet."""

    recipe: FrameRecipe
    selection: Selection
    pictures: PictureFormat
    found: dict[int, FrameSample] = field(default_factory=dict)
    wanted: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = frozenset(self.selection.indices)

    @property
    def last(self) -> int:
        return max(self.wanted, default=-1)

    def close(self, film: FilmTimes) -> FilmFrames:
        return build_set(film, self.recipe, self.pictures, self.selection, self.found)


def build_set(
    film: FilmTimes,
    recipe: FrameRecipe,
    pictures: PictureFormat,
    selection: Selection,
    found: Mapping[int, FrameSample],
) -> FilmFrames:
    """Frames in the recipe's order with their labels, and the record."""
    every = [add_label(found[i], selection.label_of(k)) for k, i in enumerate(selection.indices)]
    samples = [replace(sample, thumbnail=None) for sample in drop_alike(every, count_likeness(recipe))]
    record = {
        "frames": RECORD,
        "recipe": recipe.full(),
        "origin": {"name": recipe.origin, "version": recipe.version},
        "pictures": pictures.to_dict(),
        "film": describe_film(film),
        "decoder": describe_decoder(),
        "facts": selection.facts,
        "alike": len(every) - len(samples),  # frames dropped for their likeness
        "sent": [sample.to_dict() for sample in samples],
    }
    return FilmFrames(tuple(samples), record)


def count_likeness(recipe: FrameRecipe) -> float:
    """How much a frame must differ from the last one; 0: all are sent."""
    return recipe.distinct if isinstance(recipe, TimedRecipe) else 0.0


def drop_alike(samples: Iterable[FrameSample], distinct: float) -> Iterator[FrameSample]:
    """Without frames that differ by less than so many of 255 grey levels, in the mean of 27 × 48 fields, from the last
    one that stays."""
    last: Pictures | None = None
    for sample in samples:
        thumbnail = sample.thumbnail
        if distinct and last is not None and thumbnail is not None and count_difference(thumbnail, last) < distinct:
            continue
        last = thumbnail
        yield sample


def add_label(sample: FrameSample, label: str) -> FrameSample:
    return replace(sample, harness_label=label) if label else sample


def select_frames(film: FilmTimes, recipe: FrameRecipe) -> Selection:
    """Indices of a film's pictures. One that is not there stops the original's decoder, and us."""
    if isinstance(recipe, TimedRecipe):
        return recipe.select_times(film.times, film.end)
    selection = recipe.select(film.facts())
    if outside := selection.outside(len(film.times)):
        refuse("IndexError", f"{recipe} asks for frame {outside[0]} of {len(film.times)}")
    return selection


def stream_frames(
    film: FilmTimes, indices: Iterable[int], pictures: PictureFormat | None = None
) -> Iterator[FrameSample]:
    """The frames of these indices in the film's order, each once, as they are decoded."""
    pictures = pictures or PictureFormat()
    wanted = set(indices)
    for index, video, frame in walk_pictures(film, wanted):
        size = pictures.size(*see_upright(video, frame), len(wanted))
        yield draw_sample(film, video, frame, (index, size, pictures))


def walk_pictures(film: FilmTimes, wanted: Set[int]) -> Iterator[tuple[int, Video, Any]]:
    """Every picture of these indices as it is decoded; the others are decoded, too.

    TimesDifferError: the packets' times were not those of the pictures."""
    video, count = Video(film.path), 0
    for t, frame in video.walk():
        if not film.decoded:
            check_time(film, count, t)
        if count in wanted:
            yield count, video, frame
        count += 1
    if count != len(film.times):
        raise differ(film, f"{count:,} pictures where its packets are {len(film.times):,}")


def check_time(film: FilmTimes, index: int, time: Fraction) -> None:
    if index >= len(film.times) or film.times[index] != time:
        raise differ(film, f"picture {index} appears at {float(time):.3f} s, and its packet tells another time")


def differ(film: FilmTimes, problem: str) -> TimesDifferError:
    return TimesDifferError(problem, file=film.path, hint="measure it by its pictures: measure_times(path, exact=True)")


def draw_sample(
    film: FilmTimes,
    video: Video,
    frame: Any,
    wanted: tuple[int, tuple[int, int], PictureFormat],
    thumbnail: bool = False,
) -> FrameSample:
    """A frame as it is sent. `wanted`: its index, height and width, and how it is written."""
    index, (height, width), pictures = wanted
    before = (height, width) if count_turns(frame) % 2 else (width, height)  # width first
    picture = np.ascontiguousarray(video.draw(frame, *before))
    data = pictures.write(picture)
    time, until = film.times[index], film.until(index)
    digest = hashlib.sha256(data).hexdigest()
    small = shrink(picture) if thumbnail else None
    return FrameSample(index, float(time), float(until), height, width, data, digest, thumbnail=small)


def count_difference(a: Pictures, b: Pictures) -> float:
    """Mean of the absolute differences, of 255."""
    return float(np.abs(a.astype(np.int16) - b).mean())


def describe_film(film: FilmTimes) -> JsonDict:
    rate = None if film.rate is None else str(film.rate)
    return {
        "frames": len(film.times),
        "seconds": film.duration,
        "rate": rate,
        "height": film.height,
        "width": film.width,
    }


def describe_decoder() -> JsonDict:
    """Programs and versions: another decoder may give other pixels."""
    av = import_av()
    cv2 = import_extra("cv2", "writing frames", "features")
    libraries = {name: ".".join(map(str, found)) for name, found in sorted(av.library_versions.items())}
    return {"rules": RULES, "av": av.__version__, "opencv": cv2.__version__, **libraries}
