"""Words of a sentence → its phrase-structure tree, by a grammar of captions learned from the parser behind SPICE.

The grammar is unlexicalised, with annotated categories (Klein and Manning, ACL 2003); docs/spice.md says how it was
learned. A word that the lexicon does not have takes the tags of its signature: capitals, hyphen, digits, last letter.
P1, P2, … are names (NNP): there the original now and then has a number or a verb, and the person is lost. Where the
grammar has no tree, every word may have every tag, at a price.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.text.spice.pcfg import TAG, Grammar, Lexicon, Spans

FILE = "grammar.npz"
TAG_LIMIT = 14.0  # how much worse than the best a sequence of tags may be
RARE_TAG = -30.0  # a tag that a word is not known to have
ID = re.compile(r"P\d+")
Arrays = dict[str, NDArray[Any]]
Tree = tuple[list[str], list[int]]  # labels in pre-order, number of each node's parent


class Parser:
    """Grammar, lexicon and names of categories, from one file."""

    def __init__(self, data: Arrays) -> None:
        self.names = str(data["names"]).split("\n")
        self.label = data["label"].tolist()
        self.name_of = [self.names[k] for k in self.label]  # by state
        self.grammar = Grammar(
            data["binary"].astype(np.int32),
            data["binary_scores"].astype(np.float32),
            data["unary"].astype(np.int32),
            data["unary_scores"].astype(np.float32),
            data["kind"],
            data["label"].astype(np.int32),
            data["limits"].astype(np.float32),
            int(data["goal"]),
            (data["follows"] / np.float32(20)).astype(np.float32),
            TAG_LIMIT,
        )
        self.lexicon = build_lexicon(data)
        # words, then signatures in capitals, the end mark and the word that could be anything
        self.number = {word: k for k, word in enumerate(str(data["words"]).split("\n"))}
        self.end = self.number["\x00end"]
        self.any = self.number["\x00any"]
        self.id = self.add_name(self.number.get("\x00" + signature("P1", False), self.any))

    def add_name(self, word: int) -> int:
        """A word more in the lexicon: like the given one, but a name and nothing else."""
        known = slice(self.lexicon.at[word], self.lexicon.at[word + 1])
        tags, scores = self.lexicon.tags[known], self.lexicon.scores[known]
        name = np.array([self.names[self.label[t]] == "NNP" for t in tags.tolist()], bool)
        self.lexicon = Lexicon(
            np.append(self.lexicon.at, self.lexicon.at[-1] + name.sum()),
            np.concatenate([self.lexicon.tags, tags[name]]),
            np.concatenate([self.lexicon.scores, scores[name]]),
        )
        return len(self.lexicon.at) - 2

    def find_word(self, word: str, first: bool) -> int:
        if word.startswith("P") and ID.fullmatch(word):
            return self.id
        found = self.number.get(word)
        if found is None:
            found = self.number.get("\x00" + signature(word, first), self.any)
        return found

    def find_words(self, words: Sequence[str]) -> list[int]:
        """The words of a sentence and the end mark behind them."""
        number = self.number.get
        found = [-1 if w.startswith("P") else number(w, -1) for w in words]
        for k, word in enumerate(words) if -1 in found else ():
            if found[k] < 0:
                found[k] = self.find_word(word, k == 0)
        found.append(self.end)
        return found

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """Trees of tokenised sentences; the root is ROOT, a sentence without words is the root alone."""
        words = [self.find_words(s) for s in sentences]
        found = [
            self.tree(spans, len(s))
            for spans, s in zip(self.grammar.spans(words, self.lexicon), sentences, strict=True)
        ]
        lost = [k for k, (labels, _) in enumerate(found) if not labels]
        if lost:
            again = self.grammar.spans(*self.allow_all_tags([words[k] for k in lost]))
            for k, spans in zip(lost, again, strict=True):
                found[k] = self.tree(spans, len(sentences[k]))
        return [tree if tree[0] else flat_tree(len(s)) for tree, s in zip(found, sentences, strict=True)]

    def allow_all_tags(self, sentences: list[list[int]]) -> tuple[list[list[int]], Lexicon]:
        """The sentences over a lexicon of their words alone, which have every tag: RARE_TAG where it is not known."""
        number = {word: k for k, word in enumerate(dict.fromkeys(w for s in sentences for w in s))}
        tags = np.flatnonzero(self.grammar.kind == TAG).astype(np.int32)
        scores = np.full((len(number), len(tags)), RARE_TAG, np.float32)
        for word, k in number.items():
            known = slice(self.lexicon.at[word], self.lexicon.at[word + 1])
            np.maximum.at(scores[k], np.searchsorted(tags, self.lexicon.tags[known]), self.lexicon.scores[known])
        at = np.arange(len(number) + 1, dtype=np.int64) * len(tags)
        return [[number[w] for w in s] for s in sentences], Lexicon(at, np.tile(tags, len(number)), scores.ravel())

    def tree(self, spans: Spans, words: int) -> Tree:
        """Pre-order spans → labels and parents, the end mark left out; no nodes: no labels."""
        states, starts, ends = spans
        if starts and starts[-1] >= words:
            inside = [start < words for start in starts]
            states, starts, ends = ([x for x, keep in zip(row, inside, strict=True) if keep] for row in spans)
        name = self.name_of
        parents: list[int] = []
        above = 0  # the node before, then the nearest one around it that has not ended
        for k, start in enumerate(starts):
            while above and ends[above] <= start:
                above = parents[above]
            parents.append(above)
            above = k
        return [name[state] for state in states], parents


def flat_tree(words: int) -> Tree:
    """Where there is no tree: a fragment of nouns."""
    return ["ROOT", *(["FRAG"] if words else []), *["NN"] * words], [0, *([0] if words else []), *[1] * words]


def build_lexicon(data: Arrays) -> Lexicon:
    """Each word's own tags, then as many of the floors as it has: tags with scores that are the same for all words."""
    own, floors = data["tags_of"].astype(np.int64), data["floors_of"].astype(np.int64)
    at = np.concatenate([[0], np.cumsum(own + floors)])
    tags, scores = np.empty(at[-1], np.int32), np.empty(at[-1], np.float32)
    place = np.arange(own.sum()) + np.repeat(at[:-1] - np.cumsum(own) + own, own)
    tags[place], scores[place] = data["tags"], data["scores"]
    rank = np.arange(floors.sum()) - np.repeat(np.cumsum(floors) - floors, floors)
    place = rank + np.repeat(at[:-1] + own, floors)
    tags[place] = data["floors"][rank]
    scores[place] = data["floor_scores"][rank]
    return Lexicon(at, tags, scores)


def signature(word: str, first: bool) -> str:
    """What the grammar looks at in a word that it does not know."""
    digit = any(c.isdigit() for c in word)
    lower = any(c.islower() for c in word)
    sign = "UNK"
    if word[:1].isupper():
        sign += "-ALLC" if not lower else "-INIT" if first else "-UC"
    elif lower:
        sign += "-LC"
    if "-" in word:
        sign += "-DASH"
    if digit:
        return sign + ("-NUM" if word.isdigit() else "-DIG")
    return sign + word[-1].lower() if len(word) > 3 else sign


def read_data() -> Arrays:
    """The grammar that the package carries."""
    with (resources.files("fabula.text.spice") / FILE).open("rb") as file, np.load(file) as found:
        return dict(found)


@cache
def load() -> Parser:
    return Parser(read_data())
