"""One text is one track: what looks read one after the other, joined by place and by likeness of the letters.

    a line goes on with a track   that ended less than `GAP` ago, whose last box it covers in part or lies near to, and
                                  whose text is like its own, or whose place stayed as it was since the look before;
                                  the best pair first, each once
    a track ends                  where its last text is gone (looks.py), not where somebody looked

A text that moves (a pan, a scroll) is found again near to where it was; a text in the place of another is a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fabula.media.signs.base import Box, Look, Sighting, box_iou, is_near
from fabula.media.signs.vote import fold_text, likeness

GAP = 1.0  # seconds that a text may be missed, or hidden
PLACE = 0.3  # intersection over union from which two boxes are one place
UNCHANGED = 0.5  # the same, of a place whose picture stayed as it was: its text is one, however it is read
MOMENT = 0.001  # seconds, for times are rounded
RECENT = 5  # sightings of a track whose text is compared
MOST = 256  # sightings of a track that are remembered; of more, every second one


@dataclass
class Track:
    """The sightings of one text."""

    times: list[float] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # folded

    def add(self, time: float, sighting: Sighting, text: str) -> None:
        self.times.append(time)
        self.sightings.append(sighting)
        self.texts.append(text)
        if len(self.times) > MOST:
            at = [*range(0, MOST, 2), MOST]
            self.times, self.texts = [self.times[i] for i in at], [self.texts[i] for i in at]
            self.sightings = [self.sightings[i] for i in at]

    @property
    def start(self) -> float:
        return min(s.since for s in self.sightings)

    @property
    def end(self) -> float:
        return max(s.until for s in self.sightings)

    @property
    def box(self) -> Box:
        return self.sightings[-1].line.box

    def likeness(self, text: str) -> float:
        return max(likeness(text, other) for other in set(self.texts[-RECENT:]))


def follow_texts(looks: Iterable[Look]) -> Iterator[Track]:
    """Every track once it has ended."""
    open_tracks: list[Track] = []
    for look in looks:
        ended = [track for track in open_tracks if look.time - track.end > GAP]
        yield from ended
        open_tracks = [track for track in open_tracks if look.time - track.end <= GAP]
        texts = [fold_text(s.line.letters) for s in look.sightings]
        taken_lines, taken_tracks = set[int](), set[int]()
        for i, j in same_pairs(open_tracks, look.sightings, texts):
            if i not in taken_lines and j not in taken_tracks:
                taken_lines.add(i)
                taken_tracks.add(j)
                open_tracks[j].add(look.time, look.sightings[i], texts[i])
        rest = [(i, j) for i in range(len(texts)) if i not in taken_lines
                for j in range(len(open_tracks)) if j not in taken_tracks]  # fmt: skip
        scored = pairs(open_tracks, look.sightings, texts, rest)
        for _, i, j in sorted(scored, key=lambda pair: (-pair[0], pair[1], pair[2])):
            if i not in taken_lines and j not in taken_tracks:
                taken_lines.add(i)
                taken_tracks.add(j)
                open_tracks[j].add(look.time, look.sightings[i], texts[i])
        for i, sighting in enumerate(look.sightings):
            if i not in taken_lines:
                track = Track()
                track.add(look.time, sighting, texts[i])
                open_tracks.append(track)
    yield from open_tracks


def same_pairs(tracks: list[Track], sightings: list[Sighting], texts: list[str]) -> Iterator[tuple[int, int]]:
    """Lines that stand where a track's last one stood, with the same letters: they need no comparison."""
    last: dict[str, list[int]] = {}
    for j, track in enumerate(tracks):
        last.setdefault(track.texts[-1], []).append(j)
    for i, (sighting, text) in enumerate(zip(sightings, texts, strict=True)):
        for j in last.get(text, ()):
            if box_iou(sighting.line.box, tracks[j].box) >= PLACE:
                yield i, j


def pairs(
    tracks: list[Track], sightings: list[Sighting], texts: list[str], which: Iterable[tuple[int, int]]
) -> Iterator[tuple[float, int, int]]:
    """How well a line goes on with a track, where it may."""
    for i, j in which:
        box, track = sightings[i].line.box, tracks[j]
        if is_near(box, track.box):
            shared, like = box_iou(box, track.box), track.likeness(texts[i])
            unchanged = shared >= UNCHANGED and sightings[i].since <= track.times[-1] + MOMENT
            if unchanged or like >= (0.45 if shared >= PLACE else 0.6):
                yield like + shared, i, j
