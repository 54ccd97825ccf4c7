"""What E.T. Bench's metrics of options share (Liu et al., NeurIPS 2024): a letter, else the option most alike.

accuracy   share of questions whose right option was chosen
similar    share of answers that were given to an option by their likeness to "(A) its text", by `text`
failed     share of answers without any letter, empty ones among them; what the published program calls Failed

find     bracketed: the first (X), then as below · first: the first letter of the answer, after "best option:" and
         brackets, where a dot, a comma, a blank or a bracket follows it or nothing does; so that "A dog runs" is A
chances  one: the letter counts · two: a wrong letter does not settle it, and likeness may still find the right option,
         as in the copy of the program that the repository nusnlp/d2vlm calls the original one
A letter that is not on offer is a letter, and the answer is still given to the option most like it. Of options that are
equally like it the first counts. Our own reading is Choice, which asks for no likeness: what cannot be read is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from fabula.core.errors import MissingExtra
from fabula.core.rows import Rows
from fabula.data.questions import Response, letter
from fabula.metrics.base import Row
from fabula.metrics.questions.base import QuestionMetric, Shared
from fabula.text import scorer

BRACKETED = re.compile(r"\(([A-Za-z])\)")
BEST = "best option:"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Found(NamedTuple):
    """What an answer says: a place on offer, or words to be compared; and whether there was any letter."""

    place: int | None
    words: str
    lettered: bool


def find_choice(answer: str, options: int, bracketed: bool, right: int | None = None) -> Found:
    """As the published program reads it; where `right` is given, a letter settles the matter only if it is that one."""
    lettered = False
    if bracketed and (found := BRACKETED.search(answer)):
        lettered = True
        if (place := LETTERS.find(found[1].lower())) < options and right in (None, place):
            return Found(place, "", True)
    words = answer.lower() if bracketed else answer
    if words.lower().startswith(BEST):
        words = words[len(BEST) :]
    words = words.lstrip().lstrip("(").lstrip()
    if words and (len(words) == 1 or words[1] in "., )"):
        lettered = True
        if 0 <= (place := LETTERS.find(words[0].lower())) < options and right in (None, place):
            return Found(place, "", True)
    return Found(None, words, lettered)


@dataclass(frozen=True, kw_only=True)
class Nearest(QuestionMetric):
    """What both share."""

    paper: ClassVar[str] = "Liu et al., NeurIPS 2024"
    shown: ClassVar[bool] = False  # where it is asked for
    needs: ClassVar[str] = "gold"
    perfect_score: ClassVar[str] = ""
    rules: ClassVar[Mapping[str, str]] = {
        "find=bracketed": "the first (X) is read, else the first letter of the answer, so that 'A dog runs' is A",
        "find=first": "the first letter of the answer is read, so that 'A dog runs' is A",
        "text": "an answer without a letter is given to the option that is most like it, by {}",
        "chances=one": "the letter that is named is the answer",
        "chances=two": "an answer whose letter is wrong is given to the option most like it, and may yet be right",
        "missing=wrong": "a question without an answer is wrong",
        "missing=drop": "questions without an answer are left out",
        "over=items": "every question counts the same",
        "over=sources": "every data set that questions come from counts the same",
    }

    find: Literal["bracketed", "first"] = "bracketed"
    text: str = "rouge"
    chances: Literal["one", "two"] = "one"
    missing: Literal["wrong", "drop"] = "wrong"
    over: Literal["items", "sources"] = "items"

    def can_read(self, response: Response) -> bool:
        return super().can_read(response) and (self.missing == "wrong" or response.answer is not None)

    def rows(self, block: Sequence[Response], ctx: Shared) -> Rows:
        """With over=sources the questions of each data set are a set of their own, whose means are averaged."""
        rows = super().rows(block, ctx)
        return replace(rows, refset=rows["kind"].astype(np.int64)) if self.over == "sources" else rows

    def units(self, responses: Sequence[Response]) -> list[Row]:
        bracketed, two = self.find == "bracketed", self.chances == "two"
        found = [find_choice(r.answer or "", len(r.options), bracketed, r.right if two else None) for r in responses]
        near = self.find_nearest(
            [(f.words, r.options) for f, r in zip(found, responses, strict=True) if f.place is None]
        )
        rows = []
        for f, r in zip(found, responses, strict=True):
            place = next(near) if f.place is None else f.place
            similar = f.place is None and bool(f.words)
            right = place is not None and place == r.right
            unlettered = self.find == "bracketed" and not f.lettered
            failed = f.place is None and (not f.words or unlettered)
            rows.append({"accuracy": float(right), "similar": float(similar), "failed": float(failed)})
        return rows

    def find_nearest(self, answers: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[int | None]:
        """The place of the option that each answer is most like; None where it says nothing."""
        labelled = [
            (words, [f"({letter(k)}) {option}" for k, option in enumerate(options)]) for words, options in answers
        ]
        wanted = [([words], options) for words, options in labelled if words and options]
        matrices = iter(scorer(self.text).pairs_many(wanted) if wanted else [])
        for words, options in labelled:
            yield int(np.nanargmax(next(matrices)[0])) if words and options else None

    def about(self) -> Mapping[str, str]:
        found = scorer(self.text)
        try:
            return {found.name: found.version}
        except MissingExtra:  # refused where an answer needs it
            return {found.name: "absent"}
