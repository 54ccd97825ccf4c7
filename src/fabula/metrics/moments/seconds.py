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

from fabula.metrics.moments.base import Block, Columns, Floats, MomentMetric
from fabula.metrics.moments.onetomany import join

LONGEST = 1000  # seconds of the published program's map


@dataclass(frozen=True, kw_only=True)
class Metric(MomentMetric):
    name: ClassVar[str] = "Seconds"
    perfect_score: ClassVar[str] = ""
    paper: ClassVar[str] = "Liu et al., NeurIPS 2024"
    tasks: ClassVar[tuple[str, ...]] = ()  # where it is asked for
    answers: ClassVar[str] = "SVMR"
    fields: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall")
    primary: ClassVar[str] = "f1"
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
        out: Columns = {name: np.zeros(len(block)) for name in self.names()}
        read = np.zeros(len(block))
        for q, answer, wanted in block.told():
            read[q] = len(answer) > 0
            both, said, there = (count_seconds if self.grid == "seconds" else measure_time)(answer, wanted)
            if both > 0:
                p, r = both / said, both / there
                out["precision"][q], out["recall"][q], out["f1"][q] = p, r, 2 * p * r / (p + r)
        if self.unread == "drop":
            out |= {self.weight(name): read for name in self.names()}
        return out


def count_seconds(answer: Floats, wanted: Floats) -> tuple[float, float, float]:
    """How many whole seconds both cover, the answer, the query."""
    maps = np.zeros((2, LONGEST), dtype=bool)
    for covered, windows in zip(maps, (answer, wanted), strict=True):
        for start, end in windows.tolist():
            covered[max(0, round(start)) : max(0, round(end))] = True
    return float((maps[0] & maps[1]).sum()), float(maps[0].sum()), float(maps[1].sum())


def measure_time(answer: Floats, wanted: Floats) -> tuple[float, float, float]:
    """The same in seconds and parts of them. A window that does not run forwards covers nothing."""
    a, b = (join(windows[windows[:, 1] > windows[:, 0]])[0] for windows in (answer, wanted))
    shared = np.minimum(a[:, None, 1], b[:, 1]) - np.maximum(a[:, None, 0], b[:, 0])
    lengths = (float((some[:, 1] - some[:, 0]).sum()) for some in (a, b))
    return (float(np.maximum(shared, 0.0).sum()), *lengths)  # type: ignore[return-value]
