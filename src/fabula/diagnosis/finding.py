"""Where predictions err, of many videos at once: pieces, parts, pairs and what is left over (diagnosis/errors.py).

A prediction is a piece of one reference at most, the one it shares most with, and a reference a part of one prediction.
So pieces and parts are found for all cells of all videos together; what is matched then is matched video by video.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np

from fabula.core.errors import SpecError
from fabula.core.options import Options, option
from fabula.data.stories import Event, join_spans, join_words
from fabula.diagnosis._assignment import assignment_many
from fabula.match import Pairs
from fabula.match.greedy import greedy_many
from fabula.match.ordered import ordered_many
from fabula.pair.grid import Cells, Grid, Index, Mask, before
from fabula.pair.tiou import Spans, overlap, shared

PERSON = re.compile(r"\b[Pp]\d+\b")
DIGIT = re.compile(r"[Pp]\d")  # found in a third of the time
Thing = TypeVar("Thing")


@dataclass(frozen=True, kw_only=True)
class Limits(Options):
    """From which number on something counts."""

    near: float = option(0.1, "Minimum IoU of a pair.", shows_default=True)
    right: float = option(0.5, "Minimum IoU of a well located pair.", shows_default=True)
    inside: float = option(0.75, "Minimum share of a segment inside another that makes it a piece.", shows_default=True)
    words: float = option(0.2, "Minimum caption score of a right caption.", shows_default=True)
    matching: Literal["greedy", "ordered"] = option(
        "greedy", "Matching of predictions with references.", shows_default=True
    )

    def __post_init__(self) -> None:
        for name in ("near", "right", "inside"):
            if not 0 < getattr(self, name) <= 1:
                raise SpecError(f"{name}={getattr(self, name):g}; it must lie above 0 and at most at 1")
        if self.near > self.right:
            raise SpecError(f"near={self.near:g} is above right={self.right:g}")


@dataclass(frozen=True, slots=True)
class Found:
    """The errors of one story against one reference: indices of references g and predictions p."""

    pairs: Pairs = field(default_factory=list)
    split: list[tuple[int, list[int]]] = field(default_factory=list)  # g, its pieces
    merged: list[tuple[int, list[int]]] = field(default_factory=list)  # p, its parts
    mislocated: Pairs = field(default_factory=list)
    out_of_order: Pairs = field(default_factory=list)  # (p, whose caption belongs there)
    miscaptioned: Pairs = field(default_factory=list)
    identity: Pairs = field(default_factory=list)
    duplicate: list[int] = field(default_factory=list)
    hallucinated: list[int] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)
    unsorted: list[int] = field(
        default_factory=list
    )  # p that start before an earlier one of the file, where order matters

    def count(self, kind: str) -> int:
        return len(getattr(self, kind)) + (len(self.unsorted) if kind == "out_of_order" else 0)


def find_many(grid: Grid, captions: Cells | None, limits: Limits, in_time: bool = True) -> list[Found]:
    """The errors of every two stories of a grid. captions [C]"""
    iou, gold, guess = grid.iou(), grid.gold, grid.guess
    G, P = join_spans(grid.refs), join_spans(grid.preds)  # [ΣG, 2], [ΣP, 2]
    inter = np.where(iou > 0, shared(G[gold], P[guess]), 0.0)
    of_g, of_p = inter / length(G)[gold], inter / length(P)[guess]
    badly = iou <= limits.right

    pieces = (of_p >= limits.inside) & mark_largest(inter, guess)
    split = cover_wholes(pieces, gold, guess, badly, (G, P), limits.right)
    free_g, free_p = ~mark(split, gold, len(G)), ~mark(split, guess, len(P))
    parts = (of_g >= limits.inside) & mark_largest(inter, gold) & free_g[gold] & free_p[guess]
    merged = cover_wholes(parts, guess, gold, badly, (P, G), limits.right)
    free_g &= ~mark(merged, gold, len(G))
    free_p &= ~mark(merged, guess, len(P))

    rest = np.where(free_g[gold] & free_p[guess] & (iou >= limits.near), iou, 0.0)
    shapes = grid.shapes
    paired = greedy_many(rest, shapes) if limits.matching == "greedy" else ordered_many(rest, shapes)[1]
    free_g &= ~mark(paired, gold, len(G))
    free_p &= ~mark(paired, guess, len(P))
    again = ~free_g[gold] & free_p[guess] & ((iou >= limits.near) | (of_p >= limits.inside))
    duplicate = mark(again, guess, len(P))
    lists = zip(
        list_cells(grid, paired),
        list_groups(grid, split, (0, 1)),
        list_groups(grid, merged, (1, 0)),
        list_cells(grid, paired & (iou < limits.right)),
        list_events(grid, 1, duplicate),
        list_events(grid, 1, free_p & ~duplicate),
        list_events(grid, 0, free_g),
        strict=True,
    )
    names = ("pairs", "split", "merged", "mislocated", "duplicate", "hallucinated", "missed")
    found = [Found(**dict(zip(names, columns, strict=True))) for columns in lists]
    if captions is not None:
        find_word_errors(found, grid, captions, limits)
    for one, pred in zip(found, grid.preds, strict=True) if not in_time else ():
        if pred.by_start() is not pred:
            starts = pred.spans[:, 0]
            one.unsorted.extend(p for p in range(1, len(pred)) if starts[p] < starts[:p].max())
    return found


def length(spans: Spans) -> Cells:
    """Seconds, never 0. [N]"""
    return np.maximum(spans[:, 1] - spans[:, 0], 1e-12)


def mark(cells: Mask, events: Index, size: int) -> Mask:
    """The events that have one of these cells. [N]"""
    return np.bincount(events[cells], minlength=size) > 0


def mark_largest(values: Cells, events: Index) -> Mask:
    """Of each event's cells the largest, the first of equals. [C]"""
    order = np.lexsort((-values, events))
    found = np.zeros(len(values), bool)
    found[order[np.flatnonzero(np.diff(events[order], prepend=-1))]] = True
    return found


def cover_wholes(
    pieces: Mask, whole: Index, other: Index, badly: Mask, sides: tuple[Spans, Spans], right: float
) -> Mask:
    """Cells of events that two or more pieces cover, of which none is right and whose hull is. [C]"""
    W, O = sides  # noqa: E741
    several = (np.bincount(whole[pieces], minlength=len(W)) > 1) & ~mark(~badly, whole, len(W))
    cells = np.flatnonzero(pieces & several[whole])
    cells = cells[np.argsort(whole[cells], kind="stable")]
    if not len(cells):
        return np.zeros(len(pieces), bool)
    starts = np.flatnonzero(np.diff(whole[cells], prepend=-1))
    own = O[other[cells]]
    hull = np.stack([np.minimum.reduceat(own[:, 0], starts), np.maximum.reduceat(own[:, 1], starts)], axis=1)
    events = whole[cells[starts]]
    covered = np.zeros(len(W), bool)
    covered[events[overlap(hull, W[events]) >= right]] = True
    return pieces & several[whole] & covered[whole]


def cut(things: list[Thing], owners: Index, videos: int) -> Iterator[list[Thing]]:
    """Things of ascending owners, video by video."""
    for start, end in pairwise(np.searchsorted(owners, np.arange(videos + 1)).tolist()):
        yield things[start:end]


def list_cells(grid: Grid, cells: Mask) -> Iterator[Pairs]:
    """(g, p) of marked cells, video by video."""
    return cut(
        list(zip(grid.row[cells].tolist(), grid.column[cells].tolist(), strict=True)), grid.pair[cells], len(grid)
    )


def list_events(grid: Grid, side: int, marked: Mask) -> Iterator[list[int]]:
    """Marked references (0) or predictions (1) by their places, video by video."""
    owner = grid.owners(side)
    places = np.flatnonzero(marked) - before(grid.shapes[:, side])[owner[marked]]
    return cut(places.tolist(), owner[marked], len(grid))


def list_groups(grid: Grid, cells: Mask, sides: tuple[int, int]) -> Iterator[list[tuple[int, list[int]]]]:
    """(event, its pieces) of marked cells, video by video; the first side has the events, the second the pieces."""
    for pairs in list_cells(grid, cells):
        groups: dict[int, list[int]] = {}
        for pair in sorted(pairs, key=lambda pair: pair[sides[0]]):
            groups.setdefault(pair[sides[0]], []).append(pair[sides[1]])
        yield list(groups.items())


# --- words -----------------------------------------------------------------------------------------------------------


def find_word_errors(found: Sequence[Found], grid: Grid, captions: Cells, limits: Limits) -> None:
    """The errors of words, among matched pairs."""
    m = np.array([len(one.pairs) for one in found], np.int64)
    g, p = (np.array([pair[side] for one in found for pair in one.pairs], np.int64) for side in (0, 1))  # [Σm]
    T = captions[exchanged_cells(grid, m, g, p)]  # [m, m] each: caption j at event i
    to = np.flatnonzero(assignment_many(T, np.stack([m, m], axis=1))[1])  # by event i: the caption that belongs there
    start, first = before(m * m), before(m)
    whose = np.repeat(np.arange(len(m)), m)
    i, j = np.divmod(to - start[whose], np.maximum(1, m)[whose])
    moved = np.zeros(len(whose), bool)
    for n in np.unique(whose[i != j]).tolist():
        own, size = found[n], int(m[n])
        table = T[start[n] : start[n] + size * size].reshape(size, size)
        belongs = dict(enumerate(j[first[n] : first[n] + size].tolist()))
        for cycle in find_cycles(belongs):
            after = [table[k, belongs[k]] for k in cycle]
            if len(cycle) > 1 and np.mean(after) >= limits.words and sum(after) > sum(table.diagonal()[cycle]) + 1e-9:
                own.out_of_order.extend((own.pairs[k][1], own.pairs[belongs[k]][1]) for k in cycle)
                moved[first[n] + np.array(cycle)] = True
    wrong = (T[start[whose] + i * (m[whose] + 1)] < limits.words) & ~moved
    for n, gold, guess in zip(whose[wrong].tolist(), g[wrong].tolist(), p[wrong].tolist(), strict=True):
        found[n].miscaptioned.append((gold, guess))
    if not name_anybody(grid):
        return
    for n, gold, guess in zip(whose[~moved].tolist(), g[~moved].tolist(), p[~moved].tolist(), strict=True):
        named, meant = find_persons(grid.preds[n].events[guess]), find_persons(grid.refs[n].events[gold])
        if named and meant and named != meant:
            found[n].identity.append((gold, guess))


def name_anybody(grid: Grid) -> bool:
    """True where any caption names a person."""
    captions = "\n".join(caption or "" for stories in (grid.refs, grid.preds) for caption in join_words(stories))
    return DIGIT.search(captions) is not None and PERSON.search(captions) is not None


def exchanged_cells(grid: Grid, m: Index, g: Index, p: Index) -> Index:
    """For each two stories with m pairs (g, p) the m² cells (event of pair i, caption of pair j). [Σm²]"""
    whose = np.repeat(np.arange(len(m)), m * m)
    i, j = np.divmod(np.arange(len(whose)) - before(m * m)[whose], np.maximum(1, m)[whose])
    first, start = before(m)[whose], before(grid.shapes[:, 0] * grid.shapes[:, 1])[whose]
    cells: Index = start + g[first + i] * grid.shapes[whose, 1] + p[first + j]
    return cells


def find_cycles(to: dict[int, int]) -> list[list[int]]:
    """The cycles of a permutation."""
    visited, found = set[int](), list[list[int]]()
    for start in to:
        cycle, i = [], start
        while i not in visited:
            visited.add(i)
            cycle.append(i)
            i = to[i]
        if cycle:
            found.append(cycle)
    return found


def find_persons(event: Event) -> list[str]:
    return [name.upper() for name in PERSON.findall(event.caption or "")]
