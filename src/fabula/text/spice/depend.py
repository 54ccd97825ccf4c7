"""A phrase-structure tree → basic dependencies (Universal Dependencies 1, as CoreNLP 3.6 makes them for SPICE).

    (S (NP (DT a) (NN man)) (VP (VBZ rides) (NP (NN horse))))  →  rides →nsubj man, man →det a, rides →dobj horse

The tree is reshaped (reshape.py), every phrase gets a head (heads.py), and every other child depends on that head by
the relation that the rules find (relations.py), or by `dep`. Numbers and strings in lists throughout; what depends on
labels alone is remembered between sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from operator import itemgetter, or_

from fabula.text.spice.graph import table_size
from fabula.text.spice.heads import BITS, CONTROL, Phrases, remember
from fabula.text.spice.labels import find_labels
from fabula.text.spice.lemma import lemma
from fabula.text.spice.patterns import Condition, Reader, Test, Walk, find_nodes, settle
from fabula.text.spice.relations import ARGUMENTS, CLAUSES, FAR, NAMED, PHRASES, VERBS, read_rules
from fabula.text.spice.reshape import reshape
from fabula.text.spice.tree import Tree

RULES = [
    (name, phrases, find_labels(child), condition)
    for name, phrases, child, condition in read_rules(ARGUMENTS + CLAUSES + PHRASES + VERBS)
]
SEARCHES = [(needs, phrases, name, find_nodes(path, NAMED)) for name, phrases, needs, path in read_rules(FAR)]
SUBTYPES = {
    "aux": ("auxpass", "cop"),
    "nsubj": ("nsubjpass",),
    "csubj": ("csubjpass",),
    "nmod": ("nmod:tmod",),
    "advmod": ("neg",),
}
NEEDED = frozenset(needs for needs, *_ in SEARCHES)
CONDITIONS = " ".join([*[text for *_, text in RULES], *NAMED.values()])
TESTED = reduce(or_, [bit for name, bit in BITS.items() if f":{name}" in CONDITIONS])  # classes of words
Rule = tuple[str, Test | None]  # a relation, and what is left of its condition
Rules = list[tuple[str, Test | None, list[Rule]]]  # with subtypes
Settled = list[tuple[int, str, Rules]]  # the place of a child, its relation if that is certain, what may hold
SETTLED: dict[tuple[object, ...], Settled] = {}  # by what `settle` looks at


def depend(
    label: Sequence[str], parent: Sequence[int], words: Sequence[str], sentence: int = 0
) -> tuple[list[int], list[str]]:
    """Heads (1 … n, 0 for the root) and relations of the words; the tree as in tree.py.

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


@cache
def searches_for(have: frozenset[str]) -> dict[str, list[tuple[str, Walk]]]:
    """By label: what is worth looking for in a tree that has these labels."""
    found: dict[str, list[tuple[str, Walk]]] = {}
    for needs, phrases, name, walk in SEARCHES:
        for label in phrases if needs in have else ():
            found.setdefault(label, []).append((name, walk))
    return found


@cache
def read_condition(text: str) -> Condition:
    return Reader(text, NAMED).condition()


@cache
def rules_for(phrase: str, child: str) -> list[tuple[str, Condition]]:
    """Relations with their conditions, in the order in which they count."""
    found = [(name, text) for name, phrases, children, text in RULES if phrase in phrases and child in children]
    return [(name, read_condition(text)) for name, text in sorted(found, key=itemgetter(0))]


def settle_rules(g: Phrases, t: int) -> Settled:
    """What may hold for the children of phrases like this one."""
    settled: Settled = []
    for c in g.kids[t]:
        found = [(name, settle(condition, g, c)) for name, condition in rules_for(g.label[t], g.label[c])]
        rules = [(name, test if callable(test) else None) for name, test in found if test is not False]
        if rules and c != g.head[t]:
            with_subtypes = [(*rule, [sub for sub in rules if sub[0] in SUBTYPES.get(rule[0], ())]) for rule in rules]
            name, test, subtypes = with_subtypes[0]
            settled.append((g.at[c], name if test is None and not subtypes else "", with_subtypes))
    return settled


def relation(g: Phrases, c: int, rules: Rules) -> str:
    for name, test, subtypes in rules:
        if test is None or test(g, c):
            for sub, narrower in subtypes:
                if narrower is None or narrower(g, c):
                    return sub
            return name
    return ""


def stronger(a: str, b: str) -> str:
    """Of two relations that both hold."""
    a, b = sorted((a, b))
    return b if not a or b in SUBTYPES.get(a, ()) else a


def attach(g: Phrases) -> tuple[dict[int, int], dict[int, str]]:
    """Who governs each phrase that is not the head of another, and how."""
    label, kids, head, at, mask, labels_of = g.label, g.kids, g.head, g.at, g.mask, g.names
    governor: dict[int, int] = {}
    names: dict[int, str] = {}
    crossed = False
    searches = searches_for(NEEDED.intersection(label))
    for t in g.order:
        up = g.high[t]
        for name, walk in searches.get(label[t], ()):
            for node in walk(g, t):
                u = g.high[node]
                if not u or u == up or governor.get(u, up) != up or governs(governor, u, up):  # 0: the root
                    continue
                names[u] = stronger(names[u], name) if u in governor else name
                governor[u] = up
                crossed = crossed or g.parent[node] == g.parent[t] or g.parent[t] == node or node < t
        own = kids[t]
        if len(own) < 2:
            continue
        key = (label[t], labels_of[t], at[head[t]], *[mask[k] & TESTED for k in own])
        settled = SETTLED.get(key)
        if settled is None:
            settled = settle_rules(g, t)
            remember(SETTLED, key, settled, 20_000)
        for place, certain, rules in settled:
            c = own[place]
            known = governor.get(c)
            if known is None or known == up:
                found = certain or relation(g, c, rules)
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
