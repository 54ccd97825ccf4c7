"""KnownItem by pencil, against brute force second by second, and at its borders."""

import math

import numpy as np
import pytest

import fabula
from fabula.core.errors import SpecError
from fabula.metrics.moments.knownitem import find_seconds, sum_watched
from tests.moment_toys import lines


def seconds(answers, window, own=0):
    spans = np.array([a[1:] for a in answers], dtype=float).reshape(-1, 2)
    return find_seconds(spans, np.array([a[0] for a in answers], dtype=np.int64), own, np.array([window], dtype=float))


def test_by_pencil():
    assert seconds([(0, 12, 20)], (10, 15)) == 0  # begins inside: nothing is watched in vain
    assert seconds([(0, 4, 20)], (10, 15)) == 6
    assert seconds([(1, 0, 30), (0, 4, 20)], (10, 15)) == 30 + 6
    assert seconds([(1, 0, 30), (1, 20, 40), (0, 10, 12)], (10, 15)) == 40  # 20 to 30 is watched once
    assert seconds([(0, 0, 8), (0, 4, 20)], (10, 15)) == 8 + 2  # the way to it was watched in part
    assert seconds([(0, 15, 20), (0, 0, 10)], (10, 15)) == math.inf  # what only touches shares nothing
    assert seconds([], (10, 15)) == math.inf


def test_several_windows_the_first_that_is_reached():
    spans, videos = np.array([[0.0, 50.0]]), np.zeros(1, dtype=np.int64)
    assert find_seconds(spans, videos, 0, np.array([[30.0, 40.0], [12.0, 14.0], [60.0, 70.0]])) == 12


def test_against_watching_second_by_second():
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(0, 8))
        start = rng.integers(0, 40, n)
        answers = [
            (int(v), int(s), int(s + d))
            for v, s, d in zip(rng.integers(0, 3, n), start, rng.integers(1, 15, n), strict=True)
        ]
        window = (int(g := rng.integers(0, 40)), int(g + rng.integers(1, 10)))
        seen: set[tuple[int, int]] = set()
        found = math.inf
        for video, s, e in answers:
            for t in range(s, e):
                if video == 0 and window[0] <= t < window[1]:
                    found = len(seen)
                    break
                seen.add((video, t))
            if found < math.inf:
                break
        assert seconds(answers, window) == found


def test_the_union_counts_once():
    assert sum_watched(np.array([[0.0, 4], [2, 6], [10, 11], [0, 4]]), np.array([0, 0, 0, 1])) == 6 + 1 + 4


def test_scored_from_files(tmp_path):
    refs = lines(tmp_path / "refs.jsonl", [
        {"id": 1, "video": "a", "windows": [[10, 15]]}, {"id": 2, "video": "b", "windows": [[0, 5]]},
        {"id": 3, "video": "a", "windows": [[50, 55]]},
    ])  # fmt: skip
    preds = lines(tmp_path / "preds.jsonl", [
        {"id": 1, "windows": [[4, 20, 0.9]], "videos": ["a"]},  # 6 s
        {"id": 2, "windows": [[0, 90, 0.9], [2, 4, 0.5]], "videos": ["a", "b"]},  # 90 s
        {"id": 3, "windows": [], "videos": []},  # nothing: given up at 600 s
    ])  # fmt: skip
    result = fabula.score(preds, refs, task="moments", metrics=["KnownItem"])
    values = result["KnownItem"].values
    assert values["saved"] == pytest.approx(1 - (6 + 90 + 600) / 3 / 600)
    assert [values[f"found@{t}"] for t in (10, 60, 300)] == pytest.approx([1 / 3, 1 / 3, 2 / 3])


@pytest.mark.parametrize("text", ["KnownItem(patience=0)", "KnownItem(within=-1)"])
def test_bad_settings(text):
    with pytest.raises(SpecError):
        fabula.metric(text)
