"""Four ways to spread n indices over a video; harnesses differ in them, and so do "the same 8 frames".

    R1  numpy.linspace to integers     ⌊i·step⌋, step = (e − s)/(n − 1) in double, the last is e
    R2  numpy.linspace, then round     the same to the nearest, halves to even
    R3  torch.linspace, then round     in float32, the second half counted back from the end, one rounding a point
    R4  torch.arange, then truncate    float32 in blocks of 16, as the vector code adds them; sometimes n + 1 points

They are written out, so that a number does not move with a release of numpy, and torch is not needed. R3 and R4 are
those of a processor with fused multiply-add (AVX2 and later).
"""

from __future__ import annotations

import math

import numpy as np

from fabula.media.sampling.base import refuse

LANES = 8  # floats of a vector; torch adds two at a time


def spread_floor(start: int, end: int, n: int) -> list[int]:
    """R1."""
    return [math.floor(x) for x in spread(start, end, n)]


def spread_even(start: int, end: int, n: int) -> list[int]:
    """R2."""
    return [round(x) for x in spread(start, end, n)]


def spread(start: float, end: float, n: int) -> list[float]:
    """n points from start to end: start + i·step, and the end itself."""
    if n < 0:
        refuse("ValueError", f"{n} frames")
    if n <= 1:
        return [start][:n]
    step = (end - start) / (n - 1)
    return [start + i * step for i in range(n - 1)] + [end]


def spread_float32(start: int, end: int, n: int) -> list[int]:
    """R3. Products of two floats are exact in double, so that each point is rounded once."""
    if n <= 1:
        return [start][:n]
    step = float(np.float32(np.float32(end - start) / np.float32(n - 1)))
    points = [start + step * i if i < n // 2 else end - step * (n - 1 - i) for i in range(n)]
    return [round(float(np.float32(x))) for x in points]


def step_float32(start: float, end: float, step: float) -> list[int]:
    """R4. ⌈(end − start)/step⌉ points."""
    n = math.ceil((end - start) / step)
    block = 2 * LANES
    whole = n // block * block
    i = np.arange(n, dtype=np.float64)
    first = np.float32(start + step * (i // LANES * LANES)).astype(np.float64)
    points = np.where(i < whole, first + (i % LANES) * step, start + step * i).astype(np.float32)
    return [int(x) for x in points]
