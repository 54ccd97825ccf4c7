"""Captions → sentences of tokens with tag, lemma and dependency graph, as SPICE reads them.

    text ─ptb→ tokens ─split at . ! ?→ sentences ─grammar→ trees ─depend→
    dependencies ─lemma→ lemmas ─collapse→ graph

A sentence of more than LONGEST tokens is cut into pieces of that length, which bounds time and memory; a warning in
the log says so.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from functools import cache
from threading import Lock
from typing import NamedTuple

from fabula.text import ptb
from fabula.text.spice import grammar
from fabula.text.spice.collapse import collapse
from fabula.text.spice.depend import depend
from fabula.text.spice.graph import Edge, Graph, Token, Tuple, tuples
from fabula.text.spice.lemma import lemma

LONGEST = 120
BLOCK = 256  # captions whose trees are there at a time
END = re.compile(r"\.|[!?]+")
ENDS = frozenset(".!?")
AFTER_END = re.compile(r"''|[\"')]|-R[RSC]B-|\.|[!?]+")  # belongs to the sentence that has ended
BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
log = logging.getLogger(__name__)


class Sentence(NamedTuple):
    """Tokens, edges (label, head, child) between nodes 0 … n + copies, and which words the copies copy."""

    tokens: list[Token]
    edges: list[Edge]
    copies: list[int]


def split_sentences(text: str) -> list[list[str]]:
    """Tokens by sentence; case is kept, as raw captions need it."""
    found: list[list[str]] = []
    words: list[str] = []
    ended = False
    tokens = read_tokens(text)
    if not ENDS.isdisjoint("".join(tokens)):
        for token in tokens:
            if ended and not AFTER_END.fullmatch(token):
                found.append(words)
                words, ended = [], False
            words.append(token)
            ended = ended or END.fullmatch(token) is not None
        tokens = words
    if tokens:
        found.append(tokens)
    pieces = [words[a : a + LONGEST] for words in found for a in range(0, len(words), LONGEST)]
    if len(pieces) > len(found):
        log.warning("a sentence of %d tokens was cut into pieces of %d", max(map(len, found)), LONGEST)
    return pieces


def read_tokens(text: str) -> list[str]:
    """The tokenizer's tokens with the case of the text; a caption that is tokens already stays as it is."""
    if text.isascii() and text.islower() and text.replace(" ", "").isalpha():
        return text.split()
    line = ptb.engine().lines([text.replace("\n", " ") + "\n"])[0].strip()
    tokens = [token for token in line.split(" ") if token]
    return tokens if text == text.lower() and not BRACKETS.keys() & set(text) else restore_case(text, tokens)


def restore_case(text: str, tokens: Sequence[str]) -> list[str]:
    """Tokens in lower case, with the case that they have in the text."""
    found, at = [], 0
    small = text.lower() if len(text.lower()) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)
    for token in tokens:
        while at < len(text) and text[at].isspace():
            at += 1
        sign = BRACKETS.get(text[at : at + 1], "")
        if sign.lower() == token:
            found.append(sign)
            at += 1
        elif (start := small.find(token, at, at + len(token) + 8)) >= 0:
            found.append(text[start : start + len(token)])
            at = start + len(token)
        else:  # the tokenizer rewrote it
            found.append(token)
    return found


def parse_all(captions: Sequence[str]) -> list[list[Sentence]]:
    """The sentences of each caption; each distinct one is parsed once."""
    return list(parse_each(captions))


def parse_each(captions: Sequence[str]) -> Iterator[list[Sentence]]:
    """The same one after the other; many are parsed together, and their trees are let go before the next ones come."""
    for start in range(0, len(captions), BLOCK):
        words = [split_sentences(text) for text in captions[start : start + BLOCK]]
        numbers: dict[tuple[str, ...], int] = {}
        for sentences in words:
            for sentence in sentences:
                numbers.setdefault(tuple(sentence), len(numbers))
        trees = grammar.load().parse(list(numbers))
        for sentences in words:
            yield [
                build_graph(sentence, *trees[numbers[tuple(sentence)]], place)
                for place, sentence in enumerate(sentences)
            ]


def build_graph(words: list[str], labels: list[str], parents: list[int], place: int) -> Sentence:
    """The collapsed graph of the `place`-th sentence of a caption, from its tree."""
    heads, names = depend(labels, parents, words, place)
    inner = set(parents)
    tags = [label for node, label in enumerate(labels) if node not in inner]
    tokens = [Token(word, tag, lemma(word, tag)) for word, tag in zip(words, tags, strict=True)]
    return Sentence(tokens, *collapse(tokens, heads, names, place))


class Known:
    """The proposed tuples of the captions that came last, at most `most` of them: references come again and again."""

    def __init__(self, most: int = 1 << 15) -> None:
        self.most = most
        self.tuples: dict[str, list[Tuple]] = {}  # the oldest first
        self.lock = Lock()

    def put(self, caption: str, found: list[Tuple]) -> None:
        with self.lock:
            self.tuples.setdefault(caption, found)
            if len(self.tuples) > self.most:
                del self.tuples[next(iter(self.tuples))]


@cache
def known() -> Known:
    return Known()


def tuples_all(captions: Sequence[str], known: Known | None = None) -> list[list[Tuple]]:
    """The proposed tuples of each caption, its sentences pooled; captions that are `known` are not parsed again."""
    found = {} if known is None else {text: old for text in captions if (old := known.tuples.get(text)) is not None}
    new = [text for text in dict.fromkeys(captions) if text not in found]
    for text, sentences in zip(new, parse_each(new), strict=True):
        found[text] = [t for place, sentence in enumerate(sentences) for t in tuples(Graph(*sentence, place))]
        if known is not None:
            known.put(text, found[text])
    return [found[text] for text in captions]
