"""CIDEr-D by hand, against pycocoevalcap's output; document frequencies that can be merged and filed."""

import gzip
import math

import numpy as np
import pytest
from golden_bcr import rows
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import InputError
from fabula.text import cider
from fabula.text.cider import Idf

CAPTION = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=8).map(" ".join)
REFERENCES = st.lists(CAPTION, min_size=1, max_size=3)
ITEM = st.tuples(CAPTION, REFERENCES)
TWO = [["a man runs home"], ["the dog sits down"]]


def test_df_counts_items_not_occurrences():
    idf = Idf.from_references([["a a b", "a b"], ["b c"]])
    assert idf.N == 2
    assert idf.df == {"a": 1, "b": 2, "c": 1, "a a": 1, "a b": 1, "b c": 1, "a a b": 1}


def test_perfect_captions():
    assert cider.score("a man runs home", TWO[0], Idf.from_references(TWO)) == pytest.approx(10)
    # two words have no 3- and 4-grams: 10 · (1 + 1 + 0 + 0) / 4
    assert cider.score("a man", ["a man"], Idf.from_references([["a man"], ["the dog"]])) == pytest.approx(5)


def test_half_of_the_words_and_the_length_penalty():
    # Every n-gram has weight log 2. Unigrams: 2 shared, norms √2 and √4; bigrams: 1 shared, norms √1 and √3.
    # 1 bigram against 3: the Gaussian is exp(−2²/72).
    cosine = 2 / math.sqrt(2 * 4) + 1 / math.sqrt(1 * 3)
    expected = 10 / 4 * cosine * math.exp(-(2**2) / 72)
    assert cider.score("a man", TWO[0], Idf.from_references(TWO)) == pytest.approx(expected, abs=1e-12)


def test_repetition_is_clipped():
    # g_c(a) = 2 log 2 is cut to g_r(a) = log 2: unigrams 1 / (2 · 1); bigrams share nothing; 1 bigram against 0.
    idf = Idf.from_references([["a"], ["b"]])
    assert cider.score("a a", ["a"], idf) == pytest.approx(10 / 4 * 1 / 2 * math.exp(-1 / 72))


def test_a_word_of_every_item_weighs_nothing():
    idf = Idf.from_references([["a"], ["a"]])
    assert cider.score("a", ["a"], idf) == 0  # log 2 − log 2
    assert cider.score("zebra", ["zebra"], idf) == pytest.approx(10 / 4)  # unseen: df 1


def test_mean_over_references():
    idf = Idf.from_references(TWO)
    each = [cider.score("a man runs", [r], idf) for r in ("a man runs home", "the man", "")]
    assert cider.score("a man runs", ["a man runs home", "the man", ""], idf) == pytest.approx(sum(each) / 3)


def test_one_item_alone_and_empty_candidates_have_zero():
    assert cider.score("a man runs home", TWO[0], Idf.from_references(TWO[:1])) == 0
    assert cider.score("", TWO[0], Idf.from_references(TWO)) == 0
    assert cider.score("", [""], Idf.from_references(TWO)) == 0


def test_scopes():
    items = [("a man", ["a man"]), ("the dog", ["the dog"]), ("a man", ["a man"])]
    assert cider.scores_within(items, ["v1", "v1", "v2"]) == pytest.approx([5, 5, 0])  # v2 has one item only
    assert cider.batch_scope(5, 2) == [0, 0, 1, 1, 2]
    assert cider.scores_within(items, cider.batch_scope(3, 2)) == pytest.approx([5, 5, 0])
    whole = cider.scores(items, Idf.from_references([references for _, references in items]))
    assert cider.scores_within(items, cider.corpus_scope(3)) == whole == pytest.approx([5, 5, 5])
    assert cider.scores_within([], []) == []


@given(st.lists(REFERENCES, max_size=5), st.lists(REFERENCES, max_size=5), st.lists(REFERENCES, max_size=5))
def test_merge_is_the_idf_of_the_concatenation(a, b, c):
    parts = [Idf.from_references(part) for part in (a, b, c)]
    assert parts[0].merge(*parts[1:]) == Idf.from_references(a + b + c)
    assert parts[0].merge(parts[1]) == parts[1].merge(parts[0])


@given(st.lists(ITEM, min_size=1, max_size=6))
def test_pairs_equal_single_scores(items):
    idf = Idf.from_references([references for _, references in items])
    candidates, references = [c for c, _ in items], [r for _, refs in items for r in refs]
    M = cider.pairs(candidates, references, idf)
    one_by_one = np.array([[cider.score(c, [r], idf) for r in references] for c in candidates])
    np.testing.assert_allclose(M, one_by_one, rtol=0, atol=1e-12)
    assert ((M >= 0) & (M <= 10 + 1e-9)).all()


def test_pairs_shapes():
    idf = Idf.from_references(TWO)
    assert cider.pairs([], ["a"], idf).shape == (0, 1)
    assert cider.pairs(["a"], [], idf).shape == (1, 0)
    assert cider.pairs(["a", "", "a"], ["a", "a"], idf)[:, 0] == pytest.approx([2.5, 0, 2.5])


@pytest.mark.parametrize("name", ["idf.json", "idf.json.gz"])
def test_idf_file_round_trip(tmp_path, name):
    idf = Idf.from_references([["a café 1\xa0cup", "\ud800"], ["the dog"]])
    idf.save(tmp_path / name)
    assert Idf.load(tmp_path / name) == idf
    first = (tmp_path / name).read_bytes()
    Idf.load(tmp_path / name).save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", b"not json", "not JSON"),
        ("a.json", b"[]", "seen \\[\\], expected"),
        ("a.json", b'{"N": 2.5, "df": {}}', "expected"),
        ("a.json", b'{"N": 1' + b"0" * 400 + b', "df": {}}', "expected"),
        ("a.json", b'{"N": 2, "df": {"a": 3}}', "df of 'a' is 3, expected 1 to N = 2"),
        ("a.json.gz", b"not gzip", "is not gzip"),
        ("a.json.gz", gzip.compress(b'{"N": 1, "df": {}}', mtime=0)[:-9], "broken gzip"),
        ("a.json", None, "no such file"),
    ],
)
def test_bad_idf_files_name_the_file(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.json.*{says}"):
        Idf.load(tmp_path / name)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda idf: cider.score("a", [], idf, item=4), "item 4: references: the list is empty"),
        (lambda idf: cider.scores([("a", ["a"]), (None, ["a"])], idf), "item 1: candidate: seen None"),
        (lambda idf: cider.scores_within([("a", ["a"]), ("a", [])], [0, 0]), "item 1: references: the list is empty"),
        (lambda idf: cider.scores_within([("a", ["a"])], []), "0 group labels for 1 items"),
        (lambda idf: cider.pairs(["a"], ["a", 1], idf), r"references\[1\]: seen 1"),
        (lambda idf: cider.batch_scope(3, 0), "a batch of 0 items"),
        (lambda idf: cider.score("a", ["a"], Idf.from_references([])), "idf: the Idf counts no items"),
        (lambda idf: Idf.from_references([["a"], ["a", b"b"]]), r"item 1: references\[1\]: seen b'b'"),
        (lambda idf: Idf.from_references([["a"], []]), "item 1: references: the list is empty"),
    ],
)
def test_bad_input_names_the_item(call, says):
    with pytest.raises(InputError, match=says):
        call(Idf.from_references(TWO))


def test_golden():
    pairs, (*expected, last) = rows("pairs_tok"), rows("bcr_tok")
    items = [(row["cand"], row["refs"]) for row in pairs]
    values = cider.scores_within(items, cider.corpus_scope(len(items)))
    assert values == pytest.approx([want["cider"] for want in expected], abs=1e-9)
    assert np.mean(values) == pytest.approx(last["aggregate"]["cider"], abs=1e-9)
