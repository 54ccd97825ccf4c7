"""From a dependency graph to scene-graph tuples (SPICE: Anderson et al., ECCV 2016; Schuster et al., 2015).

    "a young girl is standing on a table"  →  (girl, young) (girl, table, stand on) (girl) (table)

In this order, per sentence: quantifying phrases give their place to the noun ("a couple of dogs" → dogs), pronouns
become the noun that they probably stand for, then fifteen rules propose tuples. A tuple is (object,), (object,
attribute) or (subject, object, relation); a tuple may be proposed twice. All words are lemmas in lower case.

Where several words match a rule, the original goes through its graph in an order that a hash table decides. That
order is reproduced: words are visited parents first (reverse post-order of a depth-first walk), children by `position
% 16`.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Tuple = tuple[str, ...]
Edge = tuple[str, int, int]  # label, head, child; head 0 is the root

NOUN = frozenset(["NN", "NNS", "NNP", "NNPS"])
SINGULAR_NOUN = frozenset(["NN", "NNP"])
PLURAL_NOUN = frozenset(["NNS", "NNPS"])
PRONOUN = frozenset(["PRP", "PRP$"])
ADJECTIVE = frozenset(["JJ", "JJR", "JJS"])
SINGULAR = frozenset("i me my mine he she it him her his hers its one himself herself itself myself".split())

OF_A = frozenset(
    "lot assortment number couple bunch handful litany sheaf slew dozen series variety multitude wad clutch wave "
    "mountain array spate string ton range plethora heap sort form kind type version bit pair triple total".split()
)
OF_MANY = re.compile(
    r"lots|many|several|plenty|tons|dozens|multitudes|mountains|loads|pairs|tens|hundreds|thousands|millions|billions|trillions|[0-9]+s"
)
OF_THE = re.compile(
    r"some|all|both|neither|everyone|nobody|one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|million|billion|"
    r"trillion|[0-9]+"
)


class Token(NamedTuple):
    """A word with its tag and lemma."""

    word: str
    tag: str
    lemma: str


def hash_order(kids: Sequence[int], positions: Sequence[int], shift: int) -> Callable[[int], tuple[int, int]]:
    """The order of a small hash table of as many words."""
    size = 16
    while len(kids) > size * 0.75:
        size *= 2
    place = dict(zip(kids, positions, strict=True))
    return lambda kid: ((place[kid] + shift) & (size - 1), kid)


class Graph:
    """Words 1 … n and copies of words, with labelled edges; children in the order in which the rules see them."""

    __slots__ = ("heads", "kids", "lemma", "position", "tag", "word")

    def __init__(self, tokens: Sequence[Token], edges: Iterable[Edge], copies: Sequence[int] = ()) -> None:
        """Node n + k is a copy of word copies[k−1]."""
        n = len(tokens)
        self.position = [*range(n + 1), *copies]
        self.word = ["", *(t.word.lower() for t in tokens)]
        self.tag = ["", *(t.tag for t in tokens)]
        self.lemma = ["", *(t.lemma.strip().lower() for t in tokens)]
        for k in copies:
            self.word.append(self.word[k])
            self.tag.append(self.tag[k])
            self.lemma.append(self.lemma[k])
        N = n + 1 + len(copies)
        self.kids: list[list[tuple[str, int]]] = [[] for _ in range(N)]
        self.heads: list[list[tuple[str, int]]] = [[] for _ in range(N)]
        for label, head, child in edges:
            self.kids[head].append((label, child))
            self.heads[child].append((label, head))
        for kids in self.kids:
            if len(kids) > 1:
                self.sort(kids)

    def sort(self, kids: list[tuple[str, int]]) -> None:
        """The order of a small hash table of as many entries."""
        size = 16
        while len(kids) > size * 0.75:
            size *= 2
        kids.sort(key=lambda kid: (self.position[kid[1]] & (size - 1), kid[1]))

    def add(self, label: str, head: int, child: int) -> None:
        """Two edges may be alike."""
        self.kids[head].append((label, child))
        self.sort(self.kids[head])
        self.heads[child].append((label, head))

    def remove(self, label: str, head: int, child: int) -> None:
        self.kids[head].remove((label, child))
        self.heads[child].remove((label, head))

    def child(self, node: int, label: str) -> int:
        """The first child under this label, or 0."""
        for name, kid in self.kids[node]:
            if name == label:
                return kid
        return 0

    def order(self) -> list[int]:
        """Parents before children; in the order of the sentence where the graph has a cycle."""
        done: list[int] = []
        state = [0] * len(self.kids)  # 0 new, 1 open, 2 done
        starts = [k for k in range(1, len(self.kids)) if self.kids[k] or self.heads[k]]
        starts.sort(key=lambda k: (self.position[k], k))
        for start in starts:
            if state[start]:
                continue
            stack = [(start, iter(self.kids[start]))]
            state[start] = 1
            while stack:
                node, kids = stack[-1]
                for _, kid in kids:
                    if state[kid] == 0:
                        state[kid] = 1
                        stack.append((kid, iter(self.kids[kid])))
                        break
                    if state[kid] == 1:
                        return starts
                else:
                    state[node] = 2
                    done.append(node)
                    stack.pop()
        return done[::-1]


def tuples(graph: Graph) -> list[Tuple]:
    """All steps on one sentence's graph, which is changed."""
    promote_quantified(graph)
    resolve_pronouns(graph)
    return propose(graph)


# --- quantifiers and pronouns ---------------------------------------------------------------------------------------


def promote_quantified(g: Graph) -> None:
    """ "a couple of dogs" → dogs, with `a` as its det:qmod and `couple`, `of` as parts of it."""
    if "of" not in g.word:
        return
    found = []
    for q in g.order():
        for label, noun in g.kids[q]:
            if not label.startswith("nmod"):
                continue
            of = next((k for name, k in g.kids[noun] if name == "case" and g.word[k] == "of"), 0)
            if not of or of != q + 1:
                continue
            if (words := quantifier(g, q, noun, of)) is not None:
                found.append((q, noun, of, words))
    for q, noun, of, words in found:
        if not g.heads[q]:
            return
        label, head = g.heads[q][0]
        nmod = next((name for name, k in g.kids[q] if k == noun), None)
        if nmod is None:
            continue
        g.remove(nmod, q, noun)
        g.remove("case", noun, of)
        for name, parent in list(g.heads[q]):
            g.remove(name, parent, q)
        g.add(label, head, noun)
        for name, kid in list(g.kids[q]):
            if kid in words:
                g.remove(name, q, kid)
        g.add("det:qmod", noun, words[0])
        for part in [*words[1:], of]:
            g.add("mwe", words[0], part)


def quantifier(g: Graph, q: int, noun: int, of: int) -> list[int] | None:
    """The words of the quantifier that stands before `of`, or None."""
    word = g.word[q]
    if word in OF_A:
        for label, det in g.kids[q]:
            if label == "det" and g.word[det] in ("a", "an"):
                return [det, *range(det + 1, q + 1)] if det < q else None
    if OF_MANY.fullmatch(word) or (OF_THE.fullmatch(word) and (g.child(noun, "det") or g.tag[noun] in PRONOUN)):
        return [*sorted(k for label, k in g.kids[q] if k < q), q]
    return None


def resolve_pronouns(g: Graph) -> None:
    """Each pronoun gives its edges to its antecedent, if that comes before it."""
    pronouns = [k for k in range(2, len(g.tag)) if g.tag[k] in PRONOUN]
    for k in pronouns:
        if not g.heads[k] or g.position[k] < 2:
            continue
        root = g.kids[0][0][1] if g.kids[0] else 0
        found = antecedent(g, root, SINGULAR_NOUN if g.word[k] in SINGULAR else NOUN)
        if not found or g.position[found] >= g.position[k]:
            continue
        for label, head in list(g.heads[k]):
            g.remove(label, head, k)
            g.add(label, head, found)
        for label, kid in list(g.kids[k]):
            g.remove(label, k, kid)
            g.add(label, found, kid)


def antecedent(g: Graph, start: int, wanted: frozenset[str]) -> int:
    """The first noun met breadth first."""
    seen, queue = {start}, [start]
    for node in queue:
        if g.tag[node] in wanted:
            return node
        for kid in sorted({kid for _, kid in g.kids[node]} - seen, key=g.position.__getitem__):
            seen.add(kid)
            queue.append(kid)
    return 0


# --- the fifteen rules ----------------------------------------------------------------------------------------------


def propose(g: Graph) -> list[Tuple]:
    """The rules in their order."""
    tag, lemma, kids = g.tag, g.lemma, g.kids
    order = g.order()
    out: list[Tuple] = []

    # 1, 2: subject, predicate, object; the subject may be what a clause describes
    for node in order:
        subjects = [k for label, k in kids[node] if label == "nsubj" and tag[k] in NOUN]
        if subjects and not g.child(node, "cop"):
            objects = objects_of(g, node)
            for subject in subjects:
                for label, obj in objects:
                    out.append((lemma[subject], lemma[obj], predicate(g, node, label)))
    for node in order:
        for name, verb in kids[node]:
            if name == "acl":
                for label, obj in objects_of(g, verb):
                    out.append((lemma[node], lemma[obj], predicate(g, verb, label)))
    # 3, 4: no object; without and with a copula
    for copular in (False, True):
        for node in order:
            if not any(label == "nsubj" for label, _ in kids[node]) or bool(g.child(node, "cop")) != copular:
                continue
            if not copular and objects_of(g, node):
                continue
            for label, subject in kids[node]:
                if label == "nsubj" and tag[subject] in NOUN:
                    if case := g.child(node, "case"):
                        parts = [lemma[case], *(lemma[k] for name, k in kids[case] if name == "mwe")]
                        out.append((lemma[subject], lemma[node], " ".join(parts)))
                    elif lemma[node] != "be":
                        out.append((lemma[subject], lemma[node]))
    # 5, 6: adjectives
    for node in order:
        for label, kid in kids[node]:
            if label == "amod":
                out.append((lemma[node], lemma[kid]))
    for node in order:
        if tag[node] in ADJECTIVE:
            for label, kid in kids[node]:
                if label == "nsubj":
                    out.append((lemma[kid], lemma[node]))
    # 7, 8: noun and noun
    for node in order:
        if tag[node] in NOUN:
            for label, kid in kids[node]:
                if label.startswith("nmod:") and label not in ("nmod:poss", "nmod:agent"):
                    out.append((lemma[node], lemma[kid], label[5:].replace("_", " ")))
    for node in order:
        if tag[node] in NOUN:
            for label, kid in kids[node]:
                if label == "nmod:poss" and tag[kid] in NOUN:
                    out.append((lemma[kid], lemma[node], "have"))
    # 9: by whom
    for node in order:
        for label, agent in kids[node]:
            if label == "nmod:agent" and tag[agent] in NOUN:
                for name, patient in kids[node]:
                    if name == "nsubjpass" and tag[patient] in NOUN:
                        out.append((lemma[agent], lemma[patient], predicate(g, node, "")))
    # 10–12: how many
    of_plural = set()
    for node in order:
        if tag[node] in PLURAL_NOUN:
            for label, pred in g.heads[node]:
                if label == "nsubj" and (found := plural_objects(g, pred)):
                    out += counted(g, node) + counted(g, found[0], False)
                    break
    for node in order:
        if tag[node] in PLURAL_NOUN:
            for label, pred in g.heads[node]:
                if label == "root" or (label == "nsubj" and not plural_objects(g, pred)):
                    out += counted(g, node)
                    break
    for node in order:
        if any(label == "nsubj" and tag[k] in PLURAL_NOUN for label, k in kids[node]):
            of_plural.update(plural_objects(g, node))
    for node in order:
        governed = any(label in ("nsubj", "root") for label, _ in g.heads[node])
        if tag[node] in PLURAL_NOUN and node not in of_plural and not governed:
            out += counted(g, node)
    # 13, 15: compounds and objects
    compound: set[int] = set()
    for node in order:
        if tag[node] in NOUN:
            for label, kid in kids[node]:
                if label == "compound" and tag[kid] in NOUN:
                    out.append((lemma[node], lemma[kid]))
                    compound.update((node, kid))
    out += [(lemma[node],) for node in order if tag[node] in NOUN and node not in compound]
    return out


def objects_of(g: Graph, node: int) -> list[tuple[str, int]]:
    return [
        (label, k)
        for label, k in g.kids[node]
        if g.tag[k] in NOUN and (label in ("dobj", "iobj") or label.startswith("nmod:"))
    ]


def plural_objects(g: Graph, node: int) -> list[int]:
    return [k for _, k in objects_of(g, node) if g.tag[k] in PLURAL_NOUN]


def counted(g: Graph, noun: int, quantified: bool = True) -> list[Tuple]:
    """(noun, number) where a number stands before it, or else a quantifier."""
    number = next((k for label, k in g.kids[noun] if label == "nummod" and g.position[k] < g.position[noun]), 0)
    if quantified:
        number = number or g.child(noun, "det:qmod")
    return [(g.lemma[noun], g.lemma[number])] if number else []


def predicate(g: Graph, node: int, label: str) -> str:
    """The verb's lemma, its particle, the preposition."""
    words = g.lemma[node]
    if particle := g.child(node, "compound:prt"):
        words = f"{'' if words == 'be' else words} {g.lemma[particle]}".strip()
    if label.startswith("nmod:") and label not in ("nmod:poss", "nmod:agent"):
        words += " " + label[5:].replace("_", " ")
    return words
