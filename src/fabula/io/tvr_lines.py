"""TVR's predictions as lines: {"video2idx": …} first, then an entry a line; "task" says which list it is of (VCMR).

For result files too large for one document: each line is read, scored and forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabula.core.errors import shown
from fabula.core.moments import Id, VideoNumbers
from fabula.io._fields import Source
from fabula.io._moments import Answers, MomentFormat, id_of, object_of
from fabula.io._tables import line_pieces, marked
from fabula.io.tvr_predictions import ENTRY, KEY, LISTS, Known, known_videos, rankings, slow_ranking


def answers(source: Source, numbers: VideoNumbers) -> Answers:
    known: Known | None = None
    for lines, tables in line_pieces(source.path, KEY):
        owners: list[tuple[str, Id] | None] = [None] * len(tables)
        for number, entry in lines:
            at = f"line {number}"
            entry = object_of(entry, at, source, ENTRY)
            if "video2idx" in entry and len(entry) == 1:
                known = known_videos(entry["video2idx"], numbers, source)
                continue
            name = entry.get("task", "VCMR")
            if name not in LISTS:
                raise source.wrong(f"a list called {shown(name)}", None, f"{at} task", f"it may be {', '.join(LISTS)}")
            id = id_of(entry, "desc_id", at, source)
            rows = source.entry(entry, "predictions", id, at)
            if (k := marked(rows)) is not None:
                owners[k - tables.first] = name, id
            else:
                yield name, slow_ranking(id, rows, known, numbers, source)
        yield from rankings(owners, tables, known, source)


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
