"""Feature stores: frame features of videos, [T, C] each, behind one small class.

folder of .npy      one array per video, the file's name is the video's id; metadata.json beside them is optional
.h5, .hdf5          one dataset per video, or a group per video that holds it
.safetensors        one tensor per video, metadata in the header

    Features("tsn/")                                ID.npy, or PDVC's ID_resnet.npy + ID_bn.npy, or ID_rgb + ID_flow
    Features("tsn/{id}_resnet.npy")                 one of several files of a video
    Features("c3d.h5/{id}/c3d_features")            one of several datasets of a video
    Features(["clip.h5", "i3d/"]), "clip.h5,i3d/"   side by side: channels end to end, lengths brought together

An id is found with or without its ActivityNet prefix `v_`. Features that cannot be used are errors that name the video.
A store is opened by each process when it first reads: `Features` travels to the workers of a DataLoader, forked or not.
A store that says how it was made (media/manifest.py) has a `recipe`; `must_match` keeps stores of another one away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, shown
from fabula.core.memory import available
from fabula.core.notes import ignore
from fabula.data.ids import respell_id
from fabula.documents.fields import JsonDict, JsonObject
from fabula.media.stores.kinds import NONSENSE, Dtype, Source, summarize
from fabula.media.stores.writers import check_replaceable, is_file_store, write_features

__all__ = [
    "Features",
    "Frames",
    "check_features",
    "check_replaceable",
    "check_shape",
    "is_file_store",
    "must_match",
    "resize",
    "write_features",
]

LITTLE = 16 << 20  # bytes that are taken without a look at what is left, which costs more than reading them
Frames = NDArray[np.float32]  # [T, C]
Paths = str | Path | Sequence[str | Path]


class Features(Mapping[str, Frames]):
    """The features of every video of a store, read when asked for: `Features("s3d/")["v_xHr8X2Wpmno"]` → [T, C]."""

    def __init__(self, path: Paths) -> None:
        self.sources = [Source(*place) for place in find_places(path)]
        self.path = Path(",".join(str(source) for source in self.sources))
        stores = [source.store() for source in self.sources]
        first, *others = [dict.fromkeys(store.ids) for store in stores]
        for source, ids in zip(self.sources, (first, *others), strict=True):
            if not ids:
                raise InputError("the feature store has no videos", file=source, hint="check the path")
        self._ids = {id: None for id in first if all(spell(id, ids) is not None for ids in others)}
        if not self._ids:
            raise InputError(
                "the stores have no video in common; the first ones are "
                f"{', '.join(shown(store.ids[0]) for store in stores)}",
                file=self.path,
                hint="stores side by side hold the same videos",
            )
        self._spellings = [dict.fromkeys(store.ids) for store in stores]
        self.metadata: JsonObject = join_metadata([store.metadata for store in stores])
        self._dims: tuple[int, ...] | None = None

    @property
    def dim(self) -> int:
        """C, of the first video; of stores side by side, all together."""
        if self._dims is None:
            self._dims = tuple(part.shape[1] for part in self.read_parts(next(iter(self))))
        return sum(self._dims)

    @property
    def name(self) -> str:
        """Of its files, without their folders."""
        return ",".join(source.path.name for source in self.sources)

    @property
    def recipe(self) -> JsonDict | None:
        """How the features were made, as far as the store says it; None where it does not."""
        return find_recipe(self.metadata)

    def __getitem__(self, video: str) -> Frames:
        return self.read(video)

    def read(self, video: str, frames: int | None = None) -> Frames:
        """[T, C]; with `frames` every store is brought to that length by itself, as PDVC does; else to the longest."""
        parts = self.read_parts(video)
        if frames is None and len(parts) == 1:
            return parts[0]
        T = frames or max(map(len, parts))
        return np.concatenate([resize(part, T) for part in parts], axis=1) if len(parts) > 1 else resize(parts[0], T)

    def read_parts(self, video: str) -> list[Frames]:
        """The arrays of a video, store by store."""
        parts: list[Frames] = []
        for source, ids in zip(self.sources, self._spellings, strict=True):
            key = spell(video, ids)
            if key is None:
                raise InputError(
                    "no features of this video",
                    file=source,
                    video=video,
                    hint=f"the store has {len(ids)} videos, the first is {next(iter(ids))!r}",
                )
            store, file = source.store(), Path(str(source))
            try:
                for name in store.streams(key):
                    dim = self._dims[len(parts)] if self._dims and len(parts) < len(self._dims) else None
                    shape, dtype = store.look(name)
                    check_shape(shape, dtype, video, file, dim)
                    parts.append(check_features(store.read(name), video, file, dim))
            except NONSENSE as error:
                raise InputError(
                    f"unreadable features ({summarize(error)})",
                    file=source,
                    video=video,
                    hint="extract its features again",
                ) from None
        if self._dims is not None and len(parts) != len(self._dims):
            raise InputError(
                f"features in {len(parts)} parts, the store's first video has {len(self._dims)}",
                file=self.path,
                video=video,
                hint="extract its features again",
            )
        return parts

    def count(self, video: str) -> int:
        """T, of the longest store, without reading the features; 0 where the store does not say."""
        lengths = [0]
        for source, ids in zip(self.sources, self._spellings, strict=True):
            store = source.store()
            try:
                for name in store.streams(key) if (key := spell(video, ids)) is not None else ():
                    lengths.append((store.look(name)[0] or (0,))[0])
            except NONSENSE:
                return 0  # reading them says what is wrong
        return max(lengths)

    def __contains__(self, video: object) -> bool:
        return isinstance(video, str) and all(spell(video, ids) is not None for ids in self._spellings)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def describe(self) -> JsonDict:
        """What the store says of itself, and how much there is; of videos their number."""
        document = dict(self.metadata)
        durations = document.pop("durations", {})
        known = [s for s in durations.values() if isinstance(s, int | float)]
        document.pop("videos", None)
        if left_out := document.pop("left_out", None):
            document["left_out"] = left_out
        origin = "not told by the store" if self.recipe is None else None
        return {
            "store": str(self.path),
            "videos": len(self),
            "channels": self.dim,
            "seconds": round(sum(known), 3) if known else None,
            **({"how it was made": origin} if origin else {}),
            **document,
        }


def find_places(paths: Paths) -> list[tuple[str, str | None]]:
    """The stores that are meant: path, and the pattern of their arrays where one is given."""
    if not isinstance(paths, str | Path):
        return [place for path in paths for place in find_places(path)]
    text = str(paths)
    if "," in text and "\0" not in text and not Path(text).exists():
        return [place for part in text.split(",") if part.strip() for place in find_places(part.strip())]
    return [split_pattern(text)]


def split_pattern(text: str) -> tuple[str, str | None]:
    """`tsn/{id}_bn.npy` → tsn, {id}_bn;  `c3d.h5/{id}/c3d_features` → c3d.h5, {id}/c3d_features."""
    if "{id}" not in text or ("\0" not in text and Path(text).exists()):
        return text, None
    before, _, after = text.partition("{id}")
    folder, slash, begins = before.rpartition("/")
    return (folder or ("/" if slash else ".")), begins + "{id}" + after.removesuffix(".npy")


def spell(video: str, ids: Mapping[str, None]) -> str | None:
    """The store's own spelling of an id, with or without the prefix `v_`."""
    return next((id for id in (video, *respell_id(video)) if id in ids), None)


def join_metadata(documents: list[JsonDict]) -> JsonDict:
    """Of stores side by side: durations of all, and each one's own under `parts`."""
    if len(documents) == 1:
        return documents[0]
    durations = {video: seconds for one in reversed(documents) for video, seconds in one.get("durations", {}).items()}
    return {
        **({"simulated": True} if any(one.get("simulated") for one in documents) else {}),
        "durations": durations,
        "parts": [{k: v for k, v in one.items() if k not in ("durations", "videos")} for one in documents],
    }


def find_recipe(metadata: JsonObject) -> JsonDict | None:
    """The recipe in a store's metadata; of stores side by side, each one's."""
    if isinstance(parts := metadata.get("parts"), list):
        each = [find_recipe(part) if isinstance(part, dict) else None for part in parts]
        return {"parts": each} if any(each) else None
    recipe = metadata.get("recipe")
    if not isinstance(recipe, dict):
        return None
    return {"simulated": True, "embedder": metadata.get("embedder"), **recipe} if metadata.get("simulated") else recipe


def must_match(
    recipe: JsonObject | None,
    store: Features | JsonObject | None,
    *,
    allowed: bool = False,
    flag: str = "--other-features",
    warn: Callable[[str], None] = ignore,
) -> None:
    """Refuse features that were made in another way than those a run was trained on; `allowed` makes it a warning.

    `recipe` is the `Features.recipe` of the run, `store` the features at hand or their recipe. Where neither says how
    it was made there is nothing to compare; where one of the two does not, they are not known to agree.
    """
    here = store.recipe if isinstance(store, Features) else store
    file = store.path if isinstance(store, Features) else None
    if recipe == here:
        return
    if recipe is None or here is None:
        which = "the run" if recipe is None else "the store"
        problem = f"features that cannot be compared: {which} does not say how its features were made"
    else:
        problem = f"features made in another way than the run's: {', '.join(list_differences(recipe, here))}"
    if not allowed:
        raise InputError(
            problem, file=file, hint=f"make them again as the run's were made (fabula features extract), or say {flag}"
        )
    warn(problem)


def list_differences(run: JsonObject, here: JsonObject, most: int = 4) -> list[str]:
    """`fps is 2, was 1`: what differs, the first few."""
    names = [n for n in dict.fromkeys((*run, *here)) if run.get(n) != here.get(n)]
    lines = [f"{n} is {shown(here.get(n), 40)}, was {shown(run.get(n), 40)}" for n in names[:most]]
    return lines + ([f"and {len(names) - most} more"] if len(names) > most else [])


def check_shape(
    shape: tuple[int, ...] | None, dtype: Dtype | str, video: str, file: Path | None, dim: int | None
) -> None:
    """Whether numbers of this shape and type are features, and whether there is memory for them; before any is read."""
    wrong = "extract its features again"
    if shape is None or len(shape) != 2 or min(shape) < 0 or isinstance(dtype, str) or dtype.kind not in "fiu":
        raise InputError(
            f"features of shape {shown(shape)} and type {shown_type(dtype)}; expected numbers [frames, channels]",
            file=file,
            video=video,
            hint=wrong,
        )
    frames, channels = map(int, shape)
    if not frames or not channels:
        raise InputError(
            "features of length 0: no frame" if not frames else "features of 0 channels",
            file=file,
            video=video,
            hint=wrong,
        )
    if dim is not None and channels != dim:
        raise InputError(
            f"features have {channels} channels, the store's first video has {dim}", file=file, video=video, hint=wrong
        )
    need = frames * channels * (dtype.itemsize + 5)  # as stored, as float32, and which are finite
    if need > LITTLE and need > (free := available()):
        raise InputError(
            f"features of shape {shown(shape)} take {need / 1e9:,.1f} GB of memory, {free / 1e9:,.1f} GB are free",
            file=file,
            video=video,
            hint="leave the video out, or extract fewer frames",
        )


def shown_type(dtype: Dtype | str) -> str:
    text = str(dtype)
    return text if len(text) <= 60 else f"{text[:59]}…"


def check_features(raw: object, video: str, file: Path | None = None, dim: int | None = None) -> Frames:
    """The array as float32 [T, C], or an error that names the video and says what is wrong with its features."""
    array = np.asarray(raw)
    check_shape(array.shape, array.dtype, video, file, dim)
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(array, dtype=np.float32)
    bad = ~np.isfinite(converted)
    if bad.any():
        t, c = np.argwhere(bad)[0]
        what = "not finite" if not np.isfinite(array[t, c]) else "beyond what float32 holds"
        raise InputError(
            f"features hold {array[t, c]} at frame {t}, channel {c} ({int(bad.sum())} of {array.size} are {what})",
            file=file,
            video=video,
            hint="extract its features again",
        )
    return converted


def resize(x: Frames, frames: int) -> Frames:
    """x [T, C] → [frames, C] by nearest neighbour, as PDVC does it: frame i is read at i·(T−1)/(frames−1), ½ down."""
    T = len(x)
    if frames < 1:
        raise InputError(f"cannot resize features to {frames} frames", hint="200 for YouCook2, 150 for Tasty")
    at = np.arange(frames) * ((T - 1) / (frames - 1) if frames > 1 else 0.0)
    resized: Frames = x[np.ceil(at - 0.5).astype(np.int64).clip(0, T - 1)]
    return resized
