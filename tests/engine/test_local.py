"""Rows on this machine: the same rows with and without threads, and a progress that ends."""

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.engine import local
from fabula.engine.local import story_rows
from fabula.metrics import metric
from tests.toys import corpus

RNG = np.random.default_rng(3)
MANY = corpus({f"v{i}": [(s, s + 10, str(s % 3)) for s in RNG.integers(0, 60, 4)] for i in range(200)})
OTHERS = corpus({f"v{i}": [(s, s + 12, str(s % 3)) for s in RNG.integers(0, 60, 5)] for i in range(190)})


@pytest.mark.parametrize("text", ["SODA_d", "SODA_c(text=exact,tok=none)", "SODA_a(text=exact,tok=none)"])
@pytest.mark.parametrize("threads", [2, 5, None])
def test_threads_change_nothing(text, threads):
    alone = story_rows(metric(text), [MANY], OTHERS, threads=1)
    together = story_rows(metric(text), [MANY], OTHERS, threads=threads)
    assert list(together.dicts()) == list(alone.dicts())
    assert alone.video == tuple(MANY)


def test_progress_begins_at_0_and_ends_at_all():
    said = []
    story_rows(metric("SODA_d"), [MANY], OTHERS, lambda *state: said.append(state))
    assert said[0] == ("SODA_d", 0, 200)
    assert said[-1] == ("SODA_d", 200, 200)
    assert [done for _, done, _ in said] == [0, *range(local.BLOCK, 200, local.BLOCK), 200]


def test_an_error_in_a_thread_comes_out(monkeypatch):
    def broken(*_):
        raise InputError("broken")

    monkeypatch.setattr("fabula.metrics.soda_c.Metric.unit", broken)
    with pytest.raises(InputError, match="broken"):
        story_rows(metric("SODA_c(text=exact,tok=none)"), [MANY], OTHERS, threads=2)


def test_no_videos():
    assert len(story_rows(metric("SODA_d"), [corpus({})], OTHERS)) == 0
