"""What metrics of questions share: responses in blocks, a row each; which kind a row is of stands in a column.

A metric writes `units`: responses in, a row each out, in their order. `kind` numbers the kinds by first appearance, so
that results can be told apart, and folded one by one; what is drawn together when items are resampled is a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.core.rows import Rows
from fabula.data.questions import Response
from fabula.metrics.base import Metric, Row

BLOCK = 256  # responses whose judgements are asked for together


@dataclass(frozen=True, slots=True)
class Responses:
    """All of a file, handed out some at a time."""

    items: Sequence[Response]

    def __len__(self) -> int:
        return len(self.items)

    def blocks(self, whole: bool) -> Iterator[Sequence[Response]]:
        if whole:
            yield self.items
            return
        for at in range(0, len(self.items), BLOCK):
            yield self.items[at : at + BLOCK]


@dataclass(frozen=True, slots=True)
class Shared:
    """What rows need to know of all responses: the numbers of the kinds, and whether there are groups."""

    kinds: Mapping[str, int]  # by first appearance
    grouped: bool

    @classmethod
    def of(cls, responses: Sequence[Response]) -> Shared:
        kinds = {kind: k for k, kind in enumerate(dict.fromkeys(r.kind for r in responses))}
        return cls(kinds, any(r.group for r in responses))


@dataclass(frozen=True, kw_only=True)
class QuestionMetric(Metric):
    """Base of metrics over responses."""

    reads: ClassVar[str] = "questions"
    tasks: ClassVar[tuple[str, ...]] = ("questions",)
    needs: ClassVar[str] = ""  # what a response must have for it: "gold", "asked", "references"

    def can_read(self, response: Response) -> bool:
        """Whether the response has what this metric holds an answer against."""
        if self.needs == "gold":
            return response.right is not None
        return bool(getattr(response, self.needs)) if self.needs else True

    def units(self, responses: Sequence[Response]) -> list[Row]:
        """One row per response, in order."""
        raise NotImplementedError(f"{self.name} does not say what its rows are")

    def prepare(self, data: Responses) -> Shared:
        return Shared.of(data.items)

    def rows(self, block: Sequence[Response], ctx: Shared) -> Rows:
        """A row for every response that has what the metric reads."""
        readable = [r for r in block if self.can_read(r)]
        table = Rows.of(({"id": r.id, **row} for r, row in zip(readable, self.units(readable), strict=True)), unit="id")
        kinds = np.array([ctx.kinds[r.kind] for r in readable], dtype=np.float64)
        groups = tuple(r.group or r.id for r in readable) if ctx.grouped else None
        return Rows(table.keys, table.refset, {**table.columns, "kind": kinds}, "id", groups)
