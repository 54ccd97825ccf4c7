"""A store of clips: two Lance tables (Pace et al., 2025; lancedb) in a folder or at an address, and their manifest.

    clips    clip: int64 · video: text · start, end: seconds · vector: D × float32 · thumb: a small JPEG or nothing
    videos   video: text, its path below the root · number · size, mtime_ns, digest · duration, fps, clips · problem

    clip = number·2²⁰ + k        the k-th clip of a video; number < 2³² from a hash of the video's name, so that the
                                 same videos have the same clips on every machine, and a page of JavaScript can hold it

Clips are committed first, all rows of some videos at once, in place of those that were there; then what `videos` says
of them. A clip counts only when `videos` knows its video. So whoever is killed between the two leaves either the old
or the new rows of a video, never both, and the next run does the video again.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError, InputError, import_extra, shown
from fabula.documents.fields import JsonDict
from fabula.documents.files import check_path, name_write_failures
from fabula.library import lance
from fabula.library import manifest as about
from fabula.library.lock import writer_lock
from fabula.library.manifest import Manifest
from fabula.media.base import Array

if TYPE_CHECKING:
    import pyarrow as pa

SHIFT = 20  # bits of k
NUMBERS = 1 << 32
MOST_CLIPS = 1 << SHIFT  # of one video
OLD = timedelta(seconds=60)  # of versions that nobody reads any more
LOOSE = 64  # files of clips that stay as they are
COLUMNS = ("clip", "video", "start", "end")


@dataclass(frozen=True, slots=True)
class Video:
    """A row of `videos`: what was seen of a file when its clips were made, or why there are none."""

    video: str
    number: int
    size: int
    mtime_ns: int
    digest: str  # SHA-256 of the file's bytes; empty where it could not be read
    duration: float  # seconds; 0 where it could not be read
    fps: float  # pictures per second, on average
    clips: int
    problem: str | None = None


@dataclass(frozen=True)
class Entry:
    """A video and its clips, ready to be written."""

    video: Video
    start: NDArray[np.float64]  # [N]
    end: NDArray[np.float64]
    vectors: NDArray[np.float32]  # [N, D]
    thumbs: Sequence[bytes | None]


class Vectors(NamedTuple):
    """All clips in the order of their numbers: those of a video stand together, in the order of time."""

    clip: NDArray[np.int64]  # [N]
    vector: NDArray[np.float32]  # [N, D]
    video: NDArray[np.int32]  # [N] which of `Store.videos()`, or of `Store.snapshot()` while others write
    start: NDArray[np.float64]
    end: NDArray[np.float64]


def zeros(shape: tuple[int, int]) -> NDArray[np.float32]:
    return np.zeros(shape, np.float32)


class Store:
    """An opened store. Reading sees every commit at once; threads may share it."""

    def __init__(self, where: str, manifest: Manifest) -> None:
        self.where, self.manifest = where, manifest
        self.folder = None if is_address(where) else Path(where)
        self.lock = threading.Lock()
        self.clips_reader, self.videos_reader = self.open_rows("clips"), self.open_rows("videos")
        self.cache: dict[str, tuple[object, Any]] = {}
        self.sound: str | None = None  # the version that is known to hold no half of a commit …
        self.rows: dict[str, Video] = {}  # … and its videos, for whoever writes
        self.stamped = self.stamp()

    # ── tables: lancedb's own are opened when they are first used, by whoever writes ────────────────────────────────

    @cached_property
    def base(self) -> Any:
        return connect(self.where)

    @cached_property
    def clips_table(self) -> Any:
        return self.open_table("clips")

    @cached_property
    def videos_table(self) -> Any:
        return self.open_table("videos")

    def open_table(self, name: str) -> Any:
        with named_faults(self.where):
            return self.base.open_table(self.manifest.tables[name])

    @cached_property
    def rows_base(self) -> lance.Base | None:
        with named_faults(self.where):
            return None if self.folder is None else lance.open_base(self.where)

    def open_rows(self, name: str) -> lance.Table:
        """A table for reading: without the weight of lancedb's package where it lies in a folder."""
        if self.rows_base is None:
            table: lance.Table = self.open_table(name)
            return table
        with named_faults(self.where):
            return self.rows_base.open_table(self.manifest.tables[name])

    # ── opened and made ─────────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(cls, where: str | Path, recipe: JsonDict | None = None) -> Self:
        """The store that is there; one of another version, or of another recipe than this, is refused."""
        named = str(where)
        store = cls(named, read_manifest(named))
        if recipe is not None:
            about.check_recipe(store.recipe, recipe, named)
        return store

    @classmethod
    def create(cls, where: str | Path, recipe: JsonDict, root: str | Path, weights: str | None = None) -> Self:
        """A new store without clips, where there is none yet."""
        named = str(where)
        manifest = Manifest(recipe, str(Path(root).absolute()), weights)
        if not is_address(named):
            check_new(Path(named))
        base = connect(named)
        with named_faults(named):
            make_tables(base, manifest)
        write_manifest(named, manifest, base)  # last: what has no manifest is no store
        return cls(named, manifest)

    # ── what it says of itself ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def recipe(self) -> JsonDict:
        return self.manifest.recipe

    @property
    def dims(self) -> int:
        return self.manifest.dims

    @property
    def root(self) -> Path:
        return Path(self.manifest.root)

    @property
    def version(self) -> str:
        """Changes when rows do; what is kept of a store is kept under it."""
        self.check_generation()
        with named_faults(self.where):
            return f"{self.manifest.tables['clips']}.{self.clips_reader.version}.{self.videos_reader.version}"

    def stamp(self) -> object:
        """Of the manifest's file: another one may name other tables."""
        path = None if self.folder is None else self.folder / about.FILE
        return None if path is None or not path.is_file() else (path.stat().st_ino, path.stat().st_mtime_ns)

    def check_generation(self) -> None:
        """Tables that were replaced by a re-embedding are not read any more: their vectors are another embedder's."""
        if (now := self.stamp()) == self.stamped:
            return
        manifest = read_manifest(self.where)
        if self.manifest.tables not in (manifest.tables, (manifest.next or {}).get("tables")):
            raise InputError(
                f"its vectors were made anew by {manifest.recipe.get('embedder')} meanwhile",
                file=self.where,
                hint="open the store again",
            )
        self.manifest = replace(self.manifest, root=manifest.root)
        self.stamped = now

    def __len__(self) -> int:
        """Clips."""
        return sum(video.clips for video in self.videos())

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def videos(self) -> list[Video]:
        """By name, also those that could not be read."""
        return list(self.keep("videos", self.read_videos))

    def by_name(self) -> dict[str, Video]:
        by_name: dict[str, Video] = self.keep("by name", lambda: {video.video: video for video in self.read_videos()})
        return by_name

    def read_videos(self) -> list[Video]:
        with named_faults(self.where):
            rows = self.videos_reader.search().to_arrow().to_pylist()
        names = [f.name for f in fields(Video)]
        return sorted((Video(**{name: row[name] for name in names}) for row in rows), key=lambda v: v.video)

    def clips(self, videos: Collection[str] | None = None, columns: Sequence[str] = COLUMNS) -> pa.Table:
        """Rows of `clips` (of these videos), in the order of their numbers, as an Arrow table."""
        wanted = list(dict.fromkeys([*columns, "clip", "video"]))
        with named_faults(self.where):
            query = self.clips_reader.search().select(wanted)
            if videos is not None:
                query = query.where(f"video IN ({', '.join(map(quote, videos))})" if videos else "false")
            found = query.to_arrow()
        import pyarrow.compute as pc
        from pyarrow import array

        known = array([video.video for video in self.videos()], "string")
        found = found.filter(pc.is_in(found["video"], value_set=known)).sort_by("clip")
        return found.select(list(columns))

    def vectors(self) -> Vectors:
        """All clips as arrays, kept in memory until rows change."""
        return self.snapshot()[1]

    def snapshot(self) -> tuple[list[Video], Vectors]:
        """Videos and clips of one moment: what `Vectors.video` counts is this list, whoever writes meanwhile."""
        snapshot: tuple[list[Video], Vectors] = self.keep("vectors", self.read_snapshot)
        return snapshot

    def read_snapshot(
        self, matrix_of: Callable[[tuple[int, int]], NDArray[np.float32]] = zeros
    ) -> tuple[list[Video], Vectors]:
        """Numbers first, then vectors one batch at a time into their places: nothing is in memory twice."""
        table = self.open_rows("clips")
        with named_faults(self.where):
            table.checkout(table.version)  # both looks see the same rows
            light = table.search().select(["clip", "start", "end"]).to_arrow()
        videos = self.read_videos()  # after the clips: a clip whose video was removed meanwhile is left out
        clip, video, start, end = unpack(light, [known.number for known in videos])
        matrix = matrix_of((len(clip), self.dims))
        with named_faults(self.where):
            for batch in table.search().select(["clip", "vector"]).to_batches():
                place(matrix, clip, batch)
        return videos, Vectors(clip, matrix, video, start, end)

    def thumb(self, clip: int) -> bytes | None:
        """Its picture as JPEG; None where there is no such clip, or it has none."""
        with named_faults(self.where):
            found = self.clips_reader.search().where(f"clip = {int(clip)}").select(["thumb"]).limit(1).to_arrow()
        return found["thumb"][0].as_py() if found.num_rows else None

    def path_of(self, video: str) -> Path:
        """The file of a video; what is no video of this store, or would lie outside of its root, is refused."""
        if video not in self.by_name():
            raise InputError("no video of this store", video=video, hint="its videos are named by `Store.videos()`")
        root = self.root.resolve()
        path = (root / video).resolve()
        if not path.is_relative_to(root):
            raise InputError("lies outside of the root of the videos", video=video, hint="index the folder again")
        if not path.is_file():
            raise InputError(
                "is not there" if root.is_dir() else f"is not there, nor is the root of the videos, {root}",
                file=path,
                hint="fabula index ROOT --store DIR --moved says where they are now",
            )
        return path

    def keep(self, what: str, make: Any) -> Any:
        """What was made of this version of the rows, made once."""
        with self.lock:
            version = self.version
            if what not in self.cache or self.cache[what][0] != version:
                try:
                    self.cache[what] = (version, make())
                except InputError:  # rows that were tidied away while they were read
                    if version == (version := self.version):
                        raise
                    self.cache[what] = (version, make())
            return self.cache[what][1]

    # ── writing, by the index alone ─────────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """Whoever writes is alone, and sees what was written before."""
        with writer_lock(self.folder):
            yield Writer(self)


class Writer:
    """The write side, made under the lock: rows of videos replaced or removed, each call as whole commits."""

    def __init__(self, store: Store) -> None:
        self.store = store
        store.check_generation()
        self.there = store.rows
        if store.sound != store.version:  # somebody else has written, and may have been killed
            self.there = store.rows = {video.video: video for video in store.read_videos()}
            self.mend()
        self.numbers = {video.number for video in self.there.values()}

    @cached_property
    def tables(self) -> tuple[Any, Any]:
        """Clips and videos as they are now, to be written; opened by the first who does."""
        clips, videos = self.store.clips_table, self.store.videos_table
        with named_faults(self.store.where):
            clips.checkout_latest()
            videos.checkout_latest()
        return clips, videos

    def mend(self) -> list[str]:
        """What a killed process left between its two commits goes; returns the videos that must be done again."""
        import pyarrow.compute as pc

        with named_faults(self.store.where):
            found = pc.value_counts(self.store.clips_reader.search().select(["video"]).to_arrow()["video"])
        counts = {one["values"]: one["counts"] for one in found.to_pylist()}
        known = {video.video: video.clips for video in self.there.values()}
        broken = [name for name in {*counts, *known} if counts.get(name, 0) != known.get(name, 0)]
        self.remove(broken)
        self.store.sound = self.store.version
        return broken

    def number(self, video: str) -> int:
        """Of a video: the one it has, else from its name; the next one where another has that."""
        if video in self.there:
            return self.there[video].number
        n = number_of(video)
        while n in self.numbers:
            n = (n + 1) % NUMBERS
        self.numbers.add(n)
        return n

    def put(self, entries: Sequence[Entry]) -> None:
        """The rows of these videos, in place of those that were there."""
        if not entries:
            return
        rows: list[Video] = []
        replaced = [e.video.video for e in entries if (old := self.there.get(e.video.video)) and old.clips]
        for entry in entries:
            number = self.number(entry.video.video)
            video = Video(entry.video.video, number, *astuple(entry.video)[2:])
            rows.append(video)
            self.there[video.video] = video
        batch = clip_rows(entries, [row.number for row in rows], self.store.dims)
        table, videos = self.tables
        with named_faults(self.store.where):
            if not replaced:  # the quick way: nothing of them is there
                table.add(batch)
            elif batch.num_rows:
                merge = table.merge_insert("clip").when_matched_update_all().when_not_matched_insert_all()
                merge.when_not_matched_by_source_delete(in_videos(replaced)).execute(batch)
            else:
                table.delete(in_videos(replaced))
            upsert = videos.merge_insert("video").when_matched_update_all()
            upsert.when_not_matched_insert_all().execute(video_rows(rows))
        self.store.sound = self.store.version

    def remove(self, videos: Collection[str]) -> None:
        """Nothing is left of these videos."""
        if not videos:
            return
        with named_faults(self.store.where):
            for table in self.tables:
                table.delete(in_videos(videos))
        for video in videos:
            self.there.pop(video, None)
        self.store.sound = self.store.version

    def touch(self, rows: Sequence[Video]) -> None:
        """What `videos` says of these changes; their clips stay."""
        if not rows:
            return
        with named_faults(self.store.where):
            self.tables[1].merge_insert("video").when_matched_update_all().execute(video_rows(rows))
        self.there |= {row.video: row for row in rows}
        self.store.sound = self.store.version

    def is_loose(self) -> bool:
        """Whether the clips lie in so many files that it is worth writing them together: all are written anew."""
        if self.store.folder is None:
            return True
        data = self.store.folder / f"{self.store.manifest.tables['clips']}.lance" / "data"
        return sum(1 for _ in data.glob("*.lance")) > LOOSE

    def tidy(self) -> None:
        """Small files become large ones, old versions and what killed processes left go."""
        with named_faults(self.store.where):
            for table in self.tables:
                alone = self.store.folder is not None  # no other transaction is under way
                table.optimize(cleanup_older_than=OLD, delete_unverified=alone)
        self.store.sound = self.store.version


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def clip_schema(dims: int) -> Any:
    import pyarrow as pa

    vector = pa.list_(pa.float32(), dims)
    columns = [("clip", pa.int64()), ("video", pa.string()), ("start", pa.float64()), ("end", pa.float64())]
    return pa.schema([*columns, ("vector", vector), ("thumb", pa.binary())])


def video_schema() -> Any:
    import pyarrow as pa

    kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "str | None": pa.string()}
    return pa.schema([(f.name, kinds[str(f.type)]) for f in fields(Video)])


def make_tables(base: Any, manifest: Manifest) -> None:
    """Both, empty; what a killed process left of them goes."""
    for table, schema in (("clips", clip_schema(manifest.dims)), ("videos", video_schema())):
        base.drop_table(manifest.tables[table], ignore_missing=True)
        base.create_table(manifest.tables[table], schema=schema)


def clip_rows(entries: Sequence[Entry], numbers: Sequence[int], dims: int) -> pa.Table:
    import pyarrow as pa

    counts = [len(entry.start) for entry in entries]
    clip = [np.arange(n, dtype=np.int64) + (number << SHIFT) for n, number in zip(counts, numbers, strict=True)]
    flat = np.concatenate([entry.vectors.astype(np.float32, copy=False).reshape(-1, dims) for entry in entries])
    return pa.table(
        {
            "clip": np.concatenate(clip),
            "video": pa.array([e.video.video for e, n in zip(entries, counts, strict=True) for _ in range(n)]),
            "start": np.concatenate([entry.start for entry in entries]),
            "end": np.concatenate([entry.end for entry in entries]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), dims),
            "thumb": pa.array([thumb for entry in entries for thumb in entry.thumbs], pa.binary()),
        },
        schema=clip_schema(dims),
    )


def video_rows(rows: Iterable[Video]) -> pa.Table:
    import pyarrow as pa

    names = [f.name for f in fields(Video)]
    return pa.Table.from_pylist([dict(zip(names, astuple(row), strict=True)) for row in rows], video_schema())


def unpack(rows: pa.Table, numbers: Sequence[int]) -> tuple[Array, ...]:
    """clip, which video, start and end, by the clips' numbers, without those whose video is not known.

    A clip's number begins with its video's: no name is compared."""
    clip, start, end = (lance.numbers(rows[name]) for name in ("clip", "start", "end"))
    known = np.array(numbers, np.int64)
    rank = np.argsort(known)
    order = np.argsort(clip, kind="stable")
    of = clip[order] >> SHIFT
    at = np.minimum(np.searchsorted(known, of, sorter=rank), max(len(known) - 1, 0))
    video = rank[at] if len(known) else np.zeros(len(of), np.int64)
    fits = known[video] == of if len(known) else np.zeros(len(of), bool)
    order = order[fits]
    return clip[order], video[fits].astype(np.int32), start[order], end[order]


def place(matrix: NDArray[np.float32], clip: NDArray[np.int64], batch: Any) -> None:
    """The vectors of a batch into the rows of their clips."""
    if not batch.num_rows or not len(clip):
        return
    numbers = lance.numbers(batch.column("clip"))
    at = np.minimum(np.searchsorted(clip, numbers), len(clip) - 1)
    known = clip[at] == numbers
    column, D = batch.column("vector"), matrix.shape[1]
    flat = column.values.slice(column.offset * D, len(column) * D)  # Arrow's `flatten` would load its functions
    matrix[at[known]] = lance.numbers(flat).reshape(-1, D)[known]


# ── places ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def number_of(video: str) -> int:
    """From its name; below 2³²."""
    return int.from_bytes(hashlib.blake2b(video.encode(), digest_size=4).digest(), "big")


def is_address(where: str) -> bool:
    return "://" in where


def import_lancedb() -> ModuleType:
    return import_extra("lancedb", "a store of clips", "search")


def connect(where: str) -> Any:
    """lancedb at a folder, or at an address as it reads them: s3://bucket/store, gs://…, az://…"""
    lancedb = import_lancedb()
    if not is_address(where):
        check_path(where)
    with named_faults(where):
        return lancedb.connect(where, read_consistency_interval=timedelta(0))


def check_new(folder: Path) -> None:
    """A folder that is not there, or holds nothing but what a killed `create` left."""
    if (folder / about.FILE).exists():
        raise InputError("is a store already", file=folder, hint="open it")
    with name_write_failures(folder):
        folder.mkdir(parents=True, exist_ok=True)
        strange = [f.name for f in folder.iterdir() if f.suffix not in (".lance", ".lock", ".tmp")]
    if strange:
        raise InputError(
            f"is not empty and no store of clips: {shown(strange[0])} is in it",
            file=folder,
            hint="name another folder with --store",
        )


def list_tables(where: str, base: Any) -> list[str]:
    """By name; there are a handful."""
    with named_faults(where):
        return list(base.list_tables(limit=1000).tables)


def is_there(where: str) -> bool:
    """Whether a store is."""
    if not is_address(where):
        return (Path(where) / about.FILE).exists()
    return about.TABLE in list_tables(where, connect(where))


def read_manifest(where: str) -> Manifest:
    if not is_address(where):
        return about.read_file(check_path(where))
    import json

    if not is_there(where):
        raise InputError("no such store", file=where, hint="fabula index VIDEOS --store URL makes one")
    base = connect(where)
    with named_faults(where):
        rows = base.open_table(about.TABLE).search().to_arrow().to_pylist()
    return about.parse(json.loads(rows[0]["manifest"]), where)


def write_manifest(where: str, manifest: Manifest, base: Any) -> None:
    if not is_address(where):
        about.write_file(Path(where), manifest)
        return
    import json

    row = [{"manifest": json.dumps(manifest.document())}]
    mode = "overwrite" if about.TABLE in list_tables(where, base) else "create"
    with named_faults(where):
        base.create_table(about.TABLE, row, mode=mode)


def quote(text: str) -> str:
    """As Lance's filters have it; a name is data, whatever stands in it."""
    return "'" + text.replace("'", "''") + "'"


def in_videos(videos: Iterable[str]) -> str:
    return f"video IN ({', '.join(map(quote, videos))})"


@contextlib.contextmanager
def named_faults(where: str) -> Iterator[None]:
    """What lancedb refuses (a full disk, a missing bucket, a damaged file), as one line that names the store."""
    try:
        yield
    except FabulaError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"cannot be used ({explain(reason)})",
            file=where,
            hint="check the disk, the address and their rights; what was committed before is whole",
        ) from None


def explain(reason: str) -> str:
    """The cause in a chain of Lance's errors."""
    for cause in ("No space left on device", "File too large", "Disk quota exceeded", "Permission denied"):
        if cause.lower() in reason.lower():
            return cause
    return re.sub(r",? ?/\S*\.rs(:\d+)*", "", reason.removeprefix("lance error: "))[
        :160
    ]  # where in Lance is nobody's affair
