"""TVR's predictions as lines: {"video2idx": …} first, then an entry a line; "task" says which list it is of (VCMR).

For result files too large for one document: each line is read, scored and forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabula.core.errors import shown
from fabula.core.moments import VideoNumbers
from fabula.io._fields import Source
from fabula.io._moments import Answers, MomentFormat, object_of
from fabula.io._records import Records, Shape, line_records
from fabula.io._tables import Tables, lift, objects
from fabula.io.tvr_predictions import ENTRY, KEY, LISTS, PLAIN, Known, known_videos, odd_ranking, ranking, rankings

TASKS = f"it may be {', '.join(LISTS)}"
LINE = Shape((*PLAIN.fields, ("task", "word")), others=True)


def answers(source: Source, numbers: VideoNumbers) -> Answers:
    known: Known | None = None
    for some in line_records(source.path, LINE):
        if isinstance(some, Records):
            yield from plain(some, known, source)
            continue
        left, values, shapes = lift(some.text, KEY)
        for number, entry in objects(left, source.path, some.place - 1):
            at = f"line {number}"
            entry = object_of(entry, at, source, ENTRY)
            if "video2idx" in entry and len(entry) == 1:
                known = known_videos(entry["video2idx"], numbers, source)
                continue
            name = entry.get("task", "VCMR")
            if name not in LISTS:
                raise source.wrong(f"a list called {shown(name)}", None, f"{at} task", TASKS)
            yield name, odd_ranking(entry, at, Tables(0, values, shapes), known, numbers, source)


def plain(some: Records, known: Known | None, source: Source) -> Answers:
    """The rankings of a run of entries, most often of one list."""
    ids, tasks = some["desc_id"], some["task"]
    for i, task in enumerate(tasks if set(tasks) - {None, *LISTS} else ()):
        if task is not None and task not in LISTS:
            raise source.wrong(f"a list called {shown(task)}", ids[i], "task", TASKS)
    tables = Tables(0, *some[KEY])
    if tasks.count(tasks[0]) == len(tasks):
        yield from rankings(tasks[0] or "VCMR", ids, tables, known, source)
        return
    for id, task, table in zip(ids, tasks, tables, strict=True):
        yield task or "VCMR", ranking(id, table, known, source)


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return ("desc_id" in first and "predictions" in first) or set(first) == {"video2idx"}


MOMENTS = MomentFormat(
    name="tvr-lines",
    about="TVR predictions, one query per line: {desc_id, predictions, task}, after a line {video2idx}",
    shape="lines",
    sniff=sniff,
    answers=answers,
    example='{"video2idx": {"kite": 0}}\n{"desc_id": 1, "task": "VCMR", "predictions": [[0, 0, 10.5, 0.9]]}',
)
