"""Which option an answer names, as published evaluators read it: the same words are right for one, unread for another.

option   ours: a letter that cannot be a word, or the only option whose text is said
plm      PLM-VideoBench fgqa (lmms-eval): the first word is a part of "(a)", or holds it; so "(" and "." are right
etbench  E.T. Bench rar, eca, rvq: the first (X), else the first letter where a dot, comma, blank or bracket follows it
gvq      E.T. Bench gvq: the same without the search for (X)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from fabula.data.questions import Response, letter

THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|$)", re.DOTALL | re.IGNORECASE)
BARE = re.compile(r"[(\[]?\s*([A-Za-z])\s*[)\]]?[.:,]?")  # a letter, and nothing else
LEADING = re.compile(r"(?:[(\[]\s*([A-Za-z])\s*[)\]]|([A-Za-z])\s*[).:])(?=\W|\Z|[A-Z])")  # (B) …, B) …, B. …
BRACKETED = re.compile(r"\(\s*([A-Za-z])\s*\)")
NAMED = re.compile(r"\b(?:answer|option|choice)\s*(?:is|:|=)?\s*\**\s*[(\[]?([A-Z])\b[)\]]?(?![\w'])", re.IGNORECASE)
FIRST_BRACKETED = re.compile(r"\(([A-Za-z])\)")
BEST = re.compile(r"\s*(?:best option:)?\s*[(\[]*\s*", re.IGNORECASE)
FOLLOWED = re.compile(r"([A-Za-z])(?:[.,)\s]|\Z)")


class Verdict(NamedTuple):
    """Whether the answer is right, and whether a choice could be read in it at all."""

    right: bool
    read: bool
    place: int | None = None  # which option was read; None where the rule does not say


def judge_place(response: Response, place: int | None) -> Verdict:
    """Of the option that was read; one that is not on offer is none."""
    if place is None or (response.options and place >= len(response.options)):
        return Verdict(False, False)
    return Verdict(place == response.right, True, place)


def read_option(response: Response) -> Verdict:
    return judge_place(response, find_option(response.answer or "", response.options))


def find_option(answer: str, options: tuple[str, ...]) -> int | None:
    """A letter in its own right before the text of an option; two different ones are none."""
    words = THOUGHT.sub(" ", answer)
    if tagged := ANSWER.findall(words):
        words = tagged[-1]
    words = words.strip().strip("*`\"'").strip()
    for k, option in enumerate(options):
        if fold(words) == fold(option):
            return k
    if found := BARE.fullmatch(words) or LEADING.match(words):
        return place_of(next(filter(None, found.groups())))
    named = {place_of(found) for found in NAMED.findall(words)} or {
        place_of(found) for found in BRACKETED.findall(words)
    }
    if len(named) == 1:
        return named.pop()
    quoted = [k for k, option in enumerate(options) if fold(option) and f" {fold(option)} " in f" {fold(words)} "]
    return quoted[0] if len(quoted) == 1 and not named else None


def fold(text: str) -> str:
    """Words alone, in small letters."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def place_of(found: str) -> int:
    return ord(found.lower()) - ord("a")


def read_plm(response: Response) -> Verdict:
    assert response.right is not None
    text = (response.answer or "").lower()
    if "answer:" in text:
        text = text.replace("answer:", "").strip()
    word, label = text.split(" ")[0], f"({letter(response.right).lower()})"
    return Verdict(bool(word) and (word.replace(".", "") in label or label in word), bool(word))


def read_etbench(response: Response) -> Verdict:
    found = FIRST_BRACKETED.search(response.answer or "")
    return judge_place(response, place_of(found[1])) if found else read_gvq(response)


def read_gvq(response: Response) -> Verdict:
    text = response.answer or ""
    begin = BEST.match(text)
    found = FOLLOWED.match(text, begin.end() if begin else 0)
    return judge_place(response, place_of(found[1]) if found else None)


RULES: dict[str, Callable[[Response], Verdict]] = {
    "option": read_option,
    "plm": read_plm,
    "etbench": read_etbench,
    "gvq": read_gvq,
}
