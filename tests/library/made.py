"""Stores made of plain vectors, and an embedder whose words are axes: what is nearest can be said by pencil."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fabula.library.embedders.base import unit
from fabula.library.store import Entry, Store, Video

WORDS = ("dog", "cat", "sea", "car", "tree", "man", "door", "fruit")
RECIPE = {"embedder": "axes", "dims": len(WORDS), "weights": {}, "clips": {"seconds": 2.0}}
STEP = 2.0  # seconds of a clip


class Axes:
    """Each word its own direction; a text is the sum of the words it names. An image's bytes are such a text."""

    name, weak, dims = "axes", None, len(WORDS)

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        return unit(np.array([[text.split().count(word) for word in WORDS] for text in texts], np.float32))

    def image(self, data: bytes) -> np.ndarray:
        return self.texts([data.decode()])[0]


def clips_of(said: Sequence[str]) -> np.ndarray:
    """One clip a text."""
    return Axes().texts(said)


def make_store(where: Path, videos: Mapping[str, Sequence[str] | np.ndarray], recipe: dict | None = None) -> Store:
    """Videos of clips of two seconds: each a text, or a row of an array."""
    recipe = recipe or RECIPE
    where.parent.mkdir(parents=True, exist_ok=True)
    store = Store.create(where, recipe, root=where.parent)
    with store.writing() as writer:
        writer.put([entry_of(name, said) for name, said in videos.items()])
    return store


def entry_of(name: str, said: Sequence[str] | np.ndarray) -> Entry:
    vectors = said if isinstance(said, np.ndarray) else clips_of(said)
    start = np.arange(len(vectors)) * STEP
    seen = Video(name, 0, 1, 1, "0", float(len(vectors) * STEP), 25.0, len(vectors))
    return Entry(seen, start, start + STEP, vectors.astype(np.float32), [None] * len(vectors))
