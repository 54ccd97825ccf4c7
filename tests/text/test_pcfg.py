"""CKY: both kernels against each other and against all trees of small random grammars."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula import _kernels
from fabula.text.spice import grammar as spice_grammar
from fabula.text.spice.pcfg import BEGIN, PHRASE, TAG, UNFINISHED, Grammar, Lexicon, inside, neighbours, tags_of

NATIVE = pytest.mark.skipif(_kernels.NATIVE is None, reason="not compiled")
S, X, Y, OPEN, A, B, END = range(7)  # goal, phrases, an unfinished state, tags, the end mark
KIND = np.array([PHRASE, PHRASE, PHRASE, UNFINISHED, TAG, TAG, TAG], np.uint8)


def grammar(seed, limit=np.inf, tag_limit=None):
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
        None if tag_limit is None else scores(4 * 3).reshape(4, 3), tag_limit or 0.0,
    )  # fmt: skip


LEXICON = Lexicon(
    np.array([0, 1, 2, 4, 5]), np.array([A, B, A, B, END], np.int32), np.array([-1, -2, -0.5, -0.7, 0], np.float32)
)
MARK = 3
words = st.lists(st.integers(0, 2), min_size=1, max_size=5)


def best_by_trying_all(g, sentence):
    """The score of the best tree, by recursion over everything."""
    n = len(sentence)

    @cache
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
@settings(deadline=None, max_examples=25)
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
@given(
    st.integers(0, 10**6),
    st.lists(words, min_size=1, max_size=4),
    st.sampled_from([np.inf, 3.0, 0.5]),
    st.sampled_from([None, 0.0, 1.0, 6.0]),
)
@settings(deadline=None)
def test_both_kernels_agree(seed, sentences, limit, tag_limit):
    sentences = [[*s, MARK] for s in sentences]
    with _kernels.using("python"):
        slow = grammar(seed, limit, tag_limit).trees(sentences, LEXICON)
    with _kernels.using("native"):
        assert grammar(seed, limit, tag_limit).trees(sentences, LEXICON) == slow


@NATIVE
def test_both_kernels_agree_on_captions():
    parser = spice_grammar.load()
    captions = ["a man in a red hat rides a horse", "two dogs run", "the girl is drawing on the wall while singing"]
    sentences = [[*(parser.find_word(w, k == 0) for k, w in enumerate(c.split())), parser.end] for c in captions]
    with _kernels.using("python"):
        slow = parser.grammar.trees(sentences, parser.lexicon)
    with _kernels.using("native"):
        assert parser.grammar.trees(sentences, parser.lexicon) == slow
    assert all(slow)


def test_a_long_sentence_fills_more_than_one_word_of_ends():
    g = Grammar(
        np.array([(S, X, END), (X, X, Y)], np.int32), np.array([0, -1], np.float32),
        np.array([(X, A), (Y, B)], np.int32), np.array([0, 0], np.float32),
        KIND, np.zeros(7, np.int32), np.full(7, np.inf, np.float32), S,
    )  # fmt: skip
    nodes = g.trees([[0, *[1] * 150, MARK]], LEXICON)[0]
    assert len(nodes) == 1 + 151 + 150 + 152  # the goal, X over each beginning, Y and the tags


def test_the_words_around_rule_states_out():
    """X needs B behind it: over the only word of a sentence it is no more."""
    g = Grammar(
        np.array([(S, Y, END), (Y, X, B)], np.int32), np.array([0, 0], np.float32),
        np.array([(X, A), (Y, A)], np.int32), np.array([0, 0], np.float32),
        KIND, np.zeros(7, np.int32), np.full(7, np.inf, np.float32), S,
    )  # fmt: skip
    before, behind = neighbours(g)
    assert behind[X] == {B}
    assert behind[Y] == {END}
    assert behind[A] == {B, END}
    assert before[B] == {A}
    assert before[X] == before[A] == {BEGIN}
    assert X not in inside(g, [0, MARK], LEXICON, True)[0, 1]
    assert X in inside(g, [0, 1, MARK], LEXICON, True)[0, 1]


def test_tags_that_no_good_sequence_has_are_left_out():
    """Word 2 may be A (−.5) or B (−.7); behind an A, B is better by 3."""
    g = grammar(1, tag_limit=1.0)
    g.follows = np.array([[0, 0, 0], [-4, -1, 0], [0, 0, 0], [0, 0, 0]], np.float32)  # first row: at the beginning
    assert [sorted(t) for t in tags_of(g, [0, 2, MARK], LEXICON, True)] == [[A], [B], [END]]
    assert [sorted(t) for t in tags_of(g, [1, 2, MARK], LEXICON, True)] == [[B], [A, B], [END]]
    assert [sorted(t) for t in tags_of(g, [0, 2, MARK], LEXICON, False)] == [[A], [A, B], [END]]


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
