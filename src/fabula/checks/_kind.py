"""What a kind of file is for lint: how it is known, looked at and mended. One file of this room per kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabula.checks._examine import Report
from fabula.io.head import Head


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What a user wants looked at."""

    path: Path
    refs: Sequence[Path] = ()
    format: str | None = None
    refs_format: str | None = None


@dataclass(frozen=True, slots=True)
class Mended:
    """What became of a file: where the copy is, in which format, what that lost, and each deed."""

    format: str
    deeds: Sequence[Mapping[str, Any]]  # each has "deed", and where it was done
    meanings: Mapping[str, str]  # a deed in words
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file."""

    name: str
    tasks: tuple[str, ...]
    knows: Callable[[Head], bool]  # by how the file begins
    named: Callable[[str], bool]  # by the name of a format
    look: Callable[[CheckRequest], tuple[Report, str]]  # what is odd, and the name of the format
    mend: Callable[[CheckRequest, Path], Mended]
    last: int = 0  # asked after those of a smaller number: a kind whose shape holds others' too
