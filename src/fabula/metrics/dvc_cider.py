"""CIDEr of dense captions (Krishna et al., ICCV 2017): CIDEr-D of the pairs that overlap by τ, mean over τ.

idf: corpus counts documents over the reference events of all videos; video over the pairs of one video and one τ, as
published evaluators do, so that a video with a single pair scores 0 whatever it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Corpus
from fabula.metrics._localised import Localised, Pair, Tokens
from fabula.text import cider


@dataclass(frozen=True, kw_only=True)
class Metric(Localised):
    name: ClassVar[str] = "DVC_CIDEr"
    label: ClassVar[str] = "CIDEr"

    idf: Literal["corpus", "video"] = "corpus"

    def prepare(self, refs: Sequence[Corpus], preds: Corpus) -> Any:
        tokens = super().prepare(refs, preds)
        if self.idf == "video":
            return tokens, None
        events = [[tokens[c]] for ref in refs for story in ref.values() for c in story.captions]
        return tokens, cider.Idf.from_references(events)

    def tokens(self, ctx: Any) -> Tokens:
        tokens: Tokens = ctx[0]
        return tokens

    def video(self, pairs: Sequence[Pair], lost: int, ctx: Any) -> float:
        if not pairs:
            return 0.0
        idf = ctx[1] or cider.Idf.from_references([[r] for _, r in pairs])
        return sum(cider.scores([(c, [r]) for c, r in pairs], idf)) / (len(pairs) + lost)
