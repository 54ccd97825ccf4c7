"""File ↔ core: one file per format; each says in its report what it fixed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, named
from fabula.core.nouns import Corpus, Story
from fabula.core.registry import close_to
from fabula.io import _files
from fabula.io._fields import Source
from fabula.io._format import Format

__all__ = ["Format", "formats", "read", "write"]

HELPERS = ("segments", "ids")  # public modules of this room that are not formats


def formats() -> list[Format]:
    """Every format of this room, by file name."""
    import importlib
    import pkgutil

    names = sorted(
        m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_") and m.name not in HELPERS
    )
    return [importlib.import_module(f"{__name__}.{name}").FORMAT for name in names]


def find(name: str) -> Format:
    for format in formats():
        if format.name == name:
            return format
    raise SpecError(f"no format is called {name!r}; {close_to(name, [f.name for f in formats()])}")


def read(path: str | Path, format: str | None = None) -> tuple[Corpus, Notes]:
    """A file as a corpus, and what the reader noticed. The format is known by its shape unless it is named."""
    path = Path(path)
    source = Source(path)
    lined = find(format).lines if format else ".jsonl" in path.suffixes[-2:]
    document: Any = objects(path) if lined else _files.load_json(path)
    if lined:
        chosen = find(format) if format else next(f for f in formats() if f.lines and f.guess)
        header: dict[str, object] = {}
    else:
        chosen = find(format) if format else sniffed(document, path)
        header = chosen.header(document) if isinstance(document, dict) else {}
    stories: dict[str, Story] = {}
    for story in chosen.read(document, source):
        if story.id in stories:
            raise source.wrong("this video id stands twice", story.id, None, "keep one of the two")
        stories[story.id] = story
    if not stories:
        source.notes.add("the file has no videos", named(str(path)))
    return Corpus(stories, name=str(path), format=chosen.name, external=header), source.notes


def objects(path: Path) -> Iterator[tuple[int, Any]]:
    """The JSON objects of a .jsonl(.gz) file with their line numbers, streamed."""
    return ((number, _files.parse_json(text, path, number)) for number, text in _files.lines(path))


def sniffed(document: Any, path: Path) -> Format:
    for format in formats():
        if format.guess and not format.lines and format.sniff(document):
            return format
    seen = (
        f"an object with {', '.join(map(repr, list(document)[:4])) or 'no keys'}"
        if isinstance(document, dict)
        else (f"a list of {len(document)}" if isinstance(document, list) else f"{type(document).__name__}")
    )
    shapes = "; ".join(f"{f.name} ({f.about})" for f in formats() if f.guess and not f.lines)
    raise InputError(f"the root is {seen[:120]}: no known format", file=path, hint=f"known: {shapes}")


def write(corpus: Corpus, path: str | Path, format: str) -> None:
    """The corpus in a format, whole or not at all."""
    chosen = find(format)
    if chosen.write is None:
        raise SpecError(f"the format {format!r} can be read but not written")
    pieces: Iterable[str] = chosen.write(corpus)
    _files.write_text(Path(path), pieces)
