"""A cast cut into clips: the stores `face` and `box` that MICap's task reads (learn/identity/clips.py).

    face   clip → [k, C]      embeddings by time, of each picture from left to right
    box    clip → [k, 6]      x1, y1, x2, y2 of a picture of 854 × 480; 25 · seconds since the clip began; who it is

MICap's frame features stand for five pictures of a film with 25 a second: face times are told in such pictures whatever
the film's own rate. Who is who is so over all clips, not within one alone. A clip without a face has no entry; where
no clip has one, no store is written. Faces that are nobody's (noise=drop) are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fabula.core.errors import InputError, shown
from fabula.documents.fields import JsonDict, JsonObject
from fabula.documents.files import check_path, read_objects
from fabula.media.people.base import Floats
from fabula.media.people.cast import Cast
from fabula.media.stores.features import write_features

PICTURES = 25.0  # a second, as MICap counts them: 5 frame features a second, each for 5 pictures
SIZE = (854, 480)  # of the pictures that MICap's boxes are in


@dataclass(frozen=True)
class Clip:
    """A stretch of a video that is told in one caption."""

    id: str
    video: str
    start: float
    end: float


@dataclass(frozen=True)
class Cut:
    """What is in the clips."""

    face: dict[str, Floats]  # clip → [k, C]
    box: dict[str, Floats]  # clip → [k, 6]
    empty: list[str]  # clips without a face
    nobody: int  # faces in clips that are nobody's, left out


def shots_as_clips(cast: Cast, longest: float | None = None) -> list[Clip]:
    """Every shot as a clip, VIDEO-0000, VIDEO-0001, …; one longer than `longest` seconds in equal parts."""
    clips = []
    for one in cast.videos:
        spans = [
            (a + (b - a) * k / parts, a + (b - a) * (k + 1) / parts)
            for a, b in one.shots.tolist()
            for parts in [max(1, -int(-(b - a) // longest)) if longest else 1]
            for k in range(parts)
        ]
        clips += [Clip(f"{one.id}-{k:04d}", one.id, a, b) for k, (a, b) in enumerate(spans)]
    return clips


def is_time(value: object) -> bool:
    """Seconds that a video may have; which are sound is for `check_clip` to say."""
    return isinstance(value, int | float) and (value != value or abs(value) < 1e9)


def read_clips(path: str | Path) -> list[Clip]:
    """Lines of {"id", "video", "start", "end"}; other fields are not looked at."""
    path = check_path(path)
    if not path.is_file():
        raise InputError("no such file of clips", file=path, hint='lines of {"id", "video", "start", "end"}')
    clips = []
    for line, one in read_objects(path):
        texts = [one.get(k) for k in ("id", "video")] if isinstance(one, dict) else [None]
        times = [one.get(k) for k in ("start", "end")] if isinstance(one, dict) else [None]
        if not all(isinstance(t, str) and t for t in texts) or not all(map(is_time, times)):
            raise InputError(
                f"not a clip: {shown(one)}",
                file=path,
                field=f"line {line}",
                hint='a clip is {"id": "film-0012", "video": "film", "start": 3.0, "end": 7.5}',
            )
        clips.append(Clip(str(texts[0]), str(texts[1]), float(times[0] or 0), float(times[1] or 0)))
    if not clips:
        raise InputError("a file without clips", file=path, hint='lines of {"id", "video", "start", "end"}')
    return clips


def cut_cast(
    cast: Cast, clips: Iterable[Clip], size: tuple[float, float] | None = SIZE, pictures: float = PICTURES
) -> Cut:
    """Faces by clip; `size` None keeps boxes in pixels of the video."""
    cut = Cut({}, {}, [], 0)
    ids: set[str] = set()
    nobody = 0
    faces = cast.faces
    rows = {k: np.flatnonzero(faces.video == k) for k in range(len(cast.videos))}  # times rise within a video
    for clip in clips:
        check_clip(clip, ids)
        k = cast.video_index(clip.video)
        t = faces.time[rows[k]]
        at = rows[k][np.searchsorted(t, clip.start, "left") : np.searchsorted(t, clip.end, "left")]
        known = at[cast.person[at] >= 0]
        nobody += len(at) - len(known)
        if not len(known):
            cut.empty.append(clip.id)
            continue
        one = cast.videos[k]
        scale = np.tile([size[0] / max(one.width, 1), size[1] / max(one.height, 1)], 2) if size else np.ones(4)
        when = (faces.time[known] - clip.start) * pictures
        cut.face[clip.id] = faces.embedding[known]
        cut.box[clip.id] = np.column_stack([faces.box[known] * scale, when, cast.person[known]]).astype(np.float32)
    return Cut(cut.face, cut.box, cut.empty, nobody)


def check_clip(clip: Clip, ids: set[str]) -> None:
    if not (np.isfinite(clip.start) and np.isfinite(clip.end)) or clip.start < 0 or clip.end <= clip.start:
        raise InputError(
            f"a clip from {clip.start:g} to {clip.end:g} s has no length",
            video=clip.id,
            noun="clip",
            hint="give it an end behind its start",
        )
    if clip.id in ids:
        raise InputError("two clips have this id", video=clip.id, noun="clip", hint="give each its own")
    ids.add(clip.id)


def write_streams(
    cast: Cast,
    clips: Iterable[Clip],
    folder: str | Path,
    ending: str = ".safetensors",
    overwrite: bool = False,
    size: tuple[float, float] | None = SIZE,
) -> Cut:
    """`face` and `box` in this folder, beside frame and action; what is in them."""
    folder = check_path(folder)
    cut = cut_cast(cast, clips, size)
    if not cut.face:
        return cut
    metadata = describe(cast, size)
    for name, arrays in (("face", cut.face), ("box", cut.box)):
        write_features(folder / f"{name}{ending}", arrays.items(), {**metadata, "stream": name}, overwrite)
    return cut


def describe(cast: Cast, size: tuple[float, float] | None = SIZE) -> JsonDict:
    """What the stores say of themselves: equal recipes, faces found and grouped in one way."""
    recipe = {**cast.recipe, "cluster": cast.metadata.get("cluster"), "box_size": list(size) if size else None}
    found: JsonObject = cast.metadata
    return {
        "recipe": recipe,
        "licence": found.get("licence"),
        "versions": found.get("versions"),
        "people": len(cast.people()),
        "clustering": found.get("clustering"),
    }
