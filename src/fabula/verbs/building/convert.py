"""fabula.convert: one format into another, with what was fixed and what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from fabula import io
from fabula.core.errors import SpecError
from fabula.core.notes import Notes
from fabula.core.options import Options, option, read_keywords, with_options
from fabula.data.stories import Corpus
from fabula.documents.files import PARTS
from fabula.verbs.keywords import ConvertKeywords, Data


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Options):
    """Keywords of `fabula.convert` and flags of `fabula convert`."""

    to: str | None = option(None, "Format to write (fabula list formats). Default for .jsonl and .parquet: fabula.")
    from_: str | None = option(None, "Format to read. Default: detected from the content.")


@dataclass(frozen=True, slots=True)
class Converted:
    """The stories, and what was remarkable in reading and in writing them."""

    corpus: Corpus
    read: Notes
    written: Notes
    to: str  # the format that was written

    @property
    def warnings(self) -> list[str]:
        return [*self.read.lines(), *self.written.lines()]


@with_options(ConvertOptions)
def convert(
    source: Data, target: str | Path, *, options: ConvertOptions | None = None, **keywords: Unpack[ConvertKeywords]
) -> Converted:
    """Read stories in one format and write them in another.

    Examples:

        >>> converted = fabula.convert(demo.SYSTEMS["good"], "good.jsonl")
        >>> converted.to, len(converted.corpus)
        ('fabula', 15)
    """
    options = read_keywords("convert", keywords, options or ConvertOptions)
    to = options.to or guess_format(Path(target))
    io.check_name(Path(target), to)
    corpus, notes = io.read(source, options.from_)
    return Converted(corpus, notes, io.write(corpus, target, to), to)


def guess_format(target: Path) -> str:
    """Fabula's own, where the ending is that of lines or Parquet; a document may be of several formats."""
    if target.name.endswith(PARTS):
        return io.OWN
    if target.suffix.lower() not in (".json", ".gz", "") and not target.is_relative_to("/dev"):
        raise SpecError(
            f"{target}: no format is written as {target.suffix}; let the name end in .json, .jsonl or .parquet"
        )
    able = [f.name for f in io.formats() if f.write and not f.lines]
    raise SpecError(f"{target} may be of several formats; say which: {', '.join(f'--to {name}' for name in able)}")
