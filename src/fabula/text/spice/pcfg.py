"""The best tree of a sentence under a probabilistic context-free grammar (CKY; Klein and Manning, ACL 2003).

With I[a, b, X] the score of the best tree of category X over the words a … b − 1,

    I[a, b, X] = max( max over X → Y Z and a < m < b of  w + I[a, m, Y] + I[m, b, Z],
                      max over chains X ⇒ Y of           w + I[a, b, Y] )

and I[a, a + 1, T] the lexicon's score of tag T. The last word of a sentence is its end mark, which joins the whole
sentence only. The tree is read off from the top: the first split, then the first rule in the grammar's order that
explains a score within a relative 1e-5, is taken; binary rules before unary ones. Near-ties are so decided by the order
of rules, as in the parser that SPICE was built on.

The grammar is binary: longer rules go through unfinished states, which the trees given back leave out.

Three things make it fast. Tags of a word that no good sequence of tags has are left out first. With f(t | s) the score
of tag t behind tag s, and F and B the best sequences up to a word and behind it,

    F[k, t] = max over s of F[k − 1, s] + f(t | s) + w(k, t)
    B[k, t] = max over u of f(u | t) + w(k + 1, u) + B[k + 1, u]

a tag stays if F + B is at most `tag_limit` below the best. A state is held to its surroundings: no tree has it where no
tag of the word before, or of the word behind, may stand beside it. And a state that lies further below the best
finished state of its span than its limit is dropped (not in the span of the whole sentence). What is then left without
a tree has another go without the first and the last of these. All scores are 32-bit floats, in the compiled kernel
(_kernels/pcfg/pcfg.cpp) and here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fabula import _kernels

if TYPE_CHECKING:
    from fabula._kernels._native import Pcfg

PHRASE, TAG, UNFINISHED = 0, 1, 2
MOST_STATES, MOST_TAGS, MOST_RULES, MOST_CATEGORIES = 32_766, 4_096, 1 << 22, 128  # of a grammar
MOST_JOINS = 1 << 22  # of unary rules with chains
MOST_WORDS = 512  # of a sentence: time grows with their cube
BEGIN = -1  # stands before the first word
Span = tuple[int, int]
Cell = dict[int, np.float32]
Node = tuple[int, int, int]  # state, first word, word behind the last
Spans = tuple[list[int], list[int], list[int]]  # the same of many nodes


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Tags and scores of words: those of word k are at[k] … at[k + 1] − 1."""

    at: NDArray[np.int64]
    tags: NDArray[np.int32]
    scores: NDArray[np.float32]


@dataclass
class Grammar:
    """Rules with scores, in the order in which a tree is explained by them, and what each state is."""

    binary: NDArray[np.int32]  # [B, 3] parent, left, right
    binary_scores: NDArray[np.float32]
    unary: NDArray[np.int32]  # [U, 2] parent, child
    unary_scores: NDArray[np.float32]
    kind: NDArray[np.uint8]  # [S] PHRASE, TAG, UNFINISHED
    category: NDArray[np.int32]  # [S] 0 … 127; a span may be held to some of them (training)
    limits: NDArray[np.float32]  # [S]
    goal: int
    follows: NDArray[np.float32] | None = None  # [T + 1, T] f(t | s), first row: at the beginning; none: all tags stay
    tag_limit: float = 0.0

    def trees(self, sentences: list[list[int]], lexicon: Lexicon) -> list[list[Node]]:
        """The nodes of each sentence's tree in pre-order; [] where the grammar has none. Words are the lexicon's."""
        return [list(zip(*spans, strict=True)) for spans in self.spans(sentences, lexicon)]

    def spans(self, sentences: list[list[int]], lexicon: Lexicon) -> Iterator[Spans]:
        """The same, a list of states, of first words and of ends for each sentence."""
        if _kernels.native() is None:
            check_grammar(self)
            check_sentences(self, sentences, lexicon)
            for sentence in sentences:
                tree = trees_python(self, sentence, lexicon)
                yield [node[0] for node in tree], [node[1] for node in tree], [node[2] for node in tree]
            return
        first = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
        words = np.fromiter((w for s in sentences for w in s), np.int32, int(first[-1]))
        at, nodes, _, _ = self.compiled.trees(
            first, words, lexicon.at, lexicon.tags, lexicon.scores, _kernels.threads()
        )
        states, starts, ends = nodes.T.tolist()
        for a, b in pairwise(at.tolist()):
            yield states[a:b], starts[a:b], ends[a:b]

    @cached_property
    def compiled(self) -> Pcfg:
        rules = self.binary, self.binary_scores, self.unary, self.unary_scores
        more = self.limits, self.goal, self.follows, self.tag_limit
        pcfg: Pcfg = _kernels.native().Pcfg(*rules, self.kind, self.category, *more)  # type: ignore[union-attr]
        return pcfg

    @cached_property
    def pairs(self) -> dict[tuple[int, int], list[tuple[int, np.float32]]]:
        """(left, right) → parents and scores."""
        rules: dict[tuple[int, int], list[tuple[int, np.float32]]] = {}
        for (parent, left, right), w in zip(self.binary.tolist(), self.binary_scores, strict=True):
            rules.setdefault((left, right), []).append((parent, w))
        return rules

    @cached_property
    def below(self) -> tuple[dict[int, list[tuple[int, int, np.float32]]], dict[int, list[tuple[int, np.float32]]]]:
        """parent → children and scores, of binary and of unary rules."""
        binary: dict[int, list[tuple[int, int, np.float32]]] = {}
        unary: dict[int, list[tuple[int, np.float32]]] = {}
        for (parent, left, right), w in zip(self.binary.tolist(), self.binary_scores, strict=True):
            binary.setdefault(parent, []).append((left, right, w))
        for (parent, child), w in zip(self.unary.tolist(), self.unary_scores, strict=True):
            unary.setdefault(parent, []).append((child, w))
        return binary, unary

    @cached_property
    def chains(self) -> dict[int, Cell]:
        return chains(self)

    @cached_property
    def neighbours(self) -> tuple[list[set[int]], list[set[int]]]:
        return neighbours(self)


def require(holds: object, why: str) -> None:
    if not holds:
        raise ValueError(why)


def check_grammar(g: Grammar) -> None:
    """Rules between states that there are, scores that are numbers: what the kernel asks for, too."""
    S, T = len(g.kind), int((g.kind == TAG).sum())
    require(S <= MOST_STATES and T <= MOST_TAGS, "more states or tags than a grammar may have")
    for rules, scores, places in ((g.binary, g.binary_scores, 3), (g.unary, g.unary_scores, 2)):
        require(rules.shape == (len(scores), places) and len(rules) <= MOST_RULES, "odd shapes")
        require(np.isfinite(scores).all(), "a score is not finite")
        require(((rules >= 0) & (rules < S)).all(), "no such state")
    require(0 <= g.goal < S, "no such goal")
    require(len(g.limits) == len(g.category) == S, "odd limits")
    require((g.kind <= UNFINISHED).all(), "no such kind")
    require(((g.category >= 0) & (g.category < MOST_CATEGORIES)).all(), "no such category")
    require((g.limits > -np.inf).all() and g.tag_limit == g.tag_limit, "a limit is no number")
    if g.follows is not None:
        require(g.follows.shape == (T + 1, T) and np.isfinite(g.follows).all(), "odd follows")


def check_sentences(g: Grammar, sentences: list[list[int]], lexicon: Lexicon) -> None:
    at, tags, scores = lexicon.at, lexicon.tags, lexicon.scores
    require(len(at) and len(tags) == len(scores) and np.isfinite(scores).all(), "odd lexicon")
    steps = np.diff(at)
    require(at[0] >= 0 and at[-1] <= len(tags) and (steps >= 0).all(), "odd lexicon")
    require((steps <= (g.kind == TAG).sum()).all(), "more tags of a word than there are")
    require(((tags >= 0) & (tags < len(g.kind))).all() and (g.kind[tags] == TAG).all(), "no such tag")
    require(all(len(words) <= MOST_WORDS for words in sentences), f"more than {MOST_WORDS} words in a sentence")
    require(all(0 <= word < len(at) - 1 for words in sentences for word in words), "no such word")


def trees_python(g: Grammar, words: list[int], lexicon: Lexicon) -> list[Node]:
    """One sentence, the kernel's twin. What the limits leave without a tree has another go without them."""
    n = len(words)
    for limited in (True, False) if n > 1 else ():
        I = inside(g, words, lexicon, limited)  # noqa: E741
        if g.goal in I[0, n]:
            found = list(trace_tree(g, I, n))
            if len(found) <= 64 * n and found[-1][2] == n:
                return [node for node in found if g.kind[node[0]] != UNFINISHED]
    return []


def inside(g: Grammar, words: list[int], lexicon: Lexicon, limited: bool) -> dict[Span, Cell]:
    """The scores of all states over all spans."""
    n = len(words)
    rules, above = g.pairs, g.chains
    previous, following = g.neighbours
    tags = tags_of(g, words, lexicon, limited)
    I: dict[Span, Cell] = {}  # noqa: E741

    def finish_cell(cell: Cell, a: int, b: int) -> Cell:
        """Chains are followed, then what does not suit the words around or lies too far below is dropped."""
        suits = {
            state: score
            for state, score in add_chains(cell, above).items()
            if (BEGIN in previous[state] if a == 0 else previous[state] & tags[a - 1].keys())
            and (b == n or following[state] & tags[b].keys())
        }
        return drop_worse(g, suits, limited and b - a < n)

    for a in range(n):
        I[a, a + 1] = finish_cell(dict(tags[a]), a, a + 1)
    for width in range(2, n + 1):
        for a in range(1 if width == n else n - width):
            b = a + width
            cell: Cell = {}
            for m in range(a + 1, b):
                for left, x in I[a, m].items():
                    for right, y in I.get((m, b), {}).items():
                        for parent, w in rules.get((left, right), ()):
                            keep_better(cell, parent, w + x + y)
            I[a, b] = finish_cell(cell, a, b)
    return I


def tags_of(g: Grammar, words: list[int], lexicon: Lexicon, limited: bool) -> list[Cell]:
    """Tags and scores of each word, without those that no good sequence of tags has."""
    found: list[Cell] = []
    for word in words:
        k = slice(int(lexicon.at[word]), int(lexicon.at[word + 1]))
        found.append({})
        for tag, score in zip(lexicon.tags[k].tolist(), lexicon.scores[k], strict=True):
            keep_better(found[-1], tag, score)
    if not limited or g.follows is None:
        return found
    number = {tag: k for k, tag in enumerate(np.flatnonzero(g.kind == TAG).tolist())}
    f = {(s, t): g.follows[i + 1, j] for s, i in number.items() for t, j in number.items()}
    if not all(found):  # a word without tags: no tree
        return found
    F = [{t: g.follows[0, number[t]] + w for t, w in found[0].items()}]
    for here in found[1:]:
        F.append({t: max(x + f[s, t] for s, x in F[-1].items()) + w for t, w in here.items()})
    B = [{t: np.float32(0) for t in found[-1]}]
    for here, behind in zip(found[-2::-1], found[:0:-1], strict=True):
        B.append({t: max(f[t, u] + (w + B[-1][u]) for u, w in behind.items()) for t in here})
    best = max(F[-1].values())
    return [
        {t: w for t, w in here.items() if best - (ahead[t] + back[t]) <= np.float32(g.tag_limit)}
        for here, ahead, back in zip(found, F, reversed(B), strict=True)
    ]


def neighbours(g: Grammar) -> tuple[list[set[int]], list[set[int]]]:
    """Of every state: tags, or the beginning of the sentence, that may stand right before it; tags right behind it.

    They are the last ones of its left siblings and the first ones of its right siblings; at an edge, its parent's.
    """
    binary, unary = g.binary.tolist(), g.unary.tolist()
    first, last = ([{s} if kind == TAG else set() for s, kind in enumerate(g.kind.tolist())] for _ in range(2))
    spread_sets(first, [(p, left) for p, left, _ in binary] + unary)
    spread_sets(last, [(p, right) for p, _, right in binary] + unary)
    before: list[set[int]] = [set() for _ in first]
    before[g.goal].add(BEGIN)
    behind: list[set[int]] = [set() for _ in first]
    for _, left, right in binary:
        before[right] |= last[left]
        behind[left] |= first[right]
    spread_sets(before, [(left, p) for p, left, _ in binary] + [(c, p) for p, c in unary])
    spread_sets(behind, [(right, p) for p, _, right in binary] + [(c, p) for p, c in unary])
    return before, behind


def spread_sets(sets: list[set[int]], pairs: Sequence[Sequence[int]]) -> None:
    """Each (to, from): the set of `from` joins that of `to`, until nothing changes."""
    size = -1
    while size != (size := sum(map(len, sets))):
        for to, of in pairs:
            sets[to] |= sets[of]


def keep_better(cell: Cell, state: int, score: np.float32) -> None:
    if state not in cell or score > cell[state]:
        cell[state] = score


def chains(g: Grammar) -> dict[int, Cell]:
    """child → parent → score of the best chain of unary rules; every rule joins the chains at its two ends."""
    states = range(len(g.kind))
    above = {s: {s: np.float32(0)} for s in states}
    below = {s: {s: np.float32(0)} for s in states}
    joins = 0
    for (parent, child), w in zip(g.unary.tolist(), g.unary_scores, strict=True):
        joins += len(above[parent]) * len(below[child])
        require(joins <= MOST_JOINS, "too many chains of unary rules")
        for top, x in list(above[parent].items()):
            for low, y in list(below[child].items()):
                score = x + y + w
                if low not in below[top] or score > below[top][low]:
                    below[top][low] = above[low][top] = score
    return {s: {p: w for p, w in found.items() if p != s} for s, found in above.items()}


def add_chains(cell: Cell, above: dict[int, Cell]) -> Cell:
    for state, score in list(cell.items()):
        for parent, w in above[state].items():
            keep_better(cell, parent, score + w)
    return cell


def drop_worse(g: Grammar, cell: Cell, limited: bool) -> Cell:
    if not limited:
        return cell
    best = max((x for s, x in cell.items() if g.kind[s] != UNFINISHED), default=np.float32("-inf"))
    return {s: x for s, x in cell.items() if best - x <= g.limits[s]}


def trace_tree(g: Grammar, I: dict[Span, Cell], n: int) -> Iterator[Node]:  # noqa: E741
    """The nodes of the best tree in pre-order; a last node that ends at −1 says that no rule explains a score."""

    def below(state: int, a: int, b: int) -> list[Node]:
        best = float(I[a, b][state])
        for m in range(a + 1, b):
            L, R = I[a, m], I.get((m, b), {})
            for left, right, w in g.below[0].get(state, ()):
                if left in L and right in R and is_close(float(w + L[left] + R[right]), best):
                    return [(left, a, m), (right, m, b)]
        for child, w in g.below[1].get(state, ()):
            if child != state and child in I[a, b] and is_close(float(w + I[a, b][child]), best):
                return [(child, a, b)]
        return []

    stack = [(g.goal, 0, n)]
    for _ in range(64 * n + 1):  # unary rules might go round in a circle
        if not stack:
            return
        state, a, b = stack.pop()
        yield state, a, b
        if not (b - a == 1 and g.kind[state] == TAG):
            kids = below(state, a, b)
            if not kids:
                yield state, a, -1
                return
            stack.extend(reversed(kids))


def is_close(x: float, y: float) -> bool:
    return abs(x - y) / (abs(x) + abs(y) + 1e-10) < 1e-5
