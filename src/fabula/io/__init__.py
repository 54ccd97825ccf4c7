"""File ↔ core: one file per format; each says in its report what it fixed and what it lost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, named
from fabula.core.nouns import Corpus, Story
from fabula.core.registry import Room, close_to, key
from fabula.io import _files, _parquet, _pieces, fabula_jsonl
from fabula.io._fields import Source, encodable, kind
from fabula.io._format import Format, losses
from fabula.io._pieces import Piece

__all__ = ["Format", "Piece", "formats", "pieces", "read", "told", "write"]

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
    """A file, or a folder of them, as a corpus, and what the reader noticed.

    The format is known by its shape unless it is named. The files of a folder (.jsonl, .jsonl.gz, .parquet) are one
    corpus, in the order of their names.
    """
    path = usable(path)
    chosen, argument = find(format) if format else (None, None)
    whole = Source(path, argument=argument)
    stories: dict[str, Story] = {}
    where: dict[str, Path] = {}
    kinds: dict[str, dict[str, object]] = {}
    with _files.collector_paused():
        for part in listed(path, whole.notes):
            source = replace(whole, path=part, unit=_pieces.unit(part))  # notes and extras are shared
            document, found = opened(part, chosen)
            kinds[found.name] = found.header(document) if isinstance(document, dict) else {}
            for story in found.read(document, source):
                if story.id in stories:
                    raise twice(source, story.id, where.get(story.id, part))
                check_id(story, source)
                stories[story.id] = story
                if part != path:
                    where[story.id] = part
    if len(kinds) > 1:
        hint = "keep files of one format in it, or name the format"
        raise InputError(f"holds files of several formats: {', '.join(kinds)}", file=path, hint=hint)
    close(whole, empty=not stories)
    ((name, header),) = kinds.items()
    return Corpus(
        stories, name=str(path), format=name if argument is None else f"{name}:{argument}", external=header
    ), whole.notes


def twice(source: Source, video: str, first: Path) -> InputError:
    """An id that stands in two files of a folder, or twice in a document without lines."""
    problem = "this video id stands twice" + (f", first in {first.name}" if first != source.path else "")
    return source.wrong(problem, video, None, "keep one of the two")


def listed(path: Path, notes: Notes) -> list[Path]:
    """The files of a folder; a file itself."""
    found, passed = _pieces.parts(path)
    for name in passed:
        notes.add(f"{{n}} files of the folder {path} were passed over", name)
    return found


def pieces(path: str | Path, format: str | None = None) -> tuple[list[Piece], Notes, str] | None:
    """Fabula's own lines, of a file or a folder, in pieces to be read apart; None where the file is of another format.

    With what was noticed, and a digest of what stands in the files.
    """
    path, notes = usable(path), Notes()
    chosen = find(format)[0] if format else None
    files = listed(path, notes)
    for file in files:
        if not (chosen.lines if chosen else file.name.endswith(_pieces.PARTS)):
            return None
        if opened(file, chosen)[1] is not fabula_jsonl.FORMAT:
            return None
    cuts = [_pieces.cut(file) for file in files]
    made = hashlib.blake2b(b"".join(d for _, d in cuts), digest_size=16)
    return [piece for some, _ in cuts for piece in some], notes, made.hexdigest()


def digest(path: str | Path) -> str:
    """Of what stands in a file, or in the files of a folder."""
    made = hashlib.blake2b(digest_size=16)
    for file in listed(usable(path), Notes()):
        made.update(_pieces.cut(file)[1])
    return made.hexdigest()


def told(piece: Piece, source: Source) -> Iterator[tuple[int, Story]]:
    """The stories of a piece with their line numbers. Nothing is kept: ids that stand twice, the caller must see."""
    for number, story in fabula_jsonl.stories(piece.objects(), source):
        check_id(story, source)
        yield number, story


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
    if path.suffix == _parquet.SUFFIX:
        if chosen not in (None, fabula_jsonl.FORMAT):
            raise SpecError(f"{path}: Parquet holds the format 'fabula', not {chosen.name!r}")
        return _parquet.rows(path, path), fabula_jsonl.FORMAT
    named = path.name.endswith(_pieces.LINES)
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
        else kind(document)
    )
    shapes = "; ".join(f"{f.name} ({f.about})" for f in guessed)
    what = "the first line" if lines else "the root"
    hint = f"known: {shapes}"
    if isinstance(document, dict) and "windows" in document:
        hint = "queries and answers of moments are scored with --task moments, highlights or grounding"
    raise InputError(f"{what} is {seen}: no known format", file=path, hint=hint)


def check_name(path: Path, name: str) -> None:
    """Refuse a name by which the format would not be known again: a file is lines or one document by its ending."""
    format = find(name)[0]
    if path.suffix == _parquet.SUFFIX or path.is_relative_to("/dev"):
        return
    if format.lines and not path.name.endswith(_pieces.LINES):
        problem = f"{format.name} is JSON Lines, which end in {' or '.join(_pieces.LINES)}"
        raise InputError(problem, file=path, hint="choose a name that ends so")
    if not format.lines and path.name.endswith(_pieces.LINES):
        hint = "let the name end in .json"
        raise InputError(f"{format.name} is one JSON document, not lines", file=path, hint=hint)


def write(corpus: Corpus, path: str | Path, format: str) -> Notes:
    """The corpus in a format, whole or not at all; the notes say what the format could not carry."""
    chosen, argument = find(format)
    if chosen.write is None:
        raise SpecError(f"the format {format!r} can be read but not written")
    target = Source(usable(path), argument=argument)
    text: Iterable[str] = chosen.write(corpus, target)
    if target.path.suffix == _parquet.SUFFIX:
        if chosen is not fabula_jsonl.FORMAT:
            raise SpecError(f"{path}: Parquet holds the format 'fabula', not {chosen.name!r}")
        losses(corpus, target)
        _files.write_bytes(target.path, [_parquet.packed(corpus, target.path)])
    else:
        _files.write_text(target.path, text)
    return target.notes
