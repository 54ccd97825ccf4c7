"""Sets of clips whose blanks are filled in, all in one block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fabula.data.identity import ClipSet


@dataclass(frozen=True, slots=True)
class ClipSets:
    sets: Sequence[ClipSet]

    def __len__(self) -> int:
        return len(self.sets)

    def blocks(self, whole: bool) -> Iterator[Sequence[ClipSet]]:
        yield self.sets
