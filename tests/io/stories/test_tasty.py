"""Tasty: steps out of time are counted, durations that are missing too, and nothing is moved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fabula import io

DOCUMENT = {
    "v_pie": {"timestamps": [[5, 6], [0, 1], [1, 2]], "sentences": ["bake", "mix", "fill"], "duration": 7},
    "jam": {"timestamps": [[0, 4], [2, 3]], "sentences": ["boil", "stir"]},
    "pie": {"timestamps": [[0, 1]], "sentences": ["mix"], "duration": 7},
}


def test_read(put: Callable[..., Path]) -> None:
    corpus, notes = io.read(put(DOCUMENT), "tasty")
    assert corpus["v_pie"].captions == ["bake", "mix", "fill"]
    assert list(corpus) == ["v_pie", "jam", "pie"]
    assert notes.lines() == [
        "1 videos tell their steps out of time; file order is kept: 'v_pie'",
        "1 video ids stand with and without the prefix 'v_': 'v_pie'",
        "1 videos have no duration: 'jam'",
    ]


def test_it_is_used_only_when_named(put: Callable[..., Path]) -> None:
    assert io.read(put(DOCUMENT))[0].format == "activitynet"
