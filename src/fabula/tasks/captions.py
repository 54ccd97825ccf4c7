"""Single captions: each candidate against its references, from COCO files or from pairs."""

from __future__ import annotations

from dataclasses import replace

from fabula.core.errors import InputError
from fabula.core.result import Result
from fabula.core.rows import Rows
from fabula.engine.captions import Tokenised, caption_rows
from fabula.io.captions import read_items
from fabula.metrics import Metric
from fabula.metrics._caption import CaptionMetric
from fabula.tasks._task import Request, Task, measured, wrong_task


def run(request: Request) -> Result:
    predictions, refs = request.paths("captions")
    items, notes = read_items(predictions, refs)
    if not items:
        raise InputError("no items to score", file=predictions, hint="check the file")
    missing = sum(i.candidate is None for i in items)
    references = sum(len(i.references) for i in items)
    counts = {"items": len(items), "missing": missing, "unparsed": 0, "references": references}
    tokenised = Tokenised(items)

    def rows_of(metric: Metric) -> Rows:
        if not isinstance(metric, CaptionMetric):
            raise wrong_task(metric, "captions")
        return caption_rows(metric, tokenised, request.progress)

    result = measured(request, "captions", rows_of, {"missing": missing}, counts, notes)
    return replace(result, items=tuple(items))


TASK = Task(name="captions", about="single captions against references: COCO results, or pairs", run=run)
