"""Face detectors, one a file, found by the file's name: `scrfd`, `scrfd(score=0.6):det_10g.onnx`."""

from __future__ import annotations

from typing import Any

from fabula.core.registry import Room
from fabula.media.extractors import build_adapter
from fabula.media.people.base import Detector

room = Room(__name__, "Detector", "face detector")


def detector(text: str, **params: Any) -> Detector:
    built: Detector = build_adapter(room.get, text, params)
    return built
