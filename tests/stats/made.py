"""Rows with a known truth."""

import numpy as np

from fabula.core.rows import Rows


def table(values: np.ndarray, name: str = "value") -> Rows:
    """values [V, K]: a row for each video and reference set."""
    V, K = values.shape
    keys = tuple(f"v{i}" for i in range(V) for _ in range(K))
    return Rows(keys, np.tile(np.arange(K), V), {name: values.ravel()})


def skewed(rng: np.random.Generator, videos: int, sets: int = 2) -> np.ndarray:
    """Scores of which a video's sets share the larger part: mean 0.3, right-skewed. [V, K]"""
    return 0.8 * rng.beta(1.2, 2.8, (videos, 1)) + 0.2 * rng.beta(1.2, 2.8, (videos, sets))
