"""One text is one track: what looks read one after the other, joined by place and by likeness of the letters.

    a line goes on with a track   that ended less than `GAP` ago, whose last box it covers in part or lies near to, and
                                  whose text is like its own; the best pair first, each once
    a track ends                  where its last text is gone (looks.py), not where somebody looked

A text that moves (a pan, a scroll) is found again near to where it was; a text in the place of another is a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fabula.media.signs.base import Box, Look, Sighting, box_iou, is_near
from fabula.media.signs.vote import fold_text, likeness

GAP = 1.0  # seconds that a text may be missed, or hidden
RECENT = 5  # sightings of a track whose text is compared


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
        for _, i, j in sorted(pairs(open_tracks, look.sightings, texts), key=lambda pair: (-pair[0], pair[1], pair[2])):
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


def pairs(tracks: list[Track], sightings: list[Sighting], texts: list[str]) -> Iterator[tuple[float, int, int]]:
    """How well a line goes on with a track, where it may."""
    for i, sighting in enumerate(sightings):
        box = sighting.line.box
        for j, track in enumerate(tracks):
            if not is_near(box, track.box):
                continue
            shared, like = box_iou(box, track.box), track.likeness(texts[i])
            if like >= (0.45 if shared >= 0.3 else 0.6):
                yield like + shared, i, j
