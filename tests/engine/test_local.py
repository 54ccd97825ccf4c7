"""Rows on this machine: the same rows whatever the block, and a progress that ends."""

import numpy as np
import pytest

from fabula.engine import local
from fabula.engine.local import story_rows
from fabula.metrics import metric
from tests.toys import corpus

RNG = np.random.default_rng(3)
MANY = corpus({f"v{i}": [(s, s + 10, str(s % 3)) for s in RNG.integers(0, 60, 4)] for i in range(200)})
OTHERS = corpus({f"v{i}": [(s, s + 12, str(s % 3)) for s in RNG.integers(0, 60, 5)] for i in range(190)})


@pytest.mark.parametrize("text", ["SODA_d", "SODA_c(text=exact,tok=none)", "SODA_a(text=exact,tok=none)"])
@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_blocks_change_nothing(text, block, monkeypatch):
    whole = story_rows(metric(text), [MANY, OTHERS], OTHERS)
    monkeypatch.setattr(local, "BLOCK", block)
    assert list(story_rows(metric(text), [MANY, OTHERS], OTHERS).dicts()) == list(whole.dicts())
    assert tuple(dict.fromkeys(whole.keys)) == tuple(MANY)


def test_progress_begins_at_0_and_ends_at_all(monkeypatch):
    monkeypatch.setattr(local, "BLOCK", 64)
    said = []
    story_rows(metric("SODA_d"), [MANY], OTHERS, lambda *state: said.append(state))
    assert said[0] == ("SODA_d", 0, 200)
    assert said[-1] == ("SODA_d", 200, 200)
    assert [done for _, done, _ in said] == [0, 64, 128, 192, 200]


def test_no_videos():
    assert len(story_rows(metric("SODA_d"), [corpus({})], OTHERS)) == 0
