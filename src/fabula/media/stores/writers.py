"""Feature stores are written here: whole or not at all, an .h5 or .safetensors file, or a folder of .npy."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fabula.core import atomic
from fabula.core.errors import InputError, import_extra, shown
from fabula.core.memory import available
from fabula.documents.fields import JsonObject
from fabula.documents.files import check_absent, check_path, dump_json, name_write_failures
from fabula.media.base import Array
from fabula.media.stores.kinds import H5, METADATA, summarize

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer
    from _typeshed import WriteableBuffer


def is_file_store(path: Path) -> bool:
    """Whether a store of this name is one file; else it is a folder."""
    return path.suffix in (*H5, ".safetensors")


def write_features(
    path: str | Path, items: Iterable[tuple[str, Array]], metadata: JsonObject, overwrite: bool = False
) -> int:
    """Write a store, whole or not at all: an .h5 or .safetensors file, or a folder of .npy. Returns how many videos.

    A folder, too, is made beside its target and then named: whoever reads it needs no list of what is complete, and
    other programs can read it as ever.
    """
    path = check_path(path)
    check_absent(path, overwrite)
    with name_write_failures(path):
        target = Path(os.path.realpath(path))
        if is_file_store(path):
            write = _write_h5 if path.suffix in H5 else _write_safetensors
        else:
            write = _write_folder
            check_replaceable(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic.beside(target) as folder:
            staged = folder / f"store{path.suffix if write is not _write_folder else ''}"
            count = write(staged, items, metadata)
            (atomic.take_folder_place if write is _write_folder else atomic.take_place)(staged, target)
    return count


def check_replaceable(target: Path) -> None:
    """A folder that is replaced is lost: it may hold features and nothing else."""
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError(
            "is a file",
            file=target,
            hint="a file of features ends in .h5 or .safetensors; choose another name for a folder",
        )
    for file in target.iterdir():
        if file.is_dir() or not (file.suffix == ".npy" or file.name == METADATA):
            raise InputError(
                f"holds {shown(file.name)}, which is no features; nothing was replaced",
                file=target,
                hint="choose another folder, or move that away",
            )


def refuse_id(video: str, other: str) -> InputError:
    return InputError("this id cannot be a name in such a store", video=video, hint=f"write {other} instead")


def _write_folder(path: Path, items: Iterable[tuple[str, Array]], metadata: JsonObject) -> int:
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


def _write_h5(path: Path, items: Iterable[tuple[str, Array]], metadata: JsonObject) -> int:
    h5py = import_extra("h5py", "writing .h5 features", "learn")
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
        raise InputError(f"an id that is no UTF-8 ({summarize(error)})", hint="fix the annotations") from None


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

    def write(self, data: Buffer) -> int:
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

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self.file.readinto(buffer) or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()


def _write_safetensors(path: Path, items: Iterable[tuple[str, Array]], metadata: JsonObject) -> int:
    package = import_extra("safetensors", "writing .safetensors features", "learn")
    from safetensors.numpy import save_file

    tensors: dict[str, Array] = {}
    written = 0
    for video, array in items:
        if video == "__metadata__":
            raise refuse_id(video, "a folder")
        tensors[video] = np.ascontiguousarray(array)
        written += array.nbytes
        if written > available():  # a second time, while it is written
            raise InputError(
                f"features of more than {written / 1e9:,.1f} GB; there is no memory to write them",
                hint="write .h5 or a folder instead, which take a video at a time",
            )
    path.touch()
    mode = path.stat().st_mode & 0o777  # the user's; safetensors makes files that nobody else can read
    try:
        save_file(tensors, path, metadata={"fabula": json.dumps(dict(metadata))})
        path.chmod(mode)
    except UnicodeEncodeError as error:
        raise InputError(f"an id that is no UTF-8 ({summarize(error)})", hint="fix the annotations") from None
    except package.SafetensorError as error:
        raise OSError(summarize(error)) from None
    return len(tensors)
