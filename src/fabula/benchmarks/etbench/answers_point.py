"""E.T. Bench's reader of highlights (Liu et al., NeurIPS 2024; compute_metrics.py): the first number of the text."""

from __future__ import annotations

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window

NUMBER = lazy(r"[-+]?(?:\d*\.\d+|\d+)")


def read(text: str) -> list[Window]:
    """A point in time, as a window without length: 5 of "5-15", 2 of "in the 2 minute video"."""
    found = NUMBER.search(text)
    return [(float(found[0]), float(found[0]))] if found else []


READER = Reader(
    name="etbench-point",
    about="one moment: the first number of the text, with its sign, whatever it counts",
    read=read,
    repository="huggingface.co/datasets/PolyU-ChenLab/ETBench",
    commit="as read in 2026",
)
