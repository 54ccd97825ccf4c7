"""How well faces were grouped, against labels: B³ (Bagga & Baldwin, 1998), ARI (Hubert & Arabie, 1985), pairs.

n_ij faces of truth i in group j, n_i and n_j its sums, N faces in all:

    B³ precision = 1/N Σ n_ij²/n_j      recall = 1/N Σ n_ij²/n_i      F harmonic
    pairs        precision = Σ C(n_ij, 2)/Σ C(n_j, 2)      recall = Σ C(n_ij, 2)/Σ C(n_i, 2)      F harmonic
    ARI          = (Σ C(n_ij, 2) − E)/(½(Σ C(n_i, 2) + Σ C(n_j, 2)) − E)      E = Σ C(n_i, 2) Σ C(n_j, 2)/C(N, 2)

A face that is nobody (−1) counts as a group of its own: leaving out is no way to score. No pair at all: precision and
recall 1; ARI 1 where both sides are the same trivial grouping, as scikit-learn has it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabula.core.errors import InputError


@dataclass(frozen=True)
class Agreement:
    """All of them, from 0 to 1; ARI may be below 0."""

    b3_precision: float
    b3_recall: float
    b3_f: float
    ari: float
    pair_precision: float
    pair_recall: float
    pair_f: float

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(asdict(self).items())


def agree(truth: ArrayLike, found: ArrayLike) -> Agreement:
    """Groups found against true ones, a label a face."""
    t, f = set_apart(truth), set_apart(found)
    if len(t) != len(f) or not len(t):
        raise InputError(f"{len(t)} true labels and {len(f)} found; one of each a face", hint="give both for all faces")
    N = len(t)
    cells, n_ij = np.unique(np.stack([t, f]), axis=1, return_counts=True)
    n_i, n_j = np.bincount(t), np.bincount(f)
    n = n_ij.astype(np.float64)
    precision, recall = float((n * n / n_j[cells[1]]).sum() / N), float((n * n / n_i[cells[0]]).sum() / N)
    both, mine, theirs = (float((k * (k - 1.0) / 2).sum()) for k in (n, n_j, n_i))
    chance = mine * theirs / (N * (N - 1) / 2) if N > 1 else 0.0
    room = (mine + theirs) / 2 - chance
    ari = (both - chance) / room if abs(room) > 1e-12 else 1.0
    pp, pr = both / mine if mine else 1.0, both / theirs if theirs else 1.0
    return Agreement(precision, recall, harmonic(precision, recall), ari, pp, pr, harmonic(pp, pr))


def set_apart(labels: ArrayLike) -> NDArray[np.int64]:
    """Labels as 0, 1, …; each −1 a label of its own."""
    values = np.asarray(labels)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise InputError(
            f"labels of type {values.dtype} and shape {list(values.shape)}", hint="whole numbers, one a face"
        )
    copy = np.array(values, np.int64)
    nobody = np.flatnonzero(copy < 0)
    copy[nobody] = copy.max(initial=-1) + 1 + np.arange(len(nobody))
    return np.asarray(np.unique(copy, return_inverse=True)[1], np.int64).reshape(-1)


def harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b else 0.0
