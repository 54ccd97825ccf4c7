"""TVR's predictions as lines: {"video2idx": …} first, then an entry a line; "task" says which list it is of (VCMR).

For result files too large for one document: each line is read, scored and forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fabula.benchmarks.tvr.predictions import (
    ENTRY,
    KEY,
    LISTS,
    PLAIN,
    Known,
    build_ranking,
    build_rankings,
    read_known,
    read_odd,
)
from fabula.core.errors import shown
from fabula.data.moments import Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.documents.files import encode_json, parse_lines
from fabula.documents.records import Records, Shape, Tables, lift_tables, read_line_records
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import check_object

TASKS = f"it may be {', '.join(LISTS)}"
LINE = Shape((*PLAIN.fields, ("task", "word")), others=True)


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    known: Known | None = None
    for some in read_line_records(source.document, LINE):
        if isinstance(some, Records):
            yield from read_plain(some, known, source)
            continue
        left, values, shapes = lift_tables(some.text, KEY)
        for number, entry in parse_lines(left, source.document, some.place - 1):
            at = source.document.place(number)
            entry = check_object(entry, at, source, ENTRY)
            if "video2idx" in entry and len(entry) == 1:
                known = read_known(entry["video2idx"], numbers, source)
                continue
            name = entry.get("task", "VCMR")
            if name not in LISTS:
                id, place = entry.get("desc_id"), "task" if "desc_id" in entry else f"{at} task"
                raise source.wrong(f"a list called {shown(name)}", id, place, TASKS)
            yield name, read_odd(entry, at, Tables(0, values, shapes), known, numbers, source)


def read_plain(some: Records, known: Known | None, source: Source) -> Answers:
    """The rankings of a run of entries, most often of one list."""
    ids, tasks = some["desc_id"], some["task"]
    for i, task in enumerate(tasks if set(tasks) - {None, *LISTS} else ()):
        if task is not None and task not in LISTS:
            raise source.wrong(f"a list called {shown(task)}", ids[i], "task", TASKS)
    tables = Tables(0, *some[KEY])
    if tasks.count(tasks[0]) == len(tasks):
        yield from build_rankings(tasks[0] or "VCMR", ids, tables, known, source)
        return
    for id, task, table in zip(ids, tasks, tables, strict=True):
        yield task or "VCMR", build_ranking(id, table, known, source)


def write_lists(rankings: Sequence[tuple[str, Ranking]], numbers: VideoNumbers, target: Source) -> Iterator[str]:
    """Rankings with the list that each is of."""
    yield encode_json({"video2idx": dict(numbers)}, target.document)
    for task, ranking in rankings:
        videos = np.zeros(len(ranking)) if ranking.videos is None else ranking.videos
        scores = [] if ranking.scores is None else [ranking.scores]
        rows = np.column_stack([videos, ranking.spans, *scores]).tolist()
        predictions = [[int(video), *others] for video, *others in rows]
        yield encode_json({"desc_id": ranking.id, "task": task, KEY: predictions}, target.document)


FORMAT = Format(
    name="tvr-lines",
    about="TVR predictions, one query per line: {desc_id, predictions, task}, after a line {video2idx}",
    known_by=(HeadRule(all=("desc_id", KEY)), HeadRule(all=("video2idx",), only=True)),
    main_task="moments",
    holds="predictions",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_rankings=read_rankings,
    write_lists=write_lists,
    example='{"video2idx": {"kite": 0}}\n{"desc_id": 1, "task": "VCMR", "predictions": [[0, 0, 10.5, 0.9]]}',
)
