"""From phrase-structure trees to basic dependencies: a tree per relation, and the teacher's own trees."""

# ruff: noqa: SIM905  (word lists read better as text)

import random
from collections import Counter

import pytest
from golden_spice import rows

from fabula.text.spice.collapse import collapse
from fabula.text.spice.depend import depend, read_trees
from fabula.text.spice.graph import Graph, Token, tuples
from fabula.text.spice.lemma import lemma

# what it shows: (tree, relation:head of each word), the answers of CoreNLP 3.6.0
TREES = {
    "det dobj nsubj": (
        "(S (NP (DT a) (NN man)) (VP (VBZ rides) (NP (DT a) (NN horse))))",
        "det:2 nsubj:3 root:0 det:5 dobj:3",
    ),
    "aux": (
        "(S (NP (DT the) (NN girl)) (VP (VBZ is) (VP (VBG singing))))",
        "det:2 nsubj:4 aux:4 root:0",
    ),
    "auxpass nsubjpass, by whom": (
        "(S (NP (DT the) (NN ball)) (VP (VBZ is) (VP (VBN thrown) (PP (IN by) (NP (DT a) (NN boy))))))",
        "det:2 nsubjpass:4 auxpass:4 root:0 case:7 det:7 nmod:4",
    ),
    "passive, joined": (
        "(S (NP (NNS onions)) (VP (VBP are) (VP (VP (VBN peeled)) (CC and) (VP (VBN cut)))))",
        "nsubjpass:3 auxpass:3 root:0 cc:3 conj:3",
    ),
    "cop with a noun": (
        "(S (NP (PRP he)) (VP (VBZ is) (NP (DT a) (NN chef))))",
        "nsubj:4 cop:4 det:4 root:0",
    ),
    "cop with a preposition": (
        "(S (NP (DT the) (NN cat)) (VP (VBZ is) (PP (IN under) (NP (DT the) (NN table)))))",
        "det:2 nsubj:6 cop:6 case:6 det:6 root:0",
    ),
    "there is": (
        "(S (NP (EX there)) (VP (VBZ is) (NP (NP (DT a) (NN boat)) (PP (IN on) (NP (DT the) (NN lake))))))",
        "expl:2 root:0 det:4 nsubj:2 case:7 det:7 nmod:4",
    ),
    "iobj": (
        "(S (NP (PRP she)) (VP (VBZ gives) (NP (DT the) (NN dog)) (NP (DT a) (NN bone))))",
        "nsubj:2 root:0 det:4 iobj:2 det:6 dobj:2",
    ),
    "no iobj with an owner": (
        "(S (NP (PRP she)) (VP (VBZ gives) (NP (PRP$ her) (NN dog)) (NP (DT a) (NN bone))))",
        "nsubj:2 root:0 nmod:poss:4 dep:2 det:6 dobj:2",
    ),
    "compound:prt": (
        "(S (NP (DT a) (NN woman)) (VP (VBZ picks) (PRT (RP up)) (NP (DT the) (NN phone))))",
        "det:2 nsubj:3 root:0 compound:prt:3 det:6 dobj:3",
    ),
    "xcomp mark": (
        "(S (NP (DT a) (NN child)) (VP (VBZ tries) (S (VP (TO to) (VP (VB swim))))))",
        "det:2 nsubj:3 root:0 mark:5 xcomp:3",
    ),
    "xcomp of a participle": (
        "(S (NP (DT the) (NN crowd)) (VP (VBZ starts) (S (VP (VBG cheering)))))",
        "det:2 nsubj:3 root:0 xcomp:3",
    ),
    "ccomp without that": (
        "(S (NP (DT the) (NN coach)) (VP (VBZ watches) (S (NP (DT the) (NN team)) (VP (VB lose)))))",
        "det:2 nsubj:3 root:0 det:5 nsubj:6 ccomp:3",
    ),
    "ccomp with that": (
        "(S (NP (NN mum)) (VP (VBZ says) (SBAR (IN that) (S (NP (DT the) (NN shop)) (VP (VBZ is) (VP (VBN shut)))))))",
        "nsubj:2 root:0 mark:7 det:5 nsubjpass:7 auxpass:7 ccomp:2",
    ),
    "object of a clause": (
        "(S (NP (DT a) (NN man)) (VP (VBZ tells) (S (NP (DT the) (NN dog)) (VP (TO to) (VP (VB sit))))))",
        "det:2 nsubj:3 root:0 det:5 dobj:3 mark:7 xcomp:3",
    ),
    "advcl after its verb": (
        "(S (NP (PRP he)) (VP (VBZ sings) (SBAR (IN while) (S (NP (PRP she)) (VP (VBZ dances))))))",
        "nsubj:2 root:0 mark:5 nsubj:5 advcl:2",
    ),
    "advcl before its verb": (
        "(S (SBAR (IN after) (S (NP (PRP he)) (VP (VBZ eats)))) (NP (PRP he)) (VP (VBZ sleeps)))",
        "mark:3 nsubj:3 advcl:5 nsubj:5 root:0",
    ),
    "advcl of purpose": (
        "(S (NP (PRP he)) (VP (VBZ uses) (NP (DT a) (NN knife)) (S (VP (TO to) (VP (VB cut) (NP (NN bread)))))))",
        "nsubj:2 root:0 det:4 dobj:2 mark:6 advcl:2 dobj:6",
    ),
    "advcl of a preposition": (
        "(S (NP (PRP he)) (VP (VBZ wins) (PP (IN by) (S (VP (VBG jumping))))))",
        "nsubj:2 root:0 mark:4 advcl:2",
    ),
    "when": (
        "(S (NP (PRP they)) (VP (VBP laugh) (SBAR (WHADVP (WRB when)) (S (NP (DT the) (NN clown)) (VP (VBZ falls))))))",
        "nsubj:2 root:0 advmod:6 det:5 nsubj:6 advcl:2",
    ),
    "acl": (
        "(NP (NP (DT a) (NN woman)) (VP (VBG holding) (NP (DT a) (NN cup))))",
        "det:2 root:0 acl:2 det:5 dobj:3",
    ),
    "acl:relcl, subject": (
        "(NP (NP (DT a) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBZ paints)))))",
        "det:2 root:0 nsubj:4 acl:relcl:2",
    ),
    "acl:relcl, object": (
        "(NP (NP (DT the) (NN song)) (SBAR (WHNP (WDT that)) (S (NP (PRP she)) (VP (VBZ sings)))))",
        "det:2 root:0 dobj:5 nsubj:5 acl:relcl:2",
    ),
    "acl:relcl, preposition left behind": (
        "(NP (NP (DT the) (NN chair)) (SBAR (WHNP (WDT that)) (S (NP (PRP he)) (VP (VBZ sits) (PP (IN on))))))",
        "det:2 root:0 nmod:5 nsubj:5 acl:relcl:2 case:3",
    ),
    "acl:relcl without a pronoun": (
        "(NP (NP (DT the) (NN cake)) (SBAR (S (NP (PRP they)) (VP (VBP bake)))))",
        "det:2 root:0 nsubj:4 acl:relcl:2",
    ),
    "acl:relcl with where": (
        "(NP (NP (DT the) (NN room)) (SBAR (WHADVP (WRB where)) (S (NP (PRP she)) (VP (VBZ works)))))",
        "det:2 root:0 advmod:5 nsubj:5 acl:relcl:2",
    ),
    "cc conj of nouns": (
        "(NP (NP (NNS cats)) (CC and) (NP (NNS dogs)))",
        "root:0 cc:1 conj:1",
    ),
    "flat nouns that share the last": (
        "(NP (NN bread) (CC and) (NN butter) (NN knife))",
        "compound:4 cc:1 conj:1 root:0",
    ),
    "two flat names": (
        "(NP (DT the) (JJ red) (NN phone) (NN book) (CC and) (NN tour) (NN guide))",
        "det:4 amod:4 compound:4 root:0 cc:4 compound:7 conj:4",
    ),
    "cc:preconj": (
        "(NP (DT both) (NN father) (CC and) (NN son))",
        "cc:preconj:2 root:0 cc:2 conj:2",
    ),
    "conj of verbs with an adverb between": (
        "(S (NP (PRP he)) (VP (VP (VBZ stops)) (CC and) (ADVP (RB then)) (VP (VBZ runs))))",
        "nsubj:2 root:0 cc:2 advmod:5 conj:2",
    ),
    "a list": (
        "(NP (NP (NNS eggs)) (, ,) (NP (NN milk)) (CC and) (NP (NN flour)))",
        "root:0 punct:1 conj:1 cc:1 conj:1",
    ),
    "joined prepositions": (
        "(S (NP (PRP he)) (VP (VBZ walks) (PP (TO to) (CC and) (IN from) (NP (NN school)))))",
        "nsubj:2 root:0 case:6 cc:3 conj:3 nmod:2",
    ),
    "nmod case": (
        "(NP (NP (DT a) (NN bird)) (PP (IN in) (NP (DT a) (NN tree))))",
        "det:2 root:0 case:5 det:5 nmod:2",
    ),
    "two prepositions": (
        "(S (NP (PRP she)) (VP (VBZ dives) (PP (IN down) (PP (IN into) (NP (DT the) (NN water))))))",
        "nsubj:2 root:0 case:6 case:6 det:6 nmod:2",
    ),
    "nmod:poss": (
        "(NP (NP (DT the) (NN girl) (POS 's)) (NN bike))",
        "det:2 nmod:poss:4 case:2 root:0",
    ),
    "nmod:poss of a pronoun": (
        "(NP (PRP$ his) (JJ old) (NN hat))",
        "nmod:poss:3 amod:3 root:0",
    ),
    "nmod:tmod": (
        "(S (NP (PRP they)) (VP (VBP train) (NP (DT every) (NN morning))))",
        "nsubj:2 root:0 det:4 nmod:tmod:2",
    ),
    "nmod:tmod by its label": (
        "(S (NP (PRP they)) (VP (VBP play) (NP-TMP (DT this) (NN time))))",
        "nsubj:2 root:0 det:4 nmod:tmod:2",
    ),
    "nmod:npmod": (
        "(S (NP (DT the) (NN tower)) (VP (VBZ is) (ADJP (NP (CD ten) (NNS metres)) (JJ high))))",
        "det:2 nsubj:6 cop:6 nummod:5 nmod:npmod:6 root:0",
    ),
    "nmod:npmod, oneself": (
        "(NP (NP (DT the) (NN king)) (NP (PRP himself)))",
        "det:2 root:0 nmod:npmod:2",
    ),
    "amod nummod": (
        "(NP (CD three) (JJ small) (NNS boats))",
        "nummod:3 amod:3 root:0",
    ),
    "nummod with more than": (
        "(NP (QP (JJR more) (IN than) (CD ten)) (NNS people))",
        "advmod:3 mwe:1 nummod:4 root:0",
    ),
    "compound": (
        "(NP (DT a) (NN kitchen) (NN table))",
        "det:3 compound:3 root:0",
    ),
    "det:predet": (
        "(NP (PDT all) (DT the) (NNS players))",
        "det:predet:3 det:3 root:0",
    ),
    "neg": (
        "(S (NP (PRP he)) (VP (VBZ does) (RB n't) (VP (VB move))))",
        "nsubj:4 aux:4 neg:4 root:0",
    ),
    "neg with no": (
        "(NP (DT no) (NNS shoes))",
        "neg:2 root:0",
    ),
    "advmod of an adjective": (
        "(S (NP (DT the) (NN soup)) (VP (VBZ is) (ADJP (RB very) (JJ hot))))",
        "det:2 nsubj:5 cop:5 advmod:5 root:0",
    ),
    "mwe, such as": (
        "(NP (NP (NNS fruits)) (PP (JJ such) (IN as) (NP (NNS apples))))",
        "root:0 case:4 mwe:2 nmod:1",
    ),
    "mwe, as well as": (
        "(NP (NP (NN salt)) (CONJP (RB as) (RB well) (IN as)) (NP (NN pepper)))",
        "root:0 cc:1 mwe:2 mwe:2 conj:1",
    ),
    "at most": (
        "(NP (QP (IN at) (JJS most) (CD five)) (NNS cars))",
        "case:2 nmod:npmod:3 nummod:4 root:0",
    ),
    "appos": (
        "(S (NP (NP (NN anna)) (, ,) (NP (PRP$ our) (NN captain)) (, ,)) (VP (VBZ leads)))",
        "nsubj:6 punct:1 nmod:poss:4 appos:1 punct:1 root:0",
    ),
    "csubj": (
        "(S (S (VP (VBG swimming))) (VP (VBZ takes) (NP (NN strength))))",
        "csubj:2 root:0 dobj:2",
    ),
    "parataxis": (
        "(S (S (NP (PRP he)) (VP (VBZ falls))) (: ;) (S (NP (PRP she)) (VP (VBZ laughs))))",
        "nsubj:2 root:0 punct:2 nsubj:5 parataxis:2",
    ),
    "discourse punct": (
        "(S (INTJ (UH oh)) (, ,) (NP (DT the) (NN cup)) (VP (VBZ breaks)) (. .))",
        "discourse:5 punct:5 det:4 nsubj:5 root:0 punct:5",
    ),
    "a question with a verb": (
        "(SBARQ (WHNP (WP what)) (SQ (VBZ does) (NP (PRP he)) (VP (VB eat))) (. ?))",
        "dobj:4 aux:4 nsubj:4 root:0 punct:4",
    ),
    "a question with be": (
        "(SBARQ (WHNP (WP who)) (SQ (VBZ is) (NP (DT the) (NN winner))))",
        "root:0 cop:1 det:4 nsubj:1",
    ),
    "the question word of an inner verb": (
        "(SBARQ (WHNP (WP what)) (SQ (VBZ does) (NP (PRP he)) (VP (VB try) (S (VP (TO to) (VP (VB say)))))))",
        "dobj:6 aux:4 nsubj:4 root:0 mark:6 xcomp:4",
    ),
    "yes or no": (
        "(SQ (VBZ is) (NP (PRP she)) (VP (VBG waving)))",
        "aux:3 nsubj:3 root:0",
    ),
    "inverted": (
        "(SINV (PP (IN behind) (NP (DT the) (NN door))) (VP (VBZ stands)) (NP (DT a) (NN dog)))",
        "case:3 det:3 nmod:4 root:0 det:6 nsubj:4",
    ),
    "dep where nothing fits": (
        "(NP (NP (DT a) (NN man)) (S (VP (VBG running))))",
        "det:2 root:0 dep:2",
    ),
    "a fragment": (
        "(FRAG (ADVP (RB then)) (NP (DT the) (NN end)))",
        "dep:3 det:3 root:0",
    ),
    "joined unlike things": (
        "(S (NP (PRP it)) (VP (VBZ is) (UCP (ADJP (JJ old)) (CC and) (PP (IN on) (NP (NN sale))))))",
        "nsubj:3 cop:3 root:0 cc:3 case:6 conj:3",
    ),
    "a date": (
        "(NP (NP (NNP May)) (NP (CD 1990)))",
        "root:0 nummod:1",
    ),
    "the day after": (
        "(NP (NP (DT the) (NN day)) (SBAR (IN after) (S (NP (PRP they)) (VP (VBD left)))))",
        "det:2 root:0 mark:5 nsubj:5 acl:2",
    ),
    "become": (
        "(S (NP (PRP he)) (VP (VBZ becomes) (NP (DT a) (NN father))))",
        "nsubj:2 root:0 det:4 xcomp:2",
    ),
    "so that": (
        "(S (NP (PRP he)) (VP (VBZ kneels) (SBAR (IN so) (IN that) (S (NP (PRP she)) (VP (VBZ sees))))))",
        "nsubj:2 root:0 mark:6 mwe:3 nsubj:6 advcl:2",
    ),
    "told when": (
        "(S (NP (PRP he)) (VP (VBZ asks) (SBAR (WHADVP (WRB when)) (S (NP (DT the) (NN show)) (VP (VBZ begins))))))",
        "nsubj:2 root:0 advmod:6 det:5 nsubj:6 ccomp:2",
    ),
    "of one noun phrase in another": (
        "(S (NP (PRP he)) (VP (VBZ hands) (NP (NP (DT the) (NN boy)) (NP (DT a) (NN kite)))))",
        "nsubj:2 root:0 det:4 dobj:2 det:6 dep:4",
    ),
}


def arcs(tree):
    heads, names = depend(*read_trees(f"(ROOT {tree})"))
    return " ".join(f"{name}:{head}" for head, name in zip(heads, names, strict=True))


@pytest.mark.parametrize("says", TREES)
def test_relation(says):
    tree, wanted = TREES[says]
    assert arcs(tree) == wanted


def test_every_relation_that_captions_have_is_shown():
    shown = {name.rpartition(":")[0] for _, wanted in TREES.values() for name in wanted.split()}
    assert len(shown) == 38


def test_brackets_are_read_in_pre_order():
    assert read_trees("(ROOT (NP (DT a) (NN dog)))") == (["ROOT", "NP", "DT", "NN"], [0, 0, 1, 1], ["a", "dog"])


def test_a_single_word():
    assert depend(["ROOT", "NN"], [0, 0], ["dog"]) == ([0], ["root"])


def test_words_are_compared_without_case_but_where_the_original_does_not():
    assert arcs("(S (NP (PRP He)) (VP (VBZ IS) (ADJP (JJ tall))))") == "nsubj:3 cop:3 root:0"
    joined = "(S (NP (PRP he)) (VP (VP (VBZ stops)) (CC and) (RB {}) (VP (VBZ runs))))"
    assert arcs(joined.format("then")) == "nsubj:2 root:0 cc:2 advmod:5 conj:2"
    assert arcs(joined.format("Then")) == "nsubj:2 root:0 cc:2 advmod:2 dep:2"


def test_the_place_of_the_sentence_can_decide():
    """Two nouns before a stranded preposition: the original's hash table chooses, which the sentence's number turns."""
    tree = "(ROOT (S (NP (PRP he)) (VP (VBZ sits) {} (PP (IN in) (NP (NN hat))) (PP (IN on)))))"
    tree = tree.format("(PP (IN at) (NP (NN sea)))")
    found = {depend(*read_trees(tree), sentence)[0][-1] for sentence in range(8)}
    assert found == {4, 6}


LABELS = "S VP NP PP SBAR ADJP ADVP SQ SBARQ SINV FRAG PRN UCP NX WHNP WHADVP CONJP QP RRC INTJ NP-TMP X".split()
ODD = "CC/and ,/, IN/that RB/not TO/to VBZ/is WRB/when EX/there DT/both CD/2 $/$ POS/'s FW/etc :/; JJS/least".split()


@pytest.mark.parametrize("seed", range(20))
def test_any_tree_of_phrases_gives_a_tree_of_words(seed):
    rng = random.Random(seed)
    for tree, _ in TREES.values():
        label, parent, words = read_trees(f"(ROOT {tree})")
        tags = [k for k in range(len(label)) if k not in parent]
        for k in rng.sample(range(1, len(label)), min(4, len(label) - 1)):
            if k in tags:
                label[k], words[tags.index(k)] = rng.choice(ODD).split("/")
            else:
                label[k] = rng.choice(LABELS)
        heads, names = depend(label, parent, words)
        assert names.count("root") == 1
        for k in range(len(words)):
            seen = set()
            while k >= 0:
                assert k not in seen
                seen.add(k)
                k = heads[k] - 1


def test_the_teachers_trees_give_its_dependencies_graphs_and_tuples():
    some = rows("corenlp_captions/captions.jsonl.gz")[::20]
    assert len(some) > 1000
    for row in some:
        found = []
        for sentence, s in enumerate(row["sentences"]):
            label, parent, words = read_trees(s["tree"])
            heads, names = depend(label, parent, words, sentence)
            got = {(name, str(head), str(k + 1)) for k, (head, name) in enumerate(zip(heads, names, strict=True))}
            assert got == {tuple(arc) for arc in s["basic"]}, s["tree"]
            tokens = [Token(word, t[1], lemma(word, t[1])) for word, t in zip(words, s["tokens"], strict=True)]
            edges, copies = collapse(tokens, heads, names, sentence)
            assert Counter(edges) == Counter(numbered(s["ccproc"], copies, len(tokens))), s["tree"]
            found += tuples(Graph(tokens, edges, copies, sentence))
        assert found == [tuple(t) for t in row["proposed"]], row["text"]


def numbered(edges, copies, n):
    """The teacher's edges with copies as n + k instead of 3'1."""
    number = {f"{word}'{copies[: k + 1].count(word)}": n + 1 + k for k, word in enumerate(copies)}
    return [(label, *(number[k] if k in number else int(k) for k in (head, child))) for label, head, child in edges]
