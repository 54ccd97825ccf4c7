"""CIDEr of dense captions (Krishna et al., ICCV 2017): CIDEr-D of the pairs that overlap by τ, mean over τ.

idf: corpus counts documents over the reference events of all videos; video over the pairs of one video and one τ, as
published evaluators do, so that a video with a single pair scores 0 whatever it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Corpus
from fabula.metrics._localised import Localised, Pair, Tokens
from fabula.text import cider


@dataclass(frozen=True, kw_only=True)
class Metric(Localised):
    name: ClassVar[str] = "DVC_CIDEr"
    label: ClassVar[str] = "CIDEr"
    rules: ClassVar[Mapping[str, str]] = {
        "idf=corpus": "CIDEr's document frequencies come from the whole corpus",
        "idf=video": "CIDEr's document frequencies come from one video's pairs",
    }

    idf: Literal["corpus", "video"] = "corpus"

    def prepare(self, refs: Sequence[Corpus], preds: Corpus) -> Any:
        tokens = super().prepare(refs, preds)
        if self.idf == "video":
            return tokens, None
        return tokens, counted(refs, tokens)

    def statistics(self, refs: Sequence[Corpus]) -> Any:
        if self.idf == "video":
            return None
        idf = counted(refs, super().prepare(refs, Corpus({})))
        return {"N": idf.N, "df": dict(idf.df)}

    def merge(self, parts: Sequence[Any]) -> Any:
        idf = cider.Idf(0, {}).merge(*(cider.Idf(**part) for part in parts))
        return {"N": idf.N, "df": dict(idf.df)}

    def prepare_part(self, refs: Sequence[Corpus], preds: Corpus, statistics: Any) -> Any:
        return super().prepare(refs, preds), cider.Idf(**statistics) if self.idf == "corpus" else None

    def tokens(self, ctx: Any) -> Tokens:
        tokens: Tokens = ctx[0]
        return tokens

    def video(self, pairs: Sequence[Pair], lost: int, ctx: Any) -> float:
        if not pairs:
            return 0.0
        idf = ctx[1] or cider.Idf.from_references([[r] for _, r in pairs])
        return sum(cider.scores([(c, [r]) for c, r in pairs], idf)) / (len(pairs) + lost)


def counted(refs: Sequence[Corpus], tokens: Tokens) -> cider.Idf:
    """Every reference event is an item."""
    return cider.Idf.from_references([[tokens[c]] for ref in refs for story in ref.values() for c in story.captions])
