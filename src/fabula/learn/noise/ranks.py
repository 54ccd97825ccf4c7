"""How often the true caption stands above the disturbed ones: a row for each moment, folded last.

static, dynamic   share of the disturbed captions of that kind with a lower score than the true one; a tie counts ½
all               1 where the true caption is above every disturbed one
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from fabula.learn.noise.texts import KINDS, Wrong

Row = Mapping[str, float]


def rank_row(true: float, scores: Sequence[float], wrong: Sequence[Wrong]) -> dict[str, float]:
    """Of one moment; a kind that it has no caption of is left out."""
    beaten = [compare(true, score) for score in scores]
    row = {}
    for kind in KINDS:
        of_kind = [b for b, w in zip(beaten, wrong, strict=True) if w.kind == kind]
        if of_kind:
            row[kind] = sum(of_kind) / len(of_kind)
    if beaten:
        row["all"] = float(all(b == 1 for b in beaten))
    return row


def compare(a: float, b: float) -> float:
    return 1.0 if a > b else 0.5 if a == b else 0.0


def fold(rows: Iterable[Row]) -> dict[str, float]:
    """The mean over the moments that have a number."""
    rows = list(rows)
    out = {}
    for name in (*KINDS, "all"):
        values = [row[name] for row in rows if name in row]
        out[name] = math.fsum(values) / len(values) if values else math.nan
    return out
