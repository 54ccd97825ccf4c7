"""The PSS splits: ActivityNet's shape, and a note when it is none of the three."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fabula import io
from tests.io.story_toys import DOCUMENTS


def test_a_part_of_a_split_is_noted(put: Callable[..., Path]) -> None:
    corpus, notes = io.read(put(DOCUMENTS["pss"]), "pss")
    assert corpus.format == "pss"
    assert corpus.events == 3
    assert notes.lines() == [
        "2 videos: not a whole split of PSS (yc2_my_train 840, yc2_my_val 183, yc2_my_test 180)",
    ]


def test_a_whole_split_is_not(put: Callable[..., Path]) -> None:
    _, notes = io.read(put({f"v_{i}": {"duration": 1, "timestamps": [], "sentences": []} for i in range(180)}), "pss")
    assert notes.lines() == []


def test_it_is_used_only_when_named(put: Callable[..., Path]) -> None:
    assert io.read(put(DOCUMENTS["pss"]))[0].format == "activitynet"
