"""Lists of ids: which videos, images, captionsets, items or queries of the references are scored or checked.

    ids.txt               an id a line
    ids.json              a list of ids
    splits.json:test      one list of an object of lists, as densecap_splits.json: {"train": […], "test": […]}

An id meets the references' by its text, with or without the ending of a file (7.jpg is 7) or the prefix v_.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fabula.core.errors import InputError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.registry import close_to
from fabula.data.ids import respell_id
from fabula.documents.document import open_document
from fabula.documents.files import check_path

ENDINGS = (".jpg", ".jpeg", ".png")  # of files of images; those of videos are in data/ids.py
SHAPE = 'a list is an id a line, a JSON list, or FILE:NAME of {"NAME": [id, …]}'
Id = TypeVar("Id", str, int, str | int)
Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class IdList:
    """Ids as text, and what messages and signatures call them."""

    name: str  # of the file, with its list
    ids: frozenset[str]
    repeated: int = 0
    label: str = "given"  # the list's name in the file, or the file's

    @property
    def sign(self) -> str:
        """What a signature says: the list's name and its size."""
        return f"{self.label.replace('|', '%7C').replace(':', '%3A')}:{len(self.ids)}"

    def find(self, id: str | int) -> str | None:
        """The id of the list that means this one, if any."""
        text = str(id)
        spellings = (text, *respell_image(text), *respell_id(text))
        return next((name for name in spellings if name in self.ids), None)

    def limit(self, known: Mapping[Id, Thing], notes: Notes) -> dict[Id, Thing]:
        """The entries that the list names; an error where it names none, a note on ids that have no entry."""
        met = {id: self.find(id) for id in known}
        self.report(known, {name for name in met.values() if name is not None}, notes)
        return {id: thing for id, thing in known.items() if met[id] is not None}

    def report(self, known: Collection[str | int], met: Collection[str], notes: Notes) -> None:
        if known and not met:
            both = f"the list has {shown(min(self.ids))}, the references {shown(next(iter(known)))}"
            raise InputError("no id of the list is in the references", file=self.name, hint=f"compare the ids: {both}")
        if self.repeated:
            notes.add(f"{{n}} ids stand more than once in {self.name}", count=self.repeated)
        for id in sorted(self.ids.difference(met)):
            notes.add(f"{{n}} ids of {self.name} are not in the references", name_id(id))


def respell_image(id: str) -> list[str]:
    """A name of an image with and without its ending."""
    bare = [id[: -len(ending)] for ending in ENDINGS if id.lower().endswith(ending)]
    return bare or [id + ending for ending in ENDINGS]


def read_ids(given: object) -> IdList | None:
    """The list that an option names: FILE, FILE:NAME, or ids in memory."""
    if given is None or isinstance(given, IdList):
        return given
    if not isinstance(given, str | Path):
        if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
            raise InputError(f"expected ids, saw {shown(given)}", file="ids", hint=SHAPE)
        return make_list(list(given), "ids", "given")
    path, part = split_name(str(given))
    document = open_document(path)
    text = document.text.strip()
    content = (
        document.tree() if text[:1] in ("[", "{") else [line.strip() for line in text.splitlines() if line.strip()]
    )
    if isinstance(content, dict):
        names = [name for name, ids in content.items() if isinstance(ids, list)]
        if part is None or part not in content:
            there = close_to(part, names) if part else f"write {path.name}:NAME, with a name of {', '.join(names[:8])}"
            problem = f"no list is called {part!r}" if part else f"the file holds {len(names)} lists"
            raise InputError(problem, file=path, hint=there if names else SHAPE)
        content = content[part]
    elif part is not None:
        raise InputError(f"the file is one list, and has none called {part!r}", file=path, hint="leave the name out")
    return make_list(content, str(given), part or path.name)


def split_name(text: str) -> tuple[Path, str | None]:
    """FILE, or FILE:NAME where there is no such file."""
    whole, (front, colon, part) = check_path(text), text.rpartition(":")
    if whole.exists() or not colon or not part or not check_path(front or ".").is_file():
        return whole, None
    return check_path(front), part


def make_list(content: object, name: str, label: str) -> IdList:
    if not isinstance(content, list):
        raise InputError(f"expected a list of ids, saw {shown(content)}", file=name, hint=SHAPE)
    if not content:
        raise InputError("the list has no ids", file=name, hint=SHAPE)
    for i, id in enumerate(content):
        if not isinstance(id, str | int) or isinstance(id, bool) or id == "":
            raise InputError(f"expected an id, saw {shown(id)}", file=name, field=f"entry {i}", hint=SHAPE)
    ids = frozenset(map(str, content))
    return IdList(name, ids, len(content) - len(ids), label)
