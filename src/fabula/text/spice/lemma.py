"""Lemmas of English words with their tags, by rules on endings that were learned from SPICE's own lemmatiser.

The longest ending that has a rule for the tag decides: (NNS, "ies") → "y", (NNS, "^movies") → "movie". See
docs/spice.md.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources

FILE = "lemmas.tsv"
LONGEST = 24
PRONOUNS = {
    **dict.fromkeys(["him", "his"], "he"),
    **dict.fromkeys(["her", "hers"], "she"),
    **dict.fromkeys(["them", "their"], "they"),
    **dict.fromkeys(["me", "i"], "I"),
    **dict.fromkeys(["us", "our"], "we"),
    "your": "you",
}
VERBS = frozenset("VB VBD VBG VBN VBP VBZ".split())
# words cut short: the lemma, with which tags, the lemma with other tags
SHORT = {
    "'s": ("be", frozenset(["VBZ"]), "'"),
    "'re": ("be", VERBS, "'re"),
    "'m": ("be", VERBS, "'m"),
    "'ve": ("have", VERBS, "'ve"),
    "'d": ("have", frozenset(["VBD"]), "'d"),
    "'ll": ("will", VERBS, "'ll"),
}
BRACKETS = frozenset("-lrb- -rrb- -lsb- -rsb- -lcb- -rcb-".split())  # the original trips over them, and shows it
SMALL = {"DT": {"an": "a"}, "RB": {"n't": "not"}, "MD": {"ca": "can", "wo": "will", "'ll": "will", "'d": "would"}}
SMALL |= {"PRP": PRONOUNS, "PRP$": PRONOUNS}


@cache
def rules() -> dict[str, dict[str, tuple[int, str]]]:
    found: dict[str, dict[str, tuple[int, str]]] = {}
    text = resources.files("fabula.text.spice").joinpath(FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        tag, ending, lost, gained = line.split("\t")
        found.setdefault(tag, {})[ending] = (int(lost), gained)
    return found


@lru_cache(1 << 16)
def lemma(word: str, tag: str) -> str:
    """The lemma, in lower case unless the tag says that it is a name."""
    if tag in ("NNP", "NNPS"):
        return word
    word = word.lower()
    small = SMALL.get(tag)
    if small is not None:
        return small.get(word, word)
    endings = rules().get(tag)
    if endings is None:
        return word
    if word in SHORT:
        whole, tags, other = SHORT[word]
        return whole if tag in tags else other
    if word in BRACKETS:
        return f"{word}_{tag}"
    whole = "^" + word
    for k in range(max(0, len(whole) - LONGEST), len(whole)):
        found = endings.get(whole[k:])
        if found is not None:
            lost, gained = found
            return word[: len(word) - lost] + gained or word
    return word
