"""What goes with the frames of a film: lines that are spoken, signs in the picture, and the people of a store.

People are labelled by their number in the store, P1 for person 0, so that a label is the same in all films of a store.
Each comes with a portrait (the best face of the longest track) where the window shows them, and its box stands behind
the time of a frame. Names are put in at the end: a model that reads them would guess who else is somebody's brother.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.data.transcripts import Sign, SpokenLine
from fabula.documents.fields import JsonDict
from fabula.io.subtitles import read_signs, read_transcripts
from fabula.llm.call import Image
from fabula.media.people.cast import Cast
from fabula.narration.windows import Window

MOST_PEOPLE = 24  # portraits of a window
MOST_TEXTS = 200  # lines or signs of a window
LONGEST = 500  # characters of one
NEAR = 0.51  # of the time between two pictures that faces were looked for in: such a box still fits to a frame
LABEL = re.compile(r"\bP([1-9]\d*)\b")
TEXT_ENDINGS = (".jsonl", ".json", ".txt", ".srt", ".vtt")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the store, in one film."""

    number: int  # of the store
    portrait: Image | None
    times: tuple[float, ...]  # seconds at which the face was seen
    boxes: tuple[tuple[float, float, float, float], ...]  # left, top, right, bottom, as parts of the picture
    name: str | None = None

    @property
    def label(self) -> str:
        return f"P{self.number + 1}"


@dataclass(frozen=True)
class Companions:
    """What goes with the frames of one film."""

    lines: tuple[SpokenLine, ...] | None = None  # None: no store has this film
    signs: tuple[Sign, ...] | None = None
    people: tuple[Person, ...] = ()
    step: float = 0.0  # seconds between two pictures that faces were looked for in

    @property
    def digest(self) -> str:
        """Of all that may change a call."""
        people = [
            [p.number, p.portrait.digest if p.portrait else None, p.name, list(zip(p.times, p.boxes, strict=True))]
            for p in self.people
        ]
        parts = [list_texts(self.lines), list_texts(self.signs), people]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def to_dict(self) -> JsonDict:
        """What the record of a film says of it."""
        return {
            "lines": None if self.lines is None else len(self.lines),
            "signs": None if self.signs is None else len(self.signs),
            "people": {p.label: p.name for p in self.people},
            "digest": self.digest,
        }

    def people_of(self, window: Window) -> list[Person]:
        """Those whose face is seen in a window, the most frequent ones where they are too many, by number."""
        counts = {p.number: sum(window.start <= t < window.end for t in p.times) for p in self.people}
        shown = sorted((p for p in self.people if counts[p.number]), key=lambda p: (-counts[p.number], p.number))
        return sorted(shown[:MOST_PEOPLE], key=lambda p: p.number)

    def boxes_at(self, time: float, people: Sequence[Person]) -> str:
        """`P1 0.12 0.20 0.34 0.61, P2 …` of the faces nearest to a frame; nothing where none is near."""
        found = []
        for person in people:
            at = int(np.searchsorted(person.times, time))
            near = [k for k in (at - 1, at) if 0 <= k < len(person.times)]
            best = min(near, key=lambda k: abs(person.times[k] - time), default=None)
            if best is not None and abs(person.times[best] - time) <= NEAR * self.step:
                found.append(f"{person.label} {' '.join(f'{x:.2f}' for x in person.boxes[best])}")
        return ", ".join(found)

    @property
    def names(self) -> dict[int, str]:
        return {person.number: person.name for person in self.people if person.name}


def put_names(caption: str, names: Mapping[int, str]) -> str:
    """A caption with names where they are known."""
    return LABEL.sub(lambda m: names.get(int(m[1]) - 1) or m[0], caption)


def find_labels(caption: str) -> list[str]:
    """The people a caption names, each once: P1, P2."""
    return list(dict.fromkeys(m[0] for m in LABEL.finditer(caption)))


def list_texts(texts: Sequence[SpokenLine] | Sequence[Sign] | None) -> list[list[object]] | None:
    if texts is None:
        return None
    return [[t.start, t.end, t.text, getattr(t, "speaker", None)] for t in texts]


def cut_texts(texts: Sequence[SpokenLine] | Sequence[Sign], window: Window) -> str:
    """The texts of a window, a line each: `12.0–14.5 s Anna: "Come in."`"""
    rows = []
    inside = [t for t in texts if t.start < window.end and t.end > window.start]
    for text in inside[:MOST_TEXTS]:
        words = " ".join(text.text.split())
        words = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
        speaker = getattr(text, "speaker", None)
        who = f" {speaker}:" if speaker else ""
        rows.append(f"{text.start:.1f}–{text.end:.1f} s{who} {json.dumps(words, ensure_ascii=False)}")
    if len(inside) > MOST_TEXTS:
        rows.append(f"… and {len(inside) - MOST_TEXTS} more")
    return "\n".join(rows)


# ── out of stores ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Library:
    """The stores that were named, and what they know of films by id."""

    lines: Mapping[str, tuple[SpokenLine, ...]] | None = None
    signs: Mapping[str, tuple[Sign, ...]] | None = None
    cast: Cast | None = None
    notes: Notes = field(default_factory=Notes)
    known: dict[str, Companions] = field(init=False, default_factory=dict)

    @classmethod
    def load(cls, lines: Path | None, signs: Path | None, people: Path | None) -> Library:
        notes = Notes()
        spoken: dict[str, tuple[SpokenLine, ...]] | None = None
        written: dict[str, tuple[Sign, ...]] | None = None
        if lines is not None:
            spoken = {}
            for path in list_files(lines):
                transcripts, remarks = read_transcripts(path)
                notes.extend(remarks)
                spoken |= {film.video: film.lines for film in transcripts}
        if signs is not None:
            written = {}
            for path in list_files(signs):
                texts, remarks = read_signs(path)
                notes.extend(remarks)
                written |= {film.video: film.signs for film in texts}
        cast = None if people is None else Cast.load(people)
        for remark in cast.remarks if cast else ():
            notes.add(remark)
        return cls(spoken, written, cast, notes)

    def of_film(self, id: str) -> Companions:
        """What goes with a film. A store that does not have it is noted, once."""
        if id not in self.known:
            self.known[id] = self.look_up(id)
        return self.known[id]

    def look_up(self, id: str) -> Companions:
        people: tuple[Person, ...] = ()
        step = 0.0
        if self.cast is not None:
            if id in {video.id for video in self.cast.videos}:
                people = find_people(self.cast, id)
                step = find_step(self.cast)
            else:
                self.notes.add("{n} films are not in the store of people", id)
        for what, store in (("lines", self.lines), ("signs", self.signs)):
            if store is not None and id not in store:
                self.notes.add(f"{{n}} films are not in the store of {what}", id)
        return Companions(
            None if self.lines is None else self.lines.get(id),
            None if self.signs is None else self.signs.get(id),
            people,
            step,
        )


def list_files(path: Path) -> list[Path]:
    """A store, or the files of a folder that may be one."""
    if not path.is_dir():
        return [path]
    files = sorted(f for f in path.iterdir() if f.suffix.lower() in TEXT_ENDINGS and f.is_file())
    if not files:
        raise InputError("a folder without such files", file=path, hint=f"they end in {', '.join(TEXT_ENDINGS)}")
    return files


def find_step(cast: Cast) -> float:
    fps = float(cast.recipe.get("look", {}).get("fps", 0) or 0)
    return 1 / fps if fps else 1.0


def find_people(cast: Cast, id: str) -> tuple[Person, ...]:
    """The people of one film of a store."""
    k = cast.video_index(id)
    video, faces = cast.videos[k], cast.faces
    mine = faces.video == k
    scale = np.array([video.width, video.height, video.width, video.height], np.float64)
    people = []
    for number in cast.people():
        at = np.flatnonzero(mine & (cast.person == number))
        if not len(at):
            continue
        boxes = np.clip(faces.box[at] / scale, 0, 1)
        times = tuple(round(float(t), 3) for t in faces.time[at])
        corners = tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in boxes.round(4))
        name = cast.names.get(number)
        people.append(Person(number, find_portrait(cast, number, at), times, corners, name))
    return tuple(people)


def find_portrait(cast: Cast, number: int, at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Image | None:
    """The small picture of somebody's longest track in this film; else of any track."""
    tracks, counts = np.unique(cast.faces.track[at], return_counts=True)
    order = [int(t) for t in tracks[np.argsort(-counts, kind="stable")]]
    order += [int(t) for t in cast.tracks_of(number) if int(t) not in order]
    data = next((cast.thumbs[t] for t in order if t in cast.thumbs), None)
    return None if data is None else Image.of(data)
