"""CKY: both kernels against each other and against all trees of small random grammars."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula import _kernels
from fabula.text.pcfg import PHRASE, TAG, UNFINISHED, Grammar, Lexicon

NATIVE = pytest.mark.skipif(_kernels.NATIVE is None, reason="not compiled")
S, X, Y, OPEN, A, B, END = range(7)  # goal, phrases, an unfinished state, tags, the end mark
KIND = np.array([PHRASE, PHRASE, PHRASE, UNFINISHED, TAG, TAG, TAG], np.uint8)


def grammar(seed, limit=np.inf):
    rng = np.random.default_rng(seed)
    inner = [X, Y, OPEN, A, B]
    binary = [(S, X, END), (S, Y, END)]
    pairs = [(x, y) for x in inner for y in inner if (x, y) != (OPEN, OPEN)]
    binary += [(p, *pair) for p in (X, Y, OPEN) for pair in pairs if rng.random() < 0.35]
    unary = [(X, A), (Y, B)] + [(X, Y)] * (rng.random() < 0.5) + [(OPEN, A)] * (rng.random() < 0.5)
    scores = lambda n: -rng.random(n).astype(np.float32) * 5  # noqa: E731
    return Grammar(
        np.array(binary, np.int32), scores(len(binary)), np.array(unary, np.int32), scores(len(unary)),
        KIND, np.zeros(7, np.int32), np.full(7, limit, np.float32), S,
    )  # fmt: skip


LEXICON = Lexicon(
    np.array([0, 1, 2, 4, 5]), np.array([A, B, A, B, END], np.int32), np.array([-1, -2, -0.5, -0.7, 0], np.float32)
)
MARK = 3
words = st.lists(st.integers(0, 2), min_size=1, max_size=5)


def best_by_trying_all(g, sentence):
    """The score of the best tree, by recursion over everything."""
    n = len(sentence)

    def best(state, a, b, chain=()):
        found = []
        if b - a == 1:
            k = slice(LEXICON.at[sentence[a]], LEXICON.at[sentence[a] + 1])
            found += [s for t, s in zip(LEXICON.tags[k], LEXICON.scores[k], strict=True) if t == state]
        for (p, left, right), w in zip(g.binary.tolist(), g.binary_scores, strict=True):
            if p == state:
                for m in range(a + 1, b):
                    x, y = best(left, a, m), best(right, m, b)
                    if x is not None and y is not None:
                        found.append(w + x + y)
        for (p, child), w in zip(g.unary.tolist(), g.unary_scores, strict=True):
            if p == state and child not in chain and (x := best(child, a, b, (*chain, state))) is not None:
                found.append(w + x)
        return max(found, default=None)

    return best(S, 0, n)


def score(g, sentence, nodes):
    """What a tree without its unfinished states hides is not scored: only trees of grammars without OPEN are."""
    rules = {tuple(r): w for r, w in zip(g.binary.tolist(), g.binary_scores, strict=True)}
    rules |= {tuple(r): w for r, w in zip(g.unary.tolist(), g.unary_scores, strict=True)}
    total, at = 0.0, 0

    def walk():
        nonlocal total, at
        state, a, b = nodes[at]
        at += 1
        if KIND[state] == TAG:
            k = slice(LEXICON.at[sentence[a]], LEXICON.at[sentence[a] + 1])
            total += dict(zip(LEXICON.tags[k].tolist(), LEXICON.scores[k].tolist(), strict=True))[state]
            return
        kids = []
        while at < len(nodes) and nodes[at][1] >= a and nodes[at][2] <= b:
            kids.append(nodes[at][0])
            walk()
        total += float(rules[(state, *kids)])

    walk()
    return total


@given(st.integers(0, 10**6), words)
@settings(deadline=None)
def test_the_best_tree_is_found(seed, sentence):
    g = grammar(seed)
    keep = (g.binary != OPEN).all(axis=1)
    closed = (g.unary != OPEN).all(axis=1)
    g = Grammar(
        g.binary[keep], g.binary_scores[keep], g.unary[closed], g.unary_scores[closed], KIND, g.category, g.limits, S
    )
    sentence = [*sentence, MARK]
    nodes = g.trees([sentence], LEXICON)[0]
    wanted = best_by_trying_all(g, sentence)
    assert bool(nodes) == (wanted is not None)
    if nodes:
        assert score(g, sentence, nodes) == pytest.approx(float(wanted), rel=1e-4)


@NATIVE
@given(st.integers(0, 10**6), st.lists(words, min_size=1, max_size=4), st.sampled_from([np.inf, 3.0, 0.5]))
@settings(deadline=None)
def test_both_kernels_agree(seed, sentences, limit):
    sentences = [[*s, MARK] for s in sentences]
    with _kernels.using("python"):
        slow = grammar(seed, limit).trees(sentences, LEXICON)
    with _kernels.using("native"):
        assert grammar(seed, limit).trees(sentences, LEXICON) == slow


def test_no_words_no_tree():
    assert grammar(1).trees([[MARK], []], LEXICON) == [[], []]


@NATIVE
def test_odd_numbers_are_refused():
    g = grammar(1)
    with pytest.raises(ValueError, match="no such word"):
        g.trees([[99, MARK]], LEXICON)
    with pytest.raises(ValueError, match="no such state"):
        Grammar(g.binary + 50, g.binary_scores, g.unary, g.unary_scores, KIND, g.category, g.limits, S).trees(
            [[0, MARK]], LEXICON
        )
