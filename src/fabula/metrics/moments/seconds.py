"""Seconds (E.T. Bench's video summaries, Liu et al., NeurIPS 2024): which time an answer covers, whatever its windows.

A, B: the time that the answer's and the query's windows cover      F1 = 2·|A ∩ B| / (|A| + |B|)

grid     none: times as they are · seconds: A and B are sets of whole seconds, ends rounded half to even, and what lies
         beyond second 1,000 is in neither, as in the published program
unread   zero: an answer without a window counts as 0 · drop: it leaves the mean, as in the published program: whoever
         refuses the hard queries scores more
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.metrics.moments.base import Block, Columns, Floats, PerQuery
from fabula.metrics.moments.onetomany import join, measure_time

LONGEST = 1000  # seconds of the published program's map


@dataclass(frozen=True, kw_only=True)
class Metric(PerQuery):
    name: ClassVar[str] = "Seconds"
    paper: ClassVar[str] = "Liu et al., NeurIPS 2024"
    rules: ClassVar[Mapping[str, str]] = {
        "grid=none": "the time that both cover is measured as it is",
        "grid=seconds": "whole seconds are counted, up to 1,000",
    }

    grid: Literal["none", "seconds"] = "none"
    unread: Literal["zero", "drop"] = "zero"
    over: Literal["queries", "sources"] = "queries"
    reader: str = "fabula"

    def names(self) -> tuple[str, ...]:
        return ("f1", "precision", "recall")

    def units(self, block: Block) -> Columns:
        columns = super().units(block)
        if self.unread == "drop":
            read = np.bincount(block.of[block.right], minlength=len(block)) > 0
            columns |= {self.weight(name): read.astype(np.float64) for name in self.names()}
        return columns

    def one(self, answer: Floats, wanted: Floats) -> dict[str, float]:
        both, predicted, true = (count_seconds if self.grid == "seconds" else measure_forward)(answer, wanted)
        if not both > 0:
            return {}
        p, r = both / predicted, both / true
        return {"precision": p, "recall": r, "f1": 2 * p * r / (p + r)}


def count_seconds(answer: Floats, wanted: Floats) -> tuple[float, float, float]:
    """How many whole seconds both cover, the answer, the query."""
    maps = np.zeros((2, LONGEST), dtype=bool)
    for covered, windows in zip(maps, (answer, wanted), strict=True):
        for start, end in windows.tolist():
            covered[max(0, round(start)) : max(0, round(end))] = True
    return float((maps[0] & maps[1]).sum()), float(maps[0].sum()), float(maps[1].sum())


def measure_forward(answer: Floats, wanted: Floats) -> tuple[float, float, float]:
    """The same in seconds and parts of them. A window that does not run forwards covers nothing."""
    a, b = (join(windows[windows[:, 1] > windows[:, 0]])[0] for windows in (answer, wanted))
    return measure_time(a, b)
