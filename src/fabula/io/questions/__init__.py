"""Answers in a model's words with what they are held against: in one file, or answers apart from the truth.

Files meet by id. An id that one file writes as a number and the other as text is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.registry import close_to
from fabula.data.questions import Response
from fabula.documents.document import Document, FileDocument, open_document
from fabula.documents.fields import Source
from fabula.documents.files import has_lines
from fabula.io.format import Format, Holds
from fabula.io.idlist import IdList
from fabula.io.shelf import SHELVES, list_known

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

Responses = dict[str, Response]  # by their ids as text


SHELF = SHELVES["questions"]


def formats() -> list[Format]:
    """Every format of questions, by file name."""
    return SHELF.formats()


def read_responses(path: str | File, notes: Notes, format: str | None = None, role: Holds = "predictions") -> Responses:
    """All of a file, by id."""
    name, _, argument = (format or "").partition(":")
    source = Source(open_document(path), notes, noun="item", argument=argument or None)
    chosen = choose_format(source.document, name or None, role)
    if argument and chosen.argument is None:
        raise SpecError(f"the format {chosen.name!r} takes no argument; leave {':' + argument!r} out")
    assert chosen.read_responses is not None
    found = Responses()
    for response in chosen.read_responses(source):
        if str(response.id) in found:
            raise source.wrong("this id stands twice", response.id, None, "keep one of the two")
        found[str(response.id)] = response
    source.report()
    return found


def choose_format(file: str | File, name: str | None, role: Holds) -> Format:
    """The format of a file: the one that is named, or the first that knows how it begins."""
    if name is not None:
        format = SHELF.find(name)
        if format is None:
            able = [f.name for f in formats() if f.holds in (role, "either")]
            raise SpecError(f"no format of questions is called {name!r}; {close_to(name, able)}")
        if role != "either" and format.holds not in (role, "either"):
            raise SpecError(f"the format {format.name!r} holds {format.holds}, not {role}")
        return format
    document = open_document(file)
    if (found := SHELF.sniff(find_first(document), role)) is not None:
        return found
    raise InputError(f"no known format of {role}", file=document, hint=list_known(formats()), noun="item")


def find_first(document: Document) -> Document:
    """The file by which a folder is known."""
    if not (isinstance(document, FileDocument) and document.is_folder):
        return document
    files = sorted(p for p in document.path.iterdir() if has_lines(p))
    if not files:
        raise InputError("the folder has no .jsonl", file=document, hint="name the file, or the folder that holds it")
    return open_document(files[0])


def join_responses(
    answers: Responses, truth: Sequence[Responses], path: object, notes: Notes, only: IdList | None = None
) -> list[Response]:
    """What the references hold, in their order, with the answers of the other file."""
    known: Responses = {}
    for side in truth:
        for id, response in side.items():
            if id in known:
                raise InputError("two reference files have this id", video=id, noun="item", hint="keep one of the two")
            known[id] = response
    if only is not None:
        known = only.limit(known, notes)
    unknown = [id for id in answers if id not in known]
    if answers and len(unknown) == len(answers):
        both = f"predictions have {shown(unknown[0])}, references {shown(next(iter(known), None))}"
        raise InputError("no answer is to a question of the references", file=path, hint=f"compare the ids: {both}")
    for id in unknown:
        notes.add("{n} answers are to no question of the references and are not scored", name_id(id))
    return [replace(r, answer=answers[id].answer if id in answers else None) for id, r in known.items()]
