"""Features as MICap's and FillIn's authors publish them, as stores: a file per clip in a folder per film, and pickles.

features   FILM/CLIP.npy, [n, C]: CLIP, I3D
faces      FILM/CLIP_concatenated.npy, [k, C], and FILM/CLIP.info, JSON: [{"frame_num": 35, "bbox": "[x1, y1, x2, y2]"}]
people     FILM/CLIP.npy, [k, 6 + C]: FillIn's face clusters; the second of the six is when, as a share of the clip
text       SPLIT_embeddings.pkl: an array [blanks at most, C] per set, in the order of the groups of --info
gender     JSON: CLIP → ["M", "F", "G"], a letter a blank

`--info` is the authors' LSMDC16_info_…json: `videos` with `clip` and `num_blanks`, `groups` with `split` and `videos`.
A set is called as its first clip. Nothing in a pickle is executed (media/stores/pickles.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, name_id
from fabula.core.options import MUST, Options, option
from fabula.documents.fields import JsonDict
from fabula.documents.files import check_path, load_json
from fabula.media.stores.features import Features, Frames, check_features, write_features
from fabula.media.stores.kinds import NONSENSE, summarize
from fabula.media.stores.pickles import load_arrays

FACES = "_concatenated.npy"
PICKLE = "_embeddings.pkl"
STRIDE = 5  # video frames from one frame feature to the next
ABOUT = 6  # numbers before the feature of a face cluster
GENDERS = {"M": 0, "F": 1, "G": 2}
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
FaceReader = Callable[[str, Path], tuple[Frames, Frames]]  # a clip and its file → faces, boxes
Kind = Literal["features", "faces", "people", "text", "gender"]


@dataclass(frozen=True, kw_only=True)
class ConvertFeaturesOptions(Options):
    """What is converted, and where it goes."""

    out: Path = option(
        MUST, "Store to write (.h5, .safetensors, a folder of .npy); of faces, a folder of streams.", "-o"
    )
    kind: Kind | None = option(
        None, "What the source holds. Default: features, or what its names say; people is named."
    )
    info: Path | None = option(None, "Of text and gender: the authors' JSON of videos and groups.")
    frames: Path | None = option(None, "Of people: the store frame, where times are counted in its frames.")
    ending: Literal[".safetensors", ".h5"] = option(".safetensors", "Of faces and people: how the stores end.")
    overwrite: bool = option(False, "Replace an existing store.")


@dataclass(frozen=True, slots=True)
class Group:
    """A set of the authors' JSON: its name, the number of its row among those of its split, blanks of each clip."""

    name: str
    split: str
    row: int
    clips: tuple[tuple[str, int], ...]

    @property
    def blanks(self) -> int:
        return sum(n for _, n in self.clips)


def convert_published(source: str | Path, options: ConvertFeaturesOptions, notes: Notes) -> dict[Path, int]:
    """Write the stores of a source; returns how many entries each has."""
    path = check_path(source)
    if not path.exists():
        raise InputError("no such file or folder", file=source, hint="check the path")
    kind = options.kind or guess_kind(path)
    for name, kinds in (("info", ("text", "gender")), ("frames", ("people",))):
        if getattr(options, name) is not None and kind not in kinds:
            raise SpecError(f"--{name} only applies to {' and '.join(kinds)}; this is {kind}")
    if kind in ("text", "gender"):
        if options.info is None:
            raise SpecError(f"{path}: rows are of sets, which --info names: the authors' JSON of groups")
        groups = read_groups(options.info)
        items = read_embeddings(path, groups, notes) if kind == "text" else read_genders(path, groups)
        return {options.out: write_features(options.out, items, {"converted": kind}, options.overwrite)}
    files = find_files(path, FACES if kind == "faces" else ".npy")
    if kind == "features":
        items = ((clip, read_array(file, clip)) for clip, file in files.items())
        return {options.out: write_features(options.out, items, {"converted": kind}, options.overwrite)}
    targets = [options.out / f"{stream}{options.ending}" for stream in ("face", "box")]
    for target in targets:
        if target.exists() and not options.overwrite:
            raise InputError("exists already", file=target, hint="choose another folder, or say --overwrite")
    read: FaceReader = read_faces if kind == "faces" else PeopleReader(options.frames, notes)
    return {
        target: write_features(target, only_part(files, read, k), {"converted": kind}, options.overwrite)
        for k, target in enumerate(targets)
    }


def guess_kind(path: Path) -> Kind:
    if path.suffix == ".pkl" or (path.is_dir() and any(path.glob(f"*{PICKLE}"))):
        return "text"
    if path.suffix == ".json":
        return "gender"
    if not path.is_dir():
        raise InputError("neither a folder nor a .pkl or .json", file=path, hint="name the folder that holds the films")
    return "faces" if next(path.glob(f"*/*{FACES}"), None) is not None else "features"


def find_files(folder: Path, ending: str) -> dict[str, Path]:
    """Clip → its file; a clip stands in one film."""
    if not folder.is_dir():
        raise InputError("not a folder", file=folder, hint="name the folder that holds a folder per film")
    files: dict[str, Path] = {}
    for file in sorted((*folder.glob(f"*{ending}"), *folder.glob(f"*/*{ending}"))):
        clip = file.name.removesuffix(ending)
        if clip in files:
            problem = f"this clip is there twice, also in {files[clip].parent.name}"
            raise InputError(problem, file=file, video=clip, noun="clip", hint="keep one of the two")
        files[clip] = file
    if not files:
        raise InputError(f"no FILM/CLIP{ending} here", file=folder, hint="name the folder that holds a folder per film")
    return files


def read_array(file: Path, clip: str) -> Frames:
    try:
        raw = np.load(file, allow_pickle=False)
    except NONSENSE as error:
        reason = f"unreadable features ({summarize(error)})"
        raise InputError(reason, file=file, video=clip, noun="clip", hint="copy the file again") from None
    return check_features(raw, clip, file, None)


def is_empty(file: Path) -> bool:
    """A clip without a face: an array without rows, which is no entry of a store."""
    try:
        return 0 in np.load(file, mmap_mode="r", allow_pickle=False).shape
    except NONSENSE:
        return False  # reading it says what is wrong


def only_part(files: Mapping[str, Path], read: FaceReader, part: int) -> Iterator[tuple[str, Frames]]:
    """Faces, or their boxes; clips without a face have no entry."""
    for clip, file in files.items():
        if not is_empty(file):
            yield clip, read(clip, file)[part]


def read_faces(clip: str, file: Path) -> tuple[Frames, Frames]:
    """Faces [k, C], and [k, 5]: box in pixels, video frame."""
    faces, info = read_array(file, clip), file.with_name(f"{clip}.info")
    rows = load_json(info) if info.is_file() else None
    if not isinstance(rows, list) or len(rows) != len(faces):
        seen = "no file" if rows is None else f"{len(rows) if isinstance(rows, list) else 'no'} entries"
        problem = f"{seen} for {len(faces)} faces"
        raise InputError(problem, file=info, video=clip, noun="clip", hint="an entry a face: frame_num, bbox")
    return faces, np.array([read_box(row, k, info, clip) for k, row in enumerate(rows)], np.float32)


def read_box(row: object, k: int, file: Path, clip: str) -> list[float]:
    if isinstance(row, dict) and isinstance(row.get("frame_num"), int | float):
        box = row.get("bbox")
        corners = [abs(float(n)) for n in NUMBER.findall(box if isinstance(box, str) else json.dumps(box))]
        if len(corners) == 4:
            return [*corners, float(row["frame_num"])]
    hint = 'it is {"frame_num": 35, "bbox": "[x1, y1, x2, y2]"}'
    raise InputError("no frame and box of four numbers", file=file, video=clip, noun="clip", field=f"[{k}]", hint=hint)


class PeopleReader:
    """FillIn's face clusters: each row is one person of its clip, and nobody of another one."""

    def __init__(self, frames: Path | None, notes: Notes) -> None:
        self.frames = None if frames is None else Features(frames)
        self.number: dict[str, int] = {}  # by film: people so far
        self.first: dict[str, int] = {}  # by clip: the number of its first person
        if frames is None:
            notes.add("times of faces are shares of their clips: right for FillIn, where there is no store frame")
        notes.add("boxes are not known and are 0")

    def __call__(self, clip: str, file: Path) -> tuple[Frames, Frames]:
        array = read_array(file, clip)
        if array.shape[1] <= ABOUT:
            problem = f"{array.shape[1]} columns; the first {ABOUT} are no features"
            raise InputError(problem, file=file, video=clip, noun="clip", hint="is this a folder of face clusters?")
        length = 1.0 if self.frames is None else float(STRIDE * self.frames.count(clip))
        film = file.parent.name
        if clip not in self.first:
            self.first[clip] = self.number.get(film, 0)
            self.number[film] = self.first[clip] + len(array)
        box = np.zeros((len(array), 6), np.float32)
        box[:, 4] = array[:, 1] * length
        box[:, 5] = self.first[clip] + np.arange(len(array))
        return array[:, ABOUT:], box


# --- rows of sets ----------------------------------------------------------------------------------------------------


def read_groups(file: Path) -> list[Group]:
    """The sets of the authors' JSON, each with the number of its row in its split."""
    info = load_json(file)
    try:
        videos, rows = info["videos"], dict[str, int]()
        groups = []
        for group in info["groups"]:
            clips = tuple((str(videos[v]["clip"]), int(videos[v]["num_blanks"])) for v in group["videos"])
            split = str(group["split"])
            groups.append(Group(clips[0][0], split, rows.get(split, 0), clips))
            rows[split] = rows.get(split, 0) + 1
    except (KeyError, IndexError, TypeError, ValueError) as error:
        reason = f"not the authors' JSON of videos and groups ({type(error).__name__}: {error})"
        raise InputError(
            reason[:200], file=file, hint="it has videos (clip, num_blanks) and groups (split, videos)"
        ) from None
    return groups


def read_embeddings(path: Path, groups: list[Group], notes: Notes) -> Iterator[tuple[str, Frames]]:
    """The rows of the blanks of every set; a set without a blank has no entry."""
    files = sorted(path.glob(f"*{PICKLE}")) if path.is_dir() else [path]
    for file in files:
        split = file.name.partition("_")[0]
        own = [group for group in groups if group.split == split]
        rows = load_arrays(file, "it is SPLIT_embeddings.pkl: a list of arrays, one a set")
        if not isinstance(rows, list | np.ndarray) or len(rows) != len(own):
            count = len(rows) if isinstance(rows, list | np.ndarray) else "no"
            problem = f"{count} arrays for {len(own)} sets of the split {split!r}"
            raise InputError(problem, file=file, hint="--info is of other data, or the name of the split is another")
        for group in own:
            if not group.blanks:
                notes.add("{n} sets have no blank and no entry", name_id(group.name))
                continue
            array = check_features(np.asarray(rows[group.row]), group.name, file, None)
            if len(array) < group.blanks:
                problem = f"{len(array)} rows for {group.blanks} blanks"
                raise InputError(
                    problem, file=file, video=group.name, noun="captionset", hint="--info is of other data"
                )
            yield group.name, array[: group.blanks]


def read_genders(path: Path, groups: list[Group]) -> Iterator[tuple[str, Frames]]:
    """0, 1, 2 for M, F, G. [blanks, 1]"""
    letters: JsonDict = load_json(path)
    for group in groups:
        values: list[int] = []
        for clip, blanks in group.clips:
            own = letters.get(clip, []) if isinstance(letters, dict) else []
            if blanks and not (isinstance(own, list) and len(own) == blanks and set(own) <= GENDERS.keys()):
                problem = f"genders are {str(own)[:60]} for {blanks} blanks"
                raise InputError(problem, file=path, video=clip, noun="clip", hint="a letter a blank: M, F, G")
            values += [GENDERS[letter] for letter in own] if blanks else []
        if values and group.split != "test":
            yield group.name, np.array(values, np.float32)[:, None]
