"""Feature stores: frame features of videos, [T, C] each, behind one small class.

folder of .npy      one array per video, the file's name is the video's id; metadata.json beside them is optional
.h5, .hdf5          one dataset per video
.safetensors        one tensor per video, metadata in the header

An id is found with or without its ActivityNet prefix `v_`. Features that cannot be used are errors that name the video.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core import whole
from fabula.core.errors import InputError, MissingExtra, shown
from fabula.core.memory import available
from fabula.io.files import check_path, dump_json, name_write_failures
from fabula.io.ids import respell_id
from fabula.learn._stores import METADATA, NONSENSE, open_folder, open_h5, open_safetensors, summarize

Frames = NDArray[np.float32]  # [T, C]
H5 = (".h5", ".hdf5")


class Features(Mapping[str, Frames]):
    """The features of every video of a store, read when asked for: `Features("s3d/")["v_xHr8X2Wpmno"]` → [T, C]."""

    def __init__(self, path: str | Path) -> None:
        self.path = check_path(path)
        kinds = "a folder of .npy, an .h5 or a .safetensors file"
        if not self.path.exists():
            raise InputError("no such feature store", file=path, hint=kinds)
        if self.path.is_dir():
            store = open_folder(self.path)
        elif self.path.suffix in H5 and self.path.is_file():
            store = open_h5(self.path)
        elif self.path.suffix == ".safetensors" and self.path.is_file():
            store = open_safetensors(self.path)
        else:
            raise InputError("not a feature store", file=path, hint=kinds)
        if not store.ids:
            raise InputError("the feature store has no videos", file=path, hint="check the path")
        self._store, self._ids = store, dict.fromkeys(store.ids)
        self.metadata: Mapping[str, Any] = store.metadata
        self._dim: int | None = None

    @property
    def dim(self) -> int:
        """C, of the first video."""
        if self._dim is None:
            self._dim = self[next(iter(self))].shape[1]
        return self._dim

    def __getitem__(self, video: str) -> Frames:
        key = self._spelt(video)
        if key is None:
            ids = f"the store has {len(self._ids)} videos, the first is {next(iter(self._ids))!r}"
            raise InputError("no features of this video", file=self.path, video=video, hint=ids)
        try:
            shape, dtype = self._store.look(key)
            check_shape(shape, dtype, video, self.path, self._dim)
            raw = self._store.read(key)
        except NONSENSE as error:
            problem = f"unreadable features ({summarize(error)})"
            raise InputError(problem, file=self.path, video=video, hint="extract its features again") from None
        return check_features(raw, video, self.path, self._dim)

    def __contains__(self, video: object) -> bool:
        return isinstance(video, str) and self._spelt(video) is not None

    def _spelt(self, video: str) -> str | None:
        """The store's own spelling of an id, with or without the prefix `v_`."""
        return next((id for id in (video, *respell_id(video)) if id in self._ids), None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def check_shape(
    shape: tuple[int, ...] | None, dtype: np.dtype[Any] | str, video: str, file: Path | None, dim: int | None
) -> None:
    """Whether numbers of this shape and type are features, and whether there is memory for them; before any is read."""
    wrong = "extract its features again"
    if shape is None or len(shape) != 2 or min(shape) < 0 or isinstance(dtype, str) or dtype.kind not in "fiu":
        seen = f"features of shape {shown(shape)} and type {shown_type(dtype)}; expected numbers [frames, channels]"
        raise InputError(seen, file=file, video=video, hint=wrong)
    frames, channels = map(int, shape)
    if not frames or not channels:
        seen = "features of length 0: no frame" if not frames else "features of 0 channels"
        raise InputError(seen, file=file, video=video, hint=wrong)
    if dim is not None and channels != dim:
        seen = f"features have {channels} channels, the store's first video has {dim}"
        raise InputError(seen, file=file, video=video, hint=wrong)
    need, free = frames * channels * (dtype.itemsize + 5), available()  # as stored, as float32, and which are finite
    if need > free:
        seen = f"features of shape {shown(shape)} take {need / 1e9:,.1f} GB of memory, {free / 1e9:,.1f} GB are free"
        raise InputError(seen, file=file, video=video, hint="leave the video out, or extract fewer frames")


def shown_type(dtype: np.dtype[Any] | str) -> str:
    said = str(dtype)
    return said if len(said) <= 60 else f"{said[:59]}…"


def check_features(raw: Any, video: str, file: Path | None = None, dim: int | None = None) -> Frames:
    """The array as float32 [T, C], or an error that names the video and says what is wrong with its features."""
    array = np.asarray(raw)
    check_shape(array.shape, array.dtype, video, file, dim)
    with np.errstate(over="ignore"):
        made = np.ascontiguousarray(array, dtype=np.float32)
    bad = ~np.isfinite(made)
    if bad.any():
        t, c = np.argwhere(bad)[0]
        what = "not finite" if not np.isfinite(array[t, c]) else "beyond what float32 holds"
        seen = f"features hold {array[t, c]} at frame {t}, channel {c} ({int(bad.sum())} of {array.size} are {what})"
        raise InputError(seen, file=file, video=video, hint="extract its features again")
    return made


def resize(x: Frames, frames: int) -> Frames:
    """x [T, C] → [frames, C] by nearest neighbour, as PDVC does it: frame i is read at i·(T−1)/(frames−1), ½ down."""
    T = len(x)
    if frames < 1:
        raise InputError(f"cannot resize features to {frames} frames", hint="200 for YouCook2, 150 for Tasty")
    at = np.arange(frames) * ((T - 1) / (frames - 1) if frames > 1 else 0.0)
    kept: Frames = x[np.ceil(at - 0.5).astype(np.int64).clip(0, T - 1)]
    return kept


def write_features(
    path: str | Path, items: Iterable[tuple[str, NDArray[Any]]], metadata: Mapping[str, Any], overwrite: bool = False
) -> int:
    """Write a store, whole or not at all: an .h5 or .safetensors file, or a folder of .npy. Returns how many videos.

    A folder, too, is made beside its target and then named: whoever reads it needs no list of what is complete, and
    other programs can read it as ever.
    """
    path = check_path(path)
    if path.exists() and not overwrite:
        raise InputError("exists already", file=path, hint="choose another name, or say --overwrite")
    with name_write_failures(path):
        target = Path(os.path.realpath(path))
        if path.suffix in (*H5, ".safetensors"):
            write = _write_h5 if path.suffix in H5 else _write_safetensors
        else:
            write = _write_folder
            check_replaceable(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole.beside(target) as folder:
            made = folder / f"store{path.suffix if write is not _write_folder else ''}"
            count = write(made, items, metadata)
            (whole.take_folder_place if write is _write_folder else whole.take_place)(made, target)
    return count


def check_replaceable(target: Path) -> None:
    """A folder that is replaced is lost: it may hold features and nothing else."""
    if not target.exists():
        return
    if not target.is_dir():
        hint = "a file of features ends in .h5 or .safetensors; choose another name for a folder"
        raise InputError("is a file", file=target, hint=hint)
    for file in target.iterdir():
        if file.is_dir() or not (file.suffix == ".npy" or file.name == METADATA):
            seen = f"holds {shown(file.name)}, which is no features; nothing was replaced"
            raise InputError(seen, file=target, hint="choose another folder, or move that away")


def refuse_id(video: str, other: str) -> InputError:
    return InputError("this id cannot be a name in such a store", video=video, hint=f"write {other} instead")


def _write_folder(path: Path, items: Iterable[tuple[str, NDArray[Any]]], metadata: Mapping[str, Any]) -> int:
    path.mkdir()
    count = 0
    for video, array in items:
        if Path(video).name != video or "\0" in video:
            raise refuse_id(video, ".h5 or .safetensors")
        try:
            with (path / f"{video}.npy").open("xb") as file:
                np.save(file, array, allow_pickle=False)
        except (FileExistsError, UnicodeEncodeError):  # two ids in one name, on disks that do not know cases apart
            raise refuse_id(video, ".safetensors") from None
        count += 1
    dump_json(path / METADATA, dict(metadata))
    return count


def _write_h5(path: Path, items: Iterable[tuple[str, NDArray[Any]]], metadata: Mapping[str, Any]) -> int:
    try:
        import h5py
    except ImportError:
        raise MissingExtra("writing .h5 features", "learn") from None
    try:
        with PatientFile(path) as out, h5py.File(out, "w") as file:
            for video, array in items:
                if "/" in video or "\0" in video or video in ("", "."):
                    raise refuse_id(video, "a folder" if "/" not in video else ".safetensors")
                file.create_dataset(video, data=array)
                out.check()
            file.attrs["fabula"] = json.dumps(dict(metadata))
            count = len(file)
            file.close()
            out.check()
            return count
    except UnicodeEncodeError as error:
        raise InputError(f"an id that is no UTF-8 ({summarize(error)})", hint="mend the annotations") from None


class PatientFile(io.RawIOBase):
    """A file for HDF5, which cannot bear that a write fails: it goes on trying until the process crashes.

    So no write fails here; that one would have is remembered, and `check` says so.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = path.open("xb+", buffering=0)
        self.failure: OSError | None = None

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        try:
            while self.failure is None and done < len(view):
                done += self.file.write(view[done:])
        except OSError as error:
            self.failure = error
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        try:
            return self.file.truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return size or 0

    def readinto(self, buffer: Any) -> int:
        return self.file.readinto(buffer) or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()


def _write_safetensors(path: Path, items: Iterable[tuple[str, NDArray[Any]]], metadata: Mapping[str, Any]) -> int:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import save_file
    except ImportError:
        raise MissingExtra("writing .safetensors features", "learn") from None
    tensors: dict[str, NDArray[Any]] = {}
    held = 0
    for video, array in items:
        if video == "__metadata__":
            raise refuse_id(video, "a folder")
        tensors[video] = np.ascontiguousarray(array)
        held += array.nbytes
        if held > available():  # a second time, while it is written
            hint = "write .h5 or a folder instead, which take a video at a time"
            raise InputError(f"features of more than {held / 1e9:,.1f} GB; there is no memory to write them", hint=hint)
    try:
        save_file(tensors, path, metadata={"fabula": json.dumps(dict(metadata))})
    except UnicodeEncodeError as error:
        raise InputError(f"an id that is no UTF-8 ({summarize(error)})", hint="mend the annotations") from None
    except SafetensorError as error:
        raise OSError(summarize(error)) from None
    return len(tensors)
