"""What the page may know of a store: its videos under keys of ours, each with a strip of its clips; as of one version.

A key is the beginning of a hash of the video's name: it names no path, and means the same after a restart. Whatever is
not in the store's own table has no key, and so cannot be asked for.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.documents.fields import JsonDict
from fabula.library import lance
from fabula.library.people import People
from fabula.library.stage import IN_MEMORY
from fabula.library.store import MOST_CLIPS, SHIFT, Store, Video
from fabula.media.base import hash_file, stamp
from fabula.media.decode import ENDINGS
from fabula.web.media import KINDS

if TYPE_CHECKING:
    from fabula.media.people.cast import Cast

KEY = re.compile(r"[0-9a-f]{20}", re.ASCII)
STRIP = 24  # pictures of a video's strip, at most
THUMBS = 2000  # pictures that are kept
ROWS = 4_000_000  # clips up to which it is known where each has its row
SPANS, PEOPLE = 200, 8  # stretches in which a person is seen, and people of a video, at most
GAP = 1.5  # pictures between two faces of one stretch


def make_key(video: str) -> str:
    return hashlib.sha256(video.encode("utf-8", "surrogatepass")).hexdigest()[:20]


class Catalogue:
    """The videos of a store at one version."""

    def __init__(self, store: Store) -> None:
        self.store, self.version = store, store.version
        self.videos = store.videos()
        self.by_key = {make_key(v.video): v for v in self.videos}
        self.by_name = {v.video: v for v in self.videos}
        self.folded = [v.video.casefold() for v in self.videos]
        self.problems = sum(v.problem is not None for v in self.videos)
        self.clips = sum(v.clips for v in self.videos)
        self.seconds = sum(v.duration for v in self.videos)
        self.lock = threading.Lock()
        self.thumbs: OrderedDict[int, bytes | None] = OrderedDict()
        self.rows: tuple[NDArray[np.int64], NDArray[np.uint64]] | None = None  # clips in order, and their rows

    def find(self, key: str) -> Video | None:
        return self.by_key.get(key) if KEY.fullmatch(key) else None

    def path(self, video: Video) -> Path | None:
        """The file of a video of the table; None where it is gone, or is not the very file that was indexed.

        A store may be somebody else's: whoever wrote its rows cannot know the times or hashes of files that were never
        indexed.
        """
        try:
            path = self.store.path_of(video.video)
            size, mtime_ns = stamp(path)
            if path.suffix.lower() not in ENDINGS or size != video.size:
                return None
            return path if mtime_ns == video.mtime_ns or hash_file(path, size, mtime_ns) == video.digest else None
        except (FabulaError, OSError, ValueError):
            return None

    def describe(self, video: Video) -> JsonDict:
        """What a result says of its video."""
        ending = os.path.splitext(video.video)[1].lower()  # noqa: PTH122  (a name, no path)
        return {
            "key": make_key(video.video),
            "name": video.video,
            "duration": video.duration,
            "clips": video.clips,
            "problem": video.problem,
            "kind": ending.lstrip("."),
            "plays": ending in KINDS,
        }

    def search(self, words: str, limit: int) -> list[JsonDict]:
        """Videos whose name has the words, those that begin with them first."""
        words = words.casefold()
        fits = [k for k, name in enumerate(self.folded) if words in name]
        fits.sort(key=lambda k: not self.folded[k].startswith(words))
        return [{**self.describe(v), "clip": self.cover(v)} for v in (self.videos[k] for k in fits[:limit])]

    def cover(self, video: Video) -> int | None:
        """The clip whose picture stands for a video: the middle one. Clips are numbered by their video (store.py)."""
        return (video.number << SHIFT) + video.clips // 2 if video.clips else None

    def strip(self, video: Video) -> list[list[float]]:
        """Clips spread evenly over a video: [clip, start, end]."""
        first = video.number << SHIFT
        if self.clips <= IN_MEMORY:  # all clips are in memory, for the search
            clips = self.store.vectors()
            own = slice(*np.searchsorted(clips.clip, [first, first + MOST_CLIPS]))
            columns = [column[own].tolist() for column in (clips.clip, clips.start, clips.end)]
        else:
            rows = self.store.clips([video.video], ("clip", "start", "end"))
            columns = [rows[name].to_pylist() for name in ("clip", "start", "end")]
        n = len(columns[0])
        at = range(n) if n <= STRIP else [round(i * (n - 1) / (STRIP - 1)) for i in range(STRIP)]
        return [[column[k] for column in columns] for k in at]

    def thumb(self, clip: int) -> bytes | None:
        """A clip's picture; those that were asked for last are at hand."""
        with self.lock:
            if clip in self.thumbs:
                self.thumbs.move_to_end(clip)
                return self.thumbs[clip]
        raw = self.read_thumb(clip)
        with self.lock:
            self.thumbs[clip] = raw
            while len(self.thumbs) > THUMBS:
                self.thumbs.popitem(last=False)
        return raw

    def read_thumb(self, clip: int) -> bytes | None:
        """By the number of its row, where it is known: a table of 100,000 clips is read forty times as fast as by a
        filter. Rows move when others write; then the filter finds it."""
        if self.rows is None and self.clips <= ROWS:
            table = self.store.clips_reader.search().select(["clip"]).with_row_id(True).to_arrow()
            clips, rows = (lance.numbers(table[name]) for name in ("clip", "_rowid"))
            order = np.argsort(clips)
            self.rows = (clips[order], rows[order])
        if self.rows is not None:
            clips, rows = self.rows
            k = int(np.searchsorted(clips, clip))
            if k == len(clips) or clips[k] != clip:
                return None
            with contextlib.suppress(OSError, RuntimeError, ValueError):
                found = self.store.clips_reader.take_row_ids([int(rows[k])]).select(["clip", "thumb"]).to_arrow()
                if found.num_rows == 1 and found["clip"][0].as_py() == clip:
                    raw: bytes | None = found["thumb"][0].as_py()
                    return raw
        return self.store.thumb(clip)


def people_of(cast: Cast | None) -> list[JsonDict]:
    """Who can be asked for, by name; who is seen most comes first."""
    if cast is None:
        return []
    rows: list[JsonDict] = [{"name": cast.name(p), "faces": int((cast.person == p).sum())} for p in cast.people()]
    return sorted(rows, key=lambda row: -row["faces"])


def seen_in(cast: Cast | None, video: str) -> list[JsonDict]:
    """Who is seen when in a video: {name, spans}; who is seen longest comes first."""
    index = None if cast is None else People(cast, [video]).of.get(video)
    if cast is None or index is None:
        return []
    own = cast.faces.video == index
    fps = float(cast.recipe.get("look", {}).get("fps", 5.0) or 5.0)
    rows: list[JsonDict] = []
    for person in np.unique(cast.person[own & (cast.person >= 0)]).tolist():
        times = np.unique(cast.faces.time[own & (cast.person == person)])
        runs = np.split(times, np.flatnonzero(np.diff(times) > GAP / fps) + 1)
        spans = [[float(part[0]), float(part[-1]) + 1 / fps] for part in runs][:SPANS]
        rows.append({"name": cast.name(person), "spans": spans})
    return sorted(rows, key=lambda row: -sum(b - a for a, b in row["spans"]))[:PEOPLE]
