"""iSPICE (Raajesh et al., CVPR 2024): do the people of a caption, with ids P1, P2, …, do what the reference says?

Of the scene-graph tuples of SPICE (after merging, as text) only those that name an id count:

    A(x) = tuples of two or three elements, one of them an id        I(x) = the set of ids that stand alone
    F(c, r): common = |{t ∈ c : t ∈ r}|, P = common/|c|, R = common/|r|, F = 2PR/(P + R), 0 if a side is empty
    iSPICE = F(A(candidate), A(reference)) · F(I(candidate), I(reference))

Elements are compared as strings, without synonyms. Before parsing, ids are renamed by their first appearance in each
text, so that "P4 carries P3" and "P1 carries P2" are one caption.

The published code leaves a captionset out of the mean if its candidate has no action tuple (`skip_empty`); the honest
mean counts it as 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fabula.core.errors import InputError
from fabula.text import identity, spice
from fabula.text._check import check_sentences
from fabula.text.spice.graph import Tuple

OFFICIAL_IDS = 11  # the published code knows p1 … p11
Boundary = Literal["word", "blank"]


@dataclass(frozen=True, slots=True)
class ISpiceScore:
    """The product and its factors; `empty` says that the candidate has no action tuple."""

    value: float
    action: float
    identity: float
    empty: bool
    candidate: tuple[Tuple, ...] = ()
    reference: tuple[Tuple, ...] = ()


def normalise(text: str, boundary: Boundary = "word") -> str:
    """Ids renamed P1, P2, … by first appearance; each sentence starts with a capital.

    boundary=word finds ids next to punctuation and 's, and takes p1 for P1; blank is the published rule, which wants
    blanks (or the end of a sentence) around them, and takes p1 for somebody else.
    """
    if boundary == "word":
        return identity.capitalise_sentences(identity.renumber_ids([text])[0])
    return identity.normalise_as_published(text)


def score(
    candidate: str, reference: str, *, ids: int | None = OFFICIAL_IDS, boundary: Boundary = "word"
) -> ISpiceScore:
    """iSPICE of one captionset, given as raw text ("P1 enters. P2 smiles at P1.")."""
    return scores([candidate], [reference], ids=ids, boundary=boundary)[0]


def scores(
    candidates: Sequence[str],
    references: Sequence[str],
    *,
    ids: int | None = OFFICIAL_IDS,
    boundary: Boundary = "word",
) -> list[ISpiceScore]:
    """One score per captionset; `ids` is the greatest id that counts, None for any."""
    check_sentences(candidates, "candidates")
    check_sentences(references, "references")
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates for {len(references)} references", hint="give one for each")
    both = [normalise(text, boundary) for text in (*candidates, *references)]
    pairs = spice.scores(both[: len(candidates)], [[text] for text in both[len(candidates) :]])
    return [from_spice(s, ids) for s in pairs]


def from_spice(s: spice.SpiceScore, ids: int | None = OFFICIAL_IDS) -> ISpiceScore:
    """From the merged tuples of a SPICE score."""
    return score_tuples([t for t, _ in s.candidate], [t for t, _ in s.references], ids=ids)


def score_tuples(
    candidate: Iterable[Sequence[str]], reference: Iterable[Sequence[str]], *, ids: int | None = OFFICIAL_IDS
) -> ISpiceScore:
    """From merged tuples, whose elements may stand in any order as long as it is the same on both sides."""
    sides: list[list[Tuple]] = [[tuple(e.lower() for e in t) for t in tuples] for tuples in (candidate, reference)]
    acts = [[t for t in side if len(t) > 1 and any(is_id(e, ids) for e in t)] for side in sides]
    alone: list[list[Tuple]] = [
        list(dict.fromkeys(t for t in side if len(t) == 1 and is_id(t[0], ids))) for side in sides
    ]
    A, I = f1(*acts), f1(*alone)  # noqa: E741  (the letters of the equation)
    return ISpiceScore(A * I, A, I, not acts[0], *(tuple(a + b) for a, b in zip(acts, alone, strict=True)))


def is_id(element: str, ids: int | None) -> bool:
    """p1, p2, … as the published list has them: p01 is none."""
    number = element[1:]
    plain = element[:1] == "p" and number.isdecimal() and number.isascii() and (number == "0" or number[0] != "0")
    return plain and (ids is None or 1 <= int(number) <= ids)


def f1(candidate: Sequence[Tuple], reference: Sequence[Tuple]) -> float:
    if not candidate or not reference:
        return 0.0
    wanted = set(reference)
    common = sum(t in wanted for t in candidate)
    P, R = common / len(candidate), common / len(reference)
    return 2 * P * R / (P + R) if common else 0.0


def mean(rows: Iterable[ISpiceScore], *, skip_empty: bool = False) -> float:
    """The corpus score; with skip_empty as published. NaN if nothing is left."""
    values = [row.value for row in rows if not (skip_empty and row.empty)]
    return sum(values) / len(values) if values else math.nan
