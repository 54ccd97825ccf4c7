"""Paragraph metrics (Park et al., CVPR 2019): a video's sentences as one text against each annotator's own.

pairing  video: each video with its own references · shifted: predictions are counted through without the missing
         videos, references with them, so that all pairs after the first missing video are wrong (TimeChat, TRACE)
order    file: sentences in file order, as published evaluators join them · start: in time
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Corpus, Item, Story
from fabula.core.rows import Rows
from fabula.metrics._base import Array, Metric, Values
from fabula.metrics._caption import CaptionMetric


@dataclass(frozen=True, kw_only=True)
class Paragraph(Metric):
    """Base: a subclass names the caption metric that reads the paragraphs."""

    paper: ClassVar[str] = "Park et al., CVPR 2019"
    tasks: ClassVar[tuple[str, ...]] = ("dense",)
    shown: ClassVar[bool] = False
    corpus_wide: ClassVar[bool] = False  # True: a row depends on the other videos
    inner: ClassVar[type[CaptionMetric]]
    rules: ClassVar[Mapping[str, str]] = {
        "missing=zero": "a reference video without predictions counts as an empty paragraph",
        "missing=drop": "reference videos without predictions are left out",
        "order=start": "sentences are joined in time",
        "order=file": "sentences are joined in file order",
        "pairing=video": "paragraphs meet their own references",
        "pairing=shifted": "after the first missing video, paragraphs meet another video's references",
    }

    missing: Literal["zero", "drop"] = "zero"
    order: Literal["start", "file"] = "start"
    pairing: Literal["video", "shifted"] = "video"

    @property
    def whole(self) -> bool:
        """True where the table cannot be made of a part of the videos at a time."""
        return self.corpus_wide or self.pairing == "shifted"

    def reader(self) -> CaptionMetric:
        """The caption metric that reads the paragraphs."""
        return self.inner(tok="none")

    def items(self, refs: Sequence[Corpus], preds: Corpus) -> list[Item]:
        """One paragraph a video. Only letters are kept, in lower case."""
        videos = [v for v in dict.fromkeys(v for ref in refs for v in ref) if self.missing == "zero" or v in preds]
        told: list[str] = [self.text(preds[v]) if v in preds else "" for v in videos]
        if self.pairing == "shifted":
            present = [text for v, text in zip(videos, told, strict=True) if v in preds]
            videos, told = videos[: len(present)], present
        return [
            Item(v, text, tuple(self.text(ref[v]) for ref in refs if v in ref))
            for v, text in zip(videos, told, strict=True)
        ]

    def text(self, story: Story) -> str:
        story = story.in_order() if self.order == "start" else story
        return " ".join(re.sub("[^a-zA-Z]", " ", ". ".join(story.captions)).lower().split())

    def table(self, refs: Sequence[Corpus], preds: Corpus) -> Rows:
        items = self.items(refs, preds)
        rows: list[dict[str, Any]] = self.reader().units(items)
        return Rows.of({"video": item.id, **row} for item, row in zip(items, rows, strict=True))

    def combine(self, rows: Rows) -> Values:
        return self.reader().combine(rows)

    def sums(self, rows: Rows) -> Array | None:
        return self.reader().sums(rows)

    def of_sums(self, totals: Array) -> Array:
        return self.reader().of_sums(totals)
