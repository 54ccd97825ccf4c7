"""Raw video to features: decoding, shots, extractors behind one small interface, stores that can be made again.

    from fabula.features import extract_one
    array, duration = extract_one("video.mp4", "efficientnet_lite0(fps=2)")

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.rooms import lazy_room

__all__ = ["Extractor", "Video", "extract", "extract_one", "extractor", "rebuild"]

if TYPE_CHECKING:
    from fabula.features.base import Extractor
    from fabula.features.decode import Video
    from fabula.features.extract import extract, extract_one
    from fabula.features.extractors import extractor
    from fabula.features.manifest import rebuild

lazy_room(
    __name__,
    {
        "Extractor": "base",
        "Video": "decode",
        "extract": "extract",
        "extract_one": "extract",
        "extractor": "extractors",
        "rebuild": "manifest",
    },
)
