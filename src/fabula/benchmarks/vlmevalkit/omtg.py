"""VLMEvalKit's records of OMTG-Bench: {"index", "video", "question", "answer", "prediction"}, both sides in one.

As a list, or a line each. The truth is words too, and is read as the benchmark reads it (answers_omtg.py);
a truth without a window is a query that should be answered by none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.vlmevalkit import answers_omtg
from fabula.core.notes import name_id
from fabula.data.moments import Id, Query, Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import NO_WINDOWS, check_object, read_id, read_text, read_words

FIELDS = ("index", "answer", "prediction")
LINE = HeadRule(all=FIELDS, lines=True)
LIST = HeadRule(begins=r"\s*\[\s*\{" + "".join(rf'(?=[^{{}}]*"{name}"\s*:)' for name in FIELDS))
ENTRY = '{"index", "video", "question", "answer": text, "prediction": text}'


def entries(source: Source) -> Iterator[tuple[Id, dict[str, Any]]]:
    if source.document.lines:
        objects = source.document.entries()
    else:
        listed = source.listing(source.document.tree(), "the root", hint=f"it is [{ENTRY}, …]")
        objects = ((f"entry {i}", entry) for i, entry in enumerate(listed))
    for at, entry in objects:
        entry = check_object(entry, at, source, ENTRY)
        yield read_id(entry, "index", at, source), entry


def read_queries(source: Source) -> Iterator[Query]:
    for id, entry in entries(source):
        truth = answers_omtg.read(read_words(source.entry(entry, "answer", id), "answer", id, source))
        if not truth:
            source.notes.add("{n} queries have a truth without a window: they should be answered by none", name_id(id))
        video = entry.get("video", "")
        yield Query(
            id,
            video if isinstance(video, str) else str(id),
            tuple(truth),
            None,
            read_text(entry, "question", id, source),
        )


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for id, entry in entries(source):
        words = read_words(source.entry(entry, "prediction", id), "prediction", id, source)
        yield "", Ranking(id, NO_WINDOWS, answer=words)


FORMAT = Format(
    name="omtg",
    about="VLMEvalKit's OMTG-Bench: [{index, video, question, answer, prediction}], references and predictions in one",
    known_by=(LINE, LIST),
    certain=(LINE, LIST),
    main_task="grounding",
    holds="either",
    tasks=("grounding",),
    pattern="*.json, *.jsonl",
    read_queries=read_queries,
    read_rankings=read_rankings,
    example='[{"index": 1, "video": "kite.mp4", "question": "when does the kite rise", "answer": "0 - 10.5 seconds", '
    '"prediction": "0 - 10 seconds"}]',
)
