"""The same answers under every reader of windows: what each finds in each, and how many it reads as ours does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fabula.core.notes import Notes
from fabula.data.moments import Id, Rankings, VideoNumbers
from fabula.io import moments as files
from fabula.io.answers.readers import READERS, Window

OURS = "fabula"


@dataclass(frozen=True, slots=True)
class Readings:
    """answers[i] is to query ids[i]; windows[reader][i] is what a reader finds in it, the window that counts first."""

    ids: tuple[Id, ...]
    answers: tuple[str, ...]
    windows: dict[str, list[list[Window]]]

    def read(self, name: str) -> int:
        """How many answers it finds a window in."""
        return sum(map(bool, self.windows[name]))

    def alike(self, name: str) -> int:
        """How many have the same first window as by our own reader, or none by both."""
        return sum(a[:1] == b[:1] for a, b in zip(self.windows[name], self.windows[OURS], strict=True))

    def lines(self) -> Iterator[dict[str, object]]:
        """An answer a line, with every reader's windows."""
        for i, (id, text) in enumerate(zip(self.ids, self.answers, strict=True)):
            yield {"id": id, "answer": text, "windows": {name: found[i] for name, found in self.windows.items()}}


def gather_readings(predictions: str | Path, format: str | None) -> Readings | None:
    """Of a file of answers in words; None where it has windows already."""
    stream, _ = files.read_rankings(predictions, VideoNumbers(), Notes(), format)
    rankings = (ranking for _, entry in stream for ranking in (entry if isinstance(entry, Rankings) else (entry,)))
    answers = [(ranking.id, ranking.answer) for ranking in rankings if ranking.answer is not None]
    if not answers:
        return None
    windows = {reader.name: [list(reader.read(text)) for _, text in answers] for reader in READERS.all()}
    return Readings(tuple(id for id, _ in answers), tuple(text for _, text in answers), windows)
