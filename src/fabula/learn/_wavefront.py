"""SoftSODA by anti-diagonals in torch: any device, no loop over cells. Twin of _kernels/soft_ordered.cpp.

Cells of one anti-diagonal d = i + j do not depend on each other, so a table of N × M cells takes N + M steps, each of
them one operation on B · min(N, M) cells. Tables are stored by diagonal, T[d, b, i] = S[b, i, d − i], with the shorter
side as i (the recursion is symmetric; `Skew` turns the matrix when the rows are more than the columns):

    S[i][j]  reads   S[i−1][j] = T[d−1, i−1],    S[i][j−1] = T[d−1, i],    S[i−1][j−1] + c[i][j] = T[d−2, i−1] + c

Derivatives. Let p_k = ∂S[i][j]/∂x_k for the three predecessors x_k (they sum to 1 in both forms):

    logsumexp     p = w                          w = softmax(−x/γ)
    expectation   p = w · (1 − (x − S)/γ)        the second term is the derivative of the weights

    pull   A[u] = seed[u] + Σ_{v after u} p_{u→v} A[v]        adjoint of every cell; ∂S[n][m]/∂c = A · p_match
    push   Ṡ[v] = source[v] + Σ_{u before v} p_{u→v} Ṡ[u]     tangent of every cell; source = p_match · ċ

    Hessian · ċ:   Ȧ = pull(seed = Σ_{v after u} ṗ_{u→v} A[v]),    ∂²S ċ = Ȧ p_match + A ṗ_match
    logsumexp     ṗ = −w (ẋ − Σ w ẋ)/γ
    expectation   ṗ = ẇ (1 − (x − S)/γ) − w (ẋ − Ṡ)/γ,    ẇ = −w (ẋ − Σ w ẋ)/γ
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad


class Skew(NamedTuple):
    """A batch of N × M matrices seen by diagonals; K = min(N, M), L = max(N, M), D = K + L − 1."""

    turned: bool  # rows were more than columns: i runs over columns
    K: int
    L: int

    @staticmethod
    def of(N: int, M: int) -> Skew:
        return Skew(N > M, min(N, M), max(N, M))

    def to(self, x: Tensor) -> Tensor:
        """[B, N, M] → [D, B, K]: row i moves i places to the right, columns become diagonals; zeros elsewhere."""
        K, L = self.K, self.L
        if self.turned:
            x = x.transpose(1, 2)
        x = pad(x, (0, K)).flatten(1)[:, : K * (L + K - 1)]  # rows of L + K, cut to rows of L + K − 1
        return x.reshape(len(x), K, L + K - 1).permute(2, 0, 1).contiguous()

    def back(self, x: Tensor) -> Tensor:
        """[D, B, K] → [B, N, M]."""
        K, L = self.K, self.L
        x = pad(x.permute(1, 2, 0).flatten(1), (0, K)).reshape(x.shape[1], K, L + K)[:, :, :L]
        return x.transpose(1, 2) if self.turned else x


class Table(NamedTuple):
    """What a forward pass leaves: the table, and how each cell was reached."""

    T: Tensor  # [D + 2, B, K + 1] diagonals 0 … K + L of S, borders included
    x: Tensor  # [3, D, B, K] the three predecessors of each cell: skip i, skip j, match
    w: Tensor  # [3, D, B, K] softmax(−x/γ), zero outside the matrix
    p: Tensor  # [3, D, B, K] ∂S/∂x, zero outside the matrix


def forward(c: Tensor, skew: Skew, gamma: float, smooth: str) -> Table:
    """All cells of all items. c: [D, B, K]"""
    D, B, K = c.shape
    T = c.new_zeros(D + 2, B, K + 1)
    for d in range(2, D + 2):
        low, high = max(1, d - skew.L), min(K, d - 1)  # 1 ≤ i ≤ K and 1 ≤ j = d − i ≤ L
        before, cells = slice(low - 1, high), slice(low, high + 1)
        x = torch.stack([T[d - 1, :, before], T[d - 1, :, cells], T[d - 2, :, before] + c[d - 2, :, before]])
        T[d, :, cells] = smooth_min(x, gamma, smooth)
    x = predecessors(T)
    x[2] += c
    i = torch.arange(1, K + 1, device=c.device)
    j = torch.arange(2, D + 2, device=c.device)[:, None] - i
    inside = ((j >= 1) & (j <= skew.L))[:, None, :]  # [D, 1, K]
    w = torch.softmax(-x / gamma, 0) * inside
    p = w if smooth == "logsumexp" else w * (1 - (x - T[2:, :, 1:]) / gamma)
    return Table(T, x, w, p)


def predecessors(T: Tensor) -> Tensor:
    """T[i−1][j], T[i][j−1], T[i−1][j−1] of all cells. [D + 2, B, K + 1] → [3, D, B, K]"""
    return torch.stack([T[1:-1, :, :-1], T[1:-1, :, 1:], T[:-2, :, :-1]])


def smooth_min(x: Tensor, gamma: float, smooth: str) -> Tensor:
    """[3, …] → […]"""
    if smooth == "logsumexp":
        return -gamma * torch.logsumexp(-x / gamma, 0)
    return (torch.softmax(-x / gamma, 0) * x).sum(0)


def pull(p: Tensor, seed: Tensor) -> Tensor:
    """A[u] = seed[u] + Σ_{v after u} p_{u→v} A[v]. p: [3, D, B, K], seed: [D, B, K] → [D, B, K]"""
    p, A = pad(p, (0, 1)), pad(seed, (0, 1))  # a column i = K + 1 of zeros
    for d in range(A.shape[0] - 2, -1, -1):
        skip_i, skip_j = p[0, d + 1] * A[d + 1], p[1, d + 1] * A[d + 1]  # [B, K + 1]
        A[d, :, :-1] += skip_i[:, 1:] + skip_j[:, :-1]
        if d + 2 < A.shape[0]:
            A[d, :, :-1] += (p[2, d + 2] * A[d + 2])[:, 1:]
    return A[:, :, :-1]


def after(p: Tensor, A: Tensor) -> Tensor:
    """Σ_{v after u} p_{u→v} A[v] for all u at once. [3, D, B, K], [D, B, K] → [D, B, K]"""
    flow = pad(p * A, (0, 1, 0, 0, 0, 2))  # [3, D + 2, B, K + 1]
    return flow[0, 1:-1, :, 1:] + flow[1, 1:-1, :, :-1] + flow[2, 2:, :, 1:]


def push(p: Tensor, source: Tensor) -> Tensor:
    """Ṡ[v] = source[v] + Σ_{u before v} p_{u→v} Ṡ[u]; borders are 0. [3, D, B, K], [D, B, K] → [D + 2, B, K + 1]"""
    D, B, K = source.shape
    T = source.new_zeros(D + 2, B, K + 1)
    for d in range(2, D + 2):
        x = torch.stack([T[d - 1, :, :-1], T[d - 1, :, 1:], T[d - 2, :, :-1]])
        T[d, :, 1:] = source[d - 2] + (p[:, d - 2] * x).sum(0)
    return T


def seeds(like: Tensor, n: Tensor, m: Tensor) -> Tensor:
    """One at the last cell (n, m) of each item, nothing for an empty item. [B, N, M]"""
    _, N, M = like.shape
    i, j = torch.arange(1, N + 1, device=like.device), torch.arange(1, M + 1, device=like.device)
    return ((i == n[:, None])[:, :, None] & (j == m[:, None])[:, None, :]).to(like.dtype)


def value_and_flow(cost: Tensor, n: Tensor, m: Tensor, gamma: float, smooth: str, want: str) -> tuple[Tensor, Tensor]:
    """S[n][m] of each item [B], and its gradient or expected alignment [B, N, M] (zeros for the value only)."""
    B, N, M = cost.shape
    if N == 0 or M == 0:
        return cost.new_zeros(B), torch.zeros_like(cost)
    skew = Skew.of(N, M)
    table, seed = forward(skew.to(cost), skew, gamma, smooth), skew.to(seeds(cost, n, m))
    value = (table.T[2:, :, 1:] * seed).sum((0, 2))
    if want == "value":
        return value, torch.zeros_like(cost)
    p = table.w if want == "alignment" else table.p
    return value, skew.back(pull(p, seed) * p[2])


def hessian(cost: Tensor, n: Tensor, m: Tensor, gamma: float, smooth: str, v: Tensor) -> Tensor:
    """∂²S[n][m]/∂c² · v for each item: the derivative of the gradient along v. [B, N, M]"""
    if cost.numel() == 0:
        return torch.zeros_like(cost)
    skew = Skew.of(*cost.shape[1:])
    table, seed, dc = forward(skew.to(cost), skew, gamma, smooth), skew.to(seeds(cost, n, m)), skew.to(v)
    w, p = table.w, table.p
    dT = push(p, p[2] * dc)
    dx = predecessors(dT)
    dx[2] += dc
    dw = -w * (dx - (w * dx).sum(0)) / gamma
    if smooth == "logsumexp":
        dp = dw
    else:
        dp = dw * (1 - (table.x - table.T[2:, :, 1:]) / gamma) - w * (dx - dT[2:, :, 1:]) / gamma
    A = pull(p, seed)
    dA = pull(p, after(dp, A))
    return skew.back(dA * p[2] + A * dp[2])
