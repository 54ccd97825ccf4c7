"""The cast of one video or many: every face with its place, time, shot, track and embedding, and who it is.

    cast = Cast.of("film.mp4")                       shots, faces, tracks, people: find.py
    cast.save("people.npz"); Cast.load("people.npz")
    cast.person                                      [n] who each face is: 0, 1, … by first appearance; −1: nobody
    cast.names                                       {0: "Anna"}, where somebody was given a name

A store is one .npz file of plain arrays and a manifest (recipe, licence of the weights, versions, videos); nothing in
it is executed. What people corrected lies beside it (corrections.py) and is applied whenever the store is loaded.
"""

from __future__ import annotations

import json
import math
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core import atomic
from fabula.core.errors import InputError, shown
from fabula.core.memory import available
from fabula.core.notes import Progress, silent
from fabula.documents.fields import JsonDict, JsonObject
from fabula.documents.files import check_absent, check_path, name_write_failures, parse_json
from fabula.media.base import Array
from fabula.media.people.base import Floats, Ints
from fabula.media.people.cluster import Clusterer, clusterer, impossible_merges

LAYOUT = 1  # of the store
MOST = 2**31 - 1  # the highest number of a video, picture, shot, track or person
ENDING = ".npz"
COLUMNS: dict[str, tuple[str, tuple[int, ...]]] = {  # name → kind and further axes; −1: any
    "video": ("i", ()), "frame": ("i", ()), "time": ("f", ()), "shot": ("i", ()), "track": ("i", ()),
    "box": ("f", (4,)), "score": ("f", ()), "embedding": ("f", (-1,)),
}  # fmt: skip
PARTS = (*COLUMNS, "person", "thumbs", "thumb_ends", "thumb_tracks", "manifest")


@dataclass(frozen=True)
class FilmedVideo:
    """One video that was looked at."""

    id: str
    duration: float  # seconds
    width: int
    height: int
    shots: NDArray[np.float64]  # [S, 2] seconds
    about: JsonObject = field(default_factory=dict)  # file, sha256, pictures looked at, faces skipped


@dataclass(frozen=True)
class Faces:
    """A table with a row a face: by video, then time, then from left to right."""

    video: Ints  # [n] which of the videos
    frame: Ints  # [n] which of the pictures looked at
    time: NDArray[np.float64]  # [n] seconds
    shot: Ints  # [n] which of the video's shots
    track: Ints  # [n] numbered over all videos
    box: Floats  # [n, 4] x1, y1, x2, y2 in pixels
    score: Floats  # [n] of the detector
    embedding: Floats  # [n, C] of length 1

    def __len__(self) -> int:
        return len(self.video)

    @classmethod
    def none(cls, dim: int) -> Faces:
        i, f = np.zeros(0, np.int64), np.zeros(0, np.float32)
        return cls(i, i, np.zeros(0), i, i, np.zeros((0, 4), np.float32), f, np.zeros((0, dim), np.float32))

    def take(self, at: Ints | slice) -> Faces:
        return Faces(*(getattr(self, name)[at] for name in COLUMNS))

    def pictures(self) -> Ints:
        """The picture of each face, numbered over all videos. [n]"""
        if not len(self):
            return np.zeros(0, np.int64)
        _, where = np.unique(np.stack([self.video, self.frame]), axis=1, return_inverse=True)
        return np.asarray(where, np.int64).reshape(-1)


@dataclass(frozen=True)
class Cast:
    """Faces and who they are. A value: corrections and other clusterings give another one."""

    videos: tuple[FilmedVideo, ...]
    faces: Faces
    person: Ints  # [n]
    names: Mapping[int, str] = field(default_factory=dict)
    thumbs: Mapping[int, bytes] = field(default_factory=dict)  # a JPEG a track: its best face
    metadata: JsonObject = field(default_factory=dict)  # the manifest
    remarks: tuple[str, ...] = ()  # corrections that no longer apply

    # -- made and kept ------------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, *videos: str | Path, progress: Progress = silent, **settings: Any) -> Cast:
        """Look at videos; settings as `fabula people find` has them: detector, embedder, cluster, fps …"""
        from fabula.media.people.find import find_cast

        return find_cast(videos, progress=progress, **settings)

    @classmethod
    def load(cls, path: str | Path, corrected: bool = True) -> Cast:
        """From a store, with what people corrected in the file beside it."""
        cast = read_cast(check_path(path))
        if corrected:
            from fabula.media.people.corrections import apply_file

            cast = apply_file(cast, path)
        return cast

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """As one file, whole or not at all. Corrections are not part of it: they stay in their own file."""
        path = check_path(path)
        check_store(path, overwrite)
        with name_write_failures(path):
            target = Path(os.path.realpath(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic.beside(target) as folder:
                file = folder / f"cast{ENDING}"
                write_arrays(file, self.arrays())
                atomic.take_place(file, target)

    def arrays(self) -> Iterator[tuple[str, Array]]:
        yield from ((name, getattr(self.faces, name)) for name in COLUMNS)
        yield "person", self.person
        tracks = sorted(self.thumbs)
        yield from zip(("thumbs", "thumb_ends"), pack_bytes([self.thumbs[t] for t in tracks]), strict=True)
        yield "thumb_tracks", np.array(tracks, np.int64)
        videos = [
            {
                "id": v.id,
                "duration": v.duration,
                "width": v.width,
                "height": v.height,
                "shots": v.shots.tolist(),
                **v.about,
            }
            for v in self.videos
        ]
        manifest = json.dumps({"layout": LAYOUT, **self.metadata, "videos": videos}, ensure_ascii=True)
        yield "manifest", np.frombuffer(manifest.encode("ascii"), np.uint8)

    # -- asked --------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.faces)

    def __repr__(self) -> str:
        return f"<Cast of {len(self.videos)} videos: {len(self):,} faces, {len(self.people()):,} people>"

    @property
    def dim(self) -> int:
        return int(self.faces.embedding.shape[1])

    @property
    def recipe(self) -> JsonDict:
        """How the faces were found; `parse.rebuild_faces` makes the model of it."""
        return dict(self.metadata.get("recipe", {}))

    def video_index(self, id: str) -> int:
        for k, one in enumerate(self.videos):
            if one.id == id:
                return k
        raise InputError(
            "no video of this id was looked at",
            video=id,
            hint=f"there are {len(self.videos)}, the first is {self.videos[0].id!r}"
            if self.videos
            else "there is none",
        )

    def people(self) -> list[int]:
        """Who there is, by number."""
        return [int(p) for p in np.unique(self.person[self.person >= 0])]

    def name(self, person: int) -> str:
        """The name somebody gave, or `person 3`."""
        return self.names.get(person, f"person {person}")

    def tracks_of(self, person: int) -> Ints:
        """Their numbers, by first appearance."""
        tracks, first = np.unique(self.faces.track[self.person == person], return_index=True)
        return np.asarray(tracks[np.argsort(first)], np.int64)

    def seconds_of(self, person: int) -> float:
        """For how long somebody is seen: pictures over pictures a second."""
        fps = float(self.recipe.get("look", {}).get("fps", 0) or 0)
        return float((self.person == person).sum()) / fps if fps else 0.0

    def impossible(self) -> int:
        """Pairs of faces of one picture that are one person."""
        return impossible_merges(self.person, self.faces.pictures())

    # -- made otherwise -----------------------------------------------------------------------------------------------

    def cluster(self, how: Clusterer | str = "linked", progress: Progress = silent) -> Cast:
        """The same faces, grouped anew; names and corrections are not looked at."""
        chosen = clusterer(how) if isinstance(how, str) else how
        own = float(self.metadata.get("own_eps", 0.6))
        f = self.faces
        found = chosen.group(f.embedding, f.track, f.pictures(), own, progress)
        metadata = {**self.metadata, "cluster": str(chosen), "clustering": found.counts}
        return replace(self, person=found.person, names={}, metadata=metadata, remarks=())


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def pack_bytes(pieces: Sequence[bytes]) -> tuple[NDArray[np.uint8], Ints]:
    """Pieces end to end, and where each ends."""
    return np.frombuffer(b"".join(pieces), np.uint8), np.cumsum([len(one) for one in pieces], dtype=np.int64)


def check_store(path: Path, overwrite: bool) -> None:
    """What `save` would refuse at the end is refused before hours of work."""
    if path.suffix != ENDING:
        raise InputError(
            f"a store of people is one file that ends in {ENDING}", file=path, hint=f"name it {path.stem}{ENDING}"
        )
    if path.is_dir():
        raise InputError("is a folder", file=path, hint="choose another name")
    check_absent(path, overwrite)


def write_arrays(path: Path, arrays: Iterator[tuple[str, Array]]) -> None:
    """As numpy.savez does it, with times that do not change: the same arrays give the same bytes."""
    with zipfile.ZipFile(path, "x", zipfile.ZIP_STORED, allowZip64=True) as out:
        for name, array in arrays:
            about = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            with out.open(about, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)


def read_cast(path: Path) -> Cast:
    """Checked before it is believed."""
    if not path.is_file():
        raise InputError("no such store of people", file=path, hint="fabula people find VIDEOS -o people.npz makes one")
    wrong = "find the people again (fabula people find)"
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {one.filename: one.file_size for one in archive.infolist()}
            if {f"{name}.npy" for name in PARTS} - set(sizes):
                raise InputError("not a store of people", file=path, hint=wrong)
            if 2 * sum(sizes.values()) > available():
                raise InputError(
                    f"takes {2 * sum(sizes.values()) / 1e9:,.1f} GB of memory, which is not there",
                    file=path,
                    hint="find people in fewer videos at a time",
                )
            found = {name: read_part(archive, f"{name}.npy") for name in PARTS}
    except InputError:
        raise
    except Exception as error:  # zipfile, its unpackers and numpy's header raise what they like where bytes are bad
        raise InputError(
            f"not a store of people, or damaged ({' '.join(str(error).split())[:100] or type(error).__name__})",
            file=path,
            hint=wrong,
        ) from None
    return build_cast(found, path)


def read_part(archive: zipfile.ZipFile, name: str) -> Array:
    """One array; ValueError where its header speaks of other bytes than follow it."""
    info = archive.getinfo(name)
    with archive.open(info) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in headers that are none
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{name} is of version {version[0]}.{version[1]}, which plain numbers do not need")
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = head(stream)
        size = dtype.itemsize * math.prod(map(int, shape))
        if dtype.kind not in "fiu" or size != info.file_size - stream.tell():
            raise ValueError(f"{name} is {dtype} of shape {shape}, {info.file_size - stream.tell()} bytes follow")
        return np.frombuffer(stream.read(), dtype).reshape(shape, order="F" if by_column else "C")


def build_cast(found: Mapping[str, Array], path: Path) -> Cast:
    wrong = "find the people again (fabula people find)"

    def refuse(problem: str) -> InputError:
        return InputError(problem, file=path, hint=wrong)

    manifest = (
        parse_json(found["manifest"].tobytes().decode("utf-8", "replace"), path)
        if found["manifest"].dtype == np.uint8
        else None
    )
    if (
        not isinstance(manifest, dict)
        or manifest.get("layout") != LAYOUT
        or not isinstance(manifest.get("videos"), list)
    ):
        raise refuse(f"its manifest is not one of layout {LAYOUT}")
    check_manifest(manifest, refuse)
    n = len(found["video"]) if found["video"].ndim == 1 else -1
    for name, (kind, more) in {**COLUMNS, "person": ("i", ())}.items():
        array = found[name]
        fits = array.ndim == 1 + len(more) and all(
            w in (-1, have) for w, have in zip(more, array.shape[1:], strict=True)
        )
        if not fits or len(array) != n or array.dtype.kind != kind:
            raise refuse(f"{name} is {array.dtype} of shape {list(array.shape)} for {n} faces")
        if kind == "f" and not np.isfinite(array).all():
            raise refuse(f"{name} holds numbers that are not finite")
        if kind == "i" and n and not -1 <= array.min() <= array.max() <= MOST:
            raise refuse(f"{name} holds {array.min()} to {array.max()}; its numbers lie between -1 and {MOST}")
    videos = tuple(read_video(one, refuse) for one in manifest["videos"])
    ids = [one.id for one in videos]
    if len(set(ids)) != len(ids) or (n and not 0 <= found["video"].min() <= found["video"].max() < len(videos)):
        raise refuse("faces of a video that the manifest does not tell of")
    like = Faces.none(found["embedding"].shape[1])
    columns: JsonDict = {name: found[name].astype(getattr(like, name).dtype, copy=False) for name in COLUMNS}
    faces = Faces(**columns)
    ends, tracks, raw = found["thumb_ends"], found["thumb_tracks"], found["thumbs"]
    if not (ends.ndim == tracks.ndim == raw.ndim == 1 and ends.dtype.kind == tracks.dtype.kind == "i"):
        raise refuse("its pictures of faces are not as they were written")
    if len(ends) != len(tracks) or (len(ends) and (ends[-1] != len(raw) or (np.diff(ends, prepend=0) < 0).any())):
        raise refuse("its pictures of faces are not as they were written")
    blob = raw.tobytes()
    thumbs = {t: blob[a:b] for t, (a, b) in zip(tracks.tolist(), pairwise([0, *ends.tolist()]), strict=True)}
    del manifest["layout"], manifest["videos"]
    return Cast(videos, faces, found["person"].astype(np.int64), {}, thumbs, manifest)


def check_manifest(manifest: JsonObject, refuse: Callable[[str], InputError]) -> None:
    """What later calls take for granted of a manifest."""
    recipe = manifest.get("recipe", {})
    look = recipe.get("look", {}) if isinstance(recipe, dict) else None
    if not isinstance(look, dict) or not is_amount(look.get("fps") or 0):
        raise refuse(f"its recipe is {shown(recipe)}, not an object that tells how videos were looked at")
    if not is_amount(manifest.get("own_eps", 0)):
        raise refuse(f"its own_eps is {shown(manifest['own_eps'])}, not a number")
    if not isinstance(manifest.get("left_out") or {}, dict | list):
        raise refuse(f"its left_out is {shown(manifest['left_out'])}, not a list")
    licence = manifest.get("licence")
    licences = licence.values() if isinstance(licence, dict) else [licence]
    if not all(one is None or isinstance(one, str) for one in licences):
        raise refuse(f"its licence is {shown(licence)}, not text")


def is_amount(value: object) -> bool:
    """A number from 0 on that is not beyond all measure."""
    return isinstance(value, int | float) and 0 <= value <= MOST


def read_video(one: Any, refuse: Callable[[str], InputError]) -> FilmedVideo:
    try:
        one = dict(one)
        shots = np.array(one.pop("shots"), np.float64).reshape(-1, 2)
        id, numbers = one.pop("id"), [one.pop(k) for k in ("duration", "width", "height")]
        counts = [one.get(k, 0) for k in ("too_small", "faces")]
        if not isinstance(id, str) or not all(map(is_amount, [*numbers, *counts])):
            raise TypeError
        if not np.isfinite(shots).all():
            raise ValueError
        return FilmedVideo(id, float(numbers[0]), int(numbers[1]), int(numbers[2]), shots, one)
    except (TypeError, ValueError, KeyError, OverflowError):
        raise refuse(f"the manifest tells of a video as {shown(one)}") from None
