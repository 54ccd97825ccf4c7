"""Predictions merged around anchors (SodaM: Yao et al., ICML 2026): several pieces tell one reference.

Anchors are pairs of an ordered matching. What lies between two of them may belong to either:

    all          to the earlier anchor, whatever it overlaps; what comes before the first anchor goes to the first
    overlapping  to the one of the two whose reference it overlaps more (the earlier on ties); to none without overlap
"""

from __future__ import annotations

import numpy as np

from fabula.match._matrix import Matrix, Pairs

Groups = list[tuple[int, list[int]]]  # a reference, and the predictions that tell it


def merge_all(pairs: Pairs, P: int) -> Groups:
    """The published rule: every one of P predictions joins a group, where there is an anchor at all."""
    if not pairs:
        return []
    starts = [0, *(p for _, p in pairs[1:])]  # a gap belongs to the anchor before it
    ends = [*starts[1:], P]
    return [(g, list(range(start, end))) for (g, _), start, end in zip(pairs, starts, ends, strict=True)]


def merge_overlapping(C: Matrix, pairs: Pairs) -> Groups:
    """C: overlaps [G, P]; what overlaps neither neighbour stays alone."""
    groups: Groups = [(g, [p]) for g, p in pairs]
    taken = {p for _, p in pairs}
    for j in range(C.shape[1]):
        if j in taken:
            continue
        after = int(np.searchsorted([p for _, p in pairs], j))
        near = [k for k in (after - 1, after) if 0 <= k < len(pairs) and C[pairs[k][0], j] > 0]
        if near:
            best = max(near, key=lambda k: (C[pairs[k][0], j], -k))
            groups[best][1].append(j)
    return [(g, sorted(members)) for g, members in groups]
