"""VLMEvalKit's tables (<model>_<dataset>.xlsx, .tsv): a row per question with its `prediction`, read as stories.

A story's id stands in the column `video`, else `video_id`, `id` or `index`; or in the one that the argument names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fabula.core.notes import name_id
from fabula.data.stories import Story
from fabula.documents.fields import Source
from fabula.documents.tables import Row
from fabula.io.answers import files
from fabula.io.answers.hosts import FAILED, ROW_IDS
from fabula.io.format import STORIES, Format, HeadRule


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    rows = [as_answer(row, n, source) for n, row in enumerate(document, 2)]  # as a spreadsheet counts them
    yield from files.read_stories(rows, replace(source, argument=None))


def as_answer(row: Row, number: int, source: Source) -> dict[str, Any]:
    at = f"row {number}"
    column = source.argument or next((c for c in ROW_IDS if c in row), "video")
    id = source.entry(row, column, None, at)
    if id is None:
        raise source.wrong(f"no {column}", None, at, f"every row names its {column}")
    said = source.entry(row, "prediction", id, at)
    if said is not None and FAILED in str(said):
        source.notes.add("{n} answers never came: the kit wrote down that it failed", name_id(id))
    answer = {"id": show_id(id), "answer": "" if said is None else str(said)}
    duration = row.get("duration")
    return answer if duration is None else answer | {"duration": as_number(duration)}


def show_id(cell: Any) -> str:
    """A workbook keeps whole numbers as decimals."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def as_number(cell: Any) -> Any:
    """A cell of text as the number it spells; what spells none is left for the reader to refuse."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell


FORMAT = Format(
    name="vlmevalkit",
    about="VLMEvalKit's tables of predictions, read as answers with an audit: columns video (or index), prediction",
    known_by=(HeadRule(table=True),),
    holds="predictions",
    tasks=STORIES,
    pattern="*.csv, *.tsv, *.xlsx",
    spoken="otherwise",
    read_stories=read_stories,
    argument="the column with the id",
    example='video,prediction\nv_kite,"From 0 to 10.5 seconds, a kite rises."',
)
