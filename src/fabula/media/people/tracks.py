"""Tracks: faces of one shot that follow one another are one person's, before anybody asks who it is.

    a face may go on with a track, not seen for at most `gap` seconds, where
        IoU with its last face ≥ overlap and cosine ≥ alike,  or  cosine ≥ surely
    of all such pairs those with the largest IoU + cosine, each face and each track once (match/greedy.py)

Cosine is that with the mean of the track's last faces. Two faces of one picture are never one track's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabula.match.greedy import greedy
from fabula.media.people.base import Detections, Floats, Ints, Look, unit
from fabula.pair.box_iou import box_iou

LAST = 5  # faces that a track is known by


@dataclass
class Open:
    """A track that may go on."""

    number: int
    time: float
    box: Floats  # [4]
    recent: list[Floats]  # the last embeddings

    @property
    def mean(self) -> Floats:
        return unit(np.mean(self.recent, axis=0))


class Tracker:
    """Numbers faces picture by picture: `tracker(t, shot, faces, embeddings)` → the track of each."""

    def __init__(self, look: Look) -> None:
        self.look, self.open, self.shot, self.count = look, list[Open](), -1, 0

    def __call__(self, time: float, shot: int, found: Detections, x: Floats) -> Ints:
        if shot != self.shot:
            self.open, self.shot = [], shot
        self.open = [one for one in self.open if time - one.time <= self.look.gap + 1e-9]
        tracks = np.full(len(x), -1, np.int64)
        if self.open and len(x):
            for i, j in self.match(found, x):
                one = self.open[i]
                tracks[j], one.time, one.box = one.number, time, found.box[j]
                one.recent = [*one.recent[1 - LAST :], x[j]]
        for j in np.flatnonzero(tracks < 0).tolist():
            tracks[j] = self.count
            self.open.append(Open(self.count, time, found.box[j], [x[j]]))
            self.count += 1
        return tracks

    def match(self, found: Detections, x: Floats) -> list[tuple[int, int]]:
        """Open tracks and faces that go on with one another."""
        iou = box_iou(np.stack([one.box for one in self.open]).astype(np.float64), found.box.astype(np.float64))
        cosine = (np.stack([one.mean for one in self.open]) @ x.T).astype(np.float64)  # [tracks, faces]
        look = self.look
        may = ((iou >= look.overlap) & (cosine >= look.alike)) | (cosine >= look.surely)
        return greedy(np.where(may, iou + cosine + 2, 0.0))[1]
