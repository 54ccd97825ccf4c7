"""Metrics of captions: one candidate sentence against its references."""

from fabula.metrics.captions.base import CaptionMetric, Items

__all__ = ["CaptionMetric", "Items"]
