"""Stories: events of videos, one file a format."""

from __future__ import annotations

from typing import Any

from fabula.io.shelf import SHELVES

IDS = ("id", "uid", "video", "video_id", "vid", "image_id")  # what an answer calls its video
TEXTS = ("answer", "text", "output", "response", "prediction")  # and its words


def is_answer(entry: Any) -> bool:
    return (
        isinstance(entry, dict) and any(k in entry for k in IDS) and any(isinstance(entry.get(k), str) for k in TEXTS)
    )


SHELF = SHELVES["stories"]
