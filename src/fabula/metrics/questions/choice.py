"""Choice: the share of questions whose right option was named.

    accuracy = |{right}| / |{questions}|                 by=group: the share of groups in which every answer is right

An answer in which no option can be read is wrong, and counted (`unread`). How an option is read is `read`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.rows import Rows
from fabula.data.questions import Response
from fabula.metrics.base import Array, Row, Values
from fabula.metrics.base import Metric as Base
from fabula.metrics.questions._letters import RULES
from fabula.metrics.questions.base import QuestionMetric


@dataclass(frozen=True, kw_only=True)
class Metric(QuestionMetric):
    name: ClassVar[str] = "Choice"
    paper: ClassVar[str] = "Zhang et al., lmms-eval, 2024"
    needs: ClassVar[str] = "gold"
    fields: ClassVar[tuple[str, ...]] = ("accuracy", "unread")
    primary: ClassVar[str] = "accuracy"
    perfect_score: ClassVar[str] = ""
    rules: ClassVar[Mapping[str, str]] = {
        "read=option": "an option is read where a letter cannot be a word, or where its text alone is said",
        "read=plm": "an answer is right where its first word is a part of the label '(a)' or holds it, so that '(' is",
        "read=etbench": "the first (X) is read, else a first letter that a dot, comma, blank or bracket follows, so "
        "that 'A dog runs' is A",
        "read=gvq": "a first letter is read that a dot, comma, blank or bracket follows, so that 'A dog runs' is A",
        "by=item": "every question counts",
        "by=group": "a group of questions counts, as right where all of them are",
        "missing=wrong": "a question without an answer is wrong",
        "missing=drop": "questions without an answer are left out",
    }

    read: Literal["option", "plm", "etbench", "gvq"] = "option"
    by: Literal["item", "group"] = "item"
    missing: Literal["wrong", "drop"] = "wrong"

    def units(self, responses: Sequence[Response]) -> list[Row]:
        found = [RULES[self.read](r) for r in responses]
        return [{"accuracy": float(v.right), "unread": float(not v.read)} for v in found]

    def can_read(self, response: Response) -> bool:
        return super().can_read(response) and (self.missing == "wrong" or response.answer is not None)

    def combine(self, rows: Rows) -> Values:
        if self.by == "item":
            return super().combine(rows)
        right: dict[str | int, list[bool]] = {}
        for group, one in zip(rows.drawn, rows["accuracy"].tolist(), strict=True):
            right.setdefault(group, []).append(one == 1)
        return {
            "accuracy": float(np.mean([all(answers) for answers in right.values()])),
            "unread": rows["unread"].mean(),
        }

    @property
    def is_mean(self) -> bool:
        return self.by == "item"

    def sums(self, rows: Rows) -> Array | None:
        return Base.sums(self, rows) if self.by == "item" else None
