"""Holm's correction (Scandinavian Journal of Statistics 1979) for m tests made at once.

With p_(1) ≤ … ≤ p_(m):    p̃_(i) = max over j ≤ i of min(1, (m − j + 1)·p_(j))

The chance of one false alarm or more among them stays below α; no independence is needed.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """Corrected p-values, in the order given."""
    m, running = len(p), 0.0
    corrected = [0.0] * m
    for j, i in enumerate(sorted(range(m), key=lambda i: p[i])):
        running = max(running, min(1.0, (m - j) * p[i]))
        corrected[i] = running
    return corrected
