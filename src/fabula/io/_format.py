"""What a format is: a name, how to know it, how to read it, how to write it. One file of this room per format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fabula.core.nouns import Corpus, Story
from fabula.io._fields import Source

Holds = Literal["references", "predictions", "either"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format. `sniff` looks at a parsed JSON document (or, with `lines`, at the first line's object)."""

    name: str
    about: str  # one line for `fabula list formats`
    holds: Holds
    sniff: Callable[[Any], bool]
    read: Callable[[Any, Source], Iterator[Story]]  # a document; with `lines`, an iterator of (line number, object)
    write: Callable[[Corpus], Iterable[str]] | None = None  # pieces of text
    lines: bool = False  # JSON Lines: read and written as a stream
    guess: bool = True  # False: same shape as another format, used only when it is named
    header: Callable[[Any], dict[str, object]] = lambda document: {}
