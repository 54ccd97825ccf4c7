"""TVR's predictions as lines: {"video2idx": …} first, then an entry a line; "task" says which list it is of (VCMR).

For result files too large for one document: each line is read, scored and forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabula.core.errors import shown
from fabula.core.moments import VideoNumbers
from fabula.io._fields import Source
from fabula.io._moments import Answers, MomentFormat, id_of, object_of
from fabula.io._tables import byte_lines, lifted
from fabula.io.tvr_predictions import ENTRY, KEY, LISTS, Known, known_videos, ranking, slow_ranking


def answers(source: Source, numbers: VideoNumbers) -> Answers:
    known: Known | None = None
    for number, line in byte_lines(source.path):
        at = f"line {number}"
        entry, table = lifted(line, KEY, source.path, number)
        entry = object_of(entry, at, source, ENTRY)
        if set(entry) == {"video2idx"}:
            known = known_videos(entry["video2idx"], numbers, source)
            continue
        name = source.text(entry.get("task", "VCMR"), f"{at} task")
        if name not in LISTS:
            raise source.wrong(f"a list called {shown(name)}", None, f"{at} task", f"it may be {', '.join(LISTS)}")
        id = id_of(entry, "desc_id", at, source)
        if table is None:
            yield name, slow_ranking(id, source.entry(entry, "predictions", id, at), known, numbers, source)
        else:
            yield name, ranking(id, table, known, source)


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return ("desc_id" in first and "predictions" in first) or set(first) == {"video2idx"}


MOMENTS = MomentFormat(
    name="tvr-lines",
    about="TVR predictions, one query per line: {desc_id, predictions, task}, after a line {video2idx}",
    shape="lines",
    sniff=sniff,
    answers=answers,
)
