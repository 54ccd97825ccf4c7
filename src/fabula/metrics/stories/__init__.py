"""Metrics of stories: one video's reference events against its predicted events."""

from fabula.metrics.stories.base import Stories, StoryMetric

__all__ = ["Stories", "StoryMetric"]
