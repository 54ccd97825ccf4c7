"""Queries and rankings from files: the format is known by how the file begins, unless it is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.registry import close_to
from fabula.data.moments import Id, Queries, Query, Ranking, Rankings, VideoNumbers
from fabula.data.repairs import REPAIRS
from fabula.data.segments import find_fault, mend_event
from fabula.data.stories import Event, Segment
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.documents.files import check_path, pause_collector, write_text
from fabula.io.format import Format
from fabula.io.shelf import SHELVES, fits, list_known

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

Role = Literal["references", "predictions"]
# Which list of the file ("" where it has one), and a query's ranking, or those of many.
Answers = Iterator[tuple[str, Ranking | Rankings]]


SHELF = SHELVES["moments"]


def formats() -> list[Format]:
    """Every format of moments, by file name."""
    return SHELF.formats()


def read_queries(
    paths: Sequence[str | File],
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
        name, argument = split_argument(format)
        source = Source(open_document(path), notes, noun="query", argument=argument)
        chosen = choose_format(source.document, name, "references", argument)
        assert chosen.read_queries is not None
        with pause_collector():
            for block in chosen.read_queries(source):
                if isinstance(block, Queries) and is_sound(block) and found.keys().isdisjoint(block.ids):
                    before = len(found)
                    found.update(zip(block.ids, block, strict=True))
                    if len(found) == before + len(block.ids):
                        continue
                    found = dict(islice(found.items(), before))  # an id stands twice: one by one, to name it
                for query in block if isinstance(block, Queries) else (block,):
                    if query.id in found:
                        raise source.wrong("this query id stands twice", query.id, None, "keep one of the two")
                    found[query.id] = check_query(query, source, repair, judged or bool(repair))
        source.report()
    return found


def read_rankings(
    path: str | File, numbers: VideoNumbers, notes: Notes, format: str | None = None
) -> tuple[Answers, str]:
    """The rankings of a file as a stream, read while they are asked for; and the name of the format."""
    name, argument = split_argument(format)
    source = Source(open_document(path), notes, noun="query", argument=argument)
    chosen = choose_format(source.document, name, "predictions", argument)
    assert chosen.read_rankings is not None

    def stream() -> Answers:
        assert chosen.read_rankings is not None
        yield from chosen.read_rankings(source, numbers)
        source.report()

    return stream(), chosen.name


def write_rankings(rankings: Iterable[Ranking], numbers: VideoNumbers, path: str | Path) -> None:
    """Rankings as Fabula's own lines, whole or not at all."""
    from fabula.io.moments import lines

    target = Source(open_document(path), noun="query")
    write_text(check_path(path), lines.write_rankings(rankings, numbers, target))


def split_argument(format: str | None) -> tuple[str | None, str | None]:
    """The name of a format, and its argument: NAME:ARGUMENT."""
    name, _, argument = (format or "").partition(":")
    return name or None, argument or None


def choose_format(head: Document, name: str | None, role: Role, argument: str | None = None) -> Format:
    """The format of a file: the one that is named, or the first that knows how it begins."""
    if name is not None:
        format = SHELF.find(name)
        if format is None:
            able = [f.name for f in formats() if f.holds in (role, "either")]
            raise SpecError(f"no format of moments is called {name!r}; {close_to(name, able)}")
        if format.holds not in (role, "either"):
            raise SpecError(f"the format {format.name!r} holds {format.holds}, not {role}")
        if argument is not None and format.argument is None:
            raise SpecError(f"the format {format.name!r} takes no argument; leave {':' + argument!r} out")
        return format
    if head.is_table and (found := SHELF.sniff(head, role)) is not None:
        return found
    text = head.text.lstrip()
    if not text:
        hint = f"it should hold {role}"
        raise InputError("the file is empty", file=head, hint=hint, noun="query")
    if (found := SHELF.sniff(head, role)) is not None:
        return found
    first, pattern = head.first_object, SHELF.pattern_of(head)
    what = f"a line with {', '.join(map(shown, list(first)[:6]))}" if first else f"{shown(text)} at the beginning"
    hint = list_known(f for f in formats() if fits(f, pattern, role))
    raise InputError(f"{what}: no known format of {role}", file=head, hint=hint, noun="query")


def choose_captions(path: str | File, coarse: bool, format: str | None) -> str | None:
    """The name of the format that reads the coarse captions of a file with both, where those are wanted."""
    if not coarse:
        return format
    name, argument = split_argument(format)
    return choose_format(open_document(path), name, "references", argument).coarse or format


def is_sound(some: Queries) -> bool:
    """True where no window of these queries needs a closer look."""
    start, end = some.windows[:, 0], some.windows[:, 1]
    late = end > np.repeat(some.durations, some.counts)  # False where there is no duration
    return bool((start >= 0).all() and (start < end).all() and not late.any())


def check_query(query: Query, source: Source, repair: Sequence[str], judged: bool) -> Query:
    """The query with every faulty window repaired in the ways named; without them a fault is an error."""
    good = True
    for start, end in query.windows:
        good &= 0 <= start < end
        if query.duration is not None and end > query.duration:
            text = "{n} reference windows end after their video's duration and are kept as they are"
            source.notes.add(text, name_id(query.id))
    if good:
        return query
    if not judged:
        text = "{n} queries have a reversed, zero-length or negative window, taken as it is, as the evaluator does"
        source.notes.add(text, name_id(query.id))
        return query
    windows = []
    for i, (start, end) in enumerate(query.windows):
        ways, event = mend_event(Event(Segment(start, end)), repair)
        if (what := find_fault(Segment(start, end))) and not ways:
            options = ", ".join(f"--repair {w}" for w in REPAIRS)
            problem = f"a {what} window [{start:g}, {end:g}]"
            raise source.wrong(problem, query.id, f"window {i}", f"mend the file, or say how: {options}")
        if ways:
            how = "; ".join(f"{way}: {REPAIRS[way]}" for way in ways)
            source.notes.add(f"{{n}} reference windows were repaired ({how})", name_id(query.id))
        windows += [] if event is None else [(event.segment.start, event.segment.end)]
    if not windows:
        raise source.wrong("no window is left", query.id, None, "take the query out of the file")
    return query._replace(windows=tuple(windows))
