"""Is it English that is said? Evidence by segment from the recogniser itself, and the language of a film along time.

A recogniser of English writes English whatever it hears; how likely it finds its own words tells whether they were
there. Over the n tokens of a segment, without those that repeat an earlier pair (a decoder that is caught in a loop is
sure of itself): f, their mean log-probability, and s, the share below −1.

    z = .70 + .54 f + 1.59 ln n + 2.41 f ln n − .75 s ln n                 log-odds of English against anything else

    a film is English or it is not, segment after segment, and goes over with probability .03 from one to the next;
    a segment shows .05 + .9 σ(z) where it is, .025 + .95 σ(−z) where it is not: a shout or a song decides nothing alone
    P = posterior of English at a segment, given the z of all of them (forward and backward)

A line is written where P ≥ .9 and z ≥ 0: its neighbours say English, and it does not itself say otherwise. The
numbers were fitted on voices, languages, texts and music that no figure is quoted of (docs/transcribe.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabula.data.transcripts import SpokenLine
from fabula.documents.fields import JsonDict

WEIGHTS = (0.70, 0.54, 1.59, 2.41, -0.75)
LOWEST = -3.0  # of f: worse is as bad
UNLIKELY = -1.0  # log-probability of a token
CHANGE = 0.03  # from one segment to the next
SURE = 0.9  # of P
OWN = 0.0  # of z
SLIPS = (0.1, 0.05)  # share of segments that show nothing: where English is said, and where it is not
FRESH = 0.6  # share of tokens that repeat nothing; with fewer the decoder was caught in a loop
FOREIGN = re.compile(r"[^\W\d_a-zA-Z\u00c0-\u024f]")  # a letter that English is not written in


@dataclass(frozen=True)
class Heard:
    """A segment of speech with what the recogniser made of it."""

    start: float
    end: float
    text: str
    logs: tuple[float, ...]  # log-probabilities of the tokens, and of the end where it came
    tokens: tuple[int, ...]
    speech: float  # the gate's mean probability

    @classmethod
    def of(cls, row: JsonDict) -> Heard:
        return cls(**{**row, "logs": tuple(row["logs"]), "tokens": tuple(row["tokens"])})

    def fresh(self) -> NDArray[np.bool_]:
        """Which tokens repeat no earlier pair."""
        pairs: set[tuple[int, int]] = set()
        found = []
        for pair in zip((-1, *self.tokens), self.tokens, strict=False):
            found.append(pair not in pairs)
            pairs.add(pair)
        return np.array(found, bool)

    def weigh(self) -> float:
        """z."""
        fresh = self.fresh()
        logs = np.array(self.logs[: len(self.tokens)])[fresh]
        f, size = max(float(logs.mean()), LOWEST), math.log(len(self.tokens))
        share = float((logs < UNLIKELY).mean())
        a, b, c, d, e = WEIGHTS
        return a + b * f + c * size + d * f * size + e * share * size

    def is_usable(self) -> bool:
        """Whether the text can be a line at all: words, in letters of English, not in a loop."""
        words = re.search(r"[a-zA-Z0-9]", self.text) and not FOREIGN.search(self.text)
        return bool(words) and float(self.fresh().mean()) >= FRESH

    def confidence(self, posterior: float) -> float:
        """How likely English, times the mean probability of a token."""
        return round(posterior * math.exp(sum(self.logs) / len(self.logs)), 4)


def choose_english(heard: Sequence[Heard]) -> tuple[list[SpokenLine], str | None, JsonDict]:
    """The lines that are English, the language of a film that has such, and what was left out."""
    heard = [one for one in heard if one.tokens]
    weights = [one.weigh() for one in heard]
    lines = [
        SpokenLine(one.start, one.end, one.text, one.confidence(p))
        for one, z, p in zip(heard, weights, find_posterior(weights), strict=True)
        if p >= SURE and z >= OWN and one.is_usable()
    ]
    chosen = {line.start for line in lines}
    others = [one for one in heard if one.start not in chosen]
    left_out = {"segments": len(others), "seconds": round(sum(one.end - one.start for one in others), 2)}
    about: JsonDict = {"not heard as English": left_out} if others else {}
    return lines, "en" if lines else None, about


def find_posterior(weights: Sequence[float]) -> NDArray[np.float64]:
    """P of every segment."""
    z = np.clip(np.array(weights, float), -50, 50)
    english, other = SLIPS
    likely = np.stack(
        [english / 2 + (1 - english) / (1 + np.exp(-z)), other / 2 + (1 - other) / (1 + np.exp(z))], 1
    )  # of what a segment shows
    step = np.array([[1 - CHANGE, CHANGE], [CHANGE, 1 - CHANGE]])
    forward, backward = np.ones((len(z), 2)), np.ones((len(z), 2))
    state = np.array([0.5, 0.5])
    for i in range(len(z)):
        state = (state @ step if i else state) * likely[i]
        state = forward[i] = state / state.sum()
    state = np.ones(2)
    for i in reversed(range(len(z))):
        backward[i] = state
        state = step @ (likely[i] * state)
        state = state / state.sum()
    both = forward * backward
    posterior: NDArray[np.float64] = both[:, 0] / both.sum(1)
    return posterior
