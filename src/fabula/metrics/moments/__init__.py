"""Metrics of moments: a query's windows against the ranking that a system gives."""

from fabula.metrics.moments.base import Block, MomentMetric

__all__ = ["Block", "MomentMetric"]
