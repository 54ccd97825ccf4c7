"""A film with the captions of a model: captions on its timeline, the people in it with their faces and names.

The page of report/watch.py with rows for people: who, some small pictures of the face, when he or she is seen. Small
pictures are in the page; the film is linked.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabula.core.errors import InputError
from fabula.report._events import Cells, round_seconds
from fabula.report.links import link_file
from fabula.report.watch import draw_watch

MOST = 24  # people of a film that are shown; of more, only their number


@dataclass(frozen=True)
class Person:
    """Somebody who is seen."""

    who: int  # the cast's number, which fabula people takes
    name: str | None  # as somebody gave it
    number: int | None  # P of the captions; None: nobody says anything of this person
    pictures: Sequence[bytes] = ()  # JPEG
    spans: Sequence[tuple[float, float]] = ()  # seconds in which the face is seen


@dataclass(frozen=True)
class Film:
    """What a model says of a film."""

    id: str
    duration: float
    captions: Sequence[tuple[float, float, str]]  # from, to, what happens
    people: Sequence[Person] = ()
    video: Path | None = None
    notes: Sequence[str] = field(default=())


def film_page(
    films: Sequence[Film], title: str, *, folder: Path | None = None, notes: Sequence[str] = (), lead: str | None = None
) -> str:
    """The whole document; `folder` is where it will lie, `lead` the line under the title in place of ours."""
    if not films:
        raise InputError("no film to show", hint="predict at least one")
    place = Path(folder or ".")
    rows = [row_of(film, place) for film in films]
    n = sum(len(film.captions) for film in films)
    people = sum(len(film.people) for film in films)
    ours = f"{count(len(films), 'film')}, {count(n, 'clip')} told, {count(people, 'person', 'people')} seen"
    return draw_watch(rows, title, ours if lead is None else lead, notes)


def count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def row_of(film: Film, place: Path) -> Cells:
    """[id, seconds, events, address, people]; an event: [start, end, caption, which people it names]."""
    shown = list(film.people[:MOST])
    at = {person.number: k for k, person in enumerate(shown) if person.number is not None}
    names = {p.number: p.name for p in film.people if p.number is not None and p.name}
    events = []
    for start, end, caption in film.captions:
        named = [int(m[1]) for m in ID.finditer(caption)]
        named_caption = put_names(caption, names)
        who = list(dict.fromkeys(at[p] for p in named if p in at))
        events.append([round_seconds(start), round_seconds(end), named_caption, who])
    people = [
        [
            label(person),
            [picture(raw) for raw in person.pictures],
            [[round_seconds(t) for t in s] for s in person.spans],
        ]
        for person in shown
    ]
    return [film.id, film.duration, events, link_file(film.video, place), people, len(film.people) - len(shown)]


ID = re.compile(r"\bP(\d+)\b")


def put_names(caption: str, names: Mapping[int, str | None]) -> str:
    """A caption with names where they are known."""
    return ID.sub(lambda m: names.get(int(m[1])) or m[0], caption)


def label(person: Person) -> str:
    number = f"P{person.number}" if person.number is not None else ""
    return " · ".join(part for part in (person.name or f"person {person.who}", number) if part)


def picture(raw: bytes) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(raw).decode("ascii")
