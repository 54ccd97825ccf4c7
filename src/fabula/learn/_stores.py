"""The three kinds of feature stores, opened with distrust: what a file says of itself is checked before it is believed.

A header may speak of more numbers than the file has or than there is memory for, a name in HDF5 may lead into any other
file of whoever reads it. So each kind is asked first (`look`: shape and type, without the numbers) and read after.
Links to other files, external storage and virtual datasets are refused: features are read from the store alone.
"""

from __future__ import annotations

import tokenize
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import InputError, MissingExtra, shown
from fabula.io.files import load_json, parse_json

METADATA = "metadata.json"
LINKS = 16  # soft links that are followed, one after the other
# what other people's parsers raise when they are given nonsense
NONSENSE = (
    OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RuntimeError, MemoryError,
    EOFError, SyntaxError, AssertionError, NotImplementedError, tokenize.TokenError,
)  # fmt: skip
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
    look: Callable[[str], tuple[tuple[int, ...] | None, np.dtype[Any] | str]]  # shape and type of one video's features
    read: Callable[[str], Any]  # the features themselves
    metadata: dict[str, Any]


def check_metadata(found: Any, file: Path) -> dict[str, Any]:
    """What a store says of itself: an object, in which `durations` is one."""
    if not isinstance(found, dict) or not isinstance(found.get("durations", {}), dict):
        seen = "the metadata is no object" if not isinstance(found, dict) else "the metadata's durations are no object"
        raise InputError(seen, file=file, hint='it looks like {"durations": {"video": seconds}}; write the store again')
    return found


def parse_metadata(text: Any, file: Path) -> dict[str, Any]:
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
        problem = f"the metadata is not JSON ({error.problem})"
        raise InputError(problem, file=file, hint="write the store again") from None


def summarize(error: BaseException) -> str:
    """What somebody else's error says, in one short line."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= 120 else f"{said[:119]}…"


# ── folders of .npy ─────────────────────────────────────────────────────────────────────────────────────────────────


def open_folder(path: Path) -> Store:
    try:
        ids = sorted(f.name.removesuffix(".npy") for f in path.glob("*.npy"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, hint="check its permissions") from None
    metadata = check_metadata(load_json(path / METADATA), path / METADATA) if (path / METADATA).exists() else {}
    return Store(
        ids,
        lambda key: look_at_npy(path / f"{key}.npy"),
        lambda key: np.load(path / f"{key}.npy", allow_pickle=False),
        metadata,
    )


def look_at_npy(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
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
    told = dtype.itemsize
    for n in shape:
        told *= int(n)  # in Python, where no product is too large
    if dtype.kind in "fiu" and begin + told != size:
        raise ValueError(f"its header speaks of {told} bytes for shape {shape}, {size - begin} follow")
    return shape, dtype


# ── HDF5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def open_h5(path: Path) -> Store:
    try:
        import h5py
    except ImportError:
        raise MissingExtra("reading .h5 features", "learn") from None
    try:
        file = h5py.File(path, "r")
        ids = [str(key) for key in file]
    except NONSENSE as error:
        raise InputError(f"not an HDF5 file ({summarize(error)})", file=path, hint="write it again") from None
    return Store(
        ids,
        lambda key: look_at_dataset(h5py, file, key),
        lambda key: find_dataset(h5py, file, key)[()],
        parse_metadata(read_attribute(h5py, file, path), path),
    )


def read_attribute(h5py: Any, file: Any, path: Path) -> Any:
    """The text that `fabula simulate` leaves in the file's head; None where there is none."""
    try:
        if "fabula" not in file.attrs:
            return None
        kept = file.attrs.get_id("fabula")
        if kept.shape != () or h5py.check_string_dtype(kept.dtype) is None:
            raise ValueError("its attribute `fabula` is no text")
        return file.attrs["fabula"]
    except NONSENSE as error:
        problem = f"the metadata cannot be read ({summarize(error)})"
        raise InputError(problem, file=path, hint="write it again") from None


def find_dataset(h5py: Any, file: Any, key: str) -> Any:
    """The dataset of a video, in this file and no other. ValueError says why it cannot be used."""
    group, rest, followed = file, [key], 0
    while rest:
        name, *rest = rest
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
    if not isinstance(group, h5py.Dataset):
        raise ValueError("a group or a type where a dataset should be")
    if group.external or group.is_virtual:
        kind = "virtual" if group.is_virtual else "external"
        raise ValueError(f"a dataset whose numbers lie elsewhere ({kind}), which is not followed; copy them here")
    return group


def look_at_dataset(h5py: Any, file: Any, key: str) -> tuple[tuple[int, ...] | None, np.dtype[Any]]:
    """Shape and type; a chunk that is larger than the dataset stands for it, since chunks are unpacked whole."""
    found = find_dataset(h5py, file, key)
    if found.shape is not None and found.chunks and np.prod(found.chunks, dtype=float) > (1 << 26) + 4.0 * found.size:
        raise ValueError(f"chunks of {found.chunks} numbers for features of {found.shape}")
    return found.shape, found.dtype


# ── safetensors ─────────────────────────────────────────────────────────────────────────────────────────────────────


def open_safetensors(path: Path) -> Store:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise MissingExtra("reading .safetensors features", "learn") from None
    try:
        file: Any = safe_open(path, "numpy")
        ids = list(file.keys())
        told = (file.metadata() or {}).get("fabula")
    except (SafetensorError, *NONSENSE) as error:
        raise InputError(f"not a safetensors file ({summarize(error)})", file=path, hint="write it again") from None

    def look(key: str) -> tuple[tuple[int, ...], np.dtype[Any] | str]:
        part = file.get_slice(key)
        kind = str(part.get_dtype())
        return tuple(part.get_shape()), np.dtype(TENSORS[kind]) if kind in TENSORS else kind

    return Store(ids, look, file.get_tensor, parse_metadata(told, path))
