"""Questions: what a model answered in words, against options, the events of a reference, or questions of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import cast

from fabula.core.errors import InputError
from fabula.core.notes import Notes, name_id
from fabula.core.rows import Rows
from fabula.data.questions import Response
from fabula.data.stories import Item
from fabula.documents.document import Document
from fabula.evaluate.request import Request
from fabula.evaluate.score import Comparison, Parts
from fabula.io import questions as files
from fabula.metrics import Metric
from fabula.metrics.questions import QuestionMetric, Responses

MANY = 1000
BUCKETS = {  # where one begins that the next one ends
    "n_subjects": (0, 2, 3, 4, MANY + 1),
    "n_shots": (0, 2, 3, 4, MANY + 1),
    "n_events": (0, 4, 6, 8, MANY + 1),
}
NEEDED = {"gold": "a right option", "asked": "questions with their answers", "references": "a reference text"}


def compare(request: Request, task: str | None = None) -> tuple[Comparison, list[Metric]]:
    predictions, refs = request.paths("questions")
    notes = Notes()
    responses = gather(request, predictions, refs, notes)
    if not responses:
        raise InputError("no question to score", file=predictions, hint="check the file")
    chosen = choose(request, responses, predictions, notes)
    missing = sum(r.answer is None for r in responses)
    if missing:
        notes.add(f"{missing} questions have no answer (see missing=… in each signature)")
    data = Responses(responses)

    def rows_of(metric: Metric) -> Rows:
        table = metric.table(data, request.progress)
        note_failed(table, metric, notes)
        return table

    counts = {
        "items": len(responses),
        "missing": missing,
        "unparsed": 0,
        "empty": sum(r.answer is not None and not r.answer.strip() for r in responses),
    }
    parts = list_parts(responses)

    def places_of(rows: Rows) -> dict[str, list[int]]:
        where = {key: i for i, key in enumerate(rows.keys)}
        return {part: [where[id] for id in ids if id in where] for part, ids in parts.items()}

    return Comparison(
        task="questions",
        rows_of=rows_of,
        counts=counts,
        notes=notes,
        facts={"missing": missing},
        parts=Parts("items", places_of, pool_items) if parts else None,
        evidence=lambda metrics: {"items": tuple(map(list_item, responses))},
    ), [*chosen]


def gather(
    request: Request, predictions: Path | Document, refs: Sequence[Path | Document], notes: Notes
) -> list[Response]:
    """What is answered with what it is held against: of one file, or of two that meet by id."""
    options = request.options
    answers = files.read_responses(predictions, notes, options.format)
    if not refs:
        return list(request.limit(answers, notes).values())
    truth = [files.read_responses(ref, notes, options.refs_format, "references") for ref in refs]
    return files.join_responses(answers, truth, predictions, notes, request.only)


def choose(request: Request, responses: Sequence[Response], file: object, notes: Notes) -> list[QuestionMetric]:
    """The metrics asked for; unasked, those that the file has something for."""
    chosen_metrics = cast("list[QuestionMetric]", request.readable("questions", "questions"))
    able = [m for m in chosen_metrics if any(map(m.can_read, responses))]
    if not able or (len(able) < len(chosen_metrics) and not request.means_all):
        metric = next(m for m in chosen_metrics if m not in able)
        problem = f"{metric.name} needs {NEEDED.get(metric.needs, metric.needs)}, and no question has it"
        raise InputError(problem, file=file, hint="name the references with --refs; docs/questions.md has their shapes")
    for metric in able:
        for response in (r for r in responses if not metric.can_read(r)):
            text = f"{metric.name}: {{n}} of {len(responses)} questions have nothing for it and do not count"
            notes.add(text, name_id(response.id))
    return able


def note_failed(table: Rows, metric: Metric, notes: Notes) -> None:
    """Name the items that lack a judgement, and count those that are left out."""
    for key, failed in table.by_key("failed").items() if "failed" in table.columns else ():
        if failed:
            rule = metric.param("failed")
            notes.add(f"{metric.title}: {{n}} items lack a judgement that can be read (failed={rule})", name_id(key))
    for key, counts in table.by_key("counts").items() if "counts" in table.columns else ():
        if not counts:
            notes.add(f"{metric.title}: {{n}} items are left out of the mean, as its rules have it", name_id(key))


def pool_items(metric: Metric) -> Metric:
    """Within a part every item counts the same."""
    return metric.with_params({"over": "items"}) if metric.param("over") else metric


def list_parts(responses: Sequence[Response]) -> dict[str, list[str | int]]:
    """The kinds, where there are several, and DREAM-1K's buckets, with the ids that are in each."""
    parts: dict[str, list[str | int]] = {}
    for r in responses:
        parts.setdefault(r.kind, []).append(r.id)
    if len(parts) < 2:
        parts = {}
    for trait, edges in BUCKETS.items():
        for low, high in pairwise(edges):
            ids = [r.id for r in responses if low <= r.traits.get(trait, -1) < high]
            if ids:
                last = f">={low}" if high > MANY else str(low) if high == low + 1 else f"{low}-{high - 1}"
                parts[f"{trait}<={high - 1}" if low == 0 else f"{trait}{'' if last[0] == '>' else '='}{last}"] = ids
    return parts


def list_item(response: Response) -> Item:
    """As a report shows it: the answer beside what might have been said."""
    references = response.references or response.events or tuple(f"{a.question} {a.answer}" for a in response.asked)
    right = response.right
    if not references and right is not None:
        references = (response.options[right] if right < len(response.options) else response.gold,)
    return Item(response.id, response.answer, tuple(references))
