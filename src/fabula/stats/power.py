"""How many videos would show a difference of d (Cohen 1988, ch. 2; here for any fold, by its jackknife).

δ̂_(v) is the difference of two systems without video v; its pseudo-values are what each video says of the difference:

    δ̃_v = V·δ̂ − (V − 1)·δ̂_(v)          σ² = their variance, and σ²/n that of the difference over n videos
    n    = ((z_{1−α/2} + z_π)·σ / d)²     videos, so that a two-sided test at α finds d with probability π
    d(n) = (z_{1−α/2} + z_π)·σ / √n       what n videos can show

With one system, a pilot, σ is that of its own pseudo-values times √(2(1 − ρ)): ρ, how alike two systems score the same
video, must be assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fabula.core.errors import SpecError
from fabula.stats.bootstrap import jackknife
from fabula.stats.sample import Array, Sample

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Power:
    """What a test over videos can see."""

    metric: str
    sigma: float  # of what one video says of the difference
    videos: int  # that it was estimated from
    alpha: float
    power: float
    observed: float | None = None  # the difference of the two systems, where there are two
    scale: float = 100.0

    @property
    def reach(self) -> float:
        return NORMAL.inv_cdf(1 - self.alpha / 2) + NORMAL.inv_cdf(self.power)

    def needed(self, difference: float) -> int:
        """How many videos show it; an exact test over fewer than log₂(2/α) can show nothing."""
        if not difference:
            raise SpecError("no number of videos shows a difference of 0")
        least = math.ceil(math.log2(2 / self.alpha))
        return max(least, math.ceil((self.reach * self.sigma / abs(difference)) ** 2))

    def shown_by(self, videos: int) -> float:
        """The smallest difference that so many videos show."""
        return self.reach * self.sigma / math.sqrt(videos)

    def chance(self, difference: float, videos: int) -> float:
        """How likely a test over so many videos finds a difference."""
        if not self.sigma:
            return 1.0
        at = abs(difference) * math.sqrt(videos) / self.sigma
        z = NORMAL.inv_cdf(1 - self.alpha / 2)
        return NORMAL.cdf(at - z) + NORMAL.cdf(-at - z)


def pseudo_values(value: float, without: Array) -> Array:
    """What each video (or group of them) says of a number."""
    V = len(without)
    found: Array = V * value - (V - 1) * without
    return found


def spread(value: float, without: Array, videos: int) -> float:
    """σ of one video; where groups of videos were left out, that of a group, made smaller."""
    if len(without) < 2:
        raise SpecError("one video shows no spread; name two or more")
    return float(np.std(pseudo_values(value, without), ddof=1)) * math.sqrt(videos / len(without))


def power_of_pair(metric: str, a: Sample, b: Sample, alpha: float, power: float, scale: float = 100.0) -> Power:
    """From two systems over the same videos."""
    delta = b.value - a.value
    sigma = spread(delta, jackknife(b) - jackknife(a), len(a.videos))
    return Power(metric, sigma, len(a.videos), alpha, power, delta, scale)


def power_of_pilot(
    metric: str, sample: Sample, correlation: float, alpha: float, power: float, scale: float = 100.0
) -> Power:
    """From one system, and an assumption on how alike another scores the same videos."""
    sigma = spread(sample.value, jackknife(sample), len(sample.videos)) * math.sqrt(2 * (1 - correlation))
    return Power(metric, sigma, len(sample.videos), alpha, power, None, scale)
