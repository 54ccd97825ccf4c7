"""File ↔ core: shelves by kind of data, one file per format; each says in its report what it fixed and what it lost.

stories    events of videos; `read` and `write` here are theirs        answers   free-form answers, read as stories
captions   single captions with references     identity  people in sets of clips
moments    queries and rankings                regions   captioned boxes
questions  answers in words, and what they are held against
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula._kernels import native
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.registry import close_to
from fabula.data.stories import Corpus, Story
from fabula.documents.columns import Plain, read_plain
from fabula.documents.fields import Source, describe_value, is_encodable
from fabula.documents.files import (
    LINES,
    PARQUET,
    PARTS,
    LineBytes,
    check_path,
    find_parts,
    has_lines,
    is_table,
    load_json,
    name_unit,
    parse_document,
    pause_collector,
    read_objects,
    write_bytes,
    write_text,
)
from fabula.documents.head import Head
from fabula.documents.safe_open import read_bytes
from fabula.io.format import Format, note_losses
from fabula.io.shelf import SHELVES, list_known

if TYPE_CHECKING:
    from fabula.io.pieces import Piece

__all__ = ["Format", "all_formats", "cut_pieces", "find", "formats", "read", "read_piece", "write"]

SHELF = SHELVES["stories"]
OWN = "fabula"  # the format of Parquet, of folders, and of pieces


def formats() -> list[Format]:
    """Every format of stories, by file name."""
    return SHELF.formats()


def all_formats() -> list[Format]:
    """Every format of every task: stories first, then moments and regions, then the others, each by file name."""
    others = [pair for kind in ("captions", "identity", "questions") for pair in SHELVES[kind].by_place()]
    rest = [format for _, format in sorted(others, key=lambda pair: pair[0])]
    return [*(format for kind in ("stories", "moments", "regions") for format in SHELVES[kind].formats()), *rest]


def find(name: str) -> tuple[Format, str | None]:
    """The format called `name`, or `name:argument`, and the argument."""
    called, colon, argument = name.partition(":")
    format = SHELF.find(called)
    if format is None:
        raise SpecError(f"no format is called {called!r}; {close_to(called, [f.name for f in formats()])}")
    if colon and format.argument is None:
        raise SpecError(f"the format {format.name!r} takes no argument; leave {colon + argument!r} out")
    if colon and not argument:
        raise SpecError(f"{name!r}: nothing follows the colon; it may be {format.argument}")
    return format, argument or None


def read(path: Any, format: str | None = None) -> tuple[Corpus, Notes]:
    """A file, or a folder of them, as a corpus, and what the reader noticed; or an object of the same shape.

    The format is known by its shape unless it is named. The files of a folder (.jsonl, .jsonl.gz, .parquet) are one
    corpus, in the order of their names. Objects: dicts, lists, iterators, frames (io/given/).

    Examples:

        >>> corpus, notes = fabula.read(demo.SYSTEMS["good"])
        >>> len(corpus), notes.lines()
        (15, [])
    """
    if not isinstance(path, str | Path):
        from fabula.io.given import Hint, hold, read_stories

        known = Hint("stories", format=format)
        if (corpus := read_stories(path, known)) is not None:
            return corpus, Notes()
        path = hold(path, known)
    path = check_path(path)
    chosen, argument = find(format) if format else (None, None)
    whole = Source(path, argument=argument)
    stories: dict[str, Story] = {}
    where: dict[str, Path] = {}
    kinds: dict[str, dict[str, object]] = {}
    with pause_collector():
        for part in [path] if gathers(path, chosen) else list_files(path, whole.notes):
            source = replace(whole, path=part, unit=name_unit(part))  # notes and extras are shared
            document, found = open_document(part, chosen)
            kinds[found.name] = find_header(document, found)
            is_part = part != path
            for story in read_document(document, found, source):
                if story.id in stories:
                    raise refuse_twin(source, story.id, where.get(story.id, part))
                stories[story.id] = story
                if is_part:
                    where[story.id] = part
    if len(kinds) > 1:
        hint = "keep files of one format in it, or name the format"
        raise InputError(f"holds files of several formats: {', '.join(kinds)}", file=path, hint=hint)
    close_source(whole, empty=not stories)
    ((name, header),) = kinds.items()
    named = name if argument is None else f"{name}:{argument}"
    beside: dict[str, Any] = {"external": header, "aliases": whole.aliases, "categories": whole.categories}
    return Corpus(stories, name=str(path), format=named, **beside), whole.notes


def find_header(document: Any, format: Format) -> dict[str, object]:
    if format.header is None:
        return {}
    if isinstance(document, Plain):
        return document.read.header
    return format.header(document) if isinstance(document, dict) else {}


def read_document(document: Any, format: Format, source: Source) -> Iterator[Story]:
    """The stories of a document, wherever it comes from; of lines, of numbered objects."""
    assert format.read_stories is not None
    if isinstance(document, Plain):
        yield from document.stories(source)
        return
    for story in format.read_stories(document, source):
        check_id(story, source)
        yield story


def refuse_twin(source: Source, video: str, first: Path) -> InputError:
    """An id that stands in two files of a folder, or twice in a document without lines."""
    problem = "this video id stands twice" + (f", first in {first.name}" if first != source.path else "")
    return source.wrong(problem, video, None, "keep one of the two")


def gathers(path: Path, chosen: Format | None) -> bool:
    """True for a folder that the format reads as a tree of its own."""
    return chosen is not None and chosen.gathers is not None and path.is_dir()


def list_files(path: Path, notes: Notes) -> list[Path]:
    """The files of a folder; a file itself."""
    found, passed = find_parts(path)
    for name in passed:
        notes.add(f"{{n}} files of the folder {path} were passed over", name)
    return found


def cut_pieces(path: str | Path, format: str | None = None) -> tuple[list[Piece], Notes, str] | None:
    """Fabula's own lines, of a file or a folder, in pieces to be read apart; None where the file is of another format.

    With what was noticed, and a digest of what stands in the files.
    """
    path, notes = check_path(path), Notes()
    chosen = find(format)[0] if format else None
    files = list_files(path, notes)
    for file in files:
        if not (chosen.lines if chosen else file.name.endswith(PARTS)):
            return None
        if open_document(file, chosen)[1].name != OWN:
            return None
    import hashlib

    from fabula.io.pieces import cut_file

    cuts = [cut_file(file) for file in files]
    made = hashlib.blake2b(b"".join(d for _, d in cuts), digest_size=16)
    return [piece for some, _ in cuts for piece in some], notes, made.hexdigest()


def digest_files(path: str | Path) -> str:
    """Of what stands in a file, or in the files of a folder."""
    import hashlib

    from fabula.io.pieces import cut_file

    made = hashlib.blake2b(digest_size=16)
    for file in list_files(check_path(path), Notes()):
        made.update(cut_file(file)[1])
    return made.hexdigest()


def read_piece(piece: Piece, source: Source) -> Iterator[tuple[int, Story]]:
    """The stories of a piece with their line numbers. Nothing is kept: ids that stand twice, the caller must see."""
    from fabula.io.stories import fabula_jsonl

    chunks = piece.chunks() if native() is not None else None
    numbered = (
        fabula_jsonl.read_numbered(piece.objects(), source)
        if chunks is None
        else fabula_jsonl.read_chunks(chunks, source)
    )
    for number, story in numbered:
        check_id(story, source)
        yield number, story


def check_id(story: Story, source: Source) -> None:
    if not story.id.isascii() and not is_encodable(story.id):
        raise source.wrong("half a character (a lone surrogate) in a video id", story.id, None, "mend the id")


def close_source(source: Source, empty: bool) -> None:
    """What can be said only when the whole file has been read."""
    source.report()
    if empty:
        source.notes.add("the file has no videos", name_id(str(source.path)))


def open_document(path: Path, chosen: Format | None) -> tuple[Any, Format]:
    """The document, or the stream of a file of lines, and its format."""
    if chosen is not None and chosen.gathers is not None and gathers(path, chosen):
        return chosen.gathers(path), chosen
    if path.suffix == PARQUET:
        from fabula.documents import parquet

        if chosen is not None and chosen.name != OWN:
            raise SpecError(f"{path}: Parquet holds the format 'fabula', not {chosen.name!r}")
        return parquet.read_rows(path, path), chosen or find(OWN)[0]
    if chosen is None and is_table(path):
        chosen = sniff_format(Head(path))
    if chosen and chosen.opens:
        return chosen.opens(path), chosen
    if chosen:
        if chosen.lines and (has_lines(path) or not chosen.whole):
            return open_lines(path, chosen) or read_objects(path), chosen
        if not chosen.plain or native() is None:
            return load_json(path), chosen
        held = [read_bytes(path)]
        return read_plain(held[0], [chosen.plain]) or parse_document(held, path), chosen
    head = Head(path)
    if head.lines:
        format = sniff_format(head)
        return open_lines(path, format) or head.stream, format
    if head.plain is not None:
        format = sniff_format(Head.of_document(head.plain.sample, str(path)))
        if format.plain == head.plain.kind:
            return head.plain, format
    format = sniff_format(head)
    return head.document, format


def open_lines(path: Path, format: Format) -> LineBytes | None:
    """Lines for the kernel, where it can read them; a pipe is read once, and by those who look at its beginning."""
    return LineBytes(path, path) if format.plain and native() is not None and path.is_file() else None


def read_spoken(path: Path, format: str | None, reader: str) -> str | None:
    """The format's name, with the reader for the words of its answers; as it is where it holds none.

    Who asks has a rule of its own for reading answers: no other is used in its place.
    """
    path = list_files(path, Notes())[0] if path.is_dir() else path
    if format is None and not path.is_file():
        raise SpecError(f"{path} can be read once only, and answers are to be read as {reader} does: name the --format")
    found, argument = (open_document(path, None)[1], None) if format is None else find(format)
    if not found.spoken:
        return format
    if found.spoken == "otherwise":
        able = ", ".join(f.name for f in formats() if f.spoken == "by reader")
        raise SpecError(f"answers of the format {found.name!r} cannot be read as {reader} does; of {able} they can")
    return f"{found.name}:{argument},reader={reader}" if argument else f"{found.name}:reader={reader}"


def refuse_references(head: Head) -> None:
    """Queries or regions that are to be found, where stories are read: who gives them as predictions mixed them up."""
    for task in ("moments", "regions"):
        found = SHELVES[task].sniff(head)
        if found is not None and found.holds == "references":
            problem = f"is of the format {found.name!r}, which holds references of {task}, not predictions"
            raise InputError(problem, file=head.path, hint="name it behind --refs, and the file of a system before it")


def sniff_format(head: Head) -> Format:
    """The first format that knows the document (of JSON Lines: the first line) as its own."""
    if (found := SHELF.sniff(head)) is not None:
        return found
    document = head.sample
    if isinstance(document, dict | list):
        refuse_references(head)
    seen = (
        f"an object with {', '.join(map(shown, list(document)[:4])) or 'no keys'}"
        if isinstance(document, dict)
        else describe_value(document)
    )
    guessed = [f for f in formats() if f.guess and (f.lines if head.lines else f.whole)]
    what = "the first line" if head.lines else "the root"
    hint = list_known(guessed)
    if isinstance(document, dict) and "windows" in document:
        hint = "queries and answers of moments are scored with --task moments, highlights or grounding"
    elif hasattr(head.path, "called"):  # an object in memory (io/given/path.py)
        hint = f"rows of events have the columns video, start, end, caption; {hint}"
    raise InputError(f"{what} is {seen}: no known format", file=head.path, hint=hint)


def check_name(path: Path, name: str) -> None:
    """Refuse a name by which the format would not be known again: a file is lines or one document by its ending."""
    format = find(name)[0]
    if path.suffix == PARQUET or path.is_relative_to("/dev"):
        return
    if format.lines and not has_lines(path):
        problem = f"{format.name} is JSON Lines, which end in {' or '.join(LINES)}"
        raise InputError(problem, file=path, hint="choose a name that ends so")
    if not format.lines and has_lines(path):
        hint = "let the name end in .json"
        raise InputError(f"{format.name} is one JSON document, not lines", file=path, hint=hint)


def write(corpus: Corpus, path: str | Path, format: str) -> Notes:
    """The corpus in a format, whole or not at all; the notes say what the format could not carry.

    Examples:

        >>> corpus, _ = fabula.read(demo.SYSTEMS["good"])
        >>> fabula.write(corpus, "good.jsonl", "fabula").lines()
        ["lost in writing: the header ('version', 'external_data')"]
    """
    chosen, argument = find(format)
    if chosen.write is None:
        raise SpecError(f"the format {format!r} can be read but not written")
    target = Source(check_path(path), argument=argument)
    text: Iterable[str] = chosen.write(corpus, target)
    if target.path.suffix == PARQUET:
        from fabula.documents import parquet

        if chosen.name != OWN:
            raise SpecError(f"{path}: Parquet holds the format 'fabula', not {chosen.name!r}")
        note_losses(corpus, target)
        write_bytes(target.path, [parquet.pack_corpus(corpus, target.path)])
    else:
        write_text(target.path, text)
    return target.notes
