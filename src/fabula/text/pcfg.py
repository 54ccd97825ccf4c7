"""The best tree of a sentence under a probabilistic context-free grammar (CKY; Klein and Manning, ACL 2003).

With I[a, b, X] the score of the best tree of category X over the words a … b − 1,

    I[a, b, X] = max( max over X → Y Z and a < m < b of  w + I[a, m, Y] + I[m, b, Z],
                      max over chains X ⇒ Y of           w + I[a, b, Y] )

and I[a, a + 1, T] the lexicon's score of tag T. The last word of a sentence is its end mark, which joins the whole
sentence only. The tree is read off from the top: the first split, then the first rule in the grammar's order that
explains a score within a relative 1e-5, is taken; binary rules before unary ones. Near-ties are so decided by the order
of rules, as in the parser that SPICE was built on.

The grammar is binary: longer rules go through unfinished states, which the trees given back leave out.
A state that lies further below the best finished state of its span than its limit is dropped (not in the
span of the whole sentence). All scores are 32-bit floats, in the compiled kernel (_kernels/pcfg.cpp) and here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula import _kernels

PHRASE, TAG, UNFINISHED = 0, 1, 2
Span = tuple[int, int]
Cell = dict[int, np.float32]
Node = tuple[int, int, int]  # state, first word, word behind the last


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

    def trees(self, sentences: list[list[int]], lexicon: Lexicon) -> list[list[Node]]:
        """The nodes of each sentence's tree in pre-order; [] where the grammar has none. Words are the lexicon's."""
        if _kernels.native() is None:
            return [trees_python(self, words, lexicon) for words in sentences]
        first = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
        words = np.fromiter((w for s in sentences for w in s), np.int32, int(first[-1]))
        at, nodes, _, _ = self.compiled.trees(
            first, words, lexicon.at, lexicon.tags, lexicon.scores, _kernels.threads()
        )
        flat = list(map(tuple, nodes.tolist()))
        return [flat[a:b] for a, b in zip(at[:-1].tolist(), at[1:].tolist(), strict=True)]

    @cached_property
    def compiled(self) -> Any:
        rules = self.binary, self.binary_scores, self.unary, self.unary_scores
        return _kernels.native().Pcfg(*rules, self.kind, self.category, self.limits, self.goal)  # type: ignore[union-attr]

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


def trees_python(g: Grammar, words: list[int], lexicon: Lexicon) -> list[Node]:
    """One sentence, the kernel's twin. What the limits leave without a tree has another go without them."""
    n = len(words)
    for limited in (True, False) if n > 1 else ():
        I = inside(g, words, lexicon, limited)  # noqa: E741
        if g.goal in I[0, n]:
            found = list(explain(g, I, n))
            if len(found) <= 64 * n and found[-1][2] == n:
                return [node for node in found if g.kind[node[0]] != UNFINISHED]
    return []


def inside(g: Grammar, words: list[int], lexicon: Lexicon, limited: bool) -> dict[Span, Cell]:
    """The scores of all states over all spans."""
    n = len(words)
    rules, above = g.pairs, g.chains
    I: dict[Span, Cell] = {}  # noqa: E741
    for a, word in enumerate(words):
        k = slice(int(lexicon.at[word]), int(lexicon.at[word + 1]))
        cell: Cell = {}
        for tag, score in zip(lexicon.tags[k].tolist(), lexicon.scores[k], strict=True):
            better(cell, tag, score)
        I[a, a + 1] = dropped(g, chained(cell, above), limited)
    for width in range(2, n + 1):
        for a in range(1 if width == n else n - width):
            b = a + width
            cell = {}
            for m in range(a + 1, b):
                for left, x in I[a, m].items():
                    for right, y in I.get((m, b), {}).items():
                        for parent, w in rules.get((left, right), ()):
                            better(cell, parent, w + x + y)
            I[a, b] = dropped(g, chained(cell, above), limited and width < n)
    return I


def better(cell: Cell, state: int, score: np.float32) -> None:
    if state not in cell or score > cell[state]:
        cell[state] = score


def by_pair(g: Grammar) -> dict[tuple[int, int], list[tuple[int, np.float32]]]:
    rules: dict[tuple[int, int], list[tuple[int, np.float32]]] = {}
    for (parent, left, right), w in zip(g.binary.tolist(), g.binary_scores, strict=True):
        rules.setdefault((left, right), []).append((parent, w))
    return rules


def chains(g: Grammar) -> dict[int, Cell]:
    """child → parent → score of the best chain of unary rules; every rule joins the chains at its two ends."""
    states = range(len(g.kind))
    above = {s: {s: np.float32(0)} for s in states}
    below = {s: {s: np.float32(0)} for s in states}
    for (parent, child), w in zip(g.unary.tolist(), g.unary_scores, strict=True):
        for top, x in list(above[parent].items()):
            for low, y in list(below[child].items()):
                score = x + y + w
                if low not in below[top] or score > below[top][low]:
                    below[top][low] = above[low][top] = score
    return {s: {p: w for p, w in found.items() if p != s} for s, found in above.items()}


def chained(cell: Cell, above: dict[int, Cell]) -> Cell:
    for state, score in list(cell.items()):
        for parent, w in above[state].items():
            better(cell, parent, score + w)
    return cell


def dropped(g: Grammar, cell: Cell, limited: bool) -> Cell:
    if not limited:
        return cell
    best = max((x for s, x in cell.items() if g.kind[s] != UNFINISHED), default=np.float32("-inf"))
    return {s: x for s, x in cell.items() if best - x <= g.limits[s]}


def explain(g: Grammar, I: dict[Span, Cell], n: int) -> Iterator[Node]:  # noqa: E741
    """The nodes of the best tree in pre-order; a last node that ends at −1 says that no rule explains a score."""

    def below(state: int, a: int, b: int) -> list[Node]:
        best = float(I[a, b][state])
        for m in range(a + 1, b):
            L, R = I[a, m], I.get((m, b), {})
            for left, right, w in g.below[0].get(state, ()):
                if left in L and right in R and matches(float(w + L[left] + R[right]), best):
                    return [(left, a, m), (right, m, b)]
        for child, w in g.below[1].get(state, ()):
            if child != state and child in I[a, b] and matches(float(w + I[a, b][child]), best):
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


def matches(x: float, y: float) -> bool:
    return abs(x - y) / (abs(x) + abs(y) + 1e-10) < 1e-5
