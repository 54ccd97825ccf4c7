"""SoftSODA as a differentiable function of a batch of costs (Batra et al., BMVC 2022).

    S[i][j] = smoothMin(S[i−1][j], S[i][j−1], S[i−1][j−1] + c[i][j]),    S[0][·] = S[·][0] = 0

    logsumexp:    smoothMin(x) = −γ log Σ_k exp(−x_k/γ)          ∂S[n][m]/∂c = E, the expected alignment
    expectation:  smoothMin(x) = Σ_k softmax(−x/γ)_k x_k         ∂S[n][m]/∂c has a further term (see _wavefront)

    F_γ = −γ log Σ_π exp(−Σ_{(i,j) ∈ π} c[i][j] / γ)             π: all ordered matchings of min(n, m) pairs

The last, `marginal_ordered`, is the log-sum-exp form with λ taken off every cost, so that smaller matchings vanish from
the sum, and k λ put back; a complete matching is one path of the recursion, so that none is counted twice.

The value and its gradient come out of one pass of the compiled kernel, to which costs of another device come in one
transfer, or, where there is no compiled kernel, of the wavefront in torch. Both sum in float64 whatever the type of the
costs, because differences of S are divided by γ. The gradient is itself differentiable once more.

Inside torch.compile both functions are one opaque operator (`fabula::soft_ordered`): no graph break, no unrolled loop.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from fabula import _kernels
from fabula.core.errors import MatrixError, SpecError
from fabula.learn import _wavefront
from fabula.learn._batch import Mask, batch, check, completing_shift, inside, lengths, ordered_batch, to_host

Smooth = Literal["logsumexp", "expectation"]

SMALLEST_GAMMA = 1e-12


def soft_ordered(cost: Tensor, mask: Mask = None, gamma: float = 0.01, smooth: Smooth = "logsumexp") -> Tensor:
    """The soft ordered matching value of each item, differentiable through the costs. [B, N, M] → [B]

    cost   costs of queries × targets, both in time order; small costs attract, costs > 0 repel. A matrix [N, M] gives
           a single number. bfloat16 and float16 costs give a float32 value.
    mask   (queries, targets): how many rows and columns of each item are real. Each is a tensor or list of B lengths,
           or a boolean [B, N] (or [B, M]) that is True first and False after, or None where all are real. What lies
           in the padding has no influence, be it NaN. An item with no query or no target has value 0.
    gamma  0 gives the hard matching of `fabula.match.ordered(−cost)`.
    """
    value, _ = _call(cost, mask, gamma, smooth, "gradient" if _needs_grad(cost) else "value")
    return value


def expected_alignment(cost: Tensor, mask: Mask = None, gamma: float = 0.01, smooth: Smooth = "logsumexp") -> Tensor:
    """E[b, i, j]: the probability that query i and target j are matched; rows and columns sum to ≤ 1. [B, N, M]

    Walking back from the last cell, each cell is left along its three arrows with probability softmax(−x/γ). For
    logsumexp this is the gradient of the value, and differentiable; for expectation it is not, and carries no gradient.
    """
    if smooth == "expectation":
        cost = cost.detach()
    _, E = _call(cost, mask, gamma, smooth, "gradient" if smooth == "logsumexp" else "alignment")
    return E


def marginal_ordered(cost: Tensor, mask: Mask = None, gamma: float = 0.02) -> Tensor:
    """The free energy of all complete ordered matchings of each item, differentiable. [B, N, M] → [B]

    Complete: min(n, m) pairs. The gradient is each pair's probability: columns sum to 1 where queries suffice.
    gamma = 0 is the cost of the cheapest complete ordered matching (`OrderedMatcher(complete=True)`).
    """
    if cost.dim() == 2 and mask is None:
        return marginal_ordered(cost[None], None, gamma)[0]
    check_options(gamma, "logsumexp")
    c = batch(cost)
    n, m = lengths(mask, c)
    with torch.no_grad():
        shift = completing_shift(_sums(c), n, m, gamma)
    value = soft_ordered(_sums(c) - shift[:, None, None], (n, m), gamma, "logsumexp")
    return (value + shift * torch.minimum(n, m)).to(c.dtype)


def check_options(gamma: float, smooth: str) -> None:
    if smooth not in ("logsumexp", "expectation"):
        raise SpecError(f"smooth is {smooth!r}; it may be logsumexp or expectation")
    if not (math.isfinite(gamma) and (gamma == 0 or gamma >= SMALLEST_GAMMA)):
        raise SpecError(f"gamma is {gamma}; it must be 0 (hard) or a finite number ≥ {SMALLEST_GAMMA}")


def _needs_grad(cost: Tensor) -> bool:
    return torch.is_grad_enabled() and cost.requires_grad


def _call(cost: Tensor, mask: Mask, gamma: float, smooth: str, want: str) -> tuple[Tensor, Tensor]:
    check_options(gamma, smooth)
    if cost.dim() == 2:
        if mask is not None:
            raise MatrixError("mask is for a batch [B, N, M]; cut a single matrix [N, M] to its real part instead")
        value, flow = _call(cost[None], None, gamma, smooth, want)
        return value[0], flow if want == "value" else flow[0]
    c = batch(cost)
    n, m = lengths(mask, c)
    value, flow = _op(c, n, m, float(gamma), smooth, want)
    return value, flow


# The operator ---------------------------------------------------------------------------------------------------------
# want = "value" leaves the second result empty; it is ∂value/∂cost for "gradient", E for "alignment".

_SCHEMA = "(Tensor cost, Tensor n, Tensor m, float gamma, str smooth, str want) -> (Tensor, Tensor)"


def _forward(cost: Tensor, n: Tensor, m: Tensor, gamma: float, smooth: str, want: str) -> tuple[Tensor, Tensor]:
    device = cost.device
    if _kernels.native() or gamma == 0:
        cost, n, m = to_host(cost, n, m)
    check(cost, n, m)
    if gamma == 0:
        value, flow = _hard(cost, n, m)
    elif _kernels.native():
        value, flow = _compiled(cost, n, m, gamma, smooth, want)
    else:
        real = _sums(cost).masked_fill(~inside(cost, n, m), 0.0)
        value, flow = _wavefront.value_and_flow(real, n, m, gamma, smooth, want)
    if want == "value":
        flow = cost.new_empty(0)
    return value.to(device, cost.dtype), flow.to(device, cost.dtype).contiguous()


def _compiled(cost: Tensor, n: Tensor, m: Tensor, gamma: float, smooth: str, want: str) -> tuple[Tensor, Tensor]:
    value = torch.empty(len(cost), dtype=torch.float64)
    form = "walk" if smooth == "expectation" and want == "alignment" else smooth
    arrays = [x.detach().contiguous().numpy() for x in (cost, n, m)]
    flow = np.zeros((0, 0, 0) if want == "value" else cost.shape, arrays[0].dtype)
    native: Any = _kernels.native()
    native.soft_ordered(*arrays, gamma, form, value.numpy(), flow, torch.get_num_threads())
    return value, torch.from_numpy(flow)


def _sums(cost: Tensor) -> Tensor:
    """The costs in the type that sums are made in: float64, except where the device has none."""
    return cost if cost.device.type == "mps" else cost.double()


def _hard(cost: Tensor, n: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    """γ = 0: the sum of the costs of the best pairs, and 1 at each of them."""
    i, j, counts = ordered_batch(cost, n, m)
    b = np.repeat(np.arange(len(counts)), counts)
    pairs = torch.zeros_like(cost)
    pairs[b, i, j] = 1.0
    return (_sums(cost).where(pairs > 0, 0.0)).sum((1, 2)), pairs


_op = torch.library.custom_op("fabula::soft_ordered", _forward, mutates_args=(), schema=_SCHEMA)


@_op.register_fake
def _(cost: Tensor, n: Tensor, m: Tensor, gamma: float, smooth: str, want: str) -> tuple[Tensor, Tensor]:
    value = cost.new_empty(cost.shape[0])
    return value, cost.new_empty(0) if want == "value" else torch.empty_like(
        cost, memory_format=torch.contiguous_format
    )


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    cost, n, m, ctx.gamma, ctx.smooth, ctx.want = inputs
    ctx.save_for_backward(cost, n, m, output[1])  # the gradient is an output, so that it can be differentiated again
    ctx.set_materialize_grads(False)


def _backward(
    ctx: Any, dvalue: Tensor | None, dflow: Tensor | None
) -> tuple[Tensor | None, None, None, None, None, None]:
    """∂/∂cost of ⟨dvalue, S⟩ + ⟨dflow, ∂S/∂cost⟩ = dvalue · ∂S/∂cost + ∂²S/∂cost² · dflow"""
    cost, n, m, flow = ctx.saved_tensors
    dcost = None if dvalue is None or ctx.want == "value" else dvalue[:, None, None] * flow
    if dflow is not None and ctx.want == "gradient":
        curved = _hessian_op(cost, n, m, ctx.gamma, ctx.smooth, dflow)
        dcost = curved if dcost is None else dcost + curved
    return dcost, None, None, None, None, None


_op.register_autograd(_backward, setup_context=_save)


def _hessian(cost: Tensor, n: Tensor, m: Tensor, gamma: float, smooth: str, v: Tensor) -> Tensor:
    if gamma == 0:
        return torch.zeros_like(cost)
    real = inside(cost, n, m)
    c, dc = (_sums(x).masked_fill(~real, 0.0) for x in (cost, v))
    return _wavefront.hessian(c, n, m, gamma, smooth, dc).to(cost.dtype).contiguous()


_hessian_op = torch.library.custom_op(
    "fabula::soft_ordered_hessian",
    _hessian,
    mutates_args=(),
    schema="(Tensor cost, Tensor n, Tensor m, float gamma, str smooth, Tensor v) -> Tensor",
)


@_hessian_op.register_fake
def _(cost: Tensor, n: Tensor, m: Tensor, gamma: float, smooth: str, v: Tensor) -> Tensor:
    return torch.empty_like(cost, memory_format=torch.contiguous_format)
