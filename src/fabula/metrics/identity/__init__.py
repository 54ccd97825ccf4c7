"""Metrics of identities: the people filled into the blanks of a set of clips."""

from fabula.metrics.identity.base import ClipSets

__all__ = ["ClipSets"]
