"""From the looks of a film to its signs: tracks, votes, gates, parts of one text joined, kinds."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fabula.data.transcripts import Sign
from fabula.media.signs.base import Box, Look, SignModel, area, intersection
from fabula.media.signs.gates import keep_sure_words, middle_box, refuse, split_words
from fabula.media.signs.kinds import Placed, name_kinds
from fabula.media.signs.tracks import GAP, Track, follow_texts
from fabula.media.signs.vote import Voted, fold_text, likeness, vote

ALIKE = 0.75  # likeness of two voted texts that are one
FAR = 0.25  # share of the picture that a text may have moved between two tracks of it
COVERED = 0.5  # share of a text's box that a surer one covers, where it may be another reading of that one
BUCKET = 10.0  # seconds, by which signs are looked up
WEAK = 0.2  # times what the surer one weighs: looks · confidence


@dataclass
class Candidate:
    """A track and what it says."""

    track: Track
    voted: Voted

    @property
    def text(self) -> str:
        return fold_text(self.voted.letters)


def find_signs(
    looks: Iterable[Look], duration: float, shape: tuple[int, int], count: int, model: SignModel
) -> tuple[list[Sign], dict[str, int]]:
    """The signs of a film in the order of their times, and how many texts were left out, by reason."""
    candidates = [Candidate(track, vote_track(track)) for track in follow_texts(looks)]
    candidates = join_parts(candidates)
    left_out: Counter[str] = Counter()
    accepted: list[Candidate] = []
    for one in candidates:
        one.voted = keep_sure_words(one.voted)
        reason = refuse(one.track, one.voted, shape[1], count)
        if reason is None and one.voted.confidence < model.least:
            reason = "unsure"
        if reason is None:
            accepted.append(one)
        else:
            left_out[reason] += 1
    placed: list[Placed] = []
    by_time: dict[int, list[Candidate]] = {}
    for one in sorted(accepted, key=lambda c: -worth(c)):
        if any(is_again(one, other) for other in by_time.get(int(one.track.start // BUCKET), ())):
            left_out["again"] += 1
            continue
        placed.append(place(one))
        for k in range(int((one.track.start - GAP) // BUCKET), int((one.track.end + GAP) // BUCKET) + 1):
            by_time.setdefault(k, []).append(one)
    ordered = sorted(placed, key=lambda p: (p.sign.start, p.sign.box or (), p.sign.text))
    return name_kinds(ordered, duration), dict(sorted(left_out.items()))


def vote_track(track: Track) -> Voted:
    return vote([s.line for s in track.sightings])


def worth(candidate: Candidate) -> float:
    return len(candidate.track.sightings) * candidate.voted.confidence


def place(candidate: Candidate) -> Placed:
    track, voted = candidate.track, candidate.voted
    boxes = [s.line.box for s in track.sightings]
    start, end, confidence = round(track.start, 3), round(track.end, 3), round(voted.confidence, 4)
    sign = Sign(start, end, split_words(voted), confidence, box=middle_box(boxes))
    mean_x, mean_y = middle(middle_box(boxes))
    ways = sorted(max(abs(x - mean_x), abs(y - mean_y)) for x, y in map(middle, boxes))
    return Placed(sign, ways[(3 * len(ways) - 1) // 4])


def middle(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def join_parts(candidates: list[Candidate]) -> list[Candidate]:
    """Tracks that are one text, lost for a moment: texts alike, one near to where the other was, no look with both."""
    ordered = sorted(candidates, key=lambda c: (c.track.start, c.track.end))
    joined: list[Candidate] = []
    recent: list[Candidate] = []  # of these, which have not ended long before
    for one in ordered:
        recent = [other for other in recent if one.track.start - other.track.end <= GAP]
        same = [other for other in recent if is_same_text(one, other)]
        if same:
            merge(max(same, key=worth), one)
        else:
            joined.append(one)
            recent.append(one)
    return joined


def is_same_text(one: Candidate, other: Candidate) -> bool:
    if min(len(one.text), len(other.text)) < 3:
        return False
    both = set(one.track.times) & set(other.track.times)
    if len(both) > 0.1 * min(len(one.track.times), len(other.track.times)):
        return False
    began = one.track.times[0]
    at = max(0, bisect_right(other.track.times, began) - 1)  # the last sighting before
    a, b = middle(other.track.sightings[at].line.box), middle(one.track.sightings[0].line.box)
    return abs(a[0] - b[0]) <= FAR and abs(a[1] - b[1]) <= FAR and likeness(one.text, other.text) >= ALIKE


def merge(into: Candidate, one: Candidate) -> None:
    rows = sorted(
        zip(
            into.track.times + one.track.times,
            into.track.sightings + one.track.sightings,
            into.track.texts + one.track.texts,
            strict=True,
        ),
        key=lambda row: row[0],
    )
    into.track = Track([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    into.voted = vote_track(into.track)


def is_again(one: Candidate, other: Candidate) -> bool:
    """Whether a text is another reading of a surer one that stands in the same place at the same time."""
    if one.track.start < other.track.start - GAP or one.track.end > other.track.end + GAP:
        return False
    near = min(other.track.sightings, key=lambda s: abs(s.since - one.track.start)).line.box
    box = one.track.sightings[0].line.box
    covered = intersection(box, near) / max(area(box), 1e-9)
    if covered <= 0:
        return False
    like = likeness(one.text, other.text)
    weak = worth(one) < WEAK * worth(other)
    return like >= ALIKE or (covered >= COVERED and (like >= 0.5 or weak))
