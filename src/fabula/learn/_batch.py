"""A batch of costs: its mask, its checks, and the hard ordered matching of each item.

A batch is cost [B, N, M] of queries × targets, padded. Its mask says what is real: (queries, targets), each of them B
lengths, or booleans [B, N] and [B, M] that are True first and False after, or None where nothing is padding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fabula import _kernels
from fabula.core.errors import MatrixError
from fabula.match.ordered import ordered_python

Lengths = Tensor | Sequence[int] | None
Mask = tuple[Lengths, Lengths] | None
Integers = NDArray[np.int64]


def lengths(mask: Mask, cost: Tensor) -> tuple[Tensor, Tensor]:
    """The mask as two tensors of B lengths on the device of the costs; −1 marks a boolean mask with a hole."""
    B, N, M = cost.shape
    if mask is None:
        mask = (None, None)
    if not isinstance(mask, tuple) or len(mask) != 2:
        raise MatrixError("mask is a pair (queries, targets) of lengths [B] or booleans [B, N], [B, M]")
    sides = []
    for what, length_or_mask, size in (("queries", mask[0], N), ("targets", mask[1], M)):
        if length_or_mask is None:
            sides.append(torch.full((B,), size, dtype=torch.int64, device=cost.device))
            continue
        side = torch.as_tensor(length_or_mask, device=cost.device)
        if side.dtype == torch.bool:
            if side.shape != (B, size):
                raise MatrixError(
                    f"mask of {what} has shape {tuple(side.shape)}; booleans are [B, {size}] here, B = {B}"
                )
            hole = (side[:, 1:] & ~side[:, :-1]).any(1)
            side = side.sum(1).masked_fill(hole, -1)
        elif side.shape != (B,) or side.is_floating_point():
            raise MatrixError(f"mask of {what} has shape {tuple(side.shape)} and {side.dtype}; give {B} whole lengths")
        sides.append(side.to(torch.int64))
    return sides[0], sides[1]


def check(cost: Tensor, n: Tensor, m: Tensor) -> None:
    """Check that every real cost is finite and every length fits; an error names the item and the cell."""
    B, N, M = cost.shape
    for what, side, size in (("queries", n, N), ("targets", m, M)):
        for b in torch.nonzero((side < 0) | (side > size))[:1, 0].tolist():
            if side[b] == -1:
                raise MatrixError(f"mask of {what}, item {b}: True after False; padding must come last")
            raise MatrixError(f"mask of {what}, item {b}: length {int(side[b])}, but the costs have {size} {what}")
    if all_finite(cost):
        return
    bad = ~torch.isfinite(cost) & inside(cost, n, m)
    for b, i, j in torch.nonzero(bad)[:1].tolist():
        raise MatrixError(
            f"cost of item {b}, query {i}, target {j} is {cost[b, i, j].item()} "
            f"({int(bad[b].sum())} of {int(n[b] * m[b])} costs of this item are not finite, "
            f"{int(bad.any(2).any(1).sum())} of {B} items have such); mend the model's output before matching"
        )


def all_finite(cost: Tensor) -> bool:
    # On CPU by numpy, in this thread: a busy machine makes torch wait longer for its other threads than this takes.
    return bool(np.isfinite(cost.detach().numpy()).all() if cost.device.type == "cpu" else torch.isfinite(cost).all())


def inside(cost: Tensor, n: Tensor, m: Tensor) -> Tensor:
    """True where a cost is real. [B, N, M]"""
    _, N, M = cost.shape
    i, j = torch.arange(N, device=cost.device), torch.arange(M, device=cost.device)
    return (i < n[:, None])[:, :, None] & (j < m[:, None])[:, None, :]


def to_host(cost: Tensor, n: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Costs and lengths in main memory, by one transfer: each one more would make the device wait again."""
    if cost.device.type == "cpu":
        return cost, n.cpu(), m.cpu()
    B = len(n)
    packed = torch.cat([cost.detach().flatten(), n.to(cost.dtype), m.to(cost.dtype)]).cpu()  # lengths < 2²⁴
    c, n, m = torch.split(packed, [packed.numel() - 2 * B, B, B])
    return c.view(cost.shape), n.to(torch.int64), m.to(torch.int64)


def completing_shift(cost: Tensor, n: Tensor, m: Tensor, gamma: float = 0.0) -> Tensor:
    """λ per item so that, with costs c − λ, matchings of fewer than k = min(n, m) pairs do not count. [B]

    r < k pairs cost at least r (min c − λ), k pairs at most k (max c − λ): λ > max + r (max − min)/(k − r) suffices.
    At a temperature the margin outweighs how many smaller matchings there are, fewer than 3^(n + m), by e⁻⁴⁰.
    """
    real = inside(cost, n, m)
    high = cost.masked_fill(~real, -torch.inf).amax((1, 2))
    low = cost.masked_fill(~real, torch.inf).amin((1, 2))
    k = torch.minimum(n, m)
    shift = high + k * (high - low) + 1 + gamma * (1.1 * (n + m) + 40)
    return shift.where(k > 0, 0.0)


def batch(cost: Tensor) -> Tensor:
    """Costs as [B, N, M], float32 or float64."""
    if cost.dim() != 3 or not cost.is_floating_point():
        raise MatrixError(f"cost has shape {tuple(cost.shape)} and {cost.dtype}; a batch of real costs is [B, N, M]")
    return cost if cost.dtype in (torch.float32, torch.float64) else cost.float()


def ordered_batch(cost: Tensor, n: Tensor, m: Tensor) -> tuple[Integers, Integers, Integers]:
    """The ordered matching of each item that costs least: `match.ordered(−cost[b, :n, :m])`.

    Rows and columns of the pairs of all items, one item after the other, and how many each has. [Σ k], [Σ k], [B]
    """
    C = np.ascontiguousarray(cost.detach().cpu().numpy())
    rows, columns = n.cpu().numpy(), m.cpu().numpy()
    native = _kernels.native()
    if native:
        B, N, M = C.shape
        i, j = np.empty((2, B, min(N, M)), dtype=np.int64)
        counts = np.empty(B, dtype=np.int64)
        native.ordered_batch(C, rows, columns, i, j, counts, torch.get_num_threads())
        matched = np.arange(min(N, M)) < counts[:, None]  # [B, min(N, M)]
        return i[matched], j[matched], counts
    pairs = [ordered_python(-C[b, : rows[b], : columns[b]].astype(np.float64))[1] for b in range(len(C))]
    flat = np.array([pair for item in pairs for pair in item], dtype=np.int64).reshape(-1, 2)
    return flat[:, 0], flat[:, 1], np.array([len(item) for item in pairs], dtype=np.int64)
