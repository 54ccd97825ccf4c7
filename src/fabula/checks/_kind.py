"""A kind of file for lint: how it is recognised, checked and repaired. One module of this package per kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.checks._examine import Report
from fabula.documents.document import Document

if TYPE_CHECKING:
    from fabula.documents.safe_open import File


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """The file to check, and its references."""

    path: File
    refs: Sequence[File] = ()
    format: str | None = None
    refs_format: str | None = None


@dataclass(frozen=True, slots=True)
class Mended:
    """The repair of a file: the format of the copy, what that format lost, and each change."""

    format: str
    deeds: Sequence[Mapping[str, object]]  # each has "deed" and its place
    meanings: Mapping[str, str]  # what each deed means
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file."""

    name: str
    tasks: tuple[str, ...]
    knows: Callable[[Document], bool]  # recognises the beginning of a file
    named: Callable[[str], bool]  # recognises the name of a format
    look: Callable[[CheckRequest], tuple[Report, str]]  # findings, and the name of the format
    mend: Callable[[CheckRequest, Path], Mended]
    last: int = 0  # tried after kinds of a smaller number: its shape includes theirs
