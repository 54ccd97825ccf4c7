"""The language of conditions on trees: each step, each question, and that the rules' texts are read to the end."""

import pytest

from fabula.text.spice.depend import RULES, read_trees
from fabula.text.spice.heads import Phrases
from fabula.text.spice.labels import LABELS, find_labels
from fabula.text.spice.patterns import Reader, find_nodes, settle
from fabula.text.spice.relations import FAR, NAMED, read_rules
from fabula.text.spice.reshape import Tree

TREE = "(S (PP (IN In) (NP (NN may))) (, ,) (NP (PRP he)) (VP (VBZ is) (VP (VBG riding) (NP (DT a) (NN horse)))))"
NODE = {"PP": 1, ",": 5, "NP": 6, "VP": 8}  # children of S by label; the VP's verb is 9, the inner VP 10


def phrases():
    return Phrases(Tree(*read_trees(TREE)))


@pytest.mark.parametrize(
    ("condition", "holds"),
    {
        "c/NP": "PP",
        "c/(NN PRP)": "NP",
        "c/{VP}NP": "PP VP",
        "c/{_}noun": "PP VP",
        "c<comma": "NP",
        "c<<PP": ", NP VP",
        "c<<PP~comma": ",",
        "c>>VP~NP": "NP",
        "c>_": "PP , NP",
        "c^S": "PP , NP VP",
        "t/VP/verb:be & c=NP": "NP",
        "c/IN'in'": "PP",
        'c/IN"in"': "",
        'c/IN"I*"': "PP",
        "c.first | c.last": "PP VP",
        "!c.head & !c=comma": "PP NP",
        "c/NP.time": "PP",
        "c%>NN": "PP VP",
        "c%^VBG": "VP",
        "c%<IN": "PP",
        "c=VP[/VP[@to | /VBG>NP]]": "VP",
        "c/_.only": "NP",
        "c=(_ but PP VP)": ", NP",
        "": "PP , NP VP",
    }.items(),
)
def test_a_condition_holds_for_these_children(condition, holds):
    g = phrases()
    found = Reader(condition, NAMED).condition()
    assert " ".join(label for label, node in NODE.items() if found.test(g, node)) == holds
    for node in NODE.values():
        settled = settle(found, g, node)
        assert (settled if isinstance(settled, bool) else settled(g, node)) == found.test(g, node)


def test_a_path_leads_to_nodes_in_the_order_of_the_tree():
    assert find_nodes("/_[!<<NP]/_", NAMED)(phrases(), 0) == [2, 3, 7]


def test_what_labels_decide_is_settled():
    g = phrases()
    assert settle(Reader("c<comma & c/EX | c>>VP", NAMED).condition(), g, 6) is True
    assert settle(Reader("c<NP & c/EX", NAMED).condition(), g, 6) is False
    assert callable(settle(Reader("c<comma & c/EX", NAMED).condition(), g, 6))


def test_every_text_of_the_rules_is_read_to_its_end():
    texts = [condition for _, _, _, condition in RULES] + list(NAMED.values())
    for text in texts:
        reader = Reader(text, NAMED)
        reader.condition()
        assert "".join(reader.tokens) == "".join(text.split()) or "'" in text or '"' in text, text
        assert reader.at == len(reader.tokens) - 1, text
    for _, _, _, path in read_rules(FAR):
        reader = Reader(path, NAMED)
        reader.asked(0), reader.steps(0)
        assert reader.at == len(reader.tokens) - 1, path


def test_rules_speak_of_known_labels():
    for name, phrases, children, _ in RULES:
        assert phrases <= LABELS and children <= LABELS, name
    assert find_labels("np but NP-TMP") == {"NP"}
    assert find_labels("WHP* V*G") == {"WHPP", "WHPP-TMP", "VBG"}
