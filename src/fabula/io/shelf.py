"""Every format that can be read, of every task, in one shape: what `fabula list formats` shows."""

from __future__ import annotations

from collections.abc import Iterator

from fabula.core.registry import Room
from fabula.io import formats, moments, regions
from fabula.io._format import Reader

SHAPES = {"json": "*.json", "lines": "*.jsonl", "text": "*.txt"}
MOMENTS = ("moments", "highlights", "grounding")

room = Room("fabula.io", "READERS", "reader")


def readers() -> list[Reader]:
    """Stories first, then the other tasks, each by file name. A file of another kind lists itself as READERS."""
    others: Iterator[tuple[Reader, ...]] = room.all()
    return [*of_stories(), *of_moments(), *of_regions(), *(reader for some in others for reader in some)]


def of_stories() -> Iterator[Reader]:
    for f in formats():
        pattern = "*.jsonl, *.json" if f.lines and f.whole else "*.jsonl" if f.lines else "*.json"
        yield Reader(f.name, ("dense", "procedure"), f.holds, pattern, f.about, f.example, f.write is not None)


def of_moments() -> Iterator[Reader]:
    for f in moments.formats():
        yield Reader(f.name, MOMENTS, f.holds, SHAPES[f.shape], f.about, f.example)


def of_regions() -> Iterator[Reader]:
    for f in regions.formats():
        yield Reader(f.name, ("regions",), f.holds, "*.jsonl" if f.lines else "*.json", f.about, f.example)
