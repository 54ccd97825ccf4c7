"""Tokens → money. Prices are said by whoever pays: `--price 0.15/0.60` for a million tokens in and out, of all models,
or `--price small=0.15/0.60`. Without one a call costs 0, and reports say that no price was given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from fabula.core.errors import SpecError, shown

UNIT = 1_000_000  # tokens that a price is for


@dataclass(frozen=True, slots=True)
class Prices:
    """Price of a million tokens in and out, by model; "" is any other."""

    table: dict[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Prices:
        table = {}
        for word in texts:
            model, _, pair = word.rpartition("=")
            try:
                a, b = (float(part) for part in pair.split("/"))
            except ValueError:
                a = b = math.nan
            if not (0 <= a < math.inf and 0 <= b < math.inf):
                raise SpecError(f"--price {shown(word)}; say IN/OUT for a million tokens, or MODEL=IN/OUT")
            table[model] = (a, b)
        return cls(table)

    def known(self, model: str) -> bool:
        return model in self.table or "" in self.table

    def cost(self, model: str, tokens_in: int | None, tokens_out: int | None) -> float:
        a, b = self.table.get(model) or self.table.get("") or (0.0, 0.0)
        return ((tokens_in or 0) * a + (tokens_out or 0) * b) / UNIT
