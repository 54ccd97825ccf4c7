"""SPICE's graph rules on graphs a reader can draw; the teacher's own graphs and trees where they are at hand."""

from collections import Counter

import pytest
from golden_spice import rows

from fabula.text.spice.collapse import collapse
from fabula.text.spice.depend import depend, read_trees
from fabula.text.spice.graph import Graph, Token, tuples
from fabula.text.spice.lemma import lemma


def sentence(text):
    """ "the/DT dog/NN" → tokens with lemmas."""
    pairs = [word.rsplit("/", 1) for word in text.split()]
    return [Token(word, tag, lemma(word, tag)) for word, tag in pairs]


def proposed(text, arcs):
    """arcs: "label(head,child) …" of the basic tree."""
    tokens = sentence(text)
    heads, labels = [0] * len(tokens), ["punct"] * len(tokens)
    for arc in arcs.split():
        label, _, numbers = arc.partition("(")
        head, child = map(int, numbers.rstrip(")").split(","))
        heads[child - 1], labels[child - 1] = head, label
    edges, copies = collapse(tokens, heads, labels)
    return tuples(Graph(tokens, edges, copies))


def test_subject_predicate_object():
    found = proposed(
        "a/DT girl/NN kicks/VBZ the/DT red/JJ balls/NNS",
        "root(0,3) det(2,1) nsubj(3,2) det(6,4) amod(6,5) dobj(3,6)",
    )
    assert found == [("girl", "ball", "kick"), ("ball", "red"), ("ball",), ("girl",)]


def test_preposition_and_particle_name_the_relation():
    found = proposed(
        "he/NN sits/VBZ down/RP on/IN a/DT chair/NN",
        "root(0,2) nsubj(2,1) compound:prt(2,3) case(6,4) det(6,5) nmod(2,6)",
    )
    assert ("he", "chair", "sit down on") in found


def test_preposition_of_three_words():
    found = proposed(
        "dogs/NNS run/VBP in/IN front/NN of/IN a/DT house/NN",
        "root(0,2) nsubj(2,1) case(4,3) nmod(2,4) case(7,5) det(7,6) nmod(4,7)",
    )
    assert ("dog", "house", "run in front of") in found


def test_conjoined_verbs_share_their_subject():
    found = proposed(
        "a/DT cook/NN peels/VBZ and/CC eats/VBZ an/DT egg/NN",
        "root(0,3) det(2,1) nsubj(3,2) cc(3,4) conj(3,5) det(7,6) dobj(5,7)",
    )
    assert found[:2] == [("cook", "egg", "eat"), ("cook", "peel")]


def test_conjoined_prepositions_copy_the_verb():
    found = proposed(
        "a/DT cat/NN walks/VBZ out/RP of/IN a/DT room/NN and/CC down/IN a/DT hall/NN",
        "root(0,3) det(2,1) nsubj(3,2) compound:prt(3,4) case(7,5) det(7,6) nmod(3,7) "
        "cc(7,8) case(11,9) det(11,10) conj(7,11)",
    )
    assert found[:2] == [("cat", "room", "walk out of"), ("cat", "hall", "walk down")]


def test_copula_and_owner():
    found = proposed(
        "the/DT man/NN 's/POS dogs/NNS are/VBP brown/JJ",
        "root(0,6) det(2,1) nmod:poss(4,2) case(2,3) nsubj(6,4) cop(6,5)",
    )
    assert found == [("dog", "brown"), ("dog", "brown"), ("man", "dog", "have"), ("dog",), ("man",)]


def test_quantifier_gives_its_place_to_the_noun():
    found = proposed(
        "a/DT couple/NN of/IN dogs/NNS bark/VBP",
        "root(0,5) det(2,1) nsubj(5,2) case(4,3) nmod(2,4)",
    )
    assert found == [("dog", "bark"), ("dog", "a"), ("dog",), ("couple",)]


def test_number_before_a_plural():
    found = proposed("two/CD men/NNS wave/VBP", "root(0,3) nummod(2,1) nsubj(3,2)")
    assert found == [("man", "wave"), ("man", "two"), ("man",)]


def test_pronoun_becomes_the_noun_before_it():
    found = proposed(
        "a/DT boy/NN washes/VBZ his/PRP$ hands/NNS",
        "root(0,3) det(2,1) nsubj(3,2) nmod:poss(5,4) dobj(3,5)",
    )
    assert ("boy", "hand", "have") in found
    # nothing stands before it: it stays a pronoun, which is no object
    assert proposed("she/PRP hits/VBZ a/DT ball/NN", "root(0,2) nsubj(2,1) det(4,3) dobj(2,4)") == [("ball",)]


def test_compound_is_an_attribute_and_no_object():
    assert proposed("a/DT hockey/NN player/NN", "root(0,3) det(3,1) compound(3,2)") == [("player", "hockey")]


@pytest.mark.parametrize(
    ("word", "tag", "wanted"),
    [
        ("men", "NNS", "man"),
        ("glasses", "NNS", "glass"),
        ("running", "VBG", "run"),
        ("making", "VBG", "make"),
        ("ate", "VBD", "eat"),
        ("tries", "VBZ", "try"),
        ("'s", "VBZ", "be"),
        ("her", "PRP$", "she"),
        ("an", "DT", "a"),
        ("P1", "NN", "p1"),
        ("'s", "VBZ", "be"),
        ("'s", "NNS", "'"),
        ("g", "VBP", "g"),
    ],
)
def test_lemma(word, tag, wanted):
    assert lemma(word, tag) == wanted


def from_tree(tree):
    label, parent, words = read_trees(f"(ROOT {tree})")
    tags = [name for k, name in enumerate(label) if k not in parent]
    tokens = [Token(word, tag, lemma(word, tag)) for word, tag in zip(words, tags, strict=True)]
    edges, copies = collapse(tokens, *depend(label, parent, words))
    return tuples(Graph(tokens, edges, copies))


def test_pronoun_at_the_root_stays():
    tree = "(S (NP (DT the) (NN dog)) (VP (VBZ is) (PP (IN behind) (NP (PRP her)))))"
    assert ("dog", "she", "behind") in from_tree(tree)


def test_quantified_conjunct_keeps_its_first_head():
    lot = "(NP (NP (DT a) (NN lot)) (PP (IN of) (NP (NNS birds))))"
    tree = f"(S (NP (DT a) (NN man)) (VP (VBZ sees) (NP (NP (DT a) (NN hill)) (CC and) {lot})))"
    found = from_tree(tree)
    assert ("man", "bird", "see") in found
    assert ("bird", "a") in found


def test_a_clause_describes_only_by_a_verb():
    tree = "(NP (NP (DT a) (NN girl)) (VP (VBG holding) (NP (DT a) (NN kite))))"
    assert ("girl", "kite", "hold") in from_tree(tree)


def test_the_last_of_two_prepositions_names_the_relation():
    tree = "(S (NP (DT a) (NN girl)) (VP (VBZ jumps) (PP (IN down) (PP (IN into) (NP (DT the) (NN pool))))))"
    assert ("girl", "pool", "jump into") in from_tree(tree)


def test_teachers_graphs_give_the_teachers_tuples():
    """From the teacher's basic trees to its proposed tuples, through collapsing and the rules."""
    same = total = 0
    for row in rows("corenlp_captions/captions.jsonl.gz")[::20]:
        found = []
        for s in row["sentences"]:
            tokens = [Token(*t[:3]) for t in s["tokens"]]
            heads, labels = [0] * len(tokens), ["punct"] * len(tokens)
            for label, head, child in s["basic"]:
                heads[int(child) - 1], labels[int(child) - 1] = int(head), label
            edges, copies = collapse(tokens, heads, labels)
            found += tuples(Graph(tokens, edges, copies))
        total += 1
        same += Counter(found) == Counter(map(tuple, row["proposed"]))
    assert same / total >= 0.995


def test_teachers_lemmas():
    tokens = [t for row in rows("golden/corenlp_parses_tok.jsonl.gz") for s in row["sentences"] for t in s["tokens"]]
    assert sum(lemma(t[0], t[1]).lower() == t[2].lower() for t in tokens) / len(tokens) >= 0.999
