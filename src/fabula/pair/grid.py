"""Every reference with every prediction, of many videos at once: their matrices [G, P] end to end, row by row.

What is computed cell by cell, IoU above all, costs the same few calls for five hundred videos as for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.data.stories import Story, join_captions, join_spans
from fabula.pair.tiou import forward, overlap
from fabula.text.placed import Texts, Tokens

Cells = NDArray[np.float64]  # [C], C = Σ G·P
Mask = NDArray[np.bool_]  # [C]
Index = NDArray[np.int64]


class Scored(NamedTuple):
    """Cells that somebody asked for, and their numbers."""

    known: Mask
    values: Cells


class Placed(NamedTuple):
    """Captions as places in a list of texts."""

    tokens: Tokens
    texts: Texts
    gold: Index  # [ΣG]
    guess: Index  # [ΣP]


@dataclass(frozen=True, slots=True)
class Grid:
    """N pairs of stories, and for each cell whose it is."""

    refs: Sequence[Story]
    preds: Sequence[Story]
    shapes: Index  # [N, 2] G and P
    pair: Index  # [C] which pair of stories
    gold: Index  # [C] which of all references
    guess: Index  # [C] which of all predictions
    ious: dict[tuple[float, bool, bool], Cells] = field(default_factory=dict, compare=False, repr=False)
    caption_scores: dict[object, Scored] = field(
        default_factory=dict, compare=False, repr=False
    )  # by what scores captions
    placed: dict[int, Placed] = field(default_factory=dict, compare=False, repr=False)  # by the table of tokens

    @classmethod
    def of(cls, pairs: Sequence[tuple[Story, Story]]) -> Grid:
        refs, preds = [ref for ref, _ in pairs], [pred for _, pred in pairs]
        sides = [np.fromiter(map(len, stories), np.int64, len(stories)) for stories in (refs, preds)]
        shapes = np.column_stack(sides)
        cells = shapes[:, 0] * shapes[:, 1]
        pair = np.repeat(np.arange(len(pairs)), cells)
        place = np.arange(len(pair)) - before(cells)[pair]
        row, column = np.divmod(place, shapes[pair, 1])
        gold, guess = before(shapes[:, 0])[pair] + row, before(shapes[:, 1])[pair] + column
        return cls(refs, preds, shapes, pair, gold, guess)

    @property
    def row(self) -> Index:
        """Which reference of its story each cell belongs to. [C]"""
        return self.gold - before(self.shapes[:, 0])[self.pair]

    @property
    def column(self) -> Index:
        """Which prediction of its story. [C]"""
        return self.guess - before(self.shapes[:, 1])[self.pair]

    def __len__(self) -> int:
        return len(self.refs)

    def iou(self, eps: float = 0.0, raw: bool = False, swap: bool = False) -> Cells:
        """`tiou` of all pairs, made once; `swap` exchanges the ends of reversed segments."""
        if (eps, raw, swap) not in self.ious:
            self.ious[eps, raw, swap] = self.make_iou(eps, raw, swap)
        return self.ious[eps, raw, swap]

    def make_iou(self, eps: float, raw: bool, swap: bool) -> Cells:
        g, p = join_spans(self.refs), join_spans(self.preds)
        if swap:
            g, p = forward(g), forward(p)
        found = overlap(g[self.gold], p[self.guess], eps, raw)
        found.setflags(write=False)
        return found

    def scored(self, key: object, wanted: Mask, score: Callable[[Mask], Cells]) -> Cells:
        """The wanted cells under this key, each scored once; the others are 0. [C]"""
        if key not in self.caption_scores:
            self.caption_scores[key] = Scored(np.zeros(len(self.pair), bool), np.zeros(len(self.pair)))
        known, values = self.caption_scores[key]
        new = wanted & ~known
        if new.any():
            values[new] = score(new)[new]
            known[new] = True
        return np.where(wanted, values, 0.0)

    def place_captions(self, tokens: Tokens) -> Placed:
        """The tokens of all captions, each distinct text once, and where those of every event stand."""
        if (found := self.placed.get(id(tokens))) is None or found.tokens is not tokens:
            texts, sides = tokens.place_all(join_captions(self.refs), join_captions(self.preds))
            found = self.placed[id(tokens)] = Placed(tokens, texts, *sides)
        return found

    def turned(self) -> Index:
        """Where each cell stands when every matrix is [P, G]: turned[c] is the place of cell c. [C]"""
        start = before(self.shapes[:, 0] * self.shapes[:, 1])
        place: Index = start[self.pair] + self.column * self.shapes[self.pair, 0] + self.row
        return place

    def owners(self, side: int) -> Index:
        """The pair of stories of every reference (0) or prediction (1). [ΣG] or [ΣP]"""
        return np.repeat(np.arange(len(self)), self.shapes[:, side])

    def best(self, cells: Cells) -> Cells:
        """What each reference has at best, 0 where nothing is above that. [ΣG]"""
        found = np.zeros(self.shapes[:, 0].sum())
        starts = np.flatnonzero(np.diff(self.gold, prepend=-1))
        if len(starts):
            found[self.gold[starts]] = np.maximum(0.0, np.maximum.reduceat(cells, starts))
        return found

    def sum(self, cells: Cells, chosen: Mask) -> Cells:
        """Per pair of stories the sum of its chosen cells, one after the other. [N]"""
        return np.bincount(self.pair[chosen], cells[chosen], len(self)).astype(np.float64)


def before(counts: Index) -> Index:
    """How many come before each: where it starts when all stand end to end. [N]"""
    starts: Index = np.cumsum(counts) - counts
    return starts
