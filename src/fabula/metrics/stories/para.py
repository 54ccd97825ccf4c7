"""Paragraph metrics (Park et al., CVPR 2019): a video's sentences as one text against each annotator's own.

pairing  video: each video with its own references · shifted: predictions are counted through without the missing
         videos, references with them, so that all pairs after the first missing video are wrong (TimeChat, TRACE)
order    time: sentences in order of start, end and words · start: of start alone, ties as in the file
         file: in file order, as published evaluators join them

Para_METEOR, Para_CIDEr, Para_ROUGE_L and Para_BLEU_4 keep letters alone, in lower case. Para_SPICE and Para_iSPICE
(Raajesh et al., CVPR 2024) read sentences as they are: a parser needs to know where one ends; of several reference sets
iSPICE takes the one that serves the prediction best. ids and spice as for iSPICE (metrics/captions/ispice.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.rows import Rows
from fabula.data.stories import Item, Story
from fabula.metrics.base import Array, CachedList, Metric, Values, once
from fabula.metrics.captions import bleu, cider, ispice, meteor, rouge_l, spice
from fabula.metrics.captions._graphs import Backend, version
from fabula.metrics.captions.base import CaptionMetric
from fabula.metrics.stories.base import Video, sort_story
from fabula.text.identity import as_text

LETTERS = bytes(c | 32 if chr(c).isascii() and chr(c).isalpha() else 32 for c in range(256))  # in lower case, or blanks


@dataclass(frozen=True, kw_only=True)
class Paragraph(Metric):
    """Base: a subclass names the caption metric that reads the paragraphs."""

    paper: ClassVar[str] = "Park et al., CVPR 2019"
    reads: ClassVar[str] = "stories"
    tasks: ClassVar[tuple[str, ...]] = ("dense",)
    shown: ClassVar[bool] = False
    rules: ClassVar[Mapping[str, str]] = {
        "missing=zero": "a reference video without predictions counts as an empty paragraph",
        "missing=drop": "reference videos without predictions are left out",
        "order=time": "sentences are joined in time",
        "order=start": "sentences are joined by their starts; those that start together stay as in the file",
        "order=file": "sentences are joined in file order",
        "pairing=video": "paragraphs meet their own references",
        "pairing=shifted": "after the first missing video, paragraphs meet another video's references",
    }

    missing: Literal["zero", "drop"] = "zero"
    order: Literal["time", "start", "file"] = "time"
    pairing: Literal["video", "shifted"] = "video"

    @property
    def whole(self) -> bool:
        return self.pairing == "shifted"

    @abstractmethod
    def reader(self) -> CaptionMetric:
        """The caption metric that reads the paragraphs."""

    def text(self, story: Story) -> str:
        """The paragraph: only letters are kept, in lower case."""
        return b" ".join(
            ". ".join(self.sentences(story)).encode("ascii", "replace").translate(LETTERS).split()
        ).decode()

    def sentences(self, story: Story) -> list[str]:
        return sort_story(story, self.order).captions

    def items(self, block: Sequence[Video]) -> list[Item]:
        """One paragraph a video."""
        rules = (type(self).text, self.order, self.missing, self.pairing)
        found: list[Item] = once(block, rules, lambda: CachedList(self.make_items(block)))
        return found

    def make_items(self, block: Sequence[Video]) -> list[Item]:
        videos = [(v, refs, pred) for v, refs, pred in block if self.missing == "zero" or pred is not None]
        texts = ["" if pred is None else self.text(pred) for _, _, pred in videos]
        if self.pairing == "shifted":
            texts = [text for (_, _, pred), text in zip(videos, texts, strict=True) if pred is not None]
            videos = videos[: len(texts)]
        return [
            Item(v, text, tuple(self.text(ref) for ref in refs if ref is not None))
            for (v, refs, _), text in zip(videos, texts, strict=True)
        ]

    def rows(self, block: Sequence[Video], ctx: object) -> Rows:
        items = self.items(block)
        refset = np.zeros(len(items), dtype=np.int64)
        return Rows(tuple(item.id for item in items), refset, self.reader().tabulate(items))

    @property
    def depends_on(self) -> frozenset[str]:
        return self.reader().depends_on

    @property
    def is_mean(self) -> bool:
        return False

    def combine(self, rows: Rows) -> Values:
        return self.reader().combine(rows)

    def sums(self, rows: Rows) -> Array | None:
        return self.reader().sums(rows)

    def of_sums(self, totals: Array) -> Array:
        return self.reader().of_sums(totals)


@dataclass(frozen=True, kw_only=True)
class Meteor(Paragraph):
    name: ClassVar[str] = "Para_METEOR"
    perfect_score: ClassVar[str] = ""

    def reader(self) -> CaptionMetric:
        return meteor.Metric(tok="none", ties="words" if self.order == "time" else "file")


@dataclass(frozen=True, kw_only=True)
class Cider(Paragraph):
    name: ClassVar[str] = "Para_CIDEr"
    highest: ClassVar[float] = cider.Metric.highest
    perfect_score: ClassVar[str] = cider.Metric.perfect_score

    @property
    def whole(self) -> bool:
        return True  # document frequencies

    def reader(self) -> CaptionMetric:
        return cider.Metric(tok="none")


@dataclass(frozen=True, kw_only=True)
class RougeL(Paragraph):
    name: ClassVar[str] = "Para_ROUGE_L"
    perfect_score: ClassVar[str] = ""

    def reader(self) -> CaptionMetric:
        return rouge_l.Metric(tok="none")


@dataclass(frozen=True, kw_only=True)
class Bleu4(Paragraph):
    name: ClassVar[str] = "Para_BLEU_4"
    perfect_score: ClassVar[str] = bleu.Bleu4.perfect_score

    def reader(self) -> CaptionMetric:
        return bleu.Bleu4(tok="none")


@dataclass(frozen=True, kw_only=True)
class ParagraphGraphs(Paragraph):
    """Scene graphs: the parser reads sentences as they are. A subclass says which parser, by its field `spice`."""

    def text(self, story: Story) -> str:
        return as_text(self.sentences(story))

    def about(self) -> Mapping[str, str]:
        return version(self.param("spice"))


@dataclass(frozen=True, kw_only=True)
class Spice(ParagraphGraphs):
    name: ClassVar[str] = "Para_SPICE"
    perfect_score: ClassVar[str] = spice.Metric.perfect_score
    fields: ClassVar[tuple[str, ...]] = spice.Metric.fields

    spice: Backend = "native"

    def reader(self) -> CaptionMetric:
        return spice.Metric(tok="none", spice=self.spice)


@dataclass(frozen=True, kw_only=True)
class Ispice(ParagraphGraphs):
    name: ClassVar[str] = "Para_iSPICE"
    perfect_score: ClassVar[str] = ispice.Metric.perfect_score
    paper: ClassVar[str] = "Raajesh et al., CVPR 2024"
    fields: ClassVar[tuple[str, ...]] = ispice.Metric.fields

    ids: str = "11"
    spice: Backend = "native"

    def __post_init__(self) -> None:
        super().__post_init__()
        ispice.check_ids(self.ids)

    def reader(self) -> CaptionMetric:
        return ispice.Metric(ids=self.ids, spice=self.spice)


METRICS = (Bleu4, Cider, Ispice, Meteor, RougeL, Spice)
