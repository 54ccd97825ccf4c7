"""Simulated features: what a video's frames might look like to a text-and-video encoder, made from its annotation.

No video is seen. A frame inside a step carries the embedding of the step's sentence, a frame between steps that of the
background; a slow drift and noise lie over both. So a model can learn on them whether steps can be told from frames
and put in order, and nothing about real footage. Whatever is trained on them must say so; the store's metadata does
(`"simulated": true`, the recipe, the embedder).

    f_t = signal · Σ_k w_k(t) e(sentence_k) + background · w_0(t) · (s + Σ_j m_j b_j) / 2 + drift_t + noise · ε_t

    e      unit embedding of a sentence
    w      1 inside a step, falling off linearly over `blur` seconds; w_0 = 1 − min(1, Σ_k w_k)
    s      the video's scene: the mean of its sentences' embeddings, scaled to length 1
    b_j    three unit vectors shared by all videos (talking, a title, a table), mixed anew every ~8 s of background
    drift  a random walk in all channels whose length at the end of the video is about `drift`
    ε      Gaussian, variance 1/C: its length is about 1

A step is seen only in part: each of its frames looks like background with probability `missed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.memory import available
from fabula.data.stories import Corpus, Story
from fabula.media.base import Array
from fabula.media.sentences import EMBEDDERS, Vectors, digest
from fabula.media.stores.features import write_features


@dataclass(frozen=True)
class Recipe:
    """Every number of the simulation. The same recipe and annotation give the same features, bit for bit."""

    rate: float = 1.0  # frames per second
    signal: float = 1.0  # length of a step's vector
    background: float = 1.0  # length of the background's
    drift: float = 0.5  # length of the drift at the end of the video
    noise: float = 1.0  # length of the noise of one frame
    blur: float = 2.0  # seconds over which a step fades in and out
    missed: float = 0.15  # share of a step's frames that look like background
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate < np.inf:
            raise SpecError(f"{self.rate:g} features per second; it must be a positive number")


def unit(x: Array) -> Vectors:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12), dtype=np.float32)


def frames_of(story: Story, vectors: Vectors, recipe: Recipe) -> Vectors:
    """The simulated frames of one video, from the embeddings of its sentences [K, C]. [T, C]"""
    if story.duration is None:
        raise InputError("no duration", video=story.id, hint="simulated features need the length of the video")
    K, C = vectors.shape
    rng = np.random.default_rng(digest(recipe.seed, story.id))
    need, free = story.duration * recipe.rate * 40 * C, available()  # five arrays of doubles at once
    if not need < free:
        problem = f"{story.duration:g} s at {recipe.rate:g} features a second take {need / 1e9:,.1f} GB of memory"
        raise InputError(f"{problem}, {free / 1e9:,.1f} GB are free", video=story.id, hint="lower --rate")
    T = max(1, round(story.duration * recipe.rate))
    at = (np.arange(T) + 0.5) / recipe.rate  # seconds
    e = unit(vectors)
    s = unit(e.mean(0)) if K else np.zeros(C, np.float32)

    start, end = story.spans[:, :1], story.spans[:, 1:]
    reach = np.minimum(at - start, end - at) / max(recipe.blur, 1e-6) + 0.5  # ½ at the boundary  [K, T]
    w = reach.clip(0, 1) * (rng.random((1, T)) >= recipe.missed)
    inside = w.sum(0, keepdims=True)
    w = w / np.maximum(inside, 1)
    w0 = 1 - np.minimum(inside[0], 1)

    shared = unit(np.random.default_rng(digest(recipe.seed, "background")).standard_normal((3, C)))
    scenes = rng.dirichlet(np.ones(3), size=T // max(1, round(8 * recipe.rate)) + 1)
    mixed = scenes.repeat(max(1, round(8 * recipe.rate)), axis=0)[:T] @ shared

    walk = rng.standard_normal((T, C)).cumsum(0) / np.sqrt(T * C)
    noise = rng.standard_normal((T, C)) / np.sqrt(C)
    steps = recipe.signal * (w.T @ e)
    rest = recipe.background * w0[:, None] * unit((s + mixed) / 2)
    return np.asarray(steps + rest + recipe.drift * walk + recipe.noise * noise, dtype=np.float32)


def simulate(
    corpus: Corpus, path: str | Path, embedder: str = "hashing", recipe: Recipe | None = None, overwrite: bool = False
) -> int:
    """Write a store of simulated features for every video of the corpus; returns the number of videos."""
    if embedder not in EMBEDDERS:
        raise SpecError(f"no embedder is called {embedder!r}; there are: {', '.join(EMBEDDERS)}")
    chosen = recipe or Recipe()
    embed = EMBEDDERS[embedder]()
    sentences = list(dict.fromkeys(c for story in corpus.values() for c in story.captions))
    vectors = dict(zip(sentences, embed(sentences), strict=True)) if sentences else {}
    C = len(next(iter(vectors.values()))) if vectors else 128

    def items() -> Iterator[tuple[str, NDArray[np.float16]]]:
        for video, story in corpus.items():
            stacked = np.stack([vectors[c] for c in story.captions]) if len(story) else np.zeros((0, C), np.float32)
            yield video, frames_of(story, stacked, chosen).astype(np.float16)

    metadata = {
        "simulated": True,
        "note": "made from annotations by fabula.learn.simulate; no video was seen",
        "embedder": embedder,
        "recipe": asdict(chosen),
        "annotations": Path(corpus.name).name,
        "durations": {video: story.duration for video, story in corpus.items()},
    }
    return write_features(path, items(), metadata, overwrite)
