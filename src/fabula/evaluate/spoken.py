"""Answers in words, read as the metrics of a request want them: a story metric with a `reader` says by whose rules."""

from __future__ import annotations

from pathlib import Path

from fabula import io
from fabula.core.errors import SpecError
from fabula.data.stories import Corpus
from fabula.documents.files import check_path
from fabula.evaluate.base import Readable, Request

OURS = "fabula"


def reader_of(request: Request) -> str:
    """The one reader of all metrics: two would need two readings of the file."""
    readers = {m.param("reader", OURS): m for m in request.metrics or () if m.reads == "stories"}
    if len(readers) > 1:
        told = " and ".join(f"{m.title} as {reader} does" for reader, m in readers.items())
        raise SpecError(f"{told}: answers are read in one way at a time; score one metric after the other")
    return next(iter(readers), OURS)


def listen(request: Request) -> tuple[Readable, str | None]:
    """The predictions and their format, with the reader for words where there are any.

    Answers that were read by our rules already are read again from their file.
    """
    given, format, reader = request.predictions, request.options.format, reader_of(request)
    if reader == OURS:
        return given, format
    if not isinstance(given, Corpus):
        return given, io.read_spoken(check_path(given), format, reader)
    called, _, argument = given.format.partition(":")
    found = io.find(called)[0] if called else None
    if found is None or not found.spoken or f"reader={reader}" in argument.split(","):
        return given, format
    return Path(given.name), io.read_spoken(check_path(given.name), given.format, reader)
