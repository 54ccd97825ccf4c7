"""The clips of a large store as files that are mapped: codes and rows in the order of clips, beside the tables.

    store/scan/VERSION/   clip, video, start, end · vector [N, D] float32 · code [N, W] int8, scale, error · names.json

The tables are the truth; these are made of them at the first search after a change, appear whole or not at all
(core/atomic.py), and go when the next ones are there. VERSION names the versions of both tables and the moments of
their commits, so that a table brought back from a copy has another. A scan reads the codes, a quarter of the vectors;
of the rows nothing is in memory but what was compared. Lance reads 300 rows by their numbers in 8 to 18 ms, mapped
ones take a fraction of one. Where nothing can be written, or rows change meanwhile, the clips are read into memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.format import open_memmap

from fabula.core.atomic import beside, locked, remove_all_leftovers, take_new_folder_place
from fabula.core.errors import InputError
from fabula.documents.files import dump_json, load_json
from fabula.library.nearest import Codes, Floats, encode, width_of
from fabula.library.store import Store, Vectors, named_faults

FOLDER, NAMES = "scan", "names.json"


class Mapped(NamedTuple):
    """Clips, their codes, and the names of the videos that `clips.video` counts."""

    names: list[str]
    clips: Vectors
    codes: Codes


def open_mapped(store: Store) -> Mapped | None:
    """The files of a store as it is now, made where they are not there; None where they cannot be."""
    if store.folder is None:
        return None
    folder = store.folder / FOLDER
    try:
        key = key_of(store)
        if (there := read(folder / key, store.dims)) is not None:
            return there
        folder.mkdir(exist_ok=True)
        with locked(folder / "lock", make=True):  # of several who search, one makes them
            if not (folder / key).exists() and not make(store, folder / key):
                return None
        return read(folder / key, store.dims)
    except OSError:  # a disk that is full or only read
        return None


def key_of(store: Store) -> str:
    """Changes when rows do, and with tables that were brought back from elsewhere."""
    with named_faults(store.where):
        tables = (store.clips_reader, store.videos_reader)
        stamps = [max(table.list_versions(), key=lambda v: v["version"]) for table in tables]
    moments = " ".join(str(one["timestamp"]) for one in stamps)
    return f"{store.version}.{hashlib.blake2b(moments.encode(), digest_size=6).hexdigest()}"


def read(folder: Path, dims: int) -> Mapped | None:
    """None where they are not there; files that are damaged go, and are made again."""
    if not folder.is_dir():
        return None
    try:
        names = load_json(folder / NAMES)
        clips = Vectors(*(map_file(folder, name) for name in Vectors._fields))
        codes = Codes(*(map_file(folder, name) for name in Codes.__dataclass_fields__))
        n = len(clips.clip)
        fits = all(len(column) == n for column in (*clips, codes.code, codes.scale, codes.error))
        fits = fits and clips.vector.shape == (n, dims) and codes.code.shape == (n, width_of(dims))
        if fits and isinstance(names, list):
            return Mapped(names, clips, codes)
    except (InputError, OSError, ValueError, EOFError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    return None


def map_file(folder: Path, name: str) -> np.ndarray:
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))


def make(store: Store, target: Path) -> bool:
    """Write the files of the store's rows; false where rows changed meanwhile, and nothing is written."""
    remove_all_leftovers(target.parent)
    with beside(target) as work:
        folder = work / "scan"
        folder.mkdir()

        def matrix(shape: tuple[int, int]) -> Floats:
            rows: Floats = open_memmap(folder / "vector.npy", "w+", np.float32, shape)
            return rows

        videos, clips = store.read_snapshot(matrix)
        if not len(clips.clip) or key_of(store) != target.name:
            return False
        n, width = len(clips.clip), width_of(store.dims)
        code = open_memmap(folder / "code.npy", "w+", np.int8, (n, width))
        codes = encode(clips.vector, Codes(code, np.zeros(n, np.float32), np.zeros(n, np.float32)), store.where)
        for written in (clips.vector, code):
            if isinstance(written, np.memmap):
                written.flush()
        for name in ("clip", "video", "start", "end"):
            np.save(folder / f"{name}.npy", getattr(clips, name))
        np.save(folder / "scale.npy", codes.scale)
        np.save(folder / "error.npy", codes.error)
        dump_json(folder / NAMES, [video.video for video in videos])
        with contextlib.suppress(FileExistsError):
            take_new_folder_place(folder, target)
    for old in others(target):
        shutil.rmtree(old, ignore_errors=True)  # who still reads them keeps what is mapped
    return True


def others(target: Path) -> Iterator[Path]:
    return (path for path in target.parent.iterdir() if path.is_dir() and path != target)
