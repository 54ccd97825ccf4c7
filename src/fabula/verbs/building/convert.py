"""fabula.convert: one format into another, with what was fixed and what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula import io
from fabula.core.errors import SpecError
from fabula.core.notes import Notes
from fabula.core.options import Options, option, read_keywords, with_options
from fabula.data.stories import Corpus
from fabula.documents.files import PARTS
from fabula.verbs.keywords import ConvertKeywords, Data

if TYPE_CHECKING:
    from fabula.io.identity.captionsets import SetText


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Options):
    """Keywords of `fabula.convert` and flags of `fabula convert`."""

    to: str | None = option(
        None, "Format to write (fabula list formats). Default by the ending: fabula for .jsonl and .parquet, srt, vtt."
    )
    from_: str | None = option(None, "Format to read. Default: detected from the content.")
    sets: Path | None = option(
        None, "Captions or ids of clips: the file of sets (valSets.csv). Default: five consecutive clips of a film."
    )
    overlapping: bool = option(False, "Without --sets, a set begins at every clip, as training has it.")


@dataclass(frozen=True, slots=True)
class Converted:
    """The stories (or captionsets), and what was remarkable in reading and in writing them."""

    corpus: Corpus
    read: Notes
    written: Notes
    to: str  # the format that was written
    sets: Mapping[str, SetText] | None = None  # of captionsets, and the corpus is empty

    @property
    def warnings(self) -> list[str]:
        return [*self.read.lines(), *self.written.lines()]


@with_options(ConvertOptions)
def convert(
    source: Data, target: str | Path, *, options: ConvertOptions | None = None, **keywords: Unpack[ConvertKeywords]
) -> Converted:
    """Read stories in one format and write them in another; or captionsets, in any that holds them.

    Examples:

        >>> converted = fabula.convert(demo.SYSTEMS["good"], "good.jsonl")
        >>> converted.to, len(converted.corpus)
        ('fabula', 15)
    """
    options = read_keywords("convert", keywords, options or ConvertOptions)
    if isinstance(source, str | Path) and holds_captionsets(Path(source), Path(target), options):
        return convert_captionsets(Path(source), Path(target), options)
    for o in options.changed():
        if o.name in ("sets", "overlapping"):
            raise SpecError(f"{o.flag} applies to captionsets; add --to captionsets")
    to = options.to or guess_format(Path(target))
    io.check_name(Path(target), to)
    corpus, notes = io.read(source, options.from_)
    return Converted(corpus, notes, io.write(corpus, target, to), to)


def holds_captionsets(source: Path, target: Path, options: ConvertOptions) -> bool:
    """By the formats that are named; or captionsets that become a table, which no story does."""
    from fabula.core.registry import key
    from fabula.evaluate.captionsets import NAMES, is_table

    names = {key(name) for name in NAMES}
    if options.to is not None or options.from_ is not None:
        return any(name is not None and key(name) in names for name in (options.to, options.from_))
    if not is_table(target):
        return False
    from fabula.documents.document import open_document
    from fabula.io.identity import is_set

    return is_set(open_document(source).first_entry)


def convert_captionsets(source: Path, target: Path, options: ConvertOptions) -> Converted:
    """Captionsets, captions of clips and ids of clips, each into the others."""
    from fabula.core.registry import close_to, key
    from fabula.evaluate.captionsets import NAMES, read_captionsets, write_captionsets

    to = None if options.to is None else next((name for name in NAMES if key(name) == key(options.to)), options.to)
    if to is not None and to not in NAMES:
        raise SpecError(f"captionsets are not written as {to!r}; {close_to(to, list(NAMES))}")
    if options.overlapping and options.sets is not None:
        raise SpecError("--overlapping only applies without --sets")
    notes, format = Notes(), options.from_
    sets = read_captionsets(
        source,
        notes,
        format if format is None or key(format) not in {key(name) for name in NAMES[1:]} else None,
        options.sets,
        "overlapping" if options.overlapping else "disjoint",
    )
    to = write_captionsets(sets, target, to)
    return Converted(Corpus({}, name=str(source), format="captionsets"), notes, Notes(), to, sets)


def guess_format(target: Path) -> str:
    """Fabula's own, where the ending is that of lines or Parquet; a document may be of several formats."""
    if target.name.endswith(PARTS):
        return io.OWN
    for format in io.formats():
        if format.texts and target.name.lower().removesuffix(".gz").endswith(format.pattern[1:]):
            return format.name
    if target.suffix.lower() not in (".json", ".gz", "") and not target.is_relative_to("/dev"):
        raise SpecError(
            f"{target}: no format is written as {target.suffix}; "
            "let the name end in .json, .jsonl, .parquet, .srt or .vtt"
        )
    able = [f.name for f in io.formats() if f.write and not f.lines]
    raise SpecError(f"{target} may be of several formats; say which: {', '.join(f'--to {name}' for name in able)}")
