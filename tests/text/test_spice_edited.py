"""Trees that no caption has: those of test_spice_depend.py with labels, words and branches exchanged at random.

The first 358 were kept because each takes a way through the rules that those before it do not; the rest as they came.
The answers beside them (edited_trees.tsv: tree, relation:head of each word, tuples) are no teacher's: they are what
rules gave that agree with the teacher's captions (test_spice_depend.py), and they show what else a change of a rule
moves. A change that is meant is written down by python tests/text/test_spice_edited.py.
"""

from pathlib import Path

import pytest

from fabula.text.spice.collapse import collapse
from fabula.text.spice.depend import depend, read_trees
from fabula.text.spice.graph import Graph, Token, tuples
from fabula.text.spice.lemma import lemma

FILE = Path(__file__).with_name("edited_trees.tsv")
LINES = [line.split("\t") for line in FILE.read_text(encoding="utf-8").splitlines()]


def answer(tree: str) -> list[str]:
    label, parent, words = read_trees(f"(ROOT {tree})")
    heads, names = depend(label, parent, words)
    tags = [name for k, name in enumerate(label) if k not in parent]
    tokens = [Token(word, tag, lemma(word, tag)) for word, tag in zip(words, tags, strict=True)]
    found = tuples(Graph(tokens, *collapse(tokens, heads, names)))
    arcs = " ".join(f"{name}:{head}" for head, name in zip(heads, names, strict=True))
    return [arcs, " ".join("/".join(t) for t in found)]


@pytest.mark.parametrize("part", range(8))
def test_edited_trees(part):
    for tree, *wanted in LINES[part::8]:
        assert answer(tree) == wanted, tree


if __name__ == "__main__":
    FILE.write_text("".join("\t".join([tree, *answer(tree)]) + "\n" for tree, *_ in LINES), encoding="utf-8")
