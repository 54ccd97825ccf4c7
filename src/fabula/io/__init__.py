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
from fabula.core.registry import close_to, key
from fabula.data.stories import Corpus, Story
from fabula.documents import objects
from fabula.documents.columns import Plain
from fabula.documents.document import Document, FileDocument, ObjectDocument, open_document
from fabula.documents.fields import Source, describe_value, is_encodable
from fabula.documents.files import (
    LINES,
    PARQUET,
    PARTS,
    SUBTITLES,
    LineBytes,
    check_path,
    has_lines,
    name_write_failures,
    pause_collector,
    write_bytes,
    write_text,
)
from fabula.documents.tables import read_rows
from fabula.io.format import Format, note_losses
from fabula.io.shelf import SHELVES, list_known

if TYPE_CHECKING:
    from fabula.documents.safe_open import File
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


def read(path: object, format: str | None = None) -> tuple[Corpus, Notes]:
    """A file, or a folder of them, as a corpus, and what the reader noticed; or an object of the same shape.

    The format is known by its shape unless it is named. The files of a folder (.jsonl, .jsonl.gz, .parquet) are one
    corpus, in the order of their names. Objects: dicts, lists, iterators, frames (documents/objects.py).

    Examples:

        >>> corpus, notes = fabula.read(demo.SYSTEMS["good"])
        >>> len(corpus), notes.lines()
        (15, [])
    """
    document = take(path, "stories", format=format)
    if isinstance(document, Corpus):
        return document, Notes()
    chosen, argument = find(format) if format else (None, None)
    whole = Source(document, argument=argument)
    stories: dict[str, Story] = {}
    where: dict[str, Document] = {}
    kinds: dict[str, dict[str, object]] = {}
    with pause_collector():
        for part in [document] if gathers(document, chosen) else list_parts(document, whole.notes):
            source = replace(whole, document=part)  # notes and extras are shared
            content, found = open_stories(part, chosen)
            kinds[found.name] = find_header(content, found)
            for story in read_document(content, found, source):
                if story.id in stories:
                    raise refuse_twin(source, story.id, where.get(story.id, part))
                stories[story.id] = story
                if part is not document:
                    where[story.id] = part
    if len(kinds) > 1:
        hint = "keep files of one format in it, or name the format"
        raise InputError(f"holds files of several formats: {', '.join(kinds)}", file=document, hint=hint)
    close_source(whole, empty=not stories)
    ((name, header),) = kinds.items()
    named = name if argument is None else f"{name}:{argument}"
    beside: dict[str, Any] = {"external": header, "aliases": whole.aliases, "categories": whole.categories}
    return Corpus(stories, name=str(document), format=named, **beside), whole.notes


def wrap(
    value: object, name: str, role: str = "predictions", task: str | None = None, format: str | None = None
) -> Document:
    """The document of a path or of an object; `name` is what messages call an object."""
    if isinstance(value, str | Path | Document):
        return open_document(value)
    return objects.wrap(value, make_hint(name, role, task, format))


def take(
    value: object, name: str, role: str = "predictions", task: str | None = None, format: str | None = None
) -> Document | Corpus:
    """The same; an object of plain stories as the corpus that it is."""
    if isinstance(value, str | Path | Document):
        return open_document(value)
    stories = objects.read_stories(value, make_hint(name, role, task, format))
    return wrap(value, name, role, task, format) if stories is None else stories


def make_hint(name: str, role: str, task: str | None, format: str | None) -> objects.Hint:
    called = key((format or "").partition(":")[0])
    lines = next((f.lines for f in all_formats() if key(f.name) == called), None) if called else None
    return objects.Hint(name, role, task, format, lines)


def find_header(content: Any, format: Format) -> dict[str, object]:
    if format.header is None:
        return {}
    if isinstance(content, Plain):
        return content.read.header
    return format.header(content) if isinstance(content, dict) else {}


def read_document(content: Any, format: Format, source: Source) -> Iterator[Story]:
    """The stories of a document, wherever it comes from; of lines, of numbered objects."""
    assert format.read_stories is not None
    if isinstance(content, Plain):
        yield from content.stories(source)
        return
    for story in format.read_stories(content, source):
        check_id(story, source)
        yield story


def refuse_twin(source: Source, video: str, first: Document) -> InputError:
    """An id that stands in two files of a folder, or twice in a document without lines."""
    problem = "this video id stands twice" + (f", first in {first.filename}" if first is not source.document else "")
    return source.wrong(problem, video, None, "keep one of the two")


def gathers(document: Document, chosen: Format | None) -> bool:
    """True for a folder that the format reads as a tree of its own."""
    return chosen is not None and chosen.gathers is not None and document.is_folder


def list_parts(document: Document, notes: Notes) -> list[Document]:
    """The files of a folder; a file itself."""
    found, skipped = document.parts()
    for name in skipped:
        notes.add(f"{{n}} files of the folder {document} were skipped", name)
    return found


def cut_pieces(file: str | File, format: str | None = None) -> tuple[list[Piece], Notes, str] | None:
    """Fabula's own lines, of a file or a folder, in pieces to be read apart; None where the file is of another format.

    With what was noticed, and a digest of what stands in the files.
    """
    document, notes = open_document(file), Notes()
    chosen = find(format)[0] if format else None
    files = list_parts(document, notes)
    for part in files:
        if not isinstance(part, FileDocument) or not (chosen.lines if chosen else part.filename.endswith(PARTS)):
            return None
        if open_stories(part, chosen)[1].name != OWN:
            return None
    import hashlib

    from fabula.io.pieces import cut_file

    cuts = [cut_file(part.path) for part in files if isinstance(part, FileDocument)]
    digest = hashlib.blake2b(b"".join(d for _, d in cuts), digest_size=16)
    return [piece for pieces, _ in cuts for piece in pieces], notes, digest.hexdigest()


def digest_files(file: str | File) -> str:
    """Of what stands in a file, in the files of a folder, or in an object."""
    import hashlib

    from fabula.io.pieces import cut_file

    digest = hashlib.blake2b(digest_size=16)
    for part in list_parts(open_document(file), Notes()):
        digest.update(cut_file(part.path)[1] if isinstance(part, FileDocument) else part.raw())
    return digest.hexdigest()


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
        source.notes.add("the file has no videos", name_id(str(source.document)))


def open_stories(document: Document, chosen: Format | None) -> tuple[Any, Format]:
    """What the document holds (of lines, a stream of it), and its format."""
    if chosen is not None and chosen.gathers is not None and document.is_folder:
        assert isinstance(document, FileDocument)
        return chosen.gathers(document.path), chosen
    if document.is_parquet:
        if chosen is not None and chosen.name != OWN:
            raise SpecError(f"{document}: Parquet holds the format 'fabula', not {chosen.name!r}")
        return document.numbered(), chosen or find(OWN)[0]
    if chosen is None and (document.is_table or document.is_subtitles):
        chosen = sniff_format(document)
    if chosen is not None and chosen.texts:
        return document, chosen
    has_tables = chosen is not None and not (chosen.lines or chosen.whole)  # whatever its files are called
    if chosen and (document.is_table or (has_tables and isinstance(document, FileDocument))):
        return list(read_rows(document, loose=True)), chosen
    if chosen:
        if chosen.lines and (document.lines or not chosen.whole):
            return open_lines(document, chosen), chosen
        return (document.columns([chosen.plain]) if chosen.plain else None) or document.tree(), chosen
    if document.lines:
        format = sniff_format(document)
        return open_lines(document, format), format
    plain = document.columns()
    if plain is not None:
        known = SHELF.sniff(ObjectDocument(plain.sample, str(document), document.ending))
        if known is not None and known.plain == plain.kind:
            return plain, known
    format = sniff_format(document)
    return document.tree(), format


def open_lines(document: Document, format: Format) -> LineBytes | Iterator[tuple[Any, Any]]:
    """Entries and their places; Fabula's own with their numbers, and as bytes where the kernel can read them."""
    if not format.plain:
        return ((document.place(number), entry) for number, entry in document.rest())
    is_text = document.is_lasting and not isinstance(document, ObjectDocument)  # a pipe is read once
    return LineBytes(document) if native() is not None and is_text else document.rest()


def read_spoken(file: str | File, format: str | None, reader: str) -> str | None:
    """The format's name, with the reader for the words of its answers; as it is where it holds none.

    Who asks has a rule of its own for reading answers: no other is used in its place.
    """
    document = open_document(file)
    document = list_parts(document, Notes())[0] if document.is_folder else document
    if format is None and not document.is_lasting:
        raise SpecError(
            f"{document} can be read once only, and answers are to be read as {reader} does: name the --format"
        )
    found, argument = (open_stories(document, None)[1], None) if format is None else find(format)
    if not found.spoken:
        return format
    if found.spoken == "otherwise":
        able = ", ".join(f.name for f in formats() if f.spoken == "by reader")
        raise SpecError(f"answers of the format {found.name!r} cannot be read as {reader} does; of {able} they can")
    return f"{found.name}:{argument},reader={reader}" if argument else f"{found.name}:reader={reader}"


def refuse_references(document: Document) -> None:
    """Queries or regions that are to be found, where stories are read: who gives them as predictions mixed them up."""
    for task in ("moments", "regions"):
        found = SHELVES[task].sniff(document)
        if found is not None and found.holds == "references":
            problem = f"is of the format {found.name!r}, which holds references of {task}, not predictions"
            raise InputError(problem, file=document, hint="name it behind --refs, and the file of a system before it")


def sniff_format(document: Document) -> Format:
    """The first format that knows the document (of JSON Lines: the first line) as its own."""
    if (found := SHELF.sniff(document)) is not None:
        return found
    sample = document.sample
    if isinstance(sample, dict | list):
        refuse_references(document)
    seen = (
        f"an object with {', '.join(map(shown, list(sample)[:4])) or 'no keys'}"
        if isinstance(sample, dict)
        else describe_value(sample)
    )
    guessed = [f for f in formats() if f.guess and (f.lines if document.lines else f.whole)]
    what = "the first line" if document.lines else "the root"
    hint = list_known(guessed)
    if isinstance(sample, dict) and "windows" in sample:
        hint = "queries and answers of moments are scored with --task moments, highlights or grounding"
    elif isinstance(document, ObjectDocument):
        hint = f"rows of events have the columns video, start, end, caption; {hint}"
    raise InputError(f"{what} is {seen}: no known format", file=document, hint=hint)


def check_name(path: Path, name: str) -> None:
    """Refuse a name by which the format would not be known again: a file is lines or one document by its ending."""
    format = find(name)[0]
    if path.suffix == PARQUET or path.is_relative_to("/dev"):
        return
    if format.texts:
        if path.suffix and not path.is_dir() and not is_one_text(path, format):
            hint = f"let the name end in .{format.name}, or name a folder, where each film becomes a file"
            raise InputError(f"{format.name} is text of one film", file=path, hint=hint)
        return
    if path.name.lower().endswith(SUBTITLES):
        problem = f"{format.name} is no format of subtitles"
        raise InputError(problem, file=path, hint="choose a name that does not end so")
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
    path = check_path(path)
    if chosen.texts and not is_one_text(path, chosen):
        return write_folder(corpus, path, chosen, argument)
    target = Source(open_document(path), argument=argument)
    text: Iterable[str] = chosen.write(corpus, target)
    if path.suffix == PARQUET:
        from fabula.documents import parquet

        if chosen.name != OWN:
            raise SpecError(f"{path}: Parquet holds the format 'fabula', not {chosen.name!r}")
        note_losses(corpus, target)
        write_bytes(path, [parquet.pack_corpus(corpus, path)])
    else:
        write_text(path, text)
    return target.notes


def is_one_text(path: Path, format: Format) -> bool:
    """Whether a path is a file of such texts, not a folder of them; a device or a pipe takes one."""
    if path.is_dir():
        return False
    is_device = path.exists() and not path.is_file()
    return is_device or path.name.lower().removesuffix(".gz").endswith(format.pattern[1:])


def write_folder(corpus: Corpus, folder: Path, format: Format, argument: str | None) -> Notes:
    """A file for each story. A new folder appears whole; of one that is there, each file is replaced whole."""
    from fabula.core import atomic
    from fabula.io.subtitles.story import name_file

    notes, ending = Notes(), format.pattern[1:]
    texts: dict[Path, list[str]] = {}
    assert format.write is not None
    for id, story in corpus.items():
        target = Source(FileDocument(name_file(folder, id, ending)), notes, argument)
        one = replace(corpus, stories={id: story}, external={}, categories={})
        texts[name_file(folder, id, ending)] = list(format.write(one, target))
    note_losses(replace(corpus, stories={}), Source(FileDocument(folder), notes))
    with name_write_failures(folder):
        if not folder.exists():
            with atomic.beside(folder) as place:
                (place / "folder").mkdir()
                for path, text in texts.items():
                    write_text(place / "folder" / path.name, text)
                atomic.take_new_folder_place(place / "folder", folder)
            return notes
        for other in sorted(folder.iterdir()):
            if other not in texts and other.name.lower().endswith(SUBTITLES):
                notes.add(f"{{n}} other files of subtitles are in the folder {folder}", other.name)
    for path, text in texts.items():
        write_text(path, text)
    return notes
