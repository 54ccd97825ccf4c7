"""Metrics of questions: what a model answered in words, against options, events, or questions of its own."""

from fabula.metrics.questions.base import QuestionMetric, Responses

__all__ = ["QuestionMetric", "Responses"]
