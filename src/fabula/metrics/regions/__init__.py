"""Metrics of captioned regions: an image's reference boxes against the boxes that a system describes."""

from fabula.metrics.regions.base import Pictures, RegionMetric

__all__ = ["Pictures", "RegionMetric"]
