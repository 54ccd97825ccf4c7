"""A store of vectors of captions, as an encoder of the user's would make it of the texts that Fabula lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fabula.core.notes import Notes
from fabula.learn.text_features import TextOptions, write_text_store
from fabula.media.stores.features import write_features


def embed_captions(files: Sequence[Path], folder: Path, embed: Callable[[str], np.ndarray]) -> Path:
    """Captions of these files and three disturbed ones of each kind, by a digest of their words. [1, C] each"""
    listed = folder / "texts.jsonl"
    write_text_store(files, TextOptions(out=listed, by="text", each="text", disturbed=3), Notes())
    lines = map(json.loads, listed.read_text().splitlines())
    vectors = ((line["key"], embed(line["text"])[None].astype(np.float32)) for line in lines)
    write_features(folder / "texts.safetensors", vectors, {})
    return folder / "texts.safetensors"
