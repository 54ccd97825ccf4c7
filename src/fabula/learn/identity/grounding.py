"""Is the face that a blank looks at the right person's? Attention of the last decoder layer, against who is who.

For each blank whose person has a face among those that the model sees, with a the attention to faces (Σ a = 1):

    mass    Σ a over the person's faces
    first   1 if the face with the most attention is the person's
    chance  the share of faces that are the person's: both of the above, for attention that knows nobody

A row is a videoset: the means over its blanks. A score is the mean over rows.

Two things are needed: whose face each face is (a store of boxes with a sixth column, as `fabula people cut` writes it
of a corrected cast), and whom an id means (lines of {"id": set, "people": {"P1": 3, "P2": "Anna"}}; names are those of
`fabula people name`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, shown
from fabula.documents.document import open_document
from fabula.documents.files import check_path
from fabula.learn.identity.attention import FaceShares, Shares, share_faces
from fabula.learn.identity.clips import BOX, Streams
from fabula.learn.identity.wordpiece import WHO
from fabula.media.stores.features import Features
from fabula.text.identity import ID, plain_number

if TYPE_CHECKING:
    from fabula.learn.identity.clips import Videosets
    from fabula.learn.models.micap import Model

SHAPE = 'a line is {"id": set, "people": {"P1": 3, "P2": "Anna"}}: whom an id means, by number or name'
FIELDS = ("mass", "first", "chance")
Row = dict[str, str | int | float]


@dataclass(frozen=True)
class WhoIsWho:
    """Whose face each face is, and whom an id of a captionset means; people by number."""

    boxes: Features  # clip → [k, 6]
    people: Mapping[str, Mapping[str, int]]  # set → id → person

    def faces_of(self, clip: str, count: int) -> NDArray[np.int64]:
        """The person of each of the first `count` faces of a clip. [count]"""
        rows = self.boxes[clip] if clip in self.boxes else np.zeros((0, BOX + 1))
        if rows.shape[1] <= BOX or len(rows) < count:
            raise InputError(
                f"boxes of shape {list(rows.shape)} for {count} faces", file=self.boxes.path, video=clip, noun="clip",
                hint="the sixth number of each face's row says whose it is: fabula people cut writes them",
            )  # fmt: skip
        return rows[:count, BOX].astype(np.int64)

    def right(self, name: str, captions: Sequence[str]) -> list[int | None]:
        """The person of each blank; None where nothing says it."""
        known = self.people.get(name, {})
        return [known.get(spell(match[0])) for text in captions for match in WHO.finditer(text)]


def spell(id: str) -> str:
    """An id as P and its number, however it is written."""
    found = ID.fullmatch(id)
    return f"P{plain_number(found[1])}" if found else id


def read_who(path: Path, names: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Whom the ids of each set mean; a name is looked up in the cast."""
    found: dict[str, dict[str, int]] = {}
    for at, entry in open_document(check_path(path)).entries():
        people = entry.get("people") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(people, Mapping) or not isinstance(entry.get("id"), str):
            raise InputError(f"expected a set with its people, saw {shown(entry)}", file=path, field=at, hint=SHAPE)
        one = found.setdefault(entry["id"], {})
        for id, person in people.items():
            number = names.get(person) if isinstance(person, str) else person
            if not isinstance(number, int) or isinstance(number, bool):
                known = f"the cast has {', '.join(map(shown, list(names)[:6]))}" if names else "name the cast: --cast"
                problem = f"{id} is {shown(person)}, which is neither a number nor a name of the cast"
                raise InputError(problem, file=path, video=entry["id"], noun="captionset", hint=known)
            one[spell(id)] = number
    return found


def open_who(who: Path, truth: Path | None, cast: Path | None, streams: Streams) -> WhoIsWho:
    """Who is who by the files that are named; without `truth`, faces are those of the run's own boxes."""
    names: dict[str, int] = {}
    if cast is not None:
        from fabula.media.people.cast import Cast

        names = {name: number for number, name in Cast.load(cast).names.items()}
    if truth is None and "box" not in streams.stores:
        raise InputError(
            "no store of boxes", file=streams.path, hint="name one that says whose faces they are: --truth"
        )
    boxes = streams.stores["box"] if truth is None else Features(check_path(truth))
    return WhoIsWho(boxes, read_who(who, names))


@dataclass(frozen=True)
class Grounding:
    """A row a videoset, and what was left out."""

    rows: tuple[Row, ...]
    blanks: int
    unseen: int  # blanks whose person has no face among those that the model sees
    unknown: int  # blanks of which nothing says who is right

    def scores(self) -> dict[str, float]:
        """The mean over videosets; none where there is no row."""
        return {field: float(np.mean([row[field] for row in self.rows])) for field in FIELDS} if self.rows else {}

    def to_dict(self) -> dict[str, object]:
        counts = {"sets": len(self.rows), "blanks": self.blanks, "unseen": self.unseen, "unknown": self.unknown}
        return {**self.scores(), **counts, "rows": list(self.rows)}

    def describe(self) -> str:
        """A line for the command line."""
        left = f"{self.unseen} blanks without a face and {self.unknown} without a known person are left out"
        if not self.rows:
            return f"grounding: no blank's person is known and seen; {left}"
        mass, first, chance = (f"{100 * value:.2f}" for value in self.scores().values())
        return (
            f"grounding ×100: attention to the right person's faces {mass}, most attended face is the person's "
            f"{first}, chance {chance}; {len(self.rows)} videosets, {self.blanks} blanks; {left}"
        )


def measure_grounding(model: Model, data: Videosets, units: Sequence[int], who: WhoIsWho) -> Grounding:
    """Of blanks that the model fills itself."""
    rows, blanks, unseen, unknown = list[Row](), 0, 0, 0
    for unit in units:
        name = data.windows[unit][0]
        right = who.right(name, data.captions(name))
        known = [k for k, person in enumerate(right) if person is not None]
        unknown += len(right) - len(known)
        if not known:
            continue
        shares = share_faces(model, data, unit)
        persons = persons_of(shares, data.clips(name), who)
        values = [share_person(shares.faces[k], persons == right[k]) for k in known if (persons == right[k]).any()]
        unseen += len(known) - len(values)
        blanks += len(values)
        if values:
            means = np.mean(values, axis=0).tolist()
            rows.append({"set": name, "blanks": len(values), **dict(zip(FIELDS, means, strict=True))})
    return Grounding(tuple(rows), blanks, unseen, unknown)


def persons_of(shares: FaceShares, clips: Sequence[str], who: WhoIsWho) -> NDArray[np.int64]:
    """Whose face each face is. [faces]"""
    counts = np.bincount(shares.clip, minlength=len(clips)) if len(shares.clip) else np.zeros(len(clips), np.int64)
    return np.concatenate(list(list_persons(counts, clips, who)) or [np.zeros(0, np.int64)])


def list_persons(counts: NDArray[np.int64], clips: Sequence[str], who: WhoIsWho) -> Iterator[NDArray[np.int64]]:
    for clip, count in zip(clips, counts.tolist(), strict=True):
        if count:
            yield who.faces_of(clip, count)


def share_person(attention: Shares, own: NDArray[np.bool_]) -> tuple[float, float, float]:
    """mass, first and chance of one blank; of several faces with the most attention, the share that is the person's."""
    most = attention == attention.max()
    return float(attention[own].sum()), float(own[most].mean()), float(own.mean())
