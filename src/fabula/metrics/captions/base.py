"""Metrics of captions: one candidate sentence against its references.

tok       ptb: Stanford's PTBTokenizer 3.4.1 as the COCO evaluation runs it · none: tokens are what blanks separate
nonascii  keep · blank: every non-ASCII character becomes a blank before tokenising
missing   zero: an item without a candidate counts as an empty one · drop: it does not count
over      corpus: all items together · videos: the items of each video by themselves, corpus statistics and document
          frequencies included, then the mean over videos
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar, Literal

import numpy as np

from fabula.core.rows import Rows
from fabula.data.stories import Item
from fabula.metrics.base import Array, CachedList, Metric, Row, once
from fabula.text import token_table
from fabula.text.placed import Pairs


@dataclass(frozen=True, slots=True)
class Items:
    """Caption items, under every tokenisation that a metric asks for, each made once."""

    items: Sequence[Item]
    unit: str = "id"  # what a row is called
    tokenised: dict[tuple[str, bool], CachedList[Item]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.items)

    def blocks(self, whole: bool) -> Iterator[Items]:
        """All at once: what a caption is worth may depend on the others."""
        yield self

    def tokenize(self, tok: str, ascii_only: bool) -> CachedList[Item]:
        if (tok, ascii_only) not in self.tokenised:
            tokens = token_table([t for i in self.items for t in (i.candidate or "", *i.references)], tok, ascii_only)
            of = tokens.__getitem__
            self.tokenised[tok, ascii_only] = CachedList(
                Item(i.id, None if i.candidate is None else of(i.candidate), tuple(map(of, i.references)), i.group)
                for i in self.items
            )
        return self.tokenised[tok, ascii_only]


@dataclass(frozen=True, kw_only=True)
class CaptionMetric(Metric):
    """Base of metrics over caption items. Write `units`: tokenised items in, a row each out; or `tabulate` at once."""

    reads: ClassVar[str] = "captions"
    tasks: ClassVar[tuple[str, ...]] = ("captions",)
    rules: ClassVar[Mapping[str, str]] = {
        "missing=zero": "an item without a candidate counts as an empty one",
        "missing=drop": "items without a candidate are left out",
        "tok=ptb": "captions are cut into words by the PTB tokeniser",
        "tok=none": "words are what blanks separate",
        "nonascii=keep": "non-ASCII characters stay",
        "nonascii=blank": "non-ASCII characters become blanks",
        "over=corpus": "all items are scored together",
        "over=videos": "the items of each video are scored by themselves, and videos averaged",
    }
    late: ClassVar[frozenset[str]] = frozenset({"over"})

    tok: Literal["ptb", "none"] = "ptb"
    nonascii: Literal["keep", "blank"] = "keep"
    missing: Literal["zero", "drop"] = "zero"
    over: Literal["corpus", "videos"] = "corpus"

    def units(self, items: Sequence[Item]) -> list[Row]:
        """One row per item, in order. Every item has a candidate and at least one reference, tokenised."""
        raise NotImplementedError(f"{self.name} does not say what its rows are")

    def tabulate(self, items: Sequence[Item]) -> Mapping[str, Array]:
        """The same, column by column."""
        rows = [{"id": item.id, **row} for item, row in zip(items, self.units(items), strict=True)]
        return Rows.of(rows, unit="id").columns

    @property
    def whole(self) -> bool:
        return True

    def items(self, block: Items) -> Sequence[Item]:
        """The items that count, tokenised as the metric reads them."""
        items = block.tokenize(self.tok, self.nonascii == "blank")
        if self.missing == "zero":
            return items
        counted: Sequence[Item] = items.once(
            "answered", lambda: CachedList(i for i in items if i.candidate is not None)
        )
        return counted

    def rows(self, block: Items, ctx: object) -> Rows:
        items = self.items(block)
        if self.over == "videos":
            return self.video_rows(items, block.unit)
        refset = np.zeros(len(items), dtype=np.int64)
        return Rows(tuple(map(attrgetter("id"), items)), refset, self.tabulate(items), block.unit)

    def video_rows(self, items: Sequence[Item], unit: str) -> Rows:
        """The rows of each video, made of its items alone, as a set of their own: their means are averaged."""
        groups: dict[str | None, list[Item]] = {}
        for item in items:
            groups.setdefault(item.group, []).append(item)
        parts = []
        for k, own in enumerate(groups.values()):
            columns = self.tabulate(CachedList(own))
            parts.append(Rows(tuple(i.id for i in own), np.full(len(own), k, dtype=np.int64), columns, unit))
        return Rows.joined(parts)


def split_items(items: Sequence[Item]) -> tuple[list[str], list[Sequence[str]]]:
    """Candidates and their references; an item without a candidate says nothing."""
    return [i.candidate or "" for i in items], [i.references for i in items]


def place_items(items: Sequence[Item]) -> Pairs:
    """Their sentences by their places in a list; metrics that read the same items share it."""

    found: Pairs = once(items, Pairs, lambda: Pairs.lay(*split_items(items)))
    return found
