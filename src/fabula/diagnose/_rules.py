"""What a setting does, in one sentence: the reasons why two evaluators differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabula.core.nouns import Corpus
from fabula.core.spec import show
from fabula.metrics import Metric
from fabula.metrics._paragraph import Paragraph
from fabula.metrics._soda import Soda

RULES: dict[tuple[str, str], str] = {
    ("refs", "mean"): "each reference set counts on its own and the sets are averaged",
    ("refs", "best"): "only the reference set that serves the prediction best counts",
    ("refs", "merged"): "the events of all reference sets are laid together",
    ("refs", "single"): "one reference set is taken",
    ("missing", "zero"): "a reference video without predictions counts as 0",
    ("missing", "drop"): "reference videos without predictions are left out",
    ("order", "start"): "both sides are sorted by start time",
    ("order", "predictions"): "only the predictions are sorted by start time",
    ("order", "file"): "events stay in file order",
    ("segments", "checked"): "malformed segments match nothing",
    ("segments", "raw"): "segments are not judged",
    ("segments", "swap"): "the ends of reversed segments are exchanged",
    ("roles", "prediction-as-hypothesis"): "the prediction is the scorer's hypothesis",
    ("roles", "gold-as-hypothesis"): "the scorer's sides are exchanged: the gold sentence is the hypothesis",
    ("backtrack", "exact"): "pairs follow the best path",
    ("backtrack", "marked"): "pairs are read off marks, not along the best path",
    ("columns", "sorted"): "from 11 predictions on, caption scores stand in the wrong columns",
    ("columns", "index"): "caption scores stand in their own columns",
    ("nonascii", "blank"): "non-ASCII characters become blanks",
    ("nonascii", "keep"): "non-ASCII characters stay",
    ("garbage", "zero"): "a prediction that overlaps nothing scores 0",
    ("garbage", "abc"): "a prediction that overlaps nothing is compared with abc123!@#",
    ("garbage", "random"): "a prediction that overlaps nothing is compared with random letters",
    ("garbage", "last"): "of the predictions that overlap nothing at most the last one counts",
    ("agg", "corpus"): "METEOR aggregates statistics instead of averaging pairs",
    ("agg", "items"): "METEOR averages the scores of pairs",
    ("idf", "video"): "CIDEr's document frequencies come from one video's pairs",
    ("idf", "corpus"): "CIDEr's document frequencies come from the whole corpus",
    ("f1", "videos"): "F1 is made per video",
    ("f1", "means"): "F1 is made of mean precision and mean recall",
    ("f1", "levels"): "F1 is made of mean precision and recall at each τ",
    ("best_by", "each"): "the best precision and the best recall over reference sets are taken on their own",
    ("best_by", "f1"): "one reference set gives both precision and recall",
    ("pairing", "shifted"): "after the first missing video, paragraphs meet another video's references",
    ("pairing", "video"): "paragraphs meet their own references",
    ("cmp", ">"): "the overlap must exceed τ",
    ("cmp", ">="): "the overlap must reach τ",
}


def sentence(field: str, value: Any) -> str:
    known = RULES.get((field, show(value)))
    if known:
        return known
    if field == "eps":
        return f"{value:g} is added to every union" if value else "nothing is added to unions"
    if field == "top":
        return "all predictions count" if value is None else f"only the first {value} predictions of a video count"
    return f"{field} is {show(value)}"


@dataclass(frozen=True, slots=True)
class Facts:
    """What these files hold that a rule could act on; a rule that finds nothing to act on explains nothing."""

    sets: int
    missing: int
    malformed: int
    unsorted: int
    longest: int  # most predictions of one video
    ascii_only: bool

    @classmethod
    def of(cls, predictions: Corpus, refs: Sequence[Corpus]) -> Facts:
        videos = dict.fromkeys(v for ref in refs for v in ref)
        told = [story for corpus in (predictions, *refs) for story in corpus.values()]
        return cls(
            sets=len(refs),
            missing=sum(v not in predictions for v in videos),
            malformed=sum(not e.segment.sound for story in told for e in story.events),
            unsorted=sum(story.in_order() is not story for story in told),
            longest=max((len(predictions[v]) for v in videos if v in predictions), default=0),
            ascii_only=all((e.caption or "").isascii() for story in told for e in story.events),
        )

    def idle(self, field: str, here: Any, there: Any) -> bool:
        """True where the rule can change nothing here."""
        match field:
            case "eps":
                return True  # 1e-8: never seen in a printed digit
            case "refs" | "best_by":
                return self.sets == 1
            case "missing" | "pairing":
                return self.missing == 0
            case "segments":
                return self.malformed == 0
            case "order":
                return self.unsorted == 0
            case "nonascii":
                return self.ascii_only
            case "columns":
                return self.longest < 11
            case "top":
                return all(n is None or self.longest <= n for n in (here, there))
        return False


def differing(a: Metric, b: Metric, facts: Facts) -> list[str]:
    """The fields in which two settings of one metric differ and that could matter for these files."""
    both = a.defaults().keys() & b.defaults().keys()
    apart = [f for f in a.defaults() if f in both and getattr(a, f) != getattr(b, f)]
    told = [f for f in apart if not facts.idle(f, getattr(a, f), getattr(b, f))]
    return told if isinstance(a, Soda | Paragraph) else [f for f in told if f != "order"]  # others do not read it
