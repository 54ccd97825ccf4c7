"""VLMEvalKit's tables of grounding: `answer` holds the true windows, `prediction` what the model said.

The id of a query is its `index`. A table scores against itself: fabula score t.xlsx --refs t.xlsx --task grounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.data.moments import Id, Query, Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.documents.tables import Row, read_rows
from fabula.io.answers.answer import parse
from fabula.io.answers.hosts import note_failed, read_windows
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import NO_WINDOWS, read_words


def list_rows(source: Source) -> Iterator[tuple[Id, str, Row]]:
    for number, row in enumerate(read_rows(source.document, loose=True), 2):  # as a spreadsheet counts them
        at = f"row {number}"
        cell = source.entry(row, "index", None, at)
        if cell is None:
            raise source.wrong("no index", None, at, "every row has its index")
        yield as_id(cell), at, row


def as_id(cell: Any) -> Id:
    """A number in a workbook, its text in a .tsv: the same id."""
    try:
        return int(cell)
    except (TypeError, ValueError):
        return str(cell)


def read_queries(source: Source) -> Iterator[Query]:
    for id, at, row in list_rows(source):
        said = source.entry(row, "answer", id, at)
        windows = read_windows(said)
        if not windows and isinstance(said, str):
            windows = tuple((e.segment.start, e.segment.end) for e in parse(said).events)
        if not windows:
            hint = "it is [start, end], several of them, or a sentence with a time span"
            raise source.wrong(f"the answer {said!r:.60} holds no window", id, at, hint)
        text = row.get("question")
        yield Query(id, str(row.get("video") or id), windows, None, None if text is None else str(text))


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for id, at, row in list_rows(source):
        said = source.entry(row, "prediction", id, at)
        words = read_words("" if said is None else str(said), at, id, source)
        yield "", Ranking(id, NO_WINDOWS, answer=note_failed(words, id, source))


FORMAT = Format(
    name="vlmevalkit-grounding",
    about="VLMEvalKit's tables of grounding: columns index, video, question, answer (windows), prediction",
    known_by=(HeadRule(table=True),),
    main_task="grounding",
    holds="either",
    tasks=MOMENTS,
    pattern="*.csv, *.tsv, *.xlsx",
    read_queries=read_queries,
    read_rankings=read_rankings,
    example='index,video,question,answer,prediction\n0,kite,a kite rises,"[0, 10.5]",It happens in 0 - 9 seconds.',
)
