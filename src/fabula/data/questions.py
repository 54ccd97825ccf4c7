"""The noun of questions: what a model answered in words, and what that is held against."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

LABEL = re.compile(r"[(\[]?(?:([A-Za-z])|(\d{1,3}))(?:[)\].:]?|[)\].:]\s.*)", re.DOTALL)  # A, (a), B., 3, (C) a dog


class ExamQuestion(NamedTuple):
    """One question about what was answered, and the answer that is right."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Response:
    """What a model answered to one question, or said of one video. A field that a benchmark does not have is empty."""

    id: str | int
    answer: str | None = None  # None: there is no prediction
    group: str = ""  # what it belongs to: a video, the uid of several questions that are one
    kind: str = ""  # by what results are told apart: a subset, a kind of caption, a source
    question: str = ""  # what was asked
    references: tuple[str, ...] = ()  # what might have been said
    asked: tuple[ExamQuestion, ...] = ()  # questions that the answer is examined with
    events: tuple[str, ...] | None = None  # of the reference; None: nobody listed them, () : there are none
    options: tuple[str, ...] = ()  # what there was to choose from
    gold: str = ""  # the right option as the file has it: a letter, a number from 0, or its text
    windows: tuple[tuple[float, float], ...] = ()  # when that happens, in seconds
    traits: Mapping[str, float] = field(default_factory=dict)  # numbers to sort results by: n_events

    @property
    def right(self) -> int | None:
        """Which option is the right one, from 0; None where the file does not say."""
        if not self.gold:
            return None
        if self.gold in self.options:
            return self.options.index(self.gold)
        found = LABEL.fullmatch(self.gold.strip())
        if found is None:
            return None
        at = ord(found[1].lower()) - ord("a") if found[1] else int(found[2])
        return at if not self.options or at < len(self.options) else None


def letter(place: int) -> str:
    """A for 0, B for 1, …"""
    return chr(ord("A") + place)
