"""Scene graphs of dense captions (after Krishna et al., ICCV 2017): SPICE and iSPICE where segments overlap by τ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fabula.core.nouns import Story
from fabula.metrics.base import Row
from fabula.metrics.captions._graphs import Backend, Graphs, parser, version
from fabula.metrics.stories._families.localised import PAIRS, CaptionPairs, Localised, Pair, chunks
from fabula.metrics.stories.base import Stories, Tokens, tell, told_order
from fabula.pair.strips import is_large
from fabula.text import tokenize_all
from fabula.text.spice import SpiceScore


class Words(dict[str, str]):
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
    """Base: a subclass says what a pair is worth, and how people are named."""

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

    def prepare(self, data: Stories) -> Any:
        return Scored(self.words())

    def words(self) -> Words:
        return Words(self.tok, self.nonascii == "blank")

    def tokens(self, ctx: Scored) -> Tokens:
        return ctx.words

    def units(self, pairs: Sequence[tuple[Story, Story]], ctx: Scored) -> list[Row]:
        """All captions of a portion at the lowest τ, which has those of the others, parsed in one call."""
        both = [(self.rename_people(ref), self.rename_people(pred)) for ref, pred in pairs]
        ctx.values = {}
        ctx.words.learn([c for sides in both for story in sides for c in story.captions])
        if not is_large(*pairs[0], self.portion):
            told = (self.caption_pairs(ref, pred, min(self.tiou), ctx.words)[0] for ref, pred in both)
            self.score([p for of_video in told for p in of_video], ctx)
        of_renamed = super().unit
        return [of_renamed(ref, pred, ctx) for ref, pred in both]

    def score(self, pairs: Sequence[Pair], ctx: Scored) -> None:
        new = list(dict.fromkeys(p for p in pairs if p not in ctx.values))
        ctx.values |= {p: self.worth(s) for p, s in zip(new, self.compare_pairs(new), strict=True)}

    def compare_pairs(self, pairs: Sequence[Pair]) -> list[SpiceScore]:
        return parser(self.spice)([c for c, _ in pairs], [[r] for _, r in pairs]) if pairs else []

    def graphs(self, pairs: Sequence[Pair]) -> list[Graphs]:
        """What is compared of each pair of captions as `tell_captions` has them, for a picture."""
        words = self.words()
        words.learn([caption for pair in pairs for caption in pair])
        return [self.graphs_of(s) for s in self.compare_pairs([(words[c], words[r]) for c, r in pairs])]

    def tell_captions(self, story: Story, predicted: bool) -> list[str]:
        """The captions of a story with the names under which they are parsed, in the order of the file."""
        told = self.rename_people(tell(story, self.order, predicted)).captions
        return [caption for _, caption in sorted(zip(told_order(story, self.order, predicted), told, strict=True))]

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        return super().unit(self.rename_people(ref), self.rename_people(pred), ctx)

    def video(self, pairs: CaptionPairs, lost: int, ctx: Scored) -> float:
        values = 0

        def walk() -> Iterator[float]:
            nonlocal values
            for some in chunks(pairs):
                self.score(some, ctx)
                for pair in some:
                    if (value := ctx.values[pair]) is not None:
                        values += 1
                        yield value
                if len(ctx.values) > 2 * PAIRS:  # of a video with too many pairs to be kept
                    ctx.values = {}

        total = sum(walk())
        return total / (values + lost) if values else 0.0

    def about(self) -> Mapping[str, str]:
        return version(self.spice)
