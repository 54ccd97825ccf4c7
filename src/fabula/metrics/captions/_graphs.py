"""What metrics of scene graphs share (Anderson et al., ECCV 2016): who parses, and what a picture of it shows.

spice  native: our parser (docs/spice.md says how well it agrees) · java: the original, from the extra [spice-java]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from fabula.text import ispice, spice
from fabula.text.spice import SpiceScore
from fabula.text.spice import java as spice_java
from fabula.text.spice.graph import Tuple

Backend = Literal["native", "java"]
ALONE, MATCHED, UNCOUNTED = 0, 1, 2  # what becomes of a tuple

Marked = tuple[Tuple, int]


class Graphs(NamedTuple):
    """Both sides' merged tuples, each with what became of it, and the score."""

    value: float
    candidate: tuple[Marked, ...]
    reference: tuple[Marked, ...]


def parser(backend: Backend) -> Callable[[Sequence[str], Sequence[Sequence[str]]], list[SpiceScore]]:
    return spice.scores if backend == "native" else spice_java.scores


def version(backend: Backend) -> dict[str, str]:
    return {"spice": spice.SCORER.version if backend == "native" else spice_java.VERSION}


def of_spice(s: SpiceScore) -> Graphs:
    """Tuples that are like one of the other side are matched."""
    return Graphs(s.f, *(tuple((t, int(hit)) for t, hit in side) for side in (s.candidate, s.references)))


def of_ispice(s: SpiceScore, ids: int | None) -> Graphs:
    """Tuples that name an id count; they are matched where the other side has the very same."""
    found = ispice.from_spice(s, ids)
    counted = [set(found.candidate), set(found.reference)]

    def mark(side: int, t: Tuple) -> Marked:
        t = tuple(e.lower() for e in t)
        return t, UNCOUNTED if t not in counted[side] else int(t in counted[1 - side])

    sides = (tuple(mark(k, t) for t, _ in side) for k, side in enumerate((s.candidate, s.references)))
    return Graphs(found.value, *sides)


def greatest(ids: str) -> int | None:
    """The greatest id that counts, from its parameter; None for any."""
    return None if ids == "any" else int(ids)
