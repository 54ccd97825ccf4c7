"""Features as QVHighlights publishes them (Lei et al., NeurIPS 2021): a folder of .npz, one array of each archive.

    slowfast_features/VIDEO.npz, clip_features/VIDEO.npz     "features" [T, C]
    clip_text_features/qidQID.npz                            "last_hidden_state" [L, E]

Behaves as `learn.features.Features` does; Lighthouse's files are of the same shape.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import InputError
from fabula.documents.fields import JsonObject
from fabula.documents.files import check_path
from fabula.media.stores.features import Features, Frames, check_features

ARRAYS = ("features", "last_hidden_state")


class NpzFeatures(Mapping[str, Frames]):
    """The features of every video, or query, of a folder: `NpzFeatures("clip_features/")["video"]` → [T, C]."""

    def __init__(self, path: str | Path, array: str | None = None) -> None:
        self.path = check_path(path)
        self.metadata: JsonObject = {}
        names = sorted(f.name.removesuffix(".npz") for f in self.path.glob("*.npz")) if self.path.is_dir() else []
        if not names:
            raise InputError("no .npz files here", file=path, hint="name a folder of .npz, one per video or query")
        self._names, self._array = dict.fromkeys(names), array
        self._dim: int | None = None

    @property
    def dim(self) -> int:
        """C, of the first."""
        if self._dim is None:
            self._dim = self[next(iter(self))].shape[1]
        return self._dim

    def __getitem__(self, id: str) -> Frames:
        name = self.spell(id)
        if name is None:
            raise InputError(
                "no features of this",
                file=self.path,
                video=id,
                hint=f"the folder has {len(self._names)}, the first is {next(iter(self._names))!r}",
            )
        try:
            with (self.path / f"{name}.npz").open("rb") as file, np.load(file, allow_pickle=False) as archive:
                wanted = (self._array,) if self._array else ARRAYS
                key = next((a for a in wanted if a in archive), None)
                if key is None:
                    raise ValueError(f"it holds {', '.join(archive) or 'nothing'}, not {' or '.join(map(str, wanted))}")
                raw = archive[key]
        except Exception as error:  # zipfile, its unpackers and numpy's header raise what they like
            reason = " ".join(str(error).split())[:120] or type(error).__name__
            raise InputError(
                f"unreadable features ({reason})", file=self.path, video=id, hint="extract its features again"
            ) from None
        return check_features(raw, id, self.path, self._dim)

    def count(self, id: str) -> int:
        """T, without reading the features; 0 if it is not known."""
        try:
            with zipfile.ZipFile(self.path / f"{self.spell(id)}.npz") as archive:
                wanted = (self._array,) if self._array else ARRAYS
                name = next(f"{array}.npy" for array in wanted if f"{array}.npy" in archive.namelist())
                with archive.open(name) as file:
                    version = np.lib.format.read_magic(file)
                    one = version == (1, 0)
                    read = np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
                    shape: tuple[int, ...] = read(file)[0]
                    return int(shape[0]) if shape else 0
        except Exception:  # whatever zipfile and numpy's header raise: reading it says what is wrong
            return 0

    def spell(self, id: str) -> str | None:
        """The folder's own name for an id: as it is, or `qid` before it."""
        return next((name for name in (str(id), f"qid{id}") if name in self._names), None)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str | int) and self.spell(str(id)) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def open_store(path: str | Path) -> Any:
    """A feature store of any kind: a folder of .npz, or what `Features` opens."""
    folder = Path(path)
    if folder.is_dir() and next(folder.glob("*.npz"), None) is not None and next(folder.glob("*.npy"), None) is None:
        return NpzFeatures(path)
    return Features(path)
