"""Readers of windows, one published evaluator a file: the same answer is (1, 2) for one and (10.5, 12) for another."""

from __future__ import annotations

from fabula.core.registry import Room
from fabula.io.answers.readers.base import Reader, Window

READERS = Room("fabula.io.answers.readers", "READER", "reader of answers", group="fabula.readers")

__all__ = ["READERS", "Reader", "Window"]
