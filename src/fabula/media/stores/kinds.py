"""The three kinds of feature stores, opened with distrust: what a file says of itself is checked before it is believed.

Each is opened by the process that reads it, when it first does (`Source`): an open HDF5 file does not survive a fork.

A header may speak of more numbers than the file has or than there is memory for, a name in HDF5 may lead into any other
file of whoever reads it. So each kind is asked first (`look`: shape and type, without the numbers) and read after.
Links to other files, external storage and virtual datasets are refused: features are read from the store alone.
"""

from __future__ import annotations

import os
import tokenize
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fabula.core.errors import InputError, import_extra, shown
from fabula.documents.fields import JsonDict
from fabula.documents.files import check_path, load_json, parse_json

METADATA = "metadata.json"
H5 = (".h5", ".hdf5")
KINDS = "a folder of .npy, an .h5 or a .safetensors file"
FAMILIES = (("_resnet", "_bn"), ("_rgb", "_flow"))  # arrays of one video that belong together, in this order (PDVC)
LONGEST = 1e9  # seconds of a video
LINKS = 16  # soft links that are followed, one after the other
# what other people's parsers raise when they are given nonsense
NONSENSE = (
    OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RuntimeError, MemoryError,
    EOFError, SyntaxError, AssertionError, NotImplementedError, tokenize.TokenError,
)  # fmt: skip
Dtype = np.dtype[Any]
TENSORS = {
    "F64": "f8",
    "F32": "f4",
    "F16": "f2",
    "I64": "i8",
    "I32": "i4",
    "I16": "i2",
    "I8": "i1",
    "U64": "u8",
    "U32": "u4",
    "U16": "u2",
    "U8": "u1",
}  # fmt: skip  (safetensors' name → numpy's)


@dataclass(frozen=True)
class Store:
    """An open store."""

    ids: list[str]
    look: Callable[[str], tuple[tuple[int, ...] | None, Dtype | str]]  # shape and type of one video's features
    read: Callable[[str], Any]  # the features themselves
    metadata: JsonDict
    streams: Callable[[str], Sequence[str]] = lambda key: (key,)  # the arrays of a video, whose channels stand in a row


class Source:
    """A store by its path, open in the process that reads. It can be copied to others."""

    def __init__(self, path: str | Path, pattern: str | None = None) -> None:
        self.path, self.pattern = check_path(path), pattern
        self._open: tuple[int, Store] | None = None
        self._left: list[Store] = []  # of the process that we were forked from: not ours to close

    def __str__(self) -> str:
        ending = "" if self.pattern is None else f"/{self.pattern}{'.npy' if self.path.is_dir() else ''}"
        return f"{self.path}{ending}"

    def __getstate__(self) -> JsonDict:
        return {"path": self.path, "pattern": self.pattern, "_open": None, "_left": []}

    def store(self) -> Store:
        """The store, opened once by every process."""
        here = os.getpid()
        if self._open is not None and self._open[0] != here:
            self._left.append(self._open[1])
            self._open = None
        if self._open is None:
            self._open = here, self.open()
        return self._open[1]

    def open(self) -> Store:
        if not self.path.exists():
            raise InputError("no such feature store", file=self.path, hint=KINDS)
        if self.path.is_dir():
            return open_folder(self.path, self.pattern)
        if self.path.suffix in H5 and self.path.is_file():
            return open_h5(self.path, self.pattern)
        if self.path.suffix == ".safetensors" and self.path.is_file() and self.pattern is None:
            return open_safetensors(self.path)
        raise InputError("not a feature store", file=self, hint=KINDS)


def find_family(names: Collection[str]) -> tuple[str, ...]:
    """The endings that all names have, each video all of them; none where the names are ids."""
    for family in FAMILIES:
        ids = {name.removesuffix(end) for end in family for name in names if name.endswith(end)}
        if (
            ids
            and all(name.endswith(family) for name in names)
            and any(all(id + end in names for end in family) for id in ids)
        ):
            return family
    return ()


def find_strays(names: Collection[str]) -> tuple[str, ...]:
    """All endings of the arrays of a video that has a family and more: ID_rgb, ID_flow, ID_vggish; none elsewhere."""
    for first, *rest in FAMILIES:
        whole = {name.removesuffix(first) for name in names if name.endswith(first)}
        whole = {id for id in whole if all(id + end in names for end in rest)}
        heads = ((id, name) for name in names for id, _, _ in [name.rpartition("_")] if id in whole)
        more = sorted({name.removeprefix(id) for id, name in heads} - {first, *rest})
        if more:
            return (first, *rest, *more)
    return ()


def check_metadata(found: object, file: Path) -> JsonDict:
    """What a store says of itself: an object, in which `durations` is one, of seconds."""
    if not isinstance(found, dict) or not isinstance(found.get("durations", {}), dict):
        raise InputError(
            "the metadata is no object" if not isinstance(found, dict) else "the metadata's durations are no object",
            file=file,
            hint='it looks like {"durations": {"video": seconds}}; write the store again',
        )
    for video, seconds in found.get("durations", {}).items():
        if not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST:
            raise InputError(
                f"the metadata's duration is {shown(seconds)}",
                file=file,
                video=video,
                hint="a duration is a number of seconds",
            )
    return found


def parse_metadata(text: object, file: Path) -> JsonDict:
    """The metadata in a file's header."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    if text is not None and not isinstance(text, str):
        raise InputError(f"the metadata is {shown(text)}, not text", file=file, hint="write the store again")
    try:
        return check_metadata(parse_json(text, file) if text is not None else {}, file)
    except InputError as error:
        if error.problem.startswith("the metadata"):
            raise
        raise InputError(
            f"the metadata is not JSON ({error.problem})", file=file, hint="write the store again"
        ) from None


def summarize(error: BaseException) -> str:
    """What somebody else's error says, in one short line."""
    reason = " ".join(str(error).split()) or type(error).__name__
    return reason if len(reason) <= 120 else f"{reason[:119]}…"


# ── folders of .npy ─────────────────────────────────────────────────────────────────────────────────────────────────


def open_folder(path: Path, pattern: str | None = None) -> Store:
    """`pattern` is the name of a video's file without .npy, as {id}_bn; without, the names say what they are."""
    try:
        names = {f.name.removesuffix(".npy") for f in path.glob("*.npy")}
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, hint="check its permissions") from None
    metadata = check_metadata(load_json(path / METADATA), path / METADATA) if (path / METADATA).exists() else {}
    family = find_family(names) if pattern is None else ()
    if pattern is None and not family and (ends := find_strays(names)):
        meant = ",".join(f"{path}/{{id}}{end}.npy" for end in ends[:2])
        raise InputError(
            f"several arrays of a video: {', '.join(f'ID{end}.npy' for end in ends)}",
            file=path,
            hint=f"say which are meant, as '{meant}'",
        )
    patterns = [f"{{id}}{end}" for end in family] or [pattern or "{id}"]
    ids = sorted({id for shape in patterns for id in strip_pattern(names, shape)})
    return Store(
        ids,
        lambda name: look_at_npy(path / f"{name}.npy"),
        lambda name: np.load(path / f"{name}.npy", allow_pickle=False),
        metadata,
        lambda key: [shape.replace("{id}", key) for shape in patterns],
    )


def strip_pattern(names: Collection[str], pattern: str) -> Iterator[str]:
    """What stands for {id} in the names that fit."""
    before, _, after = pattern.partition("{id}")
    for name in names:
        if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after):
            yield name[len(before) : len(name) - len(after)]


def look_at_npy(path: Path) -> tuple[tuple[int, ...], Dtype]:
    """The header of a .npy, which must speak of just the bytes that follow it. ValueError says what is wrong."""
    if not path.is_file():
        raise ValueError("it is no file")
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python 2's headers, and of escapes in headers that are none
        if not path.stat().st_size:
            raise ValueError("the file is empty")
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"a .npy of version {version[0]}.{version[1]}, which plain numbers do not need")
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = head(file)
        begin, size = file.tell(), path.stat().st_size
    declared = dtype.itemsize
    for n in shape:
        declared *= int(n)  # in Python, where no product is too large
    if dtype.kind in "fiu" and begin + declared != size:
        raise ValueError(f"its header speaks of {declared} bytes for shape {shape}, {size - begin} follow")
    return shape, dtype


# ── HDF5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def open_h5(path: Path, pattern: str | None = None) -> Store:
    """`pattern` is where a video's dataset lies, as {id}/c3d_features; without, a group is searched for it."""
    h5py = import_extra("h5py", "reading .h5 features", "learn")
    try:
        file = h5py.File(path, "r")
        ids = [str(key) for key in file]
    except NONSENSE as error:
        raise InputError(f"not an HDF5 file ({summarize(error)})", file=path, hint="write it again") from None
    top, _, inner = (pattern or "{id}").partition("/")
    if "{id}" in inner:
        raise InputError(f"the pattern {shown(pattern)} has the id too deep", file=path, hint="{id}/name")
    last: dict[str, Any] = {}  # the object that was found last, by its name: a video is looked up once, not four times

    def find(key: str) -> Any:
        if key not in last:
            found = find_object(h5py, file, key.split("/"))
            last.clear()
            last[key] = found
        return last[key]

    return Store(
        sorted(strip_pattern(ids, top)) if pattern else ids,
        lambda name: look_at_dataset(check_dataset(h5py, find(name))),
        lambda name: check_dataset(h5py, find(name))[()],
        parse_metadata(read_attribute(h5py, file, path), path),
        lambda key: find_streams(h5py, find, top.replace("{id}", key), inner),
    )


def find_streams(h5py: ModuleType, find: Callable[[str], Any], key: str, inner: str) -> list[str]:
    """The datasets of a video: itself, the only one of its group, or a family; ValueError where it cannot be told."""
    if inner:
        return [f"{key}/{inner}"]
    found = find(key)
    if not isinstance(found, h5py.Group):
        return [key]
    names = [str(name) for name in found]
    if len(names) == 1:
        return [f"{key}/{names[0]}"]
    for family in FAMILIES:
        ordered = [name for end in family for name in names if name.endswith(end[1:])]
        if len(names) == len(ordered) == len(family):
            return [f"{key}/{name}" for name in ordered]
    names_found = ", ".join(map(shown, names[:3])) or "nothing"
    raise ValueError(f"its group holds {names_found}; say which: FILE.h5/{{id}}/NAME")


def read_attribute(h5py: ModuleType, file: Any, path: Path) -> Any:
    """The text that `fabula simulate` leaves in the file's head; None where there is none."""
    try:
        if "fabula" not in file.attrs:
            return None
        attribute = file.attrs.get_id("fabula")
        if attribute.shape != () or h5py.check_string_dtype(attribute.dtype) is None:
            raise ValueError("its attribute `fabula` is no text")
        return file.attrs["fabula"]
    except NONSENSE as error:
        raise InputError(
            f"the metadata cannot be read ({summarize(error)})", file=path, hint="write it again"
        ) from None


def check_dataset(h5py: ModuleType, found: Any) -> Any:
    """The object, which must be a dataset with its numbers in this file. ValueError says why it cannot be used."""
    if not isinstance(found, h5py.Dataset):
        raise ValueError("a group or a type where a dataset should be")
    if found.external or found.is_virtual:
        kind = "virtual" if found.is_virtual else "external"
        raise ValueError(f"a dataset whose numbers lie elsewhere ({kind}), which is not followed; copy them here")
    return found


def find_object(h5py: ModuleType, file: Any, names: Sequence[str]) -> Any:
    """What lies at the end of these names, one inside the other; links are followed within the file."""
    group, rest, followed = file, list(names), 0
    while rest:
        name, *rest = rest
        if is_plain(h5py, group, name):
            group = group[name]
            continue
        link = group.get(name, getlink=True) if isinstance(group, h5py.Group) else None
        if isinstance(link, h5py.ExternalLink):
            raise ValueError("a link into another file, which is not followed; copy the features into this one")
        if isinstance(link, h5py.SoftLink):
            followed += 1
            if followed > LINKS:
                raise ValueError(f"more than {LINKS} links, one after the other")
            rest = [part for part in link.path.split("/") if part not in ("", ".")] + rest
            group = file if link.path.startswith("/") else group
            continue
        if not isinstance(link, h5py.HardLink):
            raise ValueError("a link that leads nowhere" if followed else "it is not there")
        group = group[name]
    return group


def is_plain(h5py: ModuleType, group: Any, name: str) -> bool:
    """Whether an object of this group has the name, not a link; a fifth of the time of asking for the link."""
    try:
        kind = group.id.links.get_info(name.encode()).type if isinstance(group, h5py.Group) else None
    except (KeyError, RuntimeError, UnicodeError):  # not there, or damaged
        return False
    return bool(kind == h5py.h5l.TYPE_HARD)


def look_at_dataset(found: Any) -> tuple[tuple[int, ...] | None, Dtype]:
    """Shape and type; a chunk that is larger than the dataset stands for it, since chunks are unpacked whole."""
    if found.shape is not None and found.chunks and np.prod(found.chunks, dtype=float) > (1 << 26) + 4.0 * found.size:
        raise ValueError(f"chunks of {found.chunks} numbers for features of {found.shape}")
    return found.shape, found.dtype


# ── safetensors ─────────────────────────────────────────────────────────────────────────────────────────────────────


def open_safetensors(path: Path) -> Store:
    package = import_extra("safetensors", "reading .safetensors features", "learn")
    try:
        file: Any = package.safe_open(path, "numpy")
        ids = list(file.keys())
        text = (file.metadata() or {}).get("fabula")
    except (package.SafetensorError, *NONSENSE) as error:
        raise InputError(f"not a safetensors file ({summarize(error)})", file=path, hint="write it again") from None

    def look(key: str) -> tuple[tuple[int, ...], Dtype | str]:
        part = file.get_slice(key)
        kind = str(part.get_dtype())
        return tuple(part.get_shape()), np.dtype(TENSORS[kind]) if kind in TENSORS else kind

    return Store(ids, look, file.get_tensor, parse_metadata(text, path))
