"""Matchers for training: hard against scipy's Hungarian, soft against the numba soft-DTW that people copy.

    pip install '.[bench]' && python bench/match.py

Each figure is a median over rounds in which both sides take turns, so that a busy machine is busy for both; the ratio
is the median of the rounds' ratios. On a machine that others use, `--threads 1 --cpu` compares the processor time of
one thread each, which does not depend on how long they are held up. The numba functions below have the well-known
structure (Cuturi & Blondel, ICML 2017: a parallel loop over items, the recursion of R, the recursion of E) and are
compiled before the clock starts; what their first call costs is printed apart. The wavefront (torch, any device) is
timed on the same CPU for comparison.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
options.add_argument("--gamma", type=float, default=0.1)
options.add_argument("--rounds", type=int, default=51)
options.add_argument("--threads", type=int, default=os.cpu_count() or 1)
options.add_argument("--cpu", action="store_true", help="processor time of all threads instead of wall time")
given = options.parse_args()
# Before torch and numba are loaded: they share one OpenMP, and numba sets the threads of both when it starts its own.
os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = str(given.threads)
now = time.process_time if given.cpu else time.perf_counter

import numba  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.optimize import linear_sum_assignment  # noqa: E402
from torch import Tensor  # noqa: E402

from fabula import _kernels  # noqa: E402
from fabula.learn import HungarianMatcher, OrderedMatcher, SoftOrderedMatcher, soft_ordered  # noqa: E402

Array = NDArray[Any]

# What people copy -----------------------------------------------------------------------------------------------------
#
#   R[i][j] = D[i][j] − γ log Σ_k exp(−R_k/γ)   over the three predecessors,   R[0][0] = 0, borders ∞
#   E[i][j] = Σ over the three cells after (i, j) of E · exp((R_after − R[i][j] − D_after)/γ)


@numba.njit(parallel=True)
def softdtw_forward(D: Array, gamma: float) -> Array:
    B, N, M = D.shape
    R = np.full((B, N + 2, M + 2), np.inf)
    R[:, 0, 0] = 0.0
    for b in numba.prange(B):
        for j in range(1, M + 1):
            for i in range(1, N + 1):
                r0 = -R[b, i - 1, j - 1] / gamma
                r1 = -R[b, i - 1, j] / gamma
                r2 = -R[b, i, j - 1] / gamma
                top = max(max(r0, r1), r2)
                total = np.exp(r0 - top) + np.exp(r1 - top) + np.exp(r2 - top)
                R[b, i, j] = D[b, i - 1, j - 1] - gamma * (np.log(total) + top)
    return R


@numba.njit(parallel=True)
def softdtw_backward(D: Array, R: Array, gamma: float) -> Array:
    B, N, M = D.shape
    wide = np.zeros((B, N + 2, M + 2))
    wide[:, 1 : N + 1, 1 : M + 1] = D
    E = np.zeros((B, N + 2, M + 2))
    E[:, -1, -1] = 1.0
    R[:, :, -1] = -np.inf
    R[:, -1, :] = -np.inf
    R[:, -1, -1] = R[:, -2, -2]
    for b in numba.prange(B):
        for j in range(M, 0, -1):
            for i in range(N, 0, -1):
                if np.isinf(R[b, i, j]):
                    R[b, i, j] = -np.inf
                a = np.exp((R[b, i + 1, j] - R[b, i, j] - wide[b, i + 1, j]) / gamma)
                c = np.exp((R[b, i, j + 1] - R[b, i, j] - wide[b, i, j + 1]) / gamma)
                d = np.exp((R[b, i + 1, j + 1] - R[b, i, j] - wide[b, i + 1, j + 1]) / gamma)
                E[b, i, j] = E[b, i + 1, j] * a + E[b, i, j + 1] * c + E[b, i + 1, j + 1] * d
    return E[:, 1 : N + 1, 1 : M + 1]


class SoftDTW(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, D: Tensor, gamma: float) -> Tensor:
        R = torch.from_numpy(softdtw_forward(D.detach().numpy(), gamma))
        ctx.save_for_backward(D, R)
        ctx.gamma = gamma
        return R[:, -2, -2].to(D.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        D, R = ctx.saved_tensors
        E = torch.from_numpy(softdtw_backward(D.detach().numpy(), R.numpy().copy(), ctx.gamma)).to(D.dtype)
        return grads[0][:, None, None] * E, None


# The clock ------------------------------------------------------------------------------------------------------------


def clock(work: Callable[[], object]) -> float:
    began = now()
    work()
    return now() - began


def turns(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Median seconds of each, and the median of theirs / ours."""
    took = [(clock(ours), clock(theirs)) for _ in range(rounds)]
    return (
        statistics.median(a for a, _ in took),
        statistics.median(b for _, b in took),
        statistics.median(b / a for a, b in took),
    )


def line(what: str, ours: float, theirs: float, ratio: float, target: float) -> None:
    verdict = "ok" if ratio >= target else "SHORT"
    print(f"{what:<58}{ours * 1e3:9.3f}{theirs * 1e3:11.3f}{ratio:9.2f}×   ≥ {target:.2f}× {verdict}")


def peak_memory(N: int, M: int) -> float:
    """Bytes per cost that one forward and backward of 16 × N × M float32 costs adds to the peak of a fresh process."""
    code = (
        "import torch; from fabula.learn import soft_ordered\n"
        "def peak(): return 1024 * next(int(x.split()[1]) for x in open('/proc/self/status') if x[:5] == 'VmHWM')\n"
        "soft_ordered(torch.zeros(1, 2, 2, requires_grad=True)).sum().backward()\n"
        f"c = torch.randn(16, {N}, {M}).requires_grad_(); open('/proc/self/clear_refs', 'w').write('5')\n"
        "before = peak(); soft_ordered(c).sum().backward(); print((peak() - before) / c.numel())"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    torch.set_num_threads(given.threads)
    rng = np.random.default_rng(0)
    print(f"torch {torch.__version__}, numba {numba.__version__}, {given.threads} threads, γ {given.gamma:g}", end="")
    print(", ms of processor time" if given.cpu else ", ms of wall time", end="")
    print(", compiled kernels" if _kernels.native() else ", NO compiled kernels: the twins are timed")
    print(f"{'':<58}{'ours':>9}{'theirs':>11}{'ratio':>10}   target")

    C = torch.from_numpy(rng.normal(size=(16, 100, 30))).float()
    matrices = [c.numpy() for c in C]

    def scipys() -> list[Any]:
        return [linear_sum_assignment(c) for c in matrices]

    for matcher in (OrderedMatcher(), HungarianMatcher(), SoftOrderedMatcher(add_missing_targets="no")):
        target = 1 / 3 if isinstance(matcher, OrderedMatcher) and not isinstance(matcher, SoftOrderedMatcher) else 0
        result = turns(lambda matcher=matcher: matcher(C), scipys, given.rounds)
        line(f"{type(matcher).__name__}, 16×100×30 · scipy's Hungarian alone", *result, target)

    tiny = torch.zeros(1, 2, 2, requires_grad=True)
    first_ours = clock(lambda: soft_ordered(tiny, gamma=given.gamma).sum().backward())
    first_numba = clock(lambda: SoftDTW.apply(tiny, given.gamma).sum().backward())
    for N, M, target in ((100, 30, 2.0), (300, 30, 2.0), (900, 100, 3.0)):
        D = torch.from_numpy(rng.normal(size=(16, N, M))).float().requires_grad_()
        rounds = max(5, given.rounds * 3000 // (N * M))

        def numba_step(D: Tensor = D) -> None:
            SoftDTW.apply(D, given.gamma).sum().backward()

        numba_step()
        for smooth in ("logsumexp", "expectation"):

            def step(D: Tensor = D, smooth: Any = smooth) -> None:
                soft_ordered(D, gamma=given.gamma, smooth=smooth).sum().backward()

            step()
            result = turns(step, numba_step, rounds)
            line(f"soft {smooth}, 16×{N}×{M} forward + backward · numba", *result, target)
        with _kernels.using("python"):
            result = turns(step, numba_step, 3)
        line(f"     the same by the torch wavefront, 16×{N}×{M} · numba", *result, 0)
    print(f"first call: ours {first_ours * 1e3:.1f} ms, numba {first_numba * 1e3:.0f} ms (compiling)")
    if sys.platform == "linux":
        used = ", ".join(f"{peak_memory(N, 100):.1f} at 16×{N}×100" for N in (900, 1800, 3600))
        print(f"peak memory of forward + backward, bytes per cost: {used}")


if __name__ == "__main__":
    main()
