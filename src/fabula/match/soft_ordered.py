"""SoftSODA: ordered matching made differentiable (Batra et al., BMVC 2022); numpy reference.

    S[i][j] = smoothMin(S[i−1][j], S[i][j−1], S[i−1][j−1] + c[i][j]),    S[0][·] = S[·][0] = 0

    logsumexp:    smoothMin(x) = −γ log Σ_k exp(−x_k/γ)      (soft-DTW's form)
    expectation:  smoothMin(x) = Σ_k w_k x_k                 (the form the paper's code runs, "prob")
                  w = softmax(−x/γ) in both

Expected alignment: walk back from the last cell, leaving each cell along its three arrows with probability w;
E[i][j] is the probability that the walk matches i with j. Rows and columns of E sum to at most 1. For logsumexp
E = ∂S[N][M]/∂c, the Gibbs distribution over ordered matchings; for expectation the gradient has a further term,
which fabula.learn takes care of. γ → 0 gives the hard matching of `ordered(−c)`.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fabula.core.errors import SpecError
from fabula.match._matrix import Matrix, matrix
from fabula.match.ordered import ordered

Smooth = Literal["logsumexp", "expectation"]


def soft_ordered(cost: ArrayLike, gamma: float = 0.01, smooth: Smooth = "logsumexp") -> tuple[float, Matrix]:
    """Value and expected alignment of a cost matrix c [N, M]; small costs attract."""
    c = matrix(cost, "cost")
    if not (math.isfinite(gamma) and gamma >= 0):
        raise SpecError(f"gamma is {gamma}; it must be a finite number ≥ 0")
    if smooth not in ("logsumexp", "expectation"):
        raise SpecError(f"smooth is {smooth!r}; it may be logsumexp or expectation")
    return hard(c) if gamma == 0 else soft(c, gamma, smooth)


def hard(c: Matrix) -> tuple[float, Matrix]:
    value, pairs = ordered(-c)
    E = np.zeros_like(c)
    for i, j in pairs:
        E[i, j] = 1.0
    return 0.0 - value, E


def soft(c: Matrix, gamma: float, smooth: Smooth) -> tuple[float, Matrix]:
    N, M = c.shape
    S = np.zeros((N + 1, M + 1))
    W = np.zeros((N + 1, M + 1, 3))  # how a cell is left: skip i, skip j, match
    for i in range(1, N + 1):
        for j in range(1, M + 1):
            x = np.array([S[i - 1, j], S[i, j - 1], S[i - 1, j - 1] + c[i - 1, j - 1]])
            w = np.exp(-(x - x.min()) / gamma)
            total = w.sum()
            W[i, j] = w / total
            S[i, j] = x.min() - gamma * math.log(total) if smooth == "logsumexp" else W[i, j] @ x

    visit = np.zeros((N + 1, M + 1))  # probability that the walk back comes through
    visit[N, M] = 1.0
    E = np.zeros((N, M))
    for i in range(N, 0, -1):
        for j in range(M, 0, -1):
            skip_i, skip_j, match = visit[i, j] * W[i, j]
            visit[i - 1, j] += skip_i
            visit[i, j - 1] += skip_j
            visit[i - 1, j - 1] += match
            E[i - 1, j - 1] = match
    return float(S[N, M]), E
