"""CIDEr of dense captions (Krishna et al., ICCV 2017): CIDEr-D of the pairs that overlap by τ, mean over τ.

idf: corpus counts documents over the reference events of all videos; video over the pairs of one video and one τ, as
published evaluators do, so that a video with a single pair scores 0 whatever it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fabula.core.nouns import Corpus
from fabula.metrics.base import Array
from fabula.metrics.stories._families.localised import CaptionPairs, Localised
from fabula.metrics.stories._families.meetings import Meetings
from fabula.metrics.stories.base import Stories, Tokens
from fabula.text import cider
from fabula.text.placed import Pairs


@dataclass(frozen=True, kw_only=True)
class Metric(Localised):
    name: ClassVar[str] = "DVC_CIDEr"
    label: ClassVar[str] = "CIDEr"
    highest: ClassVar[float] = 10.0
    below_one: ClassVar[str] = "it ends at 10, and less where captions are short or alike"
    rules: ClassVar[Mapping[str, str]] = {
        "idf=corpus": "CIDEr's document frequencies come from the whole corpus",
        "idf=video": "CIDEr's document frequencies come from one video's pairs",
    }

    idf: Literal["corpus", "video"] = "corpus"

    def prepare(self, data: Stories) -> Any:
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

    def count_statistics(self, refs: Sequence[Corpus]) -> Any:
        if not self.needs_statistics:
            return None
        idf = cider.Idf.from_references(list_events(refs, super().prepare(Stories(refs, Corpus({})))))
        return {"N": idf.N, "df": dict(idf.df)}

    def merge_statistics(self, parts: Sequence[Any]) -> Any:
        idf = cider.Idf(0, {}).merge(*(cider.Idf(**part) for part in parts))
        return {"N": idf.N, "df": dict(idf.df)}

    def tokens(self, ctx: Any) -> Tokens:
        tokens: Tokens = ctx[0]
        return tokens

    def videos(self, met: Meetings, ctx: Any) -> list[Array]:
        pairs = met.pairs
        if ctx[1]:
            scores = cider.score_pairs(pairs, ctx[1])
            return [met.mean(k, scores[at]) for k, at in enumerate(met.at)]
        sizes = [n for k in range(len(met.at)) for n in met.counts(k).tolist()]
        every = np.concatenate(met.at)
        each = Pairs.of(pairs.texts, pairs.candidates[every], pairs.references[every])
        found = cider.score_pair_groups(each, sizes)
        ends = np.cumsum([len(at) for at in met.at])[:-1]
        return [met.mean(k, scores) for k, scores in enumerate(np.split(found, ends))]

    def video(self, pairs: CaptionPairs, lost: int, ctx: Any) -> float:
        if not pairs:
            return 0.0
        idf = cider.frequencies(ctx[1]) if ctx[1] else cider.Idf.from_counts(Counter(r for _, r in pairs))
        return sum(cider.stream(((c, [r]) for c, r in pairs), idf)) / (len(pairs) + lost)


def list_events(refs: Sequence[Corpus], tokens: Tokens) -> list[tuple[str]]:
    """Every reference event is an item."""
    return [(tokens[c],) for ref in refs for story in ref.values() for c in story.captions]
