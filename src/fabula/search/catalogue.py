"""What the page may know of a store: its videos under keys of ours, each with a strip of its clips; as of one version.

A key is the beginning of a hash of the video's name: it names no path, and means the same after a restart. Whatever is
not in the store's own table has no key, and so cannot be asked for.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left
from pathlib import Path
from typing import Any

from fabula.core.errors import FabulaError
from fabula.features.people.cast import Cast
from fabula.web.media import KINDS

KEY = re.compile(r"[0-9a-f]{20}", re.ASCII)
STRIP = 24  # pictures of a video's strip, at most
SPANS = 200  # stretches in which a person is seen, at most


def make_key(video: str) -> str:
    return hashlib.sha256(video.encode("utf-8", "surrogatepass")).hexdigest()[:20]


class Catalogue:
    """The videos of a store at one version."""

    def __init__(self, store: Any) -> None:
        self.store, self.version = store, store.version
        self.videos = sorted(store.videos(), key=lambda v: v.video)
        self.by_key = {make_key(v.video): v for v in self.videos}
        self.by_name = {v.video: v for v in self.videos}
        self.names = [v.video for v in self.videos]
        self.whole = [v for v in self.videos if not v.problem]
        self.clips, self.seconds = len(store), sum(v.duration or 0.0 for v in self.videos)

    def find(self, key: str) -> Any | None:
        return self.by_key.get(key) if KEY.fullmatch(key) else None

    def path(self, video: Any) -> Path | None:
        """The file of a video of the table; None where it is gone, or has become something else."""
        try:
            path = Path(self.store.path_of(video.video))
            return path if path.is_file() else None
        except (FabulaError, OSError, ValueError):
            return None

    def describe(self, video: Any) -> dict[str, Any]:
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

    def search(self, words: str, limit: int) -> list[dict[str, Any]]:
        """Videos whose name has the words; those that begin with them first."""
        words = words.casefold()
        at = bisect_left(self.names, words) if words else 0
        begin = [v for v in self.videos[at : at + limit] if v.video.casefold().startswith(words)]
        if len(begin) < limit:
            begin += [v for v in self.videos if words in v.video.casefold() and v not in begin][: limit - len(begin)]
        return [{**self.describe(v), "clip": self.cover(v)} for v in begin[:limit]]

    def cover(self, video: Any) -> int | None:
        """The clip whose picture stands for a video: the middle one."""
        clips = self.strip(video, 3)
        return clips[len(clips) // 2][0] if clips else None

    def strip(self, video: Any, most: int = STRIP) -> list[tuple[int, float, float]]:
        """Clips spread evenly over a video: (clip, start, end)."""
        rows = self.rows(video)
        if len(rows) <= most:
            return rows
        return [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]

    def rows(self, video: Any) -> list[tuple[int, float, float]]:
        raise NotImplementedError


def people_of(cast: Cast | None) -> list[dict[str, Any]]:
    """Who can be asked for, who is seen longest first."""
    if cast is None:
        return []
    rows = [{"name": cast.name(p), "seconds": cast.seconds_of(p), "faces": int((cast.person == p).sum())} for p in cast.people()]
    return sorted(rows, key=lambda row: -row["faces"])
