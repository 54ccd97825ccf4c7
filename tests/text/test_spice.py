"""SPICE: merging and counting by hand, bad input, the compiled tree against its twin, the official scores."""

import logging
import time
from collections import Counter

import numpy as np
import pytest
from golden_spice import rows

from fabula import _kernels
from fabula.core.errors import InputError, MissingExtra
from fabula.text import spice
from fabula.text.spice import grammar, java, parse
from fabula.text.spice.scene import Scene

NATIVE = pytest.mark.skipif(_kernels.NATIVE is None, reason="not compiled")


def shown(proposed):
    return sorted(tuple(map(str, t)) for t in Scene(proposed).tuples())


def test_equal_objects_are_one_node():
    assert shown([("dog",), ("dog", "brown"), ("dog",)]) == [("dog",), ("dog", "brown")]


def test_synonyms_merge():
    # couch and sofa share a synset: one node of two words, which keeps both attributes
    assert len(Scene([("couch", "red"), ("sofa", "old")]).nodes) == 1
    assert len(Scene([("couch",), ("dog",)]).nodes) == 2


def test_relation_is_printed_between_its_ends_and_loses_be():
    assert ("girl", "on", "table") in shown([("girl", "table", "be on")])


def test_counts():
    # candidate: girl, table, (girl, on, table); reference: girl, chair, (girl, young): one of three, one of three
    s = spice.score_tuples([("girl", "table", "on")], [[("girl", "young"), ("chair",)]])
    assert (s.counts.tp, s.counts.fp, s.counts.fn) == (1, 2, 2)
    assert s.f == pytest.approx(2 * (1 / 3) * (1 / 3) / (2 / 3))
    assert s.subsets["Object"] == spice.Counts(1, 1, 1)
    assert s.subsets["Attribute"] == spice.Counts(0, 0, 1)
    assert s.subsets["Color"] is None


def test_references_make_one_graph():
    together = spice.score_tuples([("dog",), ("cat",)], [[("dog",)], [("cat",)]])
    assert together.f == 1.0


def test_false_negatives_may_be_negative():
    # both the candidate's nodes are like the reference's one: car and auto share a synset, plane and auto do not
    reference = [[("car",)], [("automobile",)]]
    s = spice.score_tuples([("car", "red"), ("car", "crimson")], [*reference, [("car", "red")]])
    assert s.counts.fn == len(s.references) - s.counts.tp


def test_colors_numbers_sizes():
    mine = [("dog", "brown"), ("dog", "two"), ("dog", "huge")]
    s = spice.score_tuples(mine, [mine])
    assert [s.subsets[k] for k in ("Color", "Cardinality", "Size")] == [spice.Counts(1, 0, 0)] * 3


def test_simple_sentences():
    found = spice.tuples("a young girl is standing on a table")
    assert set(found) == {("girl", "young"), ("girl", "table", "stand on"), ("girl",), ("table",)}
    assert {("dog", "brown"), ("dog",)} <= set(spice.tuples("a brown dog is running on the grass"))


def test_score_of_itself_is_one():
    text = "a woman in a red coat walks down the street"
    assert spice.score(text, [text]).f == 1.0


def test_other_subject_other_score():
    s = spice.score("a man rides a horse", ["a woman rides a horse"])
    assert 0.0 < s.f < 1.0
    assert (("horse",), True) in s.candidate


@pytest.mark.parametrize(
    "text", ["", " ", "dog", "the", "of of of", "一只狗在跑", "собака бежит", "🐶 🐶", "!?", "\u2028", "\ud800"]
)
def test_odd_text_has_a_score(text):
    s = spice.score(text, ["a dog runs"])
    assert 0.0 <= s.f <= 1.0
    assert spice.score("a dog runs", [text]).f == pytest.approx(spice.score("a dog runs", [text, ""]).f)


def test_no_tuples_on_either_side_is_zero():
    assert spice.score("", [""]).f == 0.0


def test_two_thousand_words(caplog):
    text = "a man walks and " * 500
    began = time.process_time()
    with caplog.at_level(logging.WARNING):
        found = spice.tuples(text)
    assert ("man",) in found
    assert "2000 tokens was cut into pieces of 120" in caplog.text
    assert time.process_time() - began < 20


def test_sentences_are_split_and_keep_their_case():
    text = "P1 enters McDonald's (a room). She sits."
    assert parse.split_sentences(text) == [
        ["P1", "enters", "McDonald", "'s", "-LRB-", "a", "room", "-RRB-", "."],
        ["She", "sits", "."],
    ]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: spice.score("a", []), "item 0: references: the list is empty"),
        (lambda: spice.score(None, ["a"]), "item 0: candidate: seen None"),
        (lambda: spice.scores(["a"], []), "1 candidates, but 0 lists"),
    ],
)
def test_bad_input_names_the_item(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_pairs_equal_single_scores():
    candidates, references = ["a man rides a horse", "a dog"], ["a woman rides a horse", "two dogs", ""]
    F = spice.SCORER.pairs(candidates, references)
    assert F.tolist() == [[spice.score(c, [r]).f for r in references] for c in candidates]


def test_java_absent_says_the_pip_line(monkeypatch):
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"\[spice-java\]; install it with: pip install '"):
        java.scores(["a"], [["a"]])


# --- the parser's parts -------------------------------------------------------------------------------------


def test_a_sentence_is_parsed_alike_alone_and_in_company():
    parser = grammar.load()
    texts = ["a dog", "the boy throws a ball to his dog in the park", "two men"]
    together = parser.parse([text.split() for text in texts])
    assert together == [parser.parse([text.split()])[0] for text in texts]


def test_a_tree_by_hand():
    labels, parents = grammar.load().parse([["the", "girl", "throws", "a", "ball"]])[0]
    assert labels == ["ROOT", "S", "NP", "DT", "NN", "VP", "VBZ", "NP", "DT", "NN"]
    assert parents == [0, 0, 1, 2, 2, 1, 5, 5, 7, 7]


@pytest.mark.parametrize("words", [[], ["dog"], ["zxqv"] * 3, ["7", "%"], ["男が走る"], [",", ",", "and", "of"] * 6])
def test_any_words_have_a_tree(words):
    labels, parents = grammar.load().parse([words])[0]
    inner = set(parents)
    assert sum(node not in inner for node in range(1, len(labels))) == len(words)


def test_what_the_grammar_cannot_derive_gets_every_tag():
    parser = grammar.Parser(grammar.read_data())
    word = parser.number["dog"]
    words, lexicon = parser.allow_all_tags([[word, word, parser.end]])
    own = slice(parser.lexicon.at[word], parser.lexicon.at[word + 1])
    known: dict[int, float] = {}
    for tag, score in zip(parser.lexicon.tags[own].tolist(), parser.lexicon.scores[own].tolist(), strict=True):
        known[tag] = max(score, known.get(tag, score))  # its own score, and the floor
    found = dict(zip(lexicon.tags[: lexicon.at[1]].tolist(), lexicon.scores[: lexicon.at[1]].tolist(), strict=True))
    assert words == [[0, 0, 1]]
    assert found == dict.fromkeys(found, grammar.RARE_TAG) | known and len(found) > len(known)


def test_known_captions_are_parsed_once_and_the_oldest_are_forgotten(monkeypatch):
    asked = []
    each = parse.parse_each
    monkeypatch.setattr(parse, "parse_each", lambda texts: asked.append(list(texts)) or each(texts))
    known = parse.Known(most=2)
    texts = ["a red dog", "two men. they run", "a red dog"]
    fresh = parse.tuples_all(texts)
    assert parse.tuples_all(texts, known) == fresh == parse.tuples_all(texts, known)
    assert asked == [texts[:2], texts[:2], []]
    parse.tuples_all(["a cat", *texts[:1]], known)
    assert asked[-1] == ["a cat"] and list(known.tuples) == ["two men. they run", "a cat"]


def test_captions_may_be_more_than_a_block(monkeypatch):
    texts = ["a dog", "a cat sits", "", "two men run. they fall"]
    whole = parse.parse_all(texts)
    monkeypatch.setattr(parse, "BLOCK", 1)
    assert parse.parse_all(texts) == whole


@NATIVE
def test_shipped_grammar_on_both_kernels():
    text = [["a", "red", "dog"]]
    with _kernels.using("python"):
        slow = grammar.Parser(grammar.read_data()).parse(text)
    assert grammar.load().parse(text) == slow


def test_a_word_has_its_own_tags_and_as_many_floors_as_it_may():
    data = {
        "tags_of": np.array([2, 0, 1]), "tags": np.array([7, 8, 9]), "scores": np.array([-1.0, -2.0, -3.0]),
        "floors_of": np.array([1, 0, 2]), "floors": np.array([4, 5]), "floor_scores": np.array([-10.0, -11.0]),
    }  # fmt: skip
    found = grammar.build_lexicon(data)
    assert found.at.tolist() == [0, 3, 3, 6]
    assert found.tags.tolist() == [7, 8, 4, 9, 4, 5]
    assert found.scores.tolist() == [-1, -2, -10, -3, -10, -11]


def test_ids_are_names_whatever_stands_around():
    captions = ["Meanwhile P1 races to his car", "As P12 starts the engine", "a man sees P3"]
    for words in map(str.split, captions):
        labels, parents = grammar.load().parse([words])[0]
        inner = set(parents)
        tags = [label for node, label in enumerate(labels) if node not in inner]
        assert [tag for word, tag in zip(words, tags, strict=True) if word[1:].isdigit()] == ["NNP"]


# --- the official SPICE -------------------------------------------------------------------------------------


def test_golden_scores_from_the_official_tuples():
    parses = {row["text"]: [tuple(t) for t in row["proposed"]] for row in rows("golden/corenlp_parses_tok.jsonl.gz")}
    same = total = 0
    for row in rows("golden/spice_tok.jsonl.gz"):
        if row["cand"] in parses and all(text in parses for text in row["refs"]):
            s = spice.score_tuples(parses[row["cand"]], [parses[text] for text in row["refs"]])
            found = {"All": s.counts} | s.subsets
            total += 1
            same += all(
                ((c.tp, c.fp, c.fn) if (c := found[name]) else (0, 0, 0)) == (want["tp"], want["fp"], want["fn"])
                for name, want in row["scores"].items()
            )
    assert total > 900
    assert same / total >= 0.995


@pytest.fixture(scope="module")
def from_text():
    """(micro F1 of the merged tuples, Pearson of the scores, distance of the means) against the official SPICE."""
    golden = rows("golden/spice_tok.jsonl.gz")
    found = spice.scores([row["cand"] for row in golden], [row["refs"] for row in golden])
    mine = np.array([s.f for s in found])
    theirs = np.array([row["scores"]["All"]["f"] or 0.0 for row in golden])
    tp = fp = fn = 0
    for s, row in zip(found, golden, strict=True):
        for ours, official in ((s.candidate, row["test_tuples"]), (s.references, row["ref_tuples"])):
            a, b = Counter(t for t, _ in ours), Counter(tuple(t["tuple"]) for t in official)
            tp, fp, fn = tp + (a & b).total(), fp + (a - b).total(), fn + (b - a).total()
    return 2 * tp / (2 * tp + fp + fn), np.corrcoef(mine, theirs)[0, 1], abs(mine.mean() - theirs.mean())


def test_golden_scores_from_text_as_wanted(from_text):
    F1, pearson, distance = from_text
    assert F1 >= 0.95
    assert pearson >= 0.97
    assert distance <= 0.003
