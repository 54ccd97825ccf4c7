"""A checklist: the points that a full account of an event makes, by dimension (SodaM: Yao et al., ICML 2026)."""

from __future__ import annotations

Checklist = tuple[tuple[str, tuple[str, ...]], ...]  # dimension by dimension

DIMENSIONS = (
    "segment_detail_caption",
    "video_background",
    "acoustics_content",
    "shooting_style",
    "speech_content",
    "camera_state",
)


def count_points(checklist: Checklist) -> dict[str, int]:
    """How many points each dimension of SodaM has."""
    held = {dimension: len(points) for dimension, points in checklist}
    return {dimension: held.get(dimension, 0) for dimension in DIMENSIONS}
