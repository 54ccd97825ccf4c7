"""Rows of caption items on this machine: tokenised once per way of tokenising, then a metric at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabula.core.nouns import Item
from fabula.core.rows import Rows
from fabula.engine.local import Progress, silent
from fabula.metrics._caption import CaptionMetric
from fabula.text import tokenize_all


class Tokenised:
    """The items under every tokenisation that a metric asks for, each made once."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.made: dict[tuple[str, bool], list[Item]] = {}

    def under(self, tok: str, ascii_only: bool) -> list[Item]:
        if (tok, ascii_only) not in self.made:
            texts = list({t for i in self.items for t in (i.candidate or "", *i.references)})
            tokens = dict(zip(texts, tokenize_all(texts, tok, ascii_only), strict=True))
            self.made[tok, ascii_only] = [
                replace(
                    i,
                    candidate=None if i.candidate is None else tokens[i.candidate],
                    references=tuple(tokens[r] for r in i.references),
                )
                for i in self.items
            ]
        return self.made[tok, ascii_only]


def caption_rows(metric: CaptionMetric, items: Tokenised, progress: Progress = silent) -> Rows:
    tokenised = items.under(metric.tok, metric.nonascii == "blank")
    counted = [i for i in tokenised if i.candidate is not None or metric.missing == "zero"]
    progress(metric.name, 0, len(counted))
    rows = Rows.of(metric.rows(counted), unit="id")
    progress(metric.name, len(counted), len(counted))
    return rows
