"""Intervals, tests and diagnosis on ActivityNet's size, in processor seconds.

    python bench/stats.py

10,000 draws of 5,000 videos for one interval, one difference and one randomisation test; nine repairs of 200 videos of
ActivityNet val, annotator 2 as the system.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from _data import options

import fabula
from fabula.core.rows import Rows
from fabula.data.stories import Corpus
from fabula.diagnosis import errors
from fabula.stats import Mean, difference, interval, randomisation, samples

VIDEOS, REPAIRED = 5000, 200


def cpu(name: str, work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    print(f"{name}: {time.process_time() - began:.2f} s")


def rows(rng: np.random.Generator) -> Rows:
    return Rows.of({"video": i, "value": x} for i, x in enumerate(rng.beta(2, 5, VIDEOS).tolist()))


if __name__ == "__main__":
    data = options(__doc__ or "").data / "anet_captions"
    rng = np.random.default_rng(0)
    a, b = samples([(rows(rng), Mean()), (rows(rng), Mean())])
    cpu("interval, BCa, 10,000 draws of 5,000 videos", lambda: interval(a))
    cpu("paired difference and its interval", lambda: difference(a, b))
    cpu("approximate randomisation, 10,000 trials", lambda: randomisation(a, b))
    one, two = (fabula.read(data / f"val_{k}.json")[0] for k in (1, 2))
    both = [v for v in one if v in two][:REPAIRED]
    ref, pred = (Corpus({v: side[v] for v in both}) for side in (one, two))
    cpu(f"nine repairs of {REPAIRED} videos, SODA_c", lambda: errors(pred, ref, repair=("swap", "drop")))
