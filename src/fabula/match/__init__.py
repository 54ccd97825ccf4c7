"""Matrix → pairs: ordered (SODA), soft_ordered (SoftSODA), hungarian, greedy; its meaning is not known here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.lazy_package import load_lazily

__all__ = ["Matrix", "Pairs", "greedy", "hungarian", "ordered", "soft_ordered"]

if TYPE_CHECKING:
    from fabula.match._matrix import Matrix, Pairs
    from fabula.match.greedy import greedy
    from fabula.match.hungarian import hungarian
    from fabula.match.ordered import ordered
    from fabula.match.soft_ordered import soft_ordered

MATCHERS = {name: name for name in ("greedy", "hungarian", "ordered", "soft_ordered")}

load_lazily(__name__, {**MATCHERS, "Matrix": "_matrix", "Pairs": "_matrix"})
