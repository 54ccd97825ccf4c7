"""Rows of queries for the page: sentence, windows and the first answers of every list, as they were judged."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fabula.data.moments import Query
from fabula.data.result import Result
from fabula.evaluate.kept import FIRST, REACHED, Answer, Answers
from fabula.report._data import list_metrics, list_numbers, read_values, round_number, sort_worst_first
from fabula.report._events import Cells, round_seconds

WORDS = 2000  # letters of an answer
LISTS = ("VCMR", "SVMR", "VR")  # the order in which lists are shown


def list_queries(results: Sequence[Result], systems: Sequence[str]) -> dict[str, object]:
    """report.js says what a row is."""
    first, values = results[0], [read_values(r) for r in results]
    answers: list[Answers] = [r.kept for r in results]
    names = list(dict.fromkeys(name for each in answers for name in each.lists))
    names.sort(key=lambda name: LISTS.index(name) if name in LISTS else -1)
    shown = [name for name in names if name != "VR"] or names  # where to look, not which video alone
    metrics = list(values[0])
    rows = [
        [
            id,
            [list_numbers(id, metrics, each) for each in values],
            query.text,
            query.video,
            round_seconds(query.duration or 0.0),
            [[round_seconds(a), round_seconds(b)] for a, b in query.windows],
            [list_answers(each, query, shown) for each in answers],
            list_marks(query),
            list_saliency(answers, query, shown),
            query.type,
            [find_words(each, query, shown) for each in answers],
        ]
        for id, query in answers[0].queries.items()
    ]
    lead = sort_worst_first(rows, metrics, lambda row: first_overlap(row))
    clips = [m.param("clip") for m in first.metrics.values() if m.param("clip") is not None]
    return {
        "kind": "queries",
        "systems": systems,
        "metrics": list_metrics(first, values[0]),
        "lead": lead,
        "lists": shown or [""],
        "low": REACHED,
        "first": FIRST,
        "clip": clips[0] if clips else 2.0,
        "windows": any(row[5] for row in rows),
        "typed": any(row[9] for row in rows),
        "rows": rows,
    }


def first_overlap(row: Cells) -> float:
    """The IoU of the first answer of the first list; queries whose score is the same are sorted by it."""
    lists = row[6][0]
    return float(lists[0][0][2]) if lists and lists[0] else 0.0


def list_answers(answers: Answers, query: Query, lists: Sequence[str]) -> list[list[Cells]] | None:
    """[start, end, IoU, score, window, maybe another video] an answer, list by list; null: no list names the query."""
    found = [answers.find(name, query.id) if name in answers.lists else None for name in lists]
    if all(ranking is None for ranking in found):
        return None
    return [[] if r is None else [list_answer(a) for a in answers.judge(query, r)] for r in found]


def list_answer(answer: Answer) -> Cells:
    ends = [round_seconds(t) if math.isfinite(t) else str(t) for t in (answer.start, answer.end)]
    cells = [*ends, round(answer.iou, 4), round_number(answer.score), answer.window]
    return cells if answer.video is None else [*cells, answer.video]


def find_words(answers: Answers, query: Query, lists: Sequence[str]) -> str | None:
    """What a language model said, where windows were read from its words; no more than a page can hold."""
    found = (answers.find(name, query.id) for name in lists if name in answers.lists)
    words = next((ranking.answer for ranking in found if ranking is not None and ranking.answer is not None), None)
    return words if words is None or len(words) <= WORDS else f"{words[:WORDS]} …"


def list_marks(query: Query) -> Cells | None:
    """Clips, and what each annotator gave them."""
    if query.saliency is None or not query.saliency.clips:
        return None
    return [list(query.saliency.clips), [list(marks) for marks in query.saliency.marks]]


def list_saliency(
    answers: Sequence[Answers], query: Query, lists: Sequence[str]
) -> list[list[float | None] | None] | None:
    """What each system gives to the clips."""
    out: list[list[float | None] | None] = []
    for each in answers:
        found = [each.find(name, query.id) for name in lists if name in each.lists]
        curve = next((r.saliency for r in found if r is not None and r.saliency is not None), None)
        finite = None if curve is None else [x if math.isfinite(x) else 0.0 for x in curve.tolist()]
        out.append(None if finite is None else [float(f"{x:.3g}") for x in finite])
    return out if any(out) else None
