"""Face embedders, one a file, found by the file's name: `arcface`, `arcface:glintr100.onnx`."""

from __future__ import annotations

from typing import Any

from fabula.core.registry import Room
from fabula.media.extractors import build_adapter
from fabula.media.people.base import Embedder

room = Room(__name__, "Embedder", "face embedder")


def embedder(text: str, **params: Any) -> Embedder:
    built: Embedder = build_adapter(room.get, text, params)
    return built
