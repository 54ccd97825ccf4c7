"""VLMEvalKit's tables of descriptions: DREAM-1K (index, prediction; answer, events) and VDC (caption_type, question).

A table of predictions has the columns of its data set, so that it can be scored alone; DREAM-1K.tsv names the truth as
well. Of VDC `question` is the Python text of a list of questions and answers. Tables are .xlsx, .tsv or .csv, or a list
of records in a .json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fabula.core.notes import name_id
from fabula.core.patterns import read_python_literal
from fabula.data.questions import Response
from fabula.documents.fields import Source
from fabula.documents.tables import Row, read_rows
from fabula.io.format import Format, HeadRule
from fabula.io.questions.lines import read_asked, read_texts

KINDS = ("short", "detailed", "background", "main_object", "camera")


def list_rows(source: Source) -> Iterator[tuple[str | int, str, Row]]:
    """Rows with their index; where a table has none, they are numbered from 0."""
    if source.document.is_table:
        rows = list(read_rows(source.document, loose=True))
    else:
        document = source.listing(source.document.tree(), "the root", None, "it is a list of records")
        rows = [source.mapping(row, f"record {k}") for k, row in enumerate(document)]
    for k, row in enumerate(rows):
        at = f"row {k + 2}" if source.document.is_table else f"record {k}"
        cell = row.get("index", k)
        if cell is None:
            raise source.wrong("no index", None, at, "every row has its index")
        yield as_id(cell), at, row


def as_id(cell: Any) -> str | int:
    """A number in a workbook, its text in a .tsv: the same id."""
    try:
        return int(cell)
    except (TypeError, ValueError, OverflowError):
        return str(cell)


def read_cell(row: Row, name: str, at: str, id: object, source: Source) -> str | None:
    value = row.get(name)
    return None if value is None else source.caption(str(value), f"{at} {name}", id)


def read_dream(source: Source) -> Iterator[Response]:
    for id, at, row in list_rows(source):
        meant = read_cell(row, "answer", at, id, source)
        yield Response(
            id=id,
            answer=read_cell(row, "prediction", at, id, source),
            group=str(row.get("video") or ""),
            references=() if meant is None else (meant,),
            events=read_events(row.get("events"), at, id, source),
        )


def read_events(cell: Any, at: str, id: object, source: Source) -> tuple[str, ...] | None:
    """A JSON list; what is none is as if it was not there, and the judge lists them."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell) or []
        except (ValueError, RecursionError):
            source.notes.add("{n} rows have events that are no JSON; the judge lists them", name_id(id))
            return None
    return None if cell is None else read_texts(cell, f"{at} events", id, source)


def read_vdc(source: Source) -> Iterator[Response]:
    for id, at, row in list_rows(source):
        kind = str(row.get("caption_type") or "").lower()
        if kind not in KINDS:
            text = "{n} captions are of no type that the evaluator knows, and do not count"
            source.notes.add(text, name_id(id))
            continue
        yield Response(
            id=id,
            answer=read_cell(row, "prediction", at, id, source),
            group=str(row.get("video") or ""),
            kind=kind,
            asked=read_asked(read_list(row.get("question"), at, id, source), f"{at} question", id, source),
        )


def read_list(cell: Any, at: str, id: object, source: Source) -> list[Any]:
    """Questions as Python text, or as a list; a row without any is told, and does not count."""
    found = cell
    if isinstance(cell, str):
        try:
            found = read_python_literal(cell)
        except ValueError:
            found = None
    if not isinstance(found, list):
        source.notes.add("{n} captions have no list of questions that can be read", name_id(id))
        return []
    return [
        {key: str(pair[key]) for key in ("question", "answer") if key in pair} if isinstance(pair, dict) else pair
        for pair in found
    ]


FORMATS = (
    Format(
        name="vlmevalkit-dream",
        about="VLMEvalKit's tables of DREAM-1K, and DREAM-1K.tsv: columns index, prediction, answer, events (JSON)",
        known_by=(
            HeadRule(all=("prediction",), none=("caption_type",)),
            HeadRule(all=("index", "answer"), none=("caption_type",)),
        ),
        certain=(HeadRule(table=True, all=("index", "answer", "events")),),
        holds="either",
        tasks=("questions",),
        pattern="*.tsv, *.csv, *.xlsx, *.json",
        read_responses=read_dream,
        example="index\tvideo\tanswer\tevents\tprediction\n0\tv_1\tA man runs.\t[]\tA man walks.",
    ),
    Format(
        name="vlmevalkit-vdc",
        about="VLMEvalKit's tables of VDC: columns index, caption_type, question (a list of pairs), prediction",
        known_by=(HeadRule(all=("caption_type", "question")),),
        certain=(HeadRule(table=True, all=("caption_type", "question")),),
        holds="either",
        tasks=("questions",),
        pattern="*.tsv, *.csv, *.xlsx, *.json",
        read_responses=read_vdc,
        example="index\tcaption_type\tquestion\tprediction\n"
        "0\tshort\t[{'question': 'Which colour?', 'answer': 'red'}]\tA red car.",
    ),
)
