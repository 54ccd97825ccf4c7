"""Simulated clip features for finding moments, made from coarse and fine captions. No video is seen.

Clips of a moment carry what its captions say; elsewhere there is background, and stretches that look like a moment's
coarse caption and like another moment's details. So a model can learn whether coarse and fine words can be told apart
in clips, and nothing about real footage. Whatever is trained on them must say so; the store's metadata does.

    content(k)     = unit(e(coarse k) + e(fine k))                  e: the mean of a caption's words, length 1
    distractor(k)  = unit(e(coarse k) + e(fine j))                  j of another video, with another coarse caption
    f_t = signal · Σ_k w_k(t) content(k) / max(1, Σ w)  +  Σ distractors  +  background · (1 − Σ w)⁺ · scene
          + drift_t + noise · ε_t

A share `distractors` of the moments has a distractor of its own length (at most what is free) in the same video, at
clips outside all moments; each clip of a moment looks like background with probability `missed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.data.moments import Id, Query
from fabula.learn.retrieval.data import hash_word, split_words
from fabula.learn.simulate import unit
from fabula.media.sentences import Vectors, digest
from fabula.media.stores.features import write_features


@dataclass(frozen=True)
class Recipe:
    """Every number of the simulation. The same recipe and annotation give the same features, bit for bit."""

    dim: int = 128  # C
    clip: float = 1.0  # seconds
    signal: float = 1.0  # length of a moment's vector
    distractors: float = 0.5  # share of moments with a distractor in their video
    background: float = 1.0  # length of the background's
    drift: float = 0.3  # length of the drift at the end of the video
    noise: float = 1.0  # length of the noise of one clip
    missed: float = 0.1  # share of a moment's clips that look like background
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf or self.dim < 1 or not 0 <= self.distractors <= 1:
            raise SpecError(f"clips of {self.clip:g} s, {self.dim} channels, a share of {self.distractors:g}")


class Captions:
    """Vectors of captions: the mean of their words', which are hashed. Known once made."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.known: dict[str, Vectors] = {}

    def __call__(self, text: str | None, id: Id) -> Vectors:
        words = split_words(text, id)
        for word in words:
            if word not in self.known:
                self.known[word] = hash_word(word, self.dim)
        return unit(np.mean([self.known[w] for w in words], axis=0))


@dataclass(frozen=True)
class CaptionedMoment:
    """A moment with both its captions as vectors."""

    video: str
    span: tuple[float, float]
    coarse_text: str
    coarse: Vectors  # [C]
    fine: Vectors  # [C]


def pair_captions(fine: Mapping[Id, Query], coarse: Mapping[Id, Query], captions: Captions) -> list[CaptionedMoment]:
    """The moments of two readings of one file."""
    if fine.keys() != coarse.keys():
        raise SpecError("coarse and fine captions must be of the same queries")
    return [
        CaptionedMoment(
            q.video, q.windows[0], coarse[id].text or "", captions(coarse[id].text, id), captions(q.text, id)
        )
        for id, q in fine.items()
    ]


def make_clips(
    video: str, duration: float, own: Sequence[CaptionedMoment], others: Sequence[CaptionedMoment], recipe: Recipe
) -> Vectors:
    """The simulated clips of one video. [T, C]"""
    r, rng = recipe, np.random.default_rng(digest(recipe.seed, "moments", video))
    T, C = max(1, math.ceil(duration / r.clip - 1e-6)), r.dim
    centre = (np.arange(T) + 0.5) * r.clip
    w = np.array([(centre >= m.span[0]) & (centre < m.span[1]) for m in own], dtype=np.float32).reshape(-1, T)
    taken = w.sum(0) > 0
    w = w * (rng.random((1, T)) >= r.missed)
    content = unit(np.array([m.coarse + m.fine for m in own]).reshape(-1, C))
    x = r.signal * (w.T @ content) / np.maximum(w.sum(0), 1)[:, None]

    for m in own:
        if rng.random() >= r.distractors or not others:
            continue
        stretch = free_stretch(taken, max(1, round((m.span[1] - m.span[0]) / r.clip)), rng)
        other = next((o for o in (others[int(i)] for i in rng.integers(len(others), size=8))
                      if o.video != video and o.coarse_text != m.coarse_text), None)  # fmt: skip
        if stretch is not None and other is not None:
            x[stretch] += r.signal * unit(m.coarse + other.fine)
            taken[stretch] = True
    rest = np.where(np.abs(x).sum(1) > 0, 0.0, 1.0)[:, None]
    scene = unit(rng.standard_normal(C) + math.sqrt(C) * (content.mean(0) if len(own) else 0))
    walk = rng.standard_normal((T, C)).cumsum(0) / np.sqrt(T * C)
    noise = rng.standard_normal((T, C)) / np.sqrt(C)
    return np.asarray(x + r.background * rest * scene + r.drift * walk + r.noise * noise, dtype=np.float32)


def free_stretch(taken: NDArray[np.bool_], length: int, rng: np.random.Generator) -> slice | None:
    """So many clips, or as many as there are, that nothing happens in; None where fewer than 2 are free in a row."""
    edges = np.flatnonzero(np.diff(np.concatenate([[1], taken.astype(np.int8), [1]])))
    gaps = [(int(s), int(e)) for s, e in zip(edges[::2], edges[1::2], strict=True) if e - s >= 2]
    if not gaps:
        return None
    start, end = gaps[int(rng.integers(len(gaps)))]
    n = min(length, end - start)
    begin = start + int(rng.integers(end - start - n + 1))
    return slice(begin, begin + n)


def simulate_moments(
    fine: Mapping[Id, Query], coarse: Mapping[Id, Query], path: str | Path, recipe: Recipe | None = None,
    overwrite: bool = False,
) -> int:  # fmt: skip
    """Write a store of simulated clips for every video that these queries are about; returns how many videos."""
    recipe = recipe or Recipe()
    moments = pair_captions(fine, coarse, Captions(recipe.dim))
    by_video: dict[str, list[CaptionedMoment]] = {}
    durations: dict[str, float] = {}
    for m, query in zip(moments, fine.values(), strict=True):
        if query.duration is None:
            raise InputError("no duration", video=query.video, hint="simulated clips need the length of the video")
        by_video.setdefault(m.video, []).append(m)
        durations[m.video] = query.duration

    def items() -> Iterator[tuple[str, NDArray[np.float16]]]:
        for video, own in by_video.items():
            yield video, make_clips(video, durations[video], own, moments, recipe).astype(np.float16)

    metadata: dict[str, object] = {
        "simulated": True,
        "note": "made from captions by fabula.learn.retrieval.simulate; no video was seen",
        "recipe": asdict(recipe),
        "rate": 1 / recipe.clip,
        "durations": durations,
    }
    return write_features(path, items(), metadata, overwrite)
