"""Queries and rankings from files: the format is known by how the file begins, unless it is named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import SpecError
from fabula.core.moments import Id, Queries, Query, Ranking, VideoNumbers
from fabula.core.notes import Notes, named
from fabula.core.nouns import Event, Segment
from fabula.core.registry import Room, close_to, key
from fabula.io import moment_lines, usable
from fabula.io._fields import Source
from fabula.io._files import collector_paused, write_text
from fabula.io._moments import Answers, MomentFormat
from fabula.io._tables import head
from fabula.io.segments import REPAIRS, fault, mend

room = Room("fabula.io", "MOMENTS", "format")


def formats() -> list[MomentFormat]:
    """Every format of moments, by file name."""
    return list(room.all())


def queries(
    paths: Sequence[str | Path],
    notes: Notes,
    format: str | None = None,
    repair: Sequence[str] = (),
    judged: bool = True,
) -> dict[Id, Query]:
    """The queries of one or more files by id. Windows that are no stretch of time are refused or repaired as told;
    `judged=False`: the protocol takes them as they come."""
    for way in repair:
        if way not in REPAIRS:
            raise SpecError(f"no repair is called {way!r}; there are: {', '.join(REPAIRS)}")
    found: dict[Id, Query] = {}
    for path in paths:
        source = Source(usable(path), notes, noun="query")
        chosen = chosen_format(source, format, "references")
        assert chosen.queries is not None
        with collector_paused():
            for some in chosen.queries(source):
                if isinstance(some, Queries) and sound(some) and found.keys().isdisjoint(some.ids):
                    before = len(found)
                    found.update(zip(some.ids, some, strict=True))
                    if len(found) == before + len(some.ids):
                        continue
                    found = dict(islice(found.items(), before))  # an id stands twice: one by one, to name it
                for query in some if isinstance(some, Queries) else (some,):
                    if query.id in found:
                        raise source.wrong("this query id stands twice", query.id, None, "keep one of the two")
                    found[query.id] = checked(query, source, repair, judged or bool(repair))
        source.report()
    return found


def answers(path: str | Path, numbers: VideoNumbers, notes: Notes, format: str | None = None) -> tuple[Answers, str]:
    """The rankings of a file as a stream, read while they are asked for; and the name of the format."""
    source = Source(usable(path), notes, noun="query")
    chosen = chosen_format(source, format, "predictions")
    assert chosen.answers is not None

    def stream() -> Answers:
        assert chosen.answers is not None
        yield from chosen.answers(source, numbers)
        source.report()

    return stream(), chosen.name


def write(rankings: Iterable[Ranking], numbers: VideoNumbers, path: str | Path) -> None:
    """Rankings as Fabula's own lines, whole or not at all."""
    target = Source(usable(path), noun="query")
    write_text(target.path, moment_lines.written(rankings, numbers, target))


def chosen_format(source: Source, name: str | None, role: str) -> MomentFormat:
    able = [f for f in formats() if (f.queries if role == "references" else f.answers) is not None]
    if name is not None:
        for format in formats():
            if key(format.name) == key(name):
                if format not in able:
                    raise SpecError(f"the format {format.name!r} holds {format.holds}, not {role}")
                return format
        raise SpecError(f"no format of moments is called {name!r}; {close_to(name, [f.name for f in able])}")
    shape = shape_of(source.path)
    text = head(source.path).lstrip()
    if not text:
        raise source.wrong("the file is empty", None, None, f"it should hold {role}")
    first = first_object(text) if shape == "lines" else {}
    for format in able:
        if format.shape == shape and format.sniff(text, first):
            return format
    what = f"a line with {', '.join(map(repr, list(first)[:6]))}" if first else f"{text[:40]!r} at the beginning"
    shapes = "; ".join(f"{f.name} ({f.about})" for f in able if f.shape == shape)
    raise source.wrong(
        f"{what}: no known format of {role}", None, None, f"known: {shapes or 'no format of such a file'}"
    )


def shape_of(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return "lines" if name.endswith(".jsonl") else "text" if name.endswith(".txt") else "json"


def first_object(text: str) -> dict[str, Any]:
    """The first line's object; of a line longer than what was looked at, the keys up to there."""
    line = text.partition("\n")[0]
    try:
        found = json.loads(line)
    except ValueError:
        return dict.fromkeys(json.loads(f'"{k}"') for k in top_keys(line))
    return found if isinstance(found, dict) else {}


def top_keys(line: str) -> list[str]:
    """The keys of an object that is cut off: names before a colon at depth 1."""
    keys, depth, at, last = [], 0, 0, ""
    while at < len(line):
        c = line[at]
        if c == '"':
            end = at + 1
            while end < len(line) and line[end] != '"':
                end += 2 if line[end] == "\\" else 1
            last, at = line[at + 1 : end], end
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == ":" and depth == 1:
            keys.append(last)
        at += 1
    return keys


def sound(some: Queries) -> bool:
    """True where no window of these queries needs a closer look."""
    start, end = some.windows[:, 0], some.windows[:, 1]
    late = end > np.repeat(some.durations, some.counts)  # False where there is no duration
    return bool((start >= 0).all() and (start < end).all() and not late.any())


def checked(query: Query, source: Source, repair: Sequence[str], judged: bool) -> Query:
    """The query with every faulty window repaired in the ways named; without them a fault is an error."""
    good = True
    for start, end in query.windows:
        good &= 0 <= start < end
        if query.duration is not None and end > query.duration:
            text = "{n} reference windows end after their video's duration and are kept as they are"
            source.notes.add(text, named(query.id))
    if good:
        return query
    if not judged:
        text = "{n} queries have a reversed, zero-length or negative window, taken as it is, as the evaluator does"
        source.notes.add(text, named(query.id))
        return query
    kept = []
    for i, (start, end) in enumerate(query.windows):
        ways, event = mend(Event(Segment(start, end)), repair)
        if (what := fault(Segment(start, end))) and not ways:
            options = ", ".join(f"--repair {w}" for w in REPAIRS)
            seen = f"a {what} window [{start:g}, {end:g}]"
            raise source.wrong(seen, query.id, f"window {i}", f"mend the file, or say how: {options}")
        if ways:
            how = "; ".join(f"{way}: {REPAIRS[way]}" for way in ways)
            source.notes.add(f"{{n}} reference windows were repaired ({how})", named(query.id))
        kept += [] if event is None else [(event.segment.start, event.segment.end)]
    if not kept:
        raise source.wrong("no window is left", query.id, None, "take the query out of the file")
    return query._replace(windows=tuple(kept))
