"""Metrics of captions: one candidate sentence against its references.

tok       ptb: Stanford's PTBTokenizer 3.4.1 as the COCO evaluation runs it · none: tokens are what blanks separate
nonascii  keep · blank: every non-ASCII character becomes a blank before tokenising
missing   zero: an item without a candidate counts as an empty one · drop: it does not count
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Item
from fabula.metrics._base import Metric


@dataclass(frozen=True, kw_only=True)
class CaptionMetric(Metric):
    """Base of metrics over caption items. Write `units`: tokenised items in, a row each out."""

    tasks: ClassVar[tuple[str, ...]] = ("captions",)
    rules: ClassVar[Mapping[str, str]] = {
        "missing=zero": "an item without a candidate counts as an empty one",
        "missing=drop": "items without a candidate are left out",
        "tok=ptb": "captions are cut into words by the PTB tokeniser",
        "tok=none": "words are what blanks separate",
        "nonascii=keep": "non-ASCII characters stay",
        "nonascii=blank": "non-ASCII characters become blanks",
    }

    tok: Literal["ptb", "none"] = "ptb"
    nonascii: Literal["keep", "blank"] = "keep"
    missing: Literal["zero", "drop"] = "zero"

    @abstractmethod
    def units(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """One row per item, in order. Every item has a candidate and at least one reference, tokenised."""

    def rows(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        return [{"id": item.id, **row} for item, row in zip(items, self.units(items), strict=True)]
