"""fabula.convert: one format into another, with what was fixed and what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabula import io
from fabula.core.notes import Notes
from fabula.core.nouns import Corpus
from fabula.core.options import MUST, Options, deal, option, takes


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Options):
    """Keywords of `fabula.convert` and flags of `fabula convert`."""

    to: str = option(MUST, "Format to write (fabula list formats).")
    from_: str | None = option(None, "Format to read. Default: known by its shape.")


@dataclass(frozen=True, slots=True)
class Converted:
    """The stories, and what was remarkable in reading and in writing them."""

    corpus: Corpus
    read: Notes
    written: Notes

    @property
    def warnings(self) -> list[str]:
        return [*self.read.lines(), *self.written.lines()]


@takes(ConvertOptions)
def convert(
    source: str | Path, target: str | Path, *, options: ConvertOptions | None = None, **given: Any
) -> Converted:
    """Read stories in one format and write them in another."""
    (options,) = deal("convert", given, options or ConvertOptions)
    io.check_name(Path(target), options.to)
    corpus, notes = io.read(source, options.from_)
    return Converted(corpus, notes, io.write(corpus, target, options.to))
