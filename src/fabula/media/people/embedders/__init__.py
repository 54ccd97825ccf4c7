"""Face embedders, one a file, found by the file's name: `arcface`, `arcface:glintr100.onnx`."""

from __future__ import annotations

from typing import Any

from fabula.core.registry import Room
from fabula.media.people.base import Embedder
from fabula.media.people.parse import build

room = Room(__name__, "Embedder", "face embedder")


def embedder(text: str, **params: Any) -> Embedder:
    built: Embedder = build(room, text, params)
    return built
