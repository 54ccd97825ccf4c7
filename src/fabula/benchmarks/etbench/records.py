"""Records of E.T. Bench (Liu et al., NeurIPS 2024): one shape for twelve tasks, read by the shelves of each kind.

{"task", "source", "idx", "video", "duration", "q": question, "tgt": times, "g": captions, "o": options,
 "p": which is right, "a": the answer, which the user adds}

tgt   tvg, epm, gvq: [start, end] · tem, tal, evs, dvc, slc: [[start, end], …] · vhd: the same, or a list of them
A file holds a list, or a line each. `etbench:tvg` reads the records of one task, `etbench:tvg/charades_sta` those of
one source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fabula.core.errors import shown
from fabula.core.notes import name_id
from fabula.documents.fields import Source, describe_value
from fabula.io.format import HeadRule

ENTRY = '{"task", "source", "idx", "video", "tgt", "a"}'
KNOWN = frozenset({"version", "idx", "task", "source", "video", "duration", "src", "tgt", "p", "o", "g", "q", "a"})
FIELDS = ("task", "source", "video")
RECORD = HeadRule(all=FIELDS, any=("a", "tgt"))  # what its task asks for, `task` says
ARGUMENT = "one task, or one task of one source: etbench:tvg, etbench:tvg/charades_sta"


class Sample(NamedTuple):
    """One record, and where it stands."""

    id: str  # task/source/idx; of the second with that name …#2
    at: str
    source: str
    entry: dict[str, Any]


def read_samples(source: Source, tasks: Sequence[str]) -> list[Sample]:
    """The records of a file that belong to these tasks; all of one task, which is named where there are several."""
    if source.document.lines:
        return sort_samples(source.document.entries(), source, tasks)
    return of_document(source.document.tree(), source, tasks)


def of_document(document: Any, source: Source, tasks: Sequence[str]) -> list[Sample]:
    """The same of a document, or of numbered lines."""
    if isinstance(document, Iterator):
        return sort_samples(document, source, tasks)
    listed = source.listing(document, "the root", hint=f"E.T. Bench is [{ENTRY}, …]")
    return sort_samples(((f"entry {i}", entry) for i, entry in enumerate(listed)), source, tasks)


def sort_samples(entries: Iterable[tuple[str, Any]], source: Source, tasks: Sequence[str]) -> list[Sample]:
    task, _, of = (source.argument or "").partition("/")
    found: list[Sample] = []
    held: dict[str, int] = {}
    seen: dict[str, int] = {}
    for n, (at, entry) in enumerate(entries):
        if not isinstance(entry, dict):
            raise source.wrong(f"expected an object, saw {describe_value(entry)}", None, at, f"it is {ENTRY}")
        kind = source.text(source.entry(entry, "task", None, at), f"{at} task")
        origin = source.text(source.entry(entry, "source", None, at), f"{at} source")
        held[kind] = held.get(kind, 0) + 1
        if (task and kind != task) or (of and origin != of) or kind not in tasks:
            continue
        id = f"{kind}/{origin}/{entry.get('idx', n)}"
        seen[id] = seen.get(id, 0) + 1
        if seen[id] > 1:
            source.notes.add("{n} records have the idx of another of their source; each counts", name_id(id))
            id = f"{id}#{seen[id]}"
        source.unused(entry, KNOWN, "records")
        found.append(Sample(id, at, origin, entry))
    check_tasks(found, held, source, tasks)
    return found


def check_tasks(found: Sequence[Sample], held: dict[str, int], source: Source, tasks: Sequence[str]) -> None:
    """One task at a time: another asks for other numbers."""
    kinds = list(dict.fromkeys(sample.entry["task"] for sample in found))
    if len(kinds) > 1:
        hint = f"name one: --format {source_name(tasks)}:{kinds[0]} --refs-format {source_name(tasks)}:{kinds[0]}"
        raise source.wrong(f"records of {len(kinds)} tasks, {', '.join(map(shown, kinds))}", None, None, hint)
    if not kinds:
        what = f"no record of {source.argument or ' or '.join(tasks)}"
        hint = f"the file holds {', '.join(f'{n} of {shown(kind)}' for kind, n in held.items()) or 'nothing'}"
        raise source.wrong(what, None, None, hint)


def source_name(tasks: Sequence[str]) -> str:
    return {"tvg": "etbench", "dvc": "etbench-dense"}.get(tasks[0], "etbench-questions")
