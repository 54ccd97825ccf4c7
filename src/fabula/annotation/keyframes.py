"""The frames shown to models: one per shot (VERIFIED, Chen et al., NeurIPS 2024), and evenly spaced ones.

    shots        PySceneDetect's adaptive detector over the whole video (media/shots.py)
    keyframe     the middle of what a shot and the moment have in common; of more than the cap, evenly chosen ones
    even         the middles of n equal parts of the moment

A moment that ends after its video ends with it, as many of Charades-FIG do; one that begins after it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from fabula.annotation.moments import Moment
from fabula.core.errors import InputError

REMEMBERED = 512  # videos whose shots are kept at hand
Frames = list[tuple[float, bytes]]  # seconds, JPEG


class FrameSampler(Protocol):
    """Anything that can provide the frames of a moment."""

    def sample(self, moment: Moment, keys: int, even: int) -> dict[str, Frames]:
        """{"keys": at most so many keyframes, "even": so many evenly spread ones}."""


class Videos:
    """The videos of a folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError("no such folder", file=folder, hint="--videos names the folder of the videos")
        self.folder = folder
        self.shots: dict[Path, list[tuple[float, float]]] = {}

    def find(self, video: str) -> Path:
        from fabula.media.decode import ENDINGS

        name = PurePosixPath(video)
        if name.is_absolute() or ".." in name.parts or not video.strip() or "\0" in video:
            raise InputError("is no name of a file in it", file=self.folder, video=video, hint="fix the moments")
        for ending in ("", *ENDINGS):
            path = self.folder / f"{video}{ending}"
            if path.is_file():
                return path
        raise InputError("no video of this name", file=self.folder, video=video, hint="its file is NAME.mp4, .avi, …")

    def sample(self, moment: Moment, keys: int, even: int) -> dict[str, Frames]:
        path = self.find(moment.video)
        if path not in self.shots:
            from fabula.media.shots import find_shots

            if len(self.shots) >= REMEMBERED:
                self.shots.clear()
            self.shots[path] = [(float(a), float(b)) for a, b in find_shots(path)]
        spans = self.shots[path]
        start, end = moment.start, min(moment.end, spans[-1][1])
        if start >= end:
            raise InputError(
                f"begins at {start:g} s, after the video's end at {spans[-1][1]:g} s",
                file=path,
                video=moment.id,
                noun="moment",
                hint="fix its times, or leave it out",
            )
        from fabula.media.frames import take_frames

        wanted = {"keys": key_times(spans, start, end, keys), "even": even_times(start, end, even)}
        shown = take_frames(path, sorted({t for times in wanted.values() for t in times}))
        return {kind: [(t, shown[t]) for t in times] for kind, times in wanted.items()}


def key_times(spans: Sequence[tuple[float, float]], start: float, end: float, most: int) -> list[float]:
    """The middles of the shots of a moment, thinned evenly to at most so many."""
    middles = [(max(a, start) + min(b, end)) / 2 for a, b in spans if max(a, start) < min(b, end)]
    if len(middles) > most:
        middles = [middles[int((i + 0.5) * len(middles) / most)] for i in range(most)]
    return middles


def even_times(start: float, end: float, n: int) -> list[float]:
    return [start + (i + 0.5) * (end - start) / n for i in range(n)]


def keyframes(video: Path, start: float, end: float, most: int = 8) -> Frames:
    """The keyframes of a stretch of a video."""
    moment = Moment(video.name, video.name, start, end, "")
    return Videos(video.parent).sample(moment, most, 1)["keys"]
