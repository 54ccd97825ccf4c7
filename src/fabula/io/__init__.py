"""File ↔ core: one file per format; each says in its report what it fixed and what it lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, named
from fabula.core.nouns import Corpus, Story
from fabula.core.registry import Room, close_to, key
from fabula.io import _files, fabula_jsonl
from fabula.io._fields import Source, encodable
from fabula.io._format import Format

__all__ = ["Format", "formats", "read", "stream", "write"]

room = Room(__name__, "FORMAT", "format")


def formats() -> list[Format]:
    """Every format of stories in this room, by file name."""
    return list(room.all())


def find(name: str) -> tuple[Format, str | None]:
    """The format called `name`, or `name:argument`, and the argument."""
    called, colon, argument = name.partition(":")
    for format in formats():
        if key(format.name) == key(called):
            if colon and format.argument is None:
                raise SpecError(f"the format {format.name!r} takes no argument; leave {colon + argument!r} out")
            if colon and not argument:
                raise SpecError(f"{name!r}: nothing follows the colon; it may be {format.argument}")
            return format, argument or None
    raise SpecError(f"no format is called {called!r}; {close_to(called, [f.name for f in formats()])}")


def read(path: str | Path, format: str | None = None) -> tuple[Corpus, Notes]:
    """A file as a corpus, and what the reader noticed. The format is known by its shape unless it is named."""
    path = usable(path)
    chosen, argument = find(format) if format else (None, None)
    source = Source(path, argument=argument)
    with _files.collector_paused():
        document, chosen = opened(path, chosen)
        header = chosen.header(document) if isinstance(document, dict) else {}
        stories: dict[str, Story] = {}
        for story in chosen.read(document, source):
            if story.id in stories:
                raise source.wrong("this video id stands twice", story.id, None, "keep one of the two")
            check_id(story, source)
            stories[story.id] = story
    close(source, empty=not stories)
    name = chosen.name if argument is None else f"{chosen.name}:{argument}"
    return Corpus(stories, name=str(path), format=name, external=header), source.notes


def stream(path: str | Path, format: str | None = None) -> tuple[Source, Iterator[tuple[int, Story]]] | None:
    """Fabula's own JSON Lines a story at a time, with line numbers; None where the file is of another format.

    Nothing is kept: whether an id stands twice, the caller must see. The notes of the source are complete at the end.
    """
    path = usable(path)
    chosen = find(format)[0] if format else None
    if not (chosen.lines if chosen else path.name.endswith((".jsonl", ".jsonl.gz"))):
        return None
    document, chosen = opened(path, chosen)
    if chosen is not fabula_jsonl.FORMAT:
        return None
    source = Source(path)

    def told() -> Iterator[tuple[int, Story]]:
        empty = True
        for number, story in fabula_jsonl.stories(document, source):
            check_id(story, source)
            yield number, story
            empty = False
        close(source, empty)

    return source, told()


def check_id(story: Story, source: Source) -> None:
    if not story.id.isascii() and not encodable(story.id):
        raise source.wrong("half a character (a lone surrogate) in a video id", story.id, None, "mend the id")


def close(source: Source, empty: bool) -> None:
    """What can be said only when the whole file has been read."""
    source.report()
    if empty:
        source.notes.add("the file has no videos", named(str(source.path)))


def opened(path: Path, chosen: Format | None) -> tuple[Any, Format]:
    """The document, or the stream of a file of lines, and its format."""
    named = path.name.endswith((".jsonl", ".jsonl.gz"))
    if not (chosen.lines and (named or not chosen.whole) if chosen else named):
        document = _files.load_json(path)
        return document, chosen or sniffed(document, path)
    stream = objects(path)
    if chosen:
        return stream, chosen
    first = list(islice(stream, 1))
    return chain(first, stream), sniffed(first[0][1] if first else {}, path, lines=True)


def usable(path: str | Path) -> Path:
    if "\0" in str(path):
        raise InputError("a path cannot hold a NUL character", file=shown(str(path)), hint="check the path")
    return Path(path)


def objects(path: Path) -> Iterator[tuple[int, Any]]:
    """The JSON objects of a .jsonl(.gz) file with their line numbers, streamed."""
    return ((number, _files.parse_json(text, path, number)) for number, text in _files.lines(path))


def sniffed(document: Any, path: Path, lines: bool = False) -> Format:
    """The first format, by file name, that knows the document (of JSON Lines: the first line) as its own."""
    guessed = [f for f in formats() if f.guess and (f.lines == lines or f.whole)]
    for format in guessed:
        if format.sniff(document) or (lines and document == {}):  # a file of no lines has no videos in any format
            return format
    seen = (
        f"an object with {', '.join(map(shown, list(document)[:4])) or 'no keys'}"
        if isinstance(document, dict)
        else (f"a list of {len(document)}" if isinstance(document, list) else f"{type(document).__name__}")
    )
    shapes = "; ".join(f"{f.name} ({f.about})" for f in guessed)
    what = "the first line" if lines else "the root"
    raise InputError(f"{what} is {seen}: no known format", file=path, hint=f"known: {shapes}")


def write(corpus: Corpus, path: str | Path, format: str) -> Notes:
    """The corpus in a format, whole or not at all; the notes say what the format could not carry."""
    chosen, argument = find(format)
    if chosen.write is None:
        raise SpecError(f"the format {format!r} can be read but not written")
    target = Source(usable(path), argument=argument)
    pieces: Iterable[str] = chosen.write(corpus, target)
    _files.write_text(target.path, pieces)
    return target.notes
