"""Times as models read them beside frames: one a frame, or one for every two that the model merges."""

from __future__ import annotations

from collections.abc import Sequence


def label_pairs(indices: Sequence[int], fps: float) -> tuple[float, ...]:
    """Qwen3-VL: the mean of the first and last time of every two frames; of an odd count the last is repeated."""
    times = [i / fps for i in indices]
    if len(times) % 2:
        times.append(times[-1])
    return tuple((a + b) / 2 for a, b in zip(times[::2], times[1::2], strict=True))


def one_digit(times: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{t:.1f}" for t in times)


def two_digits(times: Sequence[float]) -> tuple[str, ...]:
    """`1.50s`"""
    return tuple(f"{t:.2f}s" for t in times)
