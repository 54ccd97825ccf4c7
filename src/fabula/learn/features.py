"""Feature stores: frame features of videos, [T, C] each, behind one small class.

folder of .npy      one array per video, the file's name is the video's id; metadata.json beside them is optional
.h5, .hdf5          one dataset per video
.safetensors        one tensor per video, metadata in the header

An id is found with or without its ActivityNet prefix `v_`. Features that cannot be used are errors that name the video.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, MissingExtra
from fabula.io.files import dump_json, load_json
from fabula.io.ids import respell_id

Frames = NDArray[np.float32]  # [T, C]
H5 = (".h5", ".hdf5")
METADATA = "metadata.json"


class Features(Mapping[str, Frames]):
    """The features of every video of a store, read when asked for: `Features("s3d/")["v_xHr8X2Wpmno"]` → [T, C]."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise InputError("no such feature store", file=path, hint="a folder of .npy, an .h5 or a .safetensors file")
        self.metadata: Mapping[str, Any] = {}
        self._read: Callable[[str], Any]
        self._ids: dict[str, None]
        if self.path.is_dir():
            self._open_folder()
        elif self.path.suffix in H5:
            self._open_h5()
        elif self.path.suffix == ".safetensors":
            self._open_safetensors()
        else:
            raise InputError("not a feature store", file=path, hint="a folder of .npy, an .h5 or a .safetensors file")
        if not self._ids:
            raise InputError("the feature store has no videos", file=path, hint="check the path")
        self._dim: int | None = None

    def _open_folder(self) -> None:
        self._ids = dict.fromkeys(sorted(f.name.removesuffix(".npy") for f in self.path.glob("*.npy")))
        self._read = lambda key: np.load(self.path / f"{key}.npy", allow_pickle=False)
        if (self.path / METADATA).exists():
            self.metadata = load_json(self.path / METADATA)

    def _open_h5(self) -> None:
        try:
            import h5py
        except ImportError:
            raise MissingExtra("reading .h5 features", "learn") from None
        try:
            file = h5py.File(self.path, "r")
        except OSError as error:
            raise InputError(f"not an HDF5 file ({error})", file=self.path, hint="write it again") from None
        self._ids = dict.fromkeys(file)
        self._read = lambda key: file[key][()]
        self.metadata = json.loads(file.attrs.get("fabula", "{}"))

    def _open_safetensors(self) -> None:
        try:
            from safetensors import SafetensorError, safe_open
        except ImportError:
            raise MissingExtra("reading .safetensors features", "learn") from None
        try:
            file = safe_open(self.path, "numpy")
        except (SafetensorError, OSError) as error:
            raise InputError(f"not a safetensors file ({error})", file=self.path, hint="write it again") from None
        self._ids = dict.fromkeys(file.keys())  # type: ignore[no-untyped-call]
        self._read = file.get_tensor
        self.metadata = json.loads((file.metadata() or {}).get("fabula", "{}"))  # type: ignore[no-untyped-call]

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
            raw = self._read(key)
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise InputError(f"unreadable features ({error})", file=self.path, video=video, hint="write it") from None
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


def check_features(raw: Any, video: str, file: Path | None = None, dim: int | None = None) -> Frames:
    """The array as float32 [T, C], or an error that names the video and says what is wrong with its features."""
    array = np.asarray(raw)
    wrong = "extract its features again"
    if array.ndim != 2 or not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)):
        seen = f"features of shape {array.shape} and type {array.dtype}; expected numbers [frames, channels]"
        raise InputError(seen, file=file, video=video, hint=wrong)
    if not array.shape[0]:
        raise InputError("features of length 0: no frame", file=file, video=video, hint=wrong)
    if dim is not None and array.shape[1] != dim:
        seen = f"features have {array.shape[1]} channels, the store's first video has {dim}"
        raise InputError(seen, file=file, video=video, hint=wrong)
    bad = ~np.isfinite(array)
    if bad.any():
        t, c = np.argwhere(bad)[0]
        seen = (
            f"features hold {array[t, c]} at frame {t}, channel {c} ({int(bad.sum())} of {array.size} are not finite)"
        )
        raise InputError(seen, file=file, video=video, hint=wrong)
    return np.ascontiguousarray(array, dtype=np.float32)


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
    """Write a store: an .h5 or .safetensors file, or a folder of .npy. Returns the number of videos."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise InputError("exists already", file=path, hint="choose another name, or say --overwrite")
    if path.suffix in (*H5, ".safetensors"):
        partial = path.with_name(f".{path.name}.tmp")
        path.parent.mkdir(parents=True, exist_ok=True)
        count = (_write_h5 if path.suffix in H5 else _write_safetensors)(partial, items, metadata)
        os.replace(partial, path)  # noqa: PTH105  (whole or not at all)
        return count
    path.mkdir(parents=True, exist_ok=True)
    count = 0
    for count, (video, array) in enumerate(items, 1):  # noqa: B007
        if Path(video).name != video:
            raise InputError("this id cannot be a file name", video=video, hint="write .h5 or .safetensors instead")
        np.save(path / f"{video}.npy", array, allow_pickle=False)
    dump_json(path / METADATA, dict(metadata))
    return count


def _write_h5(path: Path, items: Iterable[tuple[str, NDArray[Any]]], metadata: Mapping[str, Any]) -> int:
    try:
        import h5py
    except ImportError:
        raise MissingExtra("writing .h5 features", "learn") from None
    with h5py.File(path, "w") as file:
        for video, array in items:
            file.create_dataset(video, data=array)
        file.attrs["fabula"] = json.dumps(dict(metadata))
        return len(file)


def _write_safetensors(path: Path, items: Iterable[tuple[str, NDArray[Any]]], metadata: Mapping[str, Any]) -> int:
    try:
        from safetensors.numpy import save_file
    except ImportError:
        raise MissingExtra("writing .safetensors features", "learn") from None
    tensors = {video: np.ascontiguousarray(array) for video, array in items}
    save_file(tensors, path, metadata={"fabula": json.dumps(dict(metadata))})
    return len(tensors)
