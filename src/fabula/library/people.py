"""Within one person: the clips in which somebody of a store of people (features/people) is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.core.registry import close_to
from fabula.library.stage import Track

if TYPE_CHECKING:
    from fabula.media.people.cast import Cast

Times = NDArray[np.float64]


class People:
    """Who is seen when, by the names that a store of clips gives its videos."""

    def __init__(self, cast: Cast, videos: Sequence[str]) -> None:
        self.cast = cast
        self.of: dict[str, int] = {}  # a store's video → the cast's
        for k, video in enumerate(cast.videos):
            name = self.match(video.id, str(video.about.get("file", "")), videos)
            if name is not None:
                self.of[name] = k

    @staticmethod
    def match(id: str, file: str, videos: Sequence[str]) -> str | None:
        """The same video in the store: by its whole name, its file's name, or that without its ending."""
        files = {v: v.rpartition("/")[2] for v in videos}
        rules = (
            [v for v in videos if v == id],
            [v for v in videos if file and files[v] == file],
            [v for v in videos if files[v].rpartition(".")[0] == id],
        )
        for found in rules:
            if len(found) > 1:
                raise InputError(
                    f"{len(found)} videos of the store are called so, as {found[0]} and {found[1]}",
                    video=file or id,
                    hint="people are matched by file names; give them different ones",
                )
            if found:
                return found[0]
        return None

    def names(self) -> list[str]:
        return [self.cast.name(p) for p in self.cast.people()]

    def number(self, name: str) -> int:
        """`Anna`, `person 3` or `3`."""
        people = self.cast.people()
        wanted = name.strip().lower()
        found = [p for p in people if self.cast.name(p).lower() == wanted or str(p) == wanted]
        if not found:
            raise InputError(f"no person is called {name!r} in the store of people", hint=close_to(name, self.names()))
        return found[0]

    def times(self, names: Sequence[str]) -> dict[str, list[Times]]:
        """When each of these people is seen, in the videos in which all of them are."""
        faces, person = self.cast.faces, self.cast.person
        each = [person == self.number(name) for name in names]
        out = {}
        for video, k in self.of.items():
            each_time = [np.sort(faces.time[who & (faces.video == k)]) for who in each]
            if all(len(times) for times in each_time):
                out[video] = each_time
        return out


def seen_in(track: Track, times: Sequence[Times]) -> NDArray[np.bool_]:
    """In which clips all of them are seen. [T]"""
    out = np.ones(len(track.clip), dtype=bool)
    for one in times:
        out &= np.searchsorted(one, track.end, "left") > np.searchsorted(one, track.start, "left")
    return out
