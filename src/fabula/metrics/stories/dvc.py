"""Dense captions (Krishna et al., ICCV 2017): measures of two captions, of the pairs that overlap by τ, mean over τ.

DVC_BLEU_1 … 4   statistics are summed over the pairs of one video; with garbage=zero, lost predictions lower its BLEU
                 by their share
DVC_CIDEr        CIDEr-D; idf: corpus counts documents over the reference events of all videos; video over the pairs of
                 one video and one τ, as published evaluators do, so that a video with a single pair scores 0
DVC_METEOR       METEOR 1.5; agg: items is the mean of the pairs' scores; corpus is METEOR's aggregate of their
                 statistics, as published evaluators take it (a video with one long good caption and one short bad one
                 differs)
DVC_ROUGE_L      ROUGE-L
DVC_SPICE        SPICE; spice: native or java (metrics/captions/_graphs.py)
DVC_iSPICE       (Raajesh et al., CVPR 2024, for events) people are renamed P1, P2, … by first appearance in the whole
                 story, each side by itself: who is who must hold from event to event. A pair in which nobody with an id
                 does anything, on neither side, does not count. ids: the greatest id that counts: 11 as published, any
                 for all; tok: none by default, the parser needs sentences and capitals
DVC_Text         any caption scorer; DVC_Text(text=embed_signed:minilm) is E.T. Bench's SentSim (Liu et al., 2024)
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from fabula.data.stories import Corpus, Story
from fabula.metrics.base import Array
from fabula.metrics.captions._graphs import Backend, Graphs, greatest, of_ispice, of_spice, parser, version
from fabula.metrics.captions.ispice import check_ids
from fabula.metrics.stories._families.localised import Localised, Numbers, divide
from fabula.metrics.stories._families.overlap_pairs import OverlapPairs
from fabula.metrics.stories.base import Pair, Stories, event_order, sort_story
from fabula.pair.grid import Index, Mask
from fabula.pair.strips import is_large
from fabula.text import bleu, cider, meteor, rouge, scorer, token_table, tokenize_all
from fabula.text.identity import capitalise_sentences, renumber_ids
from fabula.text.ispice import from_spice
from fabula.text.placed import Pairs, Tokens
from fabula.text.spice import SpiceScore

PAPER, AFTER = "(Krishna et al., ICCV 2017)", "(after Krishna et al., ICCV 2017)"
Counted = tuple[Tokens, Any]  # tokens; document frequencies: of the corpus, of a large video at each τ, or none
PAIRS = "of the pairs that overlap by τ, mean over τ."


@dataclass(frozen=True, kw_only=True)
class LocalisedBleu(Localised):
    """BLEU up to n-grams of order n."""

    summary: ClassVar[str] = f"BLEU of dense captions {PAPER}: DVC_BLEU_1 … 4 {PAIRS}"
    n: ClassVar[int]
    shown: ClassVar[bool] = False

    def statistics(self, overlaps: OverlapPairs, ctx: object) -> Numbers:
        return overlaps.once("bleu", lambda: bleu.stats_pairs(overlaps.pairs))

    def value(self, sums: Numbers, pairs: Index, lost: Index) -> Array:
        return divide(bleu.segments(sums)[:, self.n - 1] * pairs, pairs + lost)


@dataclass(frozen=True, kw_only=True)
class Bleu1(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_1"
    label: ClassVar[str] = "BLEU_1"
    n: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class Bleu2(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_2"
    label: ClassVar[str] = "BLEU_2"
    n: ClassVar[int] = 2


@dataclass(frozen=True, kw_only=True)
class Bleu3(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_3"
    label: ClassVar[str] = "BLEU_3"
    n: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class Bleu4(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_4"
    label: ClassVar[str] = "BLEU_4"
    n: ClassVar[int] = 4
    shown: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Cider(Localised):
    name: ClassVar[str] = "DVC_CIDEr"
    label: ClassVar[str] = "CIDEr"
    summary: ClassVar[str] = f"CIDEr of dense captions {PAPER}: CIDEr-D {PAIRS}"
    highest: ClassVar[float] = 10.0
    perfect_score: ClassVar[str] = "it ends at 10, and less where captions are short or alike"
    rules: ClassVar[Mapping[str, str]] = {
        "idf=corpus": "CIDEr's document frequencies come from the whole corpus",
        "idf=video": "CIDEr's document frequencies come from one video's pairs",
    }

    idf: Literal["corpus", "video"] = "corpus"

    def prepare(self, data: Stories) -> Counted:
        """Tokens, and document frequencies: of the corpus, or of a large video at each τ; None: to be counted."""
        tokens = super().prepare(data)
        if self.idf == "video":
            return tokens, None
        if data.statistics is not None:
            return tokens, cider.Idf(**data.statistics)
        words = "documents", self.tok, self.nonascii
        return tokens, data.once(words, lambda: cider.Documents(list_events(data.refs, tokens)))

    @property
    def needs_statistics(self) -> bool:
        return self.idf == "corpus"

    def count_statistics(self, refs: Sequence[Corpus]) -> dict[str, object] | None:
        if not self.needs_statistics:
            return None
        idf = cider.Idf.from_references(list_events(refs, super().prepare(Stories(refs, Corpus({})))))
        return {"N": idf.N, "df": dict(idf.df)}

    def merge_statistics(self, parts: Sequence[Any]) -> dict[str, object]:
        idf = cider.Idf(0, {}).merge(*(cider.Idf(**part) for part in parts))
        return {"N": idf.N, "df": dict(idf.df)}

    def tokens(self, ctx: Counted) -> Tokens:
        return ctx[0]

    def statistics(self, overlaps: OverlapPairs, ctx: Any) -> Numbers:
        return cider.score_pairs(overlaps.pairs, ctx[1])[:, None]

    def many(self, pairs: Sequence[Pair], ctx: Counted) -> dict[str, Array]:
        if self.idf == "video" and is_large(*pairs[0], self.portion):
            ctx = ctx[0], self.count_documents(pairs, ctx)
        return super().many(pairs, ctx)

    def count_documents(self, pairs: Sequence[Pair], ctx: Counted) -> list[cider.Documents]:
        """Of the pairs of a large video, at each τ."""
        counts: list[Counter[str]] = [Counter() for _ in self.tiou]
        for overlaps in self.overlapping(pairs, ctx):
            texts, references = overlaps.pairs.texts, overlaps.pairs.references
            for count, at in zip(counts, overlaps.at, strict=True):
                count.update(texts[r] for r in references[at].tolist())
        return [cider.Documents((), cider.Idf.from_counts(count)) for count in counts]

    def each(self, overlaps: OverlapPairs, ctx: Any) -> list[Numbers]:
        if self.idf == "corpus":
            return super().each(overlaps, ctx)
        pairs = overlaps.pairs
        pairs_at = [Pairs.of(pairs.texts, pairs.candidates[at], pairs.references[at]) for at in overlaps.at]
        if ctx[1]:
            of_tau = zip(pairs_at, ctx[1], strict=True)
            return [cider.score_pairs(p, idf)[:, None] if len(p.candidates) else np.zeros((0, 1)) for p, idf in of_tau]
        sizes = [n for k in range(len(overlaps.at)) for n in overlaps.counts(k).tolist()]
        every = np.concatenate(overlaps.at)
        found = cider.score_pair_groups(Pairs.of(pairs.texts, pairs.candidates[every], pairs.references[every]), sizes)
        return np.split(found[:, None], np.cumsum([len(at) for at in overlaps.at])[:-1])


def list_events(refs: Sequence[Corpus], tokens: Tokens) -> list[tuple[str]]:
    """Every reference event is an item."""
    return [(tokens[c],) for ref in refs for story in ref.values() for c in story.captions]


@dataclass(frozen=True, kw_only=True)
class LocalisedGraphs(Localised):
    """Scene graphs: a subclass says what a pair is worth."""

    shown: ClassVar[bool] = False  # asked for by name: parsing costs
    draws: ClassVar[str] = "graphs"

    spice: Backend = "native"

    @abstractmethod
    def worth(self, score: SpiceScore) -> float | None:
        """The value of a pair; None where there is nothing to compare."""

    @abstractmethod
    def graphs_of(self, score: SpiceScore) -> Graphs:
        """What is compared of a pair, for a picture."""

    def rename_people(self, story: Story) -> Story:
        """The story with the names under which it is parsed."""
        return story

    def parse(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[SpiceScore]:
        return parser(self.spice)(candidates, references) if candidates else []

    def statistics(self, overlaps: OverlapPairs, ctx: object) -> Numbers:
        """Its value, and whether it has one."""
        values = [self.worth(score) for score in self.parse(*overlaps.pairs.items())]
        return np.array([(value or 0.0, value is not None) for value in values], np.float64).reshape(-1, 2)

    def value(self, sums: Numbers, pairs: Index, lost: Index) -> Array:
        return np.where(sums[:, 1] > 0, divide(sums[:, 0], sums[:, 1] + lost), 0.0)

    def graphs(self, pairs: Sequence[tuple[str, str]]) -> list[Graphs]:
        """What is compared of each pair of captions as `parsed_captions` has them, for a picture."""
        sides = [tokenize_all([pair[side] for pair in pairs], self.tok, self.nonascii == "blank") for side in (0, 1)]
        return [self.graphs_of(score) for score in self.parse(sides[0], [[r] for r in sides[1]])]

    def parsed_captions(self, story: Story, predicted: bool) -> list[str]:
        """The captions of a story with the names under which they are parsed, in the order of the file."""
        captions = self.rename_people(sort_story(story, self.order, predicted)).captions
        return [caption for _, caption in sorted(zip(event_order(story, self.order, predicted), captions, strict=True))]

    def about(self) -> Mapping[str, str]:
        return version(self.spice)


@dataclass(frozen=True, kw_only=True)
class Ispice(LocalisedGraphs):
    name: ClassVar[str] = "DVC_iSPICE"
    label: ClassVar[str] = "iSPICE"
    summary: ClassVar[str] = f"iSPICE of dense captions (Raajesh et al., CVPR 2024, for events): iSPICE {PAIRS}"

    tok: Literal["ptb", "none"] = "none"
    ids: str = "11"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ids(self.ids)

    def prepare(self, data: Stories) -> None:
        return None

    def many(self, pairs: Sequence[Pair], ctx: object) -> dict[str, Array]:
        renamed = [(self.rename_people(ref), self.rename_people(pred)) for ref, pred in pairs]
        captions = [caption for sides in renamed for story in sides for caption in story.captions]
        return super().many(renamed, Tokens(token_table(captions, self.tok, self.nonascii == "blank")))

    def rename_people(self, story: Story) -> Story:
        captions = [capitalise_sentences(caption) for caption in renumber_ids(story.captions)]
        return replace(story, events=tuple(replace(e, caption=c) for e, c in zip(story.events, captions, strict=True)))

    def worth(self, score: SpiceScore) -> float | None:
        found = from_spice(score, greatest(self.ids))
        somebody = any(len(t) > 1 for side in (found.candidate, found.reference) for t in side)
        return found.value if somebody else None

    def graphs_of(self, score: SpiceScore) -> Graphs:
        return of_ispice(score, greatest(self.ids))


@dataclass(frozen=True, kw_only=True)
class Meteor(Localised):
    name: ClassVar[str] = "DVC_METEOR"
    label: ClassVar[str] = "METEOR"
    summary: ClassVar[str] = f"METEOR of dense captions {PAPER}: METEOR 1.5 {PAIRS}"
    rules: ClassVar[Mapping[str, str]] = {
        "agg=items": "METEOR averages the scores of pairs",
        "agg=corpus": "METEOR aggregates statistics instead of averaging pairs",
    }

    agg: Literal["items", "corpus"] = "items"

    def statistics(self, overlaps: OverlapPairs, ctx: object) -> Numbers:
        found = score_meteor(overlaps)
        if self.agg == "items":
            return found.scores[:, None]
        return meteor.without_perfect_chunks(found.stats.astype(np.float64)).astype(np.int64)

    def value(self, sums: Numbers, pairs: Index, lost: Index) -> Array:
        if self.agg == "items":
            return super().value(sums, pairs, lost)
        return divide(meteor.scores_of(sums) * pairs, pairs + lost)

    def beyond(self, overlaps: OverlapPairs) -> Mask:
        return score_meteor(overlaps).crowded > 0

    def about(self) -> Mapping[str, str]:
        return {"meteor": meteor.SCORER.version}


def score_meteor(overlaps: OverlapPairs) -> meteor.Table:
    """Of the distinct pairs that meet; statistics as small as they fit, for they may be kept for many rules."""

    def make() -> meteor.Table:
        found = meteor.score_pairs(overlaps.pairs)
        most = found.stats.max(initial=0.0)
        small = np.uint8 if most <= 255 else np.uint16 if most <= 65535 else np.float64
        return found._replace(stats=found.stats.astype(small))  # counts, all of them

    return overlaps.once("meteor", make)


@dataclass(frozen=True, kw_only=True)
class RougeL(Localised):
    name: ClassVar[str] = "DVC_ROUGE_L"
    label: ClassVar[str] = "ROUGE_L"
    summary: ClassVar[str] = f"ROUGE_L of dense captions {PAPER}: ROUGE-L {PAIRS}"

    def statistics(self, overlaps: OverlapPairs, ctx: object) -> Numbers:
        return overlaps.once("rouge", lambda: rouge.score_pairs(overlaps.pairs))[:, None]


@dataclass(frozen=True, kw_only=True)
class Spice(LocalisedGraphs):
    name: ClassVar[str] = "DVC_SPICE"
    label: ClassVar[str] = "SPICE"
    summary: ClassVar[str] = f"SPICE of dense captions {AFTER}: SPICE {PAIRS}"

    def worth(self, score: SpiceScore) -> float:
        return score.f

    def graphs_of(self, score: SpiceScore) -> Graphs:
        return of_spice(score)


@dataclass(frozen=True, kw_only=True)
class Text(Localised):
    name: ClassVar[str] = "DVC_Text"
    summary: ClassVar[str] = f"Any caption scorer over dense captions {AFTER}: the mean of the pairs that overlap by τ."
    shown: ClassVar[bool] = False
    rules: ClassVar[Mapping[str, str]] = {"text": "captions are compared by {}"}

    text: str = "rouge"

    def statistics(self, overlaps: OverlapPairs, ctx: object) -> Numbers:
        """A pair that is beyond the scorer has 0."""
        found = scorer(self.text, self.session).pairs_many(
            [([c], r) for c, r in zip(*overlaps.pairs.items(), strict=True)]
        )
        return np.nan_to_num(np.array([float(cell[0, 0]) for cell in found], np.float64), nan=0.0)[:, None]

    def about(self) -> Mapping[str, str]:
        found = scorer(self.text, self.session)
        return {found.name: found.version}


METRICS = (Bleu1, Bleu2, Bleu3, Bleu4, Cider, Ispice, Meteor, RougeL, Spice, Text)
