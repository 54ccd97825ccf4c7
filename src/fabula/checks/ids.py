"""Checks against references: do the ids meet, and is every video there?"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.checks._check import Check, Facts, Place
from fabula.core.errors import shown


def unknown(facts: Facts) -> Iterator[Place]:
    if facts.known is not None:
        yield from (Place(id) for id in facts.ids if id not in facts.known)


def strangers(facts: Facts) -> Iterator[Place]:
    if facts.known and facts.ids and not facts.known.intersection(facts.ids):
        first = shown(min(map(str, facts.known)))
        yield Place(None, None, f"the file has {shown(facts.ids[0])}, the references {first}")


def missing(facts: Facts) -> Iterator[Place]:
    if facts.known is not None:
        here = set(facts.ids)
        yield from (Place(id) for id in sorted(facts.known, key=str) if id not in here)


CHECKS = (
    Check("no-common-id", "error", "No id of the file is among the references.", strangers),
    Check("unknown-id", "warning", "The id is not in the references: it is not scored.", unknown),
    Check(
        "missing-id", "warning", "The references have this id, the file has not: scored as zero or dropped.", missing
    ),
)
