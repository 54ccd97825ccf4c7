"""A phrase-structure tree → basic dependencies (Universal Dependencies 1, as CoreNLP 3.6 makes them for SPICE).

    (S (NP (DT a) (NN man)) (VP (VBZ rides) (NP (NN horse))))  →  rides →nsubj man, man →det a, rides →dobj horse

The tree is reshaped (reshape.py), every phrase gets a head (heads.py), and every other child depends on that head by
the relation that the rules find (rules_*.py), or by `dep`. Numbers and strings in lists throughout; what depends on
labels alone is remembered between sentences.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.text.spice import (  # noqa: F401  (they register their rules)
    rules_argument,
    rules_clause,
    rules_far,
    rules_phrase,
    rules_verb,
)
from fabula.text.spice.graph import table_size
from fabula.text.spice.heads import CONTROL, Phrases
from fabula.text.spice.lemma import lemma
from fabula.text.spice.reshape import Tree, reshape
from fabula.text.spice.rules import BY_LABELS, JOINING, relation, rules_for, searches_for, stronger


def depend(
    label: Sequence[str], parent: Sequence[int], words: Sequence[str], sentence: int = 0
) -> tuple[list[int], list[str]]:
    """Heads (1 … n, 0 for the root) and relations of the words; the tree as in reshape.py.

    `sentence`: which one of its caption, from 0. It moves the places in the original's hash tables.
    """
    tree = Tree(label, parent, words)
    tags = [tree.label[k] for k in tree.tags]
    reshape(tree)
    g = Phrases(tree)
    governor, name = attach(g)
    place = [0] * len(g.label)
    for at, k in enumerate(tree.tags):
        place[k] = at + 1
    for node in reversed(g.order):
        place[node] = place[g.head[node]]
    heads, names = [0] * len(words), ["dep"] * len(words)
    for node, above in governor.items():
        heads[place[node] - 1] = place[above]
        names[place[node] - 1] = name[node]
    names[place[0] - 1] = "root"
    correct(heads, names, words, tags, 29 * sentence)
    return heads, names


def attach(g: Phrases) -> tuple[dict[int, int], dict[int, str]]:
    """Who governs each phrase that is not the head of another, and how."""
    label, kids, head, high, names_of = g.label, g.kids, g.head, g.high, g.names
    governor: dict[int, int] = {}
    names: dict[int, str] = {}
    crossed = False
    searching = searches_for(g).get
    foreign = "FW" in label
    for t in g.order:
        up = high[t]
        searches = searching(label[t])
        if searches is not None:
            for name, find in searches:
                for node in find(g, t):
                    u = high[node]
                    if not u or u == up or governor.get(u, up) != up or governs(governor, u, up):  # 0: the root
                        continue
                    names[u] = stronger(names[u], name) if u in governor else name
                    governor[u] = up
                    crossed = crossed or g.parent[node] == g.parent[t] or g.parent[t] == node or node < t
        own = kids[t]
        if len(own) > 1:
            h = head[t]
            key = label[t], foreign or not JOINING.isdisjoint(names_of[t])
            rules_of = BY_LABELS.get(key)
            if rules_of is None:
                BY_LABELS[key] = rules_of = {}
            for c in own:
                if c == h:
                    continue
                known = governor.get(c)
                if known is not None and known != up:
                    continue
                rules = rules_of.get(label[c])
                if rules is None:
                    rules_of[label[c]] = rules = rules_for(*key, label[c])
                found = relation(g, t, c, rules)
                if found and not (crossed and governs(governor, c, up)):
                    names[c] = found if known is None else stronger(names[c], found)
                    governor[c] = up
    attach_rest(g, governor, names)
    return governor, names


def governs(governor: dict[int, int], node: int, other: int) -> bool:
    while other in governor:
        other = governor[other]
        if other == node:
            return True
    return False


def attach_rest(g: Phrases, governor: dict[int, int], names: dict[int, str]) -> None:
    """What no relation reached depends on the head above it by `dep`."""
    for t in g.order:
        own = g.kids[t]
        if len(own) > 1:
            for c in own:
                if c != g.head[t] and c not in governor:
                    governor[c] = g.high[t]
                    names[c] = "dep"


def correct(heads: list[int], names: list[str], words: Sequence[str], tags: Sequence[str], shift: int) -> None:
    """Question words that belong to a verb further down, stranded prepositions, subjects of passives."""
    if "xcomp" in names and any(tag.startswith("W") for tag in tags):
        move_question_word(heads, names, words, tags, shift)
    if "prep" in names or "rel" in names:
        place_prepositions(heads, names, shift)
    if "auxpass" in names:
        passive = {heads[k] for k, name in enumerate(names) if name == "auxpass"}
        for k, name in enumerate(names):
            if name in ("nsubj", "csubj") and heads[k] in passive:
                names[k] = name + "pass"


def kids_of(heads: list[int], verb: int, shift: int) -> list[int]:
    """The children of a word in the order of the original's hash table, which decides between several."""
    kids = [k for k, head in enumerate(heads) if head == verb]
    size = table_size(len(kids)) - 1
    return sorted(kids, key=lambda k: ((k + 1 + shift) & size, k))


def move_question_word(
    heads: list[int], names: list[str], words: Sequence[str], tags: Sequence[str], shift: int
) -> None:
    """ "what he wants to eat": eat →dobj what."""
    old, was = list(heads), list(names)
    for verb in {heads[k] for k, name in enumerate(names) if name == "xcomp"}:
        kids = kids_of(old, verb, shift)
        inside = next(k for k in kids if was[k] == "xcomp")
        question = next((k for k in kids if was[k] in ("dep", "dobj")), -1)
        if question < 0 or not tags[question].startswith("W"):
            continue
        other = any(was[k] in ("dobj", "iobj") for k in kids)
        if other or lemma(words[verb - 1], tags[verb - 1]).lower() in CONTROL:
            heads[question], names[question] = inside + 1, "dobj"


def place_prepositions(heads: list[int], names: list[str], shift: int) -> None:
    """ "the man he works for": the preposition belongs to what stands before."""
    for verb in sorted({heads[k] for k, name in enumerate(names) if name == "prep"}):
        kids = kids_of(heads, verb, shift)
        for prep in [k for k in kids if names[k] == "prep"]:
            names[prep] = "nmod"
            for k in kids:
                if k < prep and heads[k] == verb and names[k] in ("nmod", "rel"):
                    heads[prep], names[prep], names[k] = k + 1, "case", "nmod"
                    break
    for k, name in enumerate(names):
        if name == "rel":
            names[k] = "dobj"


# --- brackets -------------------------------------------------------------------------------------------------------


def read_trees(text: str) -> tuple[list[str], list[int], list[str]]:
    """Labels, parents and words of a tree in brackets: (ROOT (NP (DT a) (NN man)))."""
    label: list[str] = []
    parent: list[int] = []
    words: list[str] = []
    open_: list[int] = []
    for token in text.replace("(", " ( ").replace(")", " ) ").split(" "):  # a word may have other blanks in it
        if not token:
            continue
        if token == "(":
            parent.append(open_[-1] if open_ else 0)
            open_.append(len(label))
            label.append("")
        elif token == ")":
            open_.pop()
        elif label[open_[-1]]:
            words.append(token)
        else:
            label[open_[-1]] = token
    return label, parent, words
