"""Metrics of stories: one video's reference events against its predicted events."""

from fabula.metrics.stories.base import Match, Stories, StoryMetric, sort_story

__all__ = ["Match", "Stories", "StoryMetric", "sort_story"]
