"""Raw video to features: decoding, shots, extractors behind one small interface, stores that can be made again.

    from fabula.media import extract_one
    array, duration = extract_one("video.mp4", "efficientnet_lite0(fps=2)")

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.lazy_package import load_lazily

__all__ = ["Extractor", "Video", "extract", "extract_one", "extractor", "rebuild"]

if TYPE_CHECKING:
    from fabula.media.base import Extractor
    from fabula.media.decode import Video
    from fabula.media.extract import extract, extract_one
    from fabula.media.extractors import extractor
    from fabula.media.manifest import rebuild

load_lazily(
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
