"""Answers as evaluation kits keep them in tables: the columns of the data set, and "prediction".

It is "Failed to obtain answer via API." where none came.
"""

from __future__ import annotations

import json
from typing import Any

from fabula.core.notes import name_id
from fabula.core.patterns import read_python_literal
from fabula.documents.fields import Source

ROW_IDS = ("video", "video_id", "id", "index")  # the same of a table, whose index counts rows
FAILED = "Failed to obtain answer"
Windows = tuple[tuple[float, float], ...]


def read_windows(value: Any) -> Windows:
    """[start, end], several of them, or text that says so; () where it says anything else."""
    if isinstance(value, str) and len(value) < 10_000:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            try:
                value = read_python_literal(value)
            except ValueError:
                return ()
    if not isinstance(value, list | tuple) or not value:
        return ()
    several = value if isinstance(value[0], list | tuple) else [value]
    if not all(isinstance(w, list | tuple) and len(w) == 2 for w in several):
        return ()
    if not all(type(x) in (int, float) and abs(x) < 1e9 for w in several for x in w):
        return ()
    return tuple((float(start), float(end)) for start, end in several)


def note_failed(text: str, id: object, source: Source) -> str:
    """The answer; one that never came is counted."""
    if FAILED in text:
        source.notes.add("{n} answers never came: the kit wrote down that it failed", name_id(id))
    return text
