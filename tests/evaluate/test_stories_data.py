"""Rows on this machine: the same rows whatever the block, and a progress that ends."""

import numpy as np
import pytest

from fabula.metrics import metric
from fabula.metrics.stories import Stories, base
from tests.toys import corpus

RNG = np.random.default_rng(3)
MANY = corpus({f"v{i}": [(s, s + 10, str(s % 3)) for s in RNG.integers(0, 60, 4)] for i in range(200)})
OTHERS = corpus({f"v{i}": [(s, s + 12, str(s % 3)) for s in RNG.integers(0, 60, 5)] for i in range(190)})


@pytest.mark.parametrize("text", ["SODA_d", "SODA_c(text=exact,tok=none)", "SODA_a(text=exact,tok=none)"])
@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_blocks_change_nothing(text, block, monkeypatch):
    whole = metric(text).table(Stories([MANY, OTHERS], OTHERS))
    monkeypatch.setattr(base, "BLOCK", block)
    assert list(metric(text).table(Stories([MANY, OTHERS], OTHERS)).dicts()) == list(whole.dicts())
    assert tuple(dict.fromkeys(whole.keys)) == tuple(MANY)


def test_progress_begins_at_0_and_ends_at_all(monkeypatch):
    monkeypatch.setattr(base, "BLOCK", 64)
    said = []
    metric("SODA_d").table(Stories([MANY], OTHERS), lambda *state: said.append(state))
    assert said[0] == ("SODA_d", 0, 200)
    assert said[-1] == ("SODA_d", 200, 200)
    assert [done for _, done, _ in said] == [0, 64, 128, 192, 200]


def test_no_videos():
    assert len(metric("SODA_d").table(Stories([corpus({})], OTHERS))) == 0
