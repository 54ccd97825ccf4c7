"""Single captions: each candidate against its references, from COCO files or from pairs."""

from __future__ import annotations

from dataclasses import replace

from fabula.core.errors import InputError
from fabula.core.result import Result
from fabula.core.rows import Rows
from fabula.io.captions import read_items
from fabula.metrics import Metric
from fabula.metrics.captions import Items
from fabula.score.base import Request, Tally, Task, measure


def run(request: Request) -> Result:
    predictions, refs = request.paths("captions")
    items, notes = read_items(predictions, refs)
    if not items:
        raise InputError("no items to score", file=predictions, hint="check the file")
    missing = sum(i.candidate is None for i in items)
    references = sum(len(i.references) for i in items)
    counts = {"items": len(items), "missing": missing, "unparsed": 0, "references": references}
    chosen, data = request.readable("captions", "captions"), Items(items)

    def rows_of(metric: Metric) -> Rows:
        return metric.table(data, request.progress)

    tally = Tally({"missing": missing}, counts, notes)
    return replace(measure(request, "captions", chosen, rows_of, tally), items=tuple(items))


TASK = Task(name="captions", about="single captions against references: COCO results, or pairs", run=run)
