"""Scene graphs of dense captions (after Krishna et al., ICCV 2017): SPICE and iSPICE where segments overlap by τ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fabula.core.nouns import Corpus, Story
from fabula.metrics._base import Row
from fabula.metrics._graphs import Backend, Graphs, parsed, version
from fabula.metrics._localised import Localised, Pair, Tokens, first
from fabula.text import tokenize_all
from fabula.text.spice import SpiceScore


class Words(Tokens):
    """Captions tokenised when they are first asked for: ids are renamed story by story, not caption by caption."""

    def __init__(self, tok: str, ascii_only: bool) -> None:
        super().__init__()
        self.how = tok, ascii_only

    def __missing__(self, caption: str) -> str:
        self[caption] = tokenize_all([caption], *self.how)[0]
        return self[caption]

    def learn(self, captions: Sequence[str]) -> None:
        new = list({c for c in captions if c not in self})
        self.update(zip(new, tokenize_all(new, *self.how), strict=True))


class Scored:
    """Pairs parsed and scored once for all τ."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.values: dict[Pair, float | None] = {}


@dataclass(frozen=True, kw_only=True)
class LocalisedGraphs(Localised):
    """Base: a subclass says what a pair is worth, and how a story is told."""

    shown: ClassVar[bool] = False  # asked for by name: parsing costs

    spice: Backend = "native"

    @abstractmethod
    def worth(self, score: SpiceScore) -> float | None:
        """The value of a pair; None where there is nothing to compare."""

    @abstractmethod
    def graphs_of(self, score: SpiceScore) -> Graphs:
        """What is compared of a pair, for a picture."""

    def told(self, story: Story) -> Story:
        """The story as it is parsed."""
        return story

    def prepare(self, refs: Sequence[Corpus], preds: Corpus) -> Any:
        return Scored(self.words())

    def words(self) -> Words:
        return Words(self.tok, self.nonascii == "blank")

    def tokens(self, ctx: Scored) -> Tokens:
        return ctx.words

    def warm(self, block: Sequence[tuple[Sequence[Story | None], Story | None]], ctx: Scored) -> None:
        """All pairs of the block at the lowest τ, which has those of the others, in one call."""
        ctx.values = {}
        pairs: list[Pair] = []
        both = [
            (self.told(ref.in_order()), self.told(some.in_order()))
            for refs, pred in block
            for ref in refs
            if ref is not None and len(ref) and (some := first(pred, self.top)) is not None
        ]
        ctx.words.learn([c for sides in both for story in sides for c in story.captions])
        for ref, pred in both:
            pairs += self.paired(ref, pred, min(self.tiou), ctx.words)[0]
        self.score(pairs, ctx)

    def score(self, pairs: Sequence[Pair], ctx: Scored) -> None:
        new = list(dict.fromkeys(p for p in pairs if p not in ctx.values))
        ctx.values |= {p: self.worth(s) for p, s in zip(new, self.compared(new), strict=True)}

    def compared(self, pairs: Sequence[Pair]) -> list[SpiceScore]:
        return parsed(self.spice)([c for c, _ in pairs], [[r] for _, r in pairs]) if pairs else []

    def graphs(self, pairs: Sequence[Pair]) -> list[Graphs]:
        """The scene graphs of tokenised pairs."""
        return [self.graphs_of(s) for s in self.compared(pairs)]

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        return super().unit(self.told(ref), self.told(pred), ctx)

    def video(self, pairs: Sequence[Pair], lost: int, ctx: Scored) -> float:
        self.score(pairs, ctx)
        values = [value for p in pairs if (value := ctx.values[p]) is not None]
        return sum(values) / (len(values) + lost) if values else 0.0

    def about(self) -> Mapping[str, str]:
        return version(self.spice)
