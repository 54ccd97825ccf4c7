"""Some behaviours of a hostile endpoint against the verbs, each in a process; tools/hostile.py tries them all."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")
pytest.importorskip("resource", reason="no limits of memory")

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools import hostile

TRIED = (  # behaviour, place, verb, exit code
    ("bomb-twice", "chat", "annotate", 3),
    ("chat-finish-key", "chat", "annotate", 0),
    ("many-objects", "chat", "judge", 2),
    ("id-line", "batches", "batch", 2),
)


def test_the_list_is_long_and_every_name_stands_once():
    names = [behaviour.name for behaviour in hostile.BEHAVIOURS]
    assert len(names) == len(set(names)) >= 60


def test_the_verbs_stand_a_hostile_endpoint(monkeypatch):
    monkeypatch.setattr(hostile, "TIMEOUT", 30.0)  # the machine may be busy: what hangs is in test_wire.py
    with hostile.serving() as server, ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda one: hostile.try_one(server, server.known[one[0]], *one[1:3]), TRIED))
    assert not [run for run in runs if run.faults], [(run.behaviour, run.faults, run.said) for run in runs]
    assert [run.code for run in runs] == [code for *_, code in TRIED]
