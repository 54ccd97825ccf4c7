"""Lint: problems in annotations and predictions, before they are scored. One small function per check."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.checks._check import (
    Check,
    CheckRequest,
    Facts,
    Finding,
    Kind,
    Mended,
    Place,
    Report,
    examine,
    examine_items,
)
from fabula.checks._repair import Deed, repair
from fabula.core.errors import SpecError
from fabula.core.registry import Room, close_to, key
from fabula.documents.document import open_document

__all__ = [
    "Check",
    "CheckRequest",
    "Deed",
    "Facts",
    "Finding",
    "Kind",
    "Mended",
    "Place",
    "Report",
    "checks",
    "examine",
    "examine_items",
    "kind_of",
    "repair",
]

room = Room(__name__, "CHECKS", "family of checks")
kinds = Room(__name__, "KIND", "kind of file")


def checks(families: Sequence[str] | None = None) -> list[Check]:
    """Every check of this package, or of the modules named, errors first."""
    names = room.modules() if families is None else families
    found = [check for name in names for family in room.load(name) for check in family]
    return sorted(found, key=lambda c: ("error", "warning", "info").index(c.level))


def kind_of(request: CheckRequest, task: str | None = None) -> Kind:
    """The kind of a file, by the task, by the name of its format, or by its beginning; stories by default."""
    known: list[Kind] = list(kinds.all())
    if task is not None:
        for kind in known:
            if key(task) in map(key, (kind.name, *kind.tasks)):
                return kind
        raise SpecError(f"no file is linted for {task!r}; {close_to(task, [t for k in known for t in k.tasks])}")
    ordered = sorted(known, key=lambda kind: kind.last)
    head = open_document(request.path)
    for kind in () if head.holds_only_stories else ordered:
        if kind.named(request.format) if request.format else kind.knows(head):
            return kind
    return ordered[-1]
