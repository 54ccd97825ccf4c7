"""Why a query is missed: the video is wrong, the moment is wrong, or the rank is.

Of the queries that R@k at IoU τ counts as misses,

rank    a right answer (right video, IoU ≥ τ) stands in the list, but after place k
moment  no answer is right; the right video is among the first k, at another time
video   no answer is right, and the right video is not among the first k

    R@k + rank + moment + video = 1        so each share is what the recall would gain if that fault were repaired
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.core.options import Options, option
from fabula.core.rows import Rows
from fabula.core.spec import show
from fabula.data.moments import Id, VideoNumbers
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.rankings import Reading, moment_rows
from fabula.io import moments as files
from fabula.metrics.moments import Block, vcmr
from fabula.metrics.moments.base import Columns, first_place
from fabula.stats.bootstrap import Interval, bootstrap
from fabula.stats.choose import choose_interval, tell_choices
from fabula.stats.resampling import Resampling
from fabula.stats.sample import Mean, samples

KINDS = ("right", "rank", "moment", "video")


@dataclass(frozen=True, kw_only=True)
class Recall(Options):
    """Which recall is explained."""

    k: int = option(1, "Task moments: the k of R@k.", shows_default=True, at_least=1, at_most=10**9)
    iou: float = option(0.5, "Task moments: IoU of a right answer.", shows_default=True)


@dataclass(frozen=True, kw_only=True)
class Faults(vcmr.Metric):
    """VCMR whose rows say what is wrong with each query."""

    name: ClassVar[str] = "VCMR"

    def units(self, block: Block) -> Columns:
        k, tau = self.k[0], self.iou[0]
        rank = super().units(block)[f"rank@{show(tau)}"]  # [Q] 0: no right answer
        at, place = block.ranked(self.order, self.top, right=True)
        video = first_place(block.of[at], place, len(block))  # [Q] infinite: not in the list
        found = rank > 0
        kinds = {
            "right": found & (rank <= k),
            "rank": found & (rank > k),
            "moment": ~found & (video <= k),
            "video": ~found & (video > k),
        }
        return {f"r{show(k)}@{show(tau)}": kinds["right"].astype(np.float64)} | {
            name: which.astype(np.float64) for name, which in kinds.items()
        }


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    queries: int
    share: float
    interval: Interval | None  # None: too few videos for one
    ci_method: str = ""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What is wrong with the queries, `right` first; shares add up to 1."""

    k: int
    iou: float
    queries: int
    faults: tuple[Fault, ...]
    how: Resampling
    rows: Rows
    warnings: tuple[str, ...] = ()

    def __getitem__(self, kind: str) -> Fault:
        return next(f for f in self.faults if f.kind == kind)

    def of(self, query: Id) -> str:
        """What is wrong with one query."""
        i = self.rows.keys.index(query)
        return next(kind for kind in KINDS if self.rows[kind][i])


def retrieval(
    predictions: str | Path,
    refs: str | Path | Sequence[str | Path],
    *,
    k: int = 1,
    iou: float = 0.5,
    ci: Resampling | None = None,
    options: ScoreOptions | None = None,
    progress: Progress = silent,
) -> Retrieval:
    """Every query's fault at R@k, IoU τ. Lists are read to their end."""
    if k < 1:
        raise SpecError(f"k={k}; the first place is 1")
    notes, how = Notes(), ci or Resampling(resamples=2000)
    options = options or ScoreOptions()
    several = [refs] if isinstance(refs, str | Path) else list(refs)
    queries = files.read_queries(several, notes, options.refs_format)
    numbers = VideoNumbers()
    stream, _ = files.read_rankings(predictions, numbers, notes, options.format)
    metric = Faults(k=(k,), iou=(iou,), top=None)
    scored = moment_rows([metric], queries, stream, Reading(numbers, notes, progress=progress))
    if metric in scored.absent:
        raise InputError(scored.absent[metric], file=str(predictions), hint="diagnosis reads a list of moments")
    rows = scored.rows[metric]
    by_kind = samples([(rows, Mean(kind)) for kind in KINDS])
    drawn = bootstrap(by_kind, how.resamples, how.seed)
    chosen = [choose_interval(s, theta, how) for s, theta in zip(by_kind, drawn, strict=True)]
    faults = tuple(
        Fault(kind, round(rows[kind].sum()), s.value, one.interval, one.method)
        for kind, s, one in zip(KINDS, by_kind, chosen, strict=True)
    )
    lines = (*notes.lines(), *tell_choices(zip(KINDS, chosen, strict=True), "videos"))
    if scored.missing:
        lines += (f"{scored.missing} queries have no answer and count as video wrong",)
    return Retrieval(k, iou, len(rows), faults, how, rows, lines)
