"""Single captions: each candidate against its references, from COCO files or from pairs."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

from fabula.core.errors import InputError
from fabula.core.notes import Notes, name_id
from fabula.core.patterns import lazy
from fabula.data.stories import Item
from fabula.evaluate.request import Request
from fabula.evaluate.score import Comparison
from fabula.io.captions import read_items
from fabula.metrics import Metric
from fabula.metrics.captions import Items

BREAK = lazy(r"[\r\v\f\u2028\u2029]")  # what Stanford's tokeniser takes for the end of a line, besides \n


def compare(request: Request, task: str | None = None) -> tuple[Comparison, list[Metric]]:
    predictions, refs = request.paths("captions")
    items, notes = read_items(predictions, refs, request.only)
    if not items:
        raise InputError("no items to score", file=predictions, hint="check the file")
    missing = sum(i.candidate is None for i in items)
    references = sum(len(i.references) for i in items)
    counts = {"items": len(items), "missing": missing, "unparsed": 0, "references": references}
    chosen, data = request.readable("captions", "captions"), Items(items)
    if request.protocol and any(metric.param("tok") == "ptb" for metric in chosen):
        note_breaks(items, notes)
    return Comparison(
        task="captions",
        rows_of=methodcaller("table", data, request.progress),
        counts=counts,
        notes=notes,
        facts={"missing": missing},
        evidence=lambda metrics: {"items": tuple(items)},
    ), chosen


def note_breaks(items: Sequence[Item], notes: Notes) -> None:
    """Items in which the tokeniser that published programs run sees the end of a line, and so the next caption."""
    for item in items:
        if any(BREAK.search(text) for text in (item.candidate or "", *item.references)):
            text = (
                "{n} items have a caption with a line break (carriage return, U+2028 …), at which the published program"
            )
            notes.add(
                f"{text} would go on to the next caption, and shift all that follow; not repeated here",
                name_id(item.id),
            )
