"""Which group an id belongs to (a film, a cook, a channel), for draws that take groups whole.

A field of the entries of files, a file of ids and groups (.json: {id: group}; .csv, .tsv: id, group), or a /pattern/
whose first bracket is read off the ids themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, SpecError, shown
from fabula.data.ids import respell_id
from fabula.documents.document import Document, open_document
from fabula.documents.files import check_path, has_lines, load_json, read_objects
from fabula.documents.objects import ENTRY_IDS
from fabula.documents.tables import read_cells

Id = str | int
Files = Sequence[str | Path | Document]
Group = str | int
LISTS = ("annotations", "images", "regions")  # of a document: entries with an id each
INSIDE = ("database", "results")  # of a document: what holds its entries by id


def find_groups(by: str | Mapping[Any, Any], files: Files, ids: Iterable[Id]) -> dict[Id, Group]:
    """The group of every id; an id without one is an error that names it."""
    look, where = choose(by, files)
    found: dict[Id, Group] = {}
    for id in ids:
        group = look(id)
        if group is None:
            hint = "every one needs a group, or none has"
            raise InputError(f"no group ({where})", video=id, noun="item", hint=hint)
        found[id] = group
    return found


def choose(by: str | Mapping[Any, Any], files: Files) -> tuple[Callable[[Id], Group | None], str]:
    """How a group is found, and what to call that."""
    if isinstance(by, Mapping):
        return look_up({str(k): check_group(v, k, "the mapping") for k, v in by.items()}), "the mapping has none"
    if len(by) > 2 and by[0] == by[-1] == "/":
        return by_pattern(by[1:-1]), f"the pattern {by} does not fit"
    path = check_path(by)
    if path.is_file():
        return look_up(read_groups(path)), f"{path} has none"
    known: dict[str, Group] = {}
    for file in files:
        read_field(check_path(file), by, known)
    if not known:
        hint = "name a field of the references, a file of ids and groups, or a /pattern/ of ids"
        raise SpecError(f"--cluster {by}: no entry of the references has such a field, no file has the name; {hint}")
    return look_up(known), f"its entry has no field {by!r}"


def look_up(known: Mapping[str, Group]) -> Callable[[Id], Group | None]:
    """By the id, or by another spelling of it."""

    def look(id: Id) -> Group | None:
        text = str(id)
        return next((known[name] for name in (text, *respell_id(text)) if name in known), None)

    return look


def by_pattern(pattern: str) -> Callable[[Id], Group | None]:
    try:
        made = re.compile(pattern)
    except re.error as error:
        raise SpecError(f"--cluster /{pattern}/ is no pattern ({error})") from None

    def look(id: Id) -> Group | None:
        found = made.search(str(id))
        return None if found is None else found[1] if made.groups else found[0]

    return look


def read_groups(path: Path) -> dict[str, Group]:
    """Ids and groups of a file."""
    if path.suffix == ".json":
        document = load_json(path)
        if not isinstance(document, dict):
            raise InputError("expected {id: group}", file=path, hint="an object of ids and groups")
        return {id: check_group(group, id, path) for id, group in document.items()}
    known: dict[str, Group] = {}
    document = open_document(path)
    between = "\t" if "\t" in document.text.lstrip().partition("\n")[0] else ","
    for n, row in read_cells(document, delimiter=between):
        if not row:
            continue
        if len(row) != 2:
            raise InputError(f"{len(row)} columns", file=path, field=f"line {n}", hint="a line is: id, group")
        add(known, row[0].strip(), row[1].strip(), path)
    return known


def read_field(path: Path | Document, field: str, known: dict[str, Group]) -> None:
    """The groups that the entries of a file name."""
    document = open_document(path)
    if document.holds_only_stories or document.ending not in (".json", ".jsonl"):
        return
    for id, entry in list_entries(path):
        if isinstance(entry, dict) and entry.get(field) is not None:
            add(known, str(id), check_group(entry[field], id, path), path)


def add(known: dict[str, Group], id: str, group: Group, path: object) -> None:
    if known.setdefault(id, group) != group:
        problem = f"two groups, {shown(known[id])} and {shown(group)}"
        raise InputError(problem, file=path, video=id, noun="item", hint="it belongs to one")


def list_entries(path: Path | Document) -> Iterator[tuple[Any, Any]]:
    """The things that a file tells of, by id."""
    if has_lines(path):
        yield from (pair for _, entry in read_objects(path) for pair in name_entry(entry))
        return
    document = load_json(path)
    if isinstance(document, list):
        yield from (pair for entry in document for pair in name_entry(entry))
    elif isinstance(document, dict):
        lists = [document[key] for key in LISTS if isinstance(document.get(key), list)]
        yield from (pair for some in lists for entry in some for pair in name_entry(entry))
        if not lists:
            inner = next((document[key] for key in INSIDE if isinstance(document.get(key), dict)), document)
            yield from inner.items()


def name_entry(entry: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(entry, dict):
        id = next((entry[key] for key in ENTRY_IDS if isinstance(entry.get(key), str | int)), None)
        if "image_id" in entry and "caption" in entry:  # COCO's own `id` is that of the annotation
            id = entry["image_id"]
        if id is not None:
            yield id, entry


def check_group(group: Any, id: object, file: object) -> Group:
    if isinstance(group, bool) or not isinstance(group, str | int):
        raise InputError(
            f"a group that is {shown(group)}", file=file, video=id, noun="item", hint="it is text or a number"
        )
    return group
