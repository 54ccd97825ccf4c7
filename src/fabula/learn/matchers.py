"""Which query answers for which target: Hungarian (DETR), ordered (SODA), soft (SoftSODA) and marginal matching.

    matching = OrderedMatcher()(cost, mask=(None, target_lengths), centres=boxes[..., 0])
    for queries, targets in matching: ...                     # one pair of index tensors per item, as in DETR

    HungarianMatcher     min Σ cost over one-to-one pairs                   every target gets a query if queries suffice
    OrderedMatcher       the same, indices growing on both sides            pairs that cost ≥ 0 are left out
                         complete=True: every target gets a query if queries suffice, whatever it costs
    SoftOrderedMatcher   the ordered pairs, and a loss that is soft over all ordered matchings (Batra et al., BMVC 2022)
    MarginalMatcher      the complete ordered pairs, and the free energy of all complete ordered matchings

The costs are the model's: for PDVC 2 · focal class + 4 · (−GIoU) (spec: queries × targets, smaller is better). The
ordered matchers need queries and targets in time order. Give `centres` and the queries are ordered here, whole rows by
an argsort; the published code sorts the two columns of (centre, length) separately, which changes the costs
themselves and is therefore an option of the model that makes them (`compat_independent_sort`), not of a matcher.

Targets that no pair takes get no loss. `add_missing_targets` says what to do with them:

    "no"         leave them
    "random"     each takes a random unused query, which breaks the order on purpose (the published code)
    "cheapest"   they share the unused queries at the least total cost

Where not one pair costs less than 0, as at the start of training, `empty="diagonal"` pairs the i-th query with the i-th
target and fills nothing more: the published code, whatever it does with targets that are missing.

Matching is a decision and has no gradient, except for `value` and `loss` of the soft one. A matcher returns lists whose
sizes depend on the data, so torch.compile cannot trace it: calls are left to Python (`torch.compiler.disable`), which
breaks the graph there and nowhere else. `soft_ordered` alone can be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fabula.core.errors import MatrixError, SpecError, import_extra
from fabula.learn._batch import (
    Integers,
    Mask,
    batch,
    check,
    completing_shift,
    inside,
    lengths,
    ordered_batch,
    to_host,
)
from fabula.learn.soft import Smooth, check_options, expected_alignment, marginal_ordered, soft_ordered

__all__ = [
    "HungarianMatcher",
    "MarginalMatcher",
    "Mask",
    "Matching",
    "OrderedMatcher",
    "SoftOrderedMatcher",
    "expected_alignment",
    "marginal_ordered",
    "soft_ordered",
]

Missing = Literal["no", "random", "cheapest"]
Empty = Literal["no", "diagonal"]
Pairs = tuple[Tensor, Tensor]
Call = TypeVar("Call", bound=Callable[..., Any])


def _eager(call: Call) -> Call:
    """torch.compile leaves this call to Python: the sizes of what it returns depend on the data."""
    return cast(Call, torch.compiler.disable(call))  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, eq=False)
class Matching(Sequence[Pairs]):
    """The pairs of each item of a batch; `matching[b]` is (query indices, target indices), both int64 on cost's device.

    Matched pairs come first, in the order of the targets; `added[b]` more, which `add_missing_targets` made, come last.
    """

    pairs: list[Pairs]  # B × ([k], [k])
    added: list[int]  # B
    value: Tensor | None = None  # [B] soft: S[n][m], marginal: F_γ, differentiable through the costs
    loss: Tensor | None = None  # [B] the same / number of targets, 0 where there are none

    def __getitem__(self, b: int) -> Pairs:  # type: ignore[override]
        return self.pairs[b]

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pairs]:
        return iter(self.pairs)

    def flat(self) -> tuple[Tensor, Tensor, Tensor]:
        """All pairs as (item, query, target), to index with: `boxes[item, query]`. 3 × [Σ k]"""
        items = [torch.full_like(q, b) for b, (q, _) in enumerate(self.pairs)]
        if not items:
            return (torch.empty(0, dtype=torch.int64),) * 3
        return torch.cat(items), torch.cat([q for q, _ in self.pairs]), torch.cat([t for _, t in self.pairs])


class HungarianMatcher:
    """The cheapest one-to-one matching, order ignored: min(n, m) pairs per item (Kuhn 1955; DETR, PDVC), by scipy."""

    @_eager
    def __call__(self, cost: Tensor, mask: Mask = None, centres: Tensor | None = None) -> Matching:
        """cost [B, N, M]; mask as for `soft_ordered`; centres are not needed and ignored."""
        c, n, m = _checked(cost, mask)
        C = c.numpy()
        assignments = [_assign(C[b, :rows, :columns]) for b, (rows, columns) in enumerate(_sizes(n, m))]
        none = np.empty(0, np.int64)
        i, j = (
            np.concatenate([none, *(i for i, _ in assignments)]),
            np.concatenate([none, *(j for _, j in assignments)]),
        )
        return Matching(_tensors(i, j, [len(i) for i, _ in assignments], cost.device), [0] * len(assignments))

    def __repr__(self) -> str:
        return "HungarianMatcher()"


class OrderedMatcher:
    """The cheapest one-to-one matching whose indices grow on both sides (SODA): `match.ordered(−cost)` of each item.

    generator   a torch.Generator, or a seed for one, for "random"; None is torch's own (set by torch.manual_seed).
    complete    the cheapest of those with min(n, m) pairs; costs ≥ 0 are taken, too.
    empty       what an empty matching is: "no" pairs but those that fill it, or the "diagonal" (see top).
    """

    def __init__(
        self,
        add_missing_targets: Missing = "no",
        generator: torch.Generator | int | None = None,
        *,
        complete: bool = False,
        empty: Empty = "no",
    ) -> None:
        if add_missing_targets not in ("no", "random", "cheapest"):
            raise SpecError(f"add_missing_targets is {add_missing_targets!r}; it may be no, random or cheapest")
        if empty not in ("no", "diagonal"):
            raise SpecError(f"empty is {empty!r}; it may be no or diagonal")
        self.add_missing_targets, self.complete, self.empty = add_missing_targets, complete, empty
        self.generator = torch.Generator().manual_seed(generator) if isinstance(generator, int) else generator

    @_eager
    def __call__(self, cost: Tensor, mask: Mask = None, centres: Tensor | None = None) -> Matching:
        """cost [B, N, M], targets in time order, and queries too unless their centres [B, N] are given."""
        return self._match(cost, mask, None if centres is None else _by_centre(cost, mask, centres))

    def _match(self, cost: Tensor, mask: Mask, order: Tensor | None) -> Matching:
        c, n, m = _checked(cost if order is None else _rows(cost, order), mask)
        if self.complete:
            c = c.double()
            c = c - completing_shift(c, n, m)[:, None, None]
        i, j, counts = ordered_batch(c, n, m)
        added = np.zeros_like(counts)
        if self.add_missing_targets != "no" or (self.empty == "diagonal" and not counts.all()):
            i, j, added = self._fill(c.numpy(), n, m, i, j, counts)
        counts = counts + added
        if order is not None:
            b = np.repeat(np.arange(len(counts)), counts)
            i = order.cpu().numpy()[b, i]
        return Matching(_tensors(i, j, counts.tolist(), cost.device), added.tolist())

    def _fill(
        self, C: NDArray[np.floating], n: Tensor, m: Tensor, i: Integers, j: Integers, counts: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """The pairs of each item, followed by pairs for the targets that are left while unused queries last."""
        all_i, all_j, added = [i[:0]], [j[:0]], np.zeros_like(counts)
        ends = np.cumsum(counts)
        for b, (rows, columns) in enumerate(_sizes(n, m)):
            own = slice(ends[b] - counts[b], ends[b])
            unused, missing = np.setdiff1d(np.arange(rows), i[own]), np.setdiff1d(np.arange(columns), j[own])
            if self.empty == "diagonal" and not counts[b]:
                more_i = more_j = np.arange(min(rows, columns))
            elif self.add_missing_targets == "cheapest":
                row, column = _assign(C[b][np.ix_(unused, missing)])
                more_i, more_j = unused[row], missing[column]
            elif self.add_missing_targets == "no":
                more_i = more_j = i[:0]
            else:
                drawn = torch.randperm(len(unused), generator=self.generator).numpy()
                more_i, more_j = unused[drawn[: len(missing)]], missing[: len(unused)]
            all_i += [i[own], more_i]
            all_j += [j[own], more_j]
            added[b] = len(more_i)
        return np.concatenate(all_i), np.concatenate(all_j), added

    def __repr__(self) -> str:
        more = ", complete=True" if self.complete else ""
        return f"{type(self).__name__}(add_missing_targets={self.add_missing_targets!r}{more})"


class SoftOrderedMatcher(OrderedMatcher):
    """SoftSODA: ordered pairs for the usual losses, and `loss = S[n, m] / m`, whose gradient reaches every query.

    The defaults are the paper code's: smoothMin as softmax expectation, γ .01, missing targets filled at random.
    The pairs are those of the hard matching of the same costs.
    """

    def __init__(
        self,
        gamma: float = 0.01,
        smooth: Smooth = "expectation",
        add_missing_targets: Missing = "random",
        generator: torch.Generator | int | None = None,
        *,
        complete: bool = False,
        empty: Empty = "no",
    ) -> None:
        super().__init__(add_missing_targets, generator, complete=complete, empty=empty)
        check_options(gamma, smooth)
        self.gamma, self.smooth = gamma, smooth

    @_eager
    def __call__(self, cost: Tensor, mask: Mask = None, centres: Tensor | None = None) -> Matching:
        """As OrderedMatcher, with `value` and `loss` [B]."""
        order = None if centres is None else _by_centre(cost, mask, centres)
        hard = self._match(cost.detach(), mask, order)
        value = soft_ordered(cost if order is None else _rows(cost, order), mask, self.gamma, self.smooth)
        m = lengths(mask, cost)[1]
        return Matching(hard.pairs, hard.added, value, value / m.clamp(min=1))

    def __repr__(self) -> str:
        return (
            f"SoftOrderedMatcher(gamma={self.gamma:g}, smooth={self.smooth!r}, "
            f"add_missing_targets={self.add_missing_targets!r})"
        )


class MarginalMatcher(OrderedMatcher):
    """The complete ordered pairs, and value = −γ log Σ exp(−cost/γ) over all complete ordered matchings.

    Where the costs are what a pair adds to a set loss (PDVC's `energy`), the value and the loss of no pair are together
    the free energy of that loss: bounded below, its gradient the expected gradient, γ → 0 the loss of the best pairs.
    """

    def __init__(self, gamma: float = 0.02) -> None:
        super().__init__(complete=True)
        check_options(gamma, "logsumexp")
        self.gamma = gamma

    @_eager
    def __call__(self, cost: Tensor, mask: Mask = None, centres: Tensor | None = None) -> Matching:
        """As OrderedMatcher, with `value` and `loss` [B]."""
        order = None if centres is None else _by_centre(cost, mask, centres)
        hard = self._match(cost.detach(), mask, order)
        value = marginal_ordered(cost if order is None else _rows(cost, order), mask, self.gamma)
        m = lengths(mask, cost)[1]
        return Matching(hard.pairs, hard.added, value, value / m.clamp(min=1))

    def __repr__(self) -> str:
        return f"MarginalMatcher(gamma={self.gamma:g})"


def _checked(cost: Tensor, mask: Mask) -> tuple[Tensor, Tensor, Tensor]:
    """Costs without gradient and lengths, in main memory and fit to be matched. [B, N, M], [B], [B]"""
    c = batch(cost.detach())
    c, n, m = to_host(c, *lengths(mask, c))
    check(c, n, m)
    return c, n, m


def _by_centre(cost: Tensor, mask: Mask, centres: Tensor) -> Tensor:
    """The order of the queries in time, padding last; equal centres keep their order. [B, N]"""
    n, _ = lengths(mask, cost)
    if centres.shape != cost.shape[:2]:
        raise MatrixError(f"centres have shape {tuple(centres.shape)}; the costs ask for {tuple(cost.shape[:2])}")
    real = inside(centres[..., None], n, torch.ones_like(n))[..., 0]
    at = centres.detach().to(cost.device)
    for b, i in torch.nonzero(~torch.isfinite(at) & real)[:1].tolist():
        raise MatrixError(
            f"centre of item {b}, query {i} is {at[b, i].item()}; mend the model's output before matching"
        )
    return at.masked_fill(~real, torch.inf).argsort(dim=1, stable=True)


def _rows(cost: Tensor, order: Tensor) -> Tensor:
    return cost.gather(1, order[:, :, None].expand_as(cost))


def _assign(C: NDArray[np.floating]) -> tuple[Integers, Integers]:
    linear_sum_assignment = import_extra("scipy.optimize", "Hungarian matching", "learn").linear_sum_assignment
    i, j = linear_sum_assignment(C)
    return i, j


def _sizes(n: Tensor, m: Tensor) -> Iterator[tuple[int, int]]:
    return zip(n.tolist(), m.tolist(), strict=True)


def _tensors(i: Integers, j: Integers, counts: list[int], device: torch.device) -> list[Pairs]:
    """Pairs of all items in a row → the pairs of each; one copy to the device for all."""
    queries, targets = torch.from_numpy(i).to(device), torch.from_numpy(j).to(device)
    return list(zip(torch.split(queries, counts), torch.split(targets, counts), strict=True))
