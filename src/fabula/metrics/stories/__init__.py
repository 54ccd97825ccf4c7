"""Metrics of stories: one video's reference events against its predicted events."""

from fabula.metrics.stories.base import Match, Stories, StoryMetric, compare, tell

__all__ = ["Match", "Stories", "StoryMetric", "compare", "tell"]
