"""SPICE 1.0 (Anderson et al., ECCV 2016) without Java: which scene-graph tuples do candidate and references share?

With T(c) the tuples of the candidate's scene graph and T(R) those of the one graph of all references,

    tp = |{t ∈ T(c) : some r ∈ T(R) is like t at every place}|   P = tp / |T(c)|   R = tp / |T(R)|   F = 2PR / (P + R)

Two concepts are alike if they share a word or a WordNet synset. A reference tuple may serve several candidate tuples,
so what the original calls false negatives, |T(R)| − tp, may be negative. F is 0 where P and R are. A subset without any
tuple has no score (None).

Captions come tokenised as text/ptb does it, but raw text is read, too. The parser is ours, learned from the
original's (docs/spice.md says how, and how often they agree); everything behind it follows the original's rules.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.text._check import check_pair, check_sentences
from fabula.text._scorer import OneByOne
from fabula.text.spice.graph import Tuple
from fabula.text.spice.parse import known, parse_all, tuples_all
from fabula.text.spice.scene import Concept, Parts, Scene

COLORS = frozenset(
    "black brown blue red yellow pink gray grey green dark light white cream orange purple maroon beige violet".split()
)
NUMBERS = frozenset("one two three four five six seven eight nine ten".split())
SIZES = frozenset(
    """baby beefy big bony boundless brawny broad bulky chunky colossal compact corpulent cosmic cubby curvy elfin
    emaciated endless enormous epic expansive extensive fat fleshy full-size gargantuan gaunt giant gigantic
    grand great heavy hefty huge hulking illimitable immeasurable immense infinitesimal lanky large lean
    life-size limitless little mammoth massive meager measly microscopic mini miniature minuscule minute narrow
    obese outsized oversize overweight paltry petite pint-size plump pocket-size portly pudgy puny rotund scanty
    scraggy scrawny short sizable skeletal skimpy skinny slender slim small squat stocky stout strapping sturdy
    tall teensy teeny teeny-tiny teeny-weeny thick thickset thin tiny titanic towering trifling trim tubby
    undersized underweight unlimited vast wee whopping wide""".split()
)
SUBSETS = ("Object", "Attribute", "Relation", "Color", "Cardinality", "Size")  # tuples of one, two, three; attributes
ATTRIBUTES = {
    word: ("Attribute", name)
    for name, words in zip(SUBSETS[3:], (COLORS, NUMBERS, SIZES), strict=True)
    for word in words
}


@dataclass(frozen=True, slots=True)
class Counts:
    """tp, fp, fn and what follows from them; f is None for a subset without tuples."""

    tp: int
    fp: int
    fn: int

    @property
    def precision(self) -> float:
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 0.0

    @property
    def recall(self) -> float:
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 0.0

    @property
    def f(self) -> float:
        P, R = self.precision, self.recall
        return 2 * P * R / (P + R) if P + R else 0.0


@dataclass(frozen=True, slots=True)
class SpiceScore:
    """One item: F, precision, recall, the subsets' counts (None without tuples), the merged tuples, matched or not."""

    f: float
    precision: float
    recall: float
    counts: Counts
    subsets: dict[str, Counts | None]
    candidate: tuple[tuple[Tuple, bool], ...] = field(repr=False)
    references: tuple[tuple[Tuple, bool], ...] = field(repr=False)


def score(candidate: str, references: Sequence[str]) -> SpiceScore:
    """SPICE of one candidate; the references make one graph."""
    return scores([candidate], [references])[0]


def scores(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[SpiceScore]:
    """One score per candidate, each with its own references; every distinct caption is parsed once."""
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates, but {len(references)} lists of references")
    for k, (candidate, texts) in enumerate(zip(candidates, references, strict=True)):
        check_pair(candidate, texts, item=k)
    captions = list(dict.fromkeys(text for c, r in zip(candidates, references, strict=True) for text in (c, *r)))
    proposed = dict(zip(captions, tuples_all(captions, known()), strict=True))
    return [
        score_tuples(proposed[candidate], [proposed[text] for text in texts])
        for candidate, texts in zip(candidates, references, strict=True)
    ]


def tuples(caption: str) -> list[Tuple]:
    """The tuples of a caption before merging: (object,), (object, attribute), (subject, object, relation)."""
    return tuples_all([caption])[0]


def score_tuples(candidate: Sequence[Tuple], references: Sequence[Sequence[Tuple]]) -> SpiceScore:
    """The same from proposed tuples, a list for each reference."""
    test = Scene(candidate).tuples()
    wanted = Scene(t for texts in references for t in texts).tuples()
    hit, used = match_tuples(test, wanted)
    mine, theirs = list_marked(test, hit), list_marked(wanted, used)
    total = count_matches(hit, len(wanted))
    return SpiceScore(total.f, total.precision, total.recall, total, count_subsets(mine, theirs), mine, theirs)


def count_subsets(mine: Sequence[tuple[Tuple, bool]], theirs: Sequence[tuple[Tuple, bool]]) -> dict[str, Counts | None]:
    """The counts of the subsets that have tuples."""
    hits: dict[str, list[bool]] = {name: [] for name in SUBSETS}
    wanted = dict.fromkeys(SUBSETS, 0)
    for t, hit in mine:
        for name in subsets_of(t):
            hits[name].append(hit)
    for t, _ in theirs:
        for name in subsets_of(t):
            wanted[name] += 1
    return {name: count_matches(hits[name], wanted[name]) if hits[name] or wanted[name] else None for name in SUBSETS}


def subsets_of(t: Tuple) -> tuple[str, ...]:
    """The subsets that a tuple belongs to."""
    return ATTRIBUTES.get(t[1], SUBSETS[1:2]) if len(t) == 2 else SUBSETS[:1] if len(t) == 1 else SUBSETS[2:3]


def count_matches(hit: Sequence[bool], wanted: int) -> Counts:
    tp = sum(hit)
    return Counts(tp, len(hit) - tp, wanted - tp)


def match_tuples(test: Sequence[Parts], wanted: Sequence[Parts]) -> tuple[list[bool], list[bool]]:
    """Which tuples of either side are like one of the other's."""
    like: dict[tuple[int, int], bool] = {}

    def alike(a: Concept, b: Concept) -> bool:
        key = (id(a), id(b))
        if key not in like:
            like[key] = a.is_similar(b)
        return like[key]

    hit, used = [False] * len(test), [False] * len(wanted)
    of_length: dict[int, list[int]] = {}
    for n, r in enumerate(wanted):
        of_length.setdefault(len(r), []).append(n)
    for k, t in enumerate(test):
        for n in of_length.get(len(t), ()):
            if not (hit[k] and used[n]) and all(map(alike, t, wanted[n])):
                hit[k] = used[n] = True
    return hit, used


def list_marked(parts: Sequence[Parts], marks: Sequence[bool]) -> tuple[tuple[Tuple, bool], ...]:
    """Matched ones first, then in the order of the alphabet."""
    rows = [(tuple(map(str, t)), mark) for t, mark in zip(parts, marks, strict=True)]
    return tuple(sorted(rows, key=lambda row: (not row[1], row[0])))


class Spice(OneByOne):
    """SPICE as a caption scorer of its own name."""

    name = "spice"
    version = "1.0-native-4"

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        """Every candidate with every single reference."""
        both = [*check_sentences(candidates, "candidates"), *check_sentences(references, "references")]
        proposed = tuples_all(both, known())
        C = len(candidates)
        out = np.zeros((C, len(references)))
        mine = [Scene(t).tuples() for t in proposed[:C]]
        theirs = [Scene(t).tuples() for t in proposed[C:]]
        for k, test in enumerate(mine):
            for n, wanted in enumerate(theirs):
                out[k, n] = count_matches(match_tuples(test, wanted)[0], len(wanted)).f
        return out


SCORER = Spice()

__all__ = ["SCORER", "Counts", "SpiceScore", "parse_all", "score", "score_tuples", "scores", "tuples"]
