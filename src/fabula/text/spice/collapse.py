"""Basic dependencies → collapsed, CC-processed ones (Universal Dependencies 1, as CoreNLP 3.6 makes them for SPICE).

    basic      walks →nsubj man, walks →nmod street, street →case down, walks →conj sits
    collapsed  walks →nsubj man, sits →nsubj man, walks →nmod:down street, walks →conj:and sits

In this order: prepositions of several words become one; where two prepositional phrases or two prepositions are joined,
the verb is copied for the second; `nmod` and its like take the name of their preposition, `conj` that of the
conjunction; then what is conjoined shares the head of its first part and, if it is a verb, the subject.

Where several words could give the name, the order of the original's hash tables decides, as in graph.py.
"""

# ruff: noqa: SIM102, SIM905  (word lists read better as text, conditions one by one)
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter

from fabula.text.spice.graph import Edge, Token, table_size

TWO = frozenset(
    "across_from along_with alongside_of apart_from as_for as_from as_of as_per as_to aside_from based_on close_by "
    "close_to contrary_to compared_to compared_with except_for exclusive_of far_from followed_by inside_of "
    "irrespective_of next_to near_to off_of out_of outside_of owing_to preliminary_to preparatory_to previous_to "
    "pursuant_to regardless_of subsequent_to thanks_to together_with".split()
)
TWO_COMPLEX = frozenset(
    "apart_from as_from aside_from away_from close_by close_to contrary_to far_from next_to near_to out_of outside_of "
    "pursuant_to regardless_of together_with".split()
)
THREE = frozenset(
    "by_means_of in_accordance_with in_addition_to in_case_of in_front_of in_lieu_of in_place_of in_spite_of "
    "on_account_of on_behalf_of on_top_of with_regard_to with_respect_to".split()
)
FIRST = frozenset(name.partition("_")[0] for name in TWO | TWO_COMPLEX | THREE)
NAMED = frozenset(["nmod", "advcl", "acl"])
CLAUSES = frozenset("conj xcomp ccomp acl advcl acl:relcl parataxis appos list".split())
SUBJECTS = frozenset(["nsubj", "nsubjpass", "csubj", "csubjpass"])
INSTEAD = {"but rather": "negcc", "but also": "and", "if not": "negcc", "instead of": "negcc", "rather than": "negcc"}
INSTEAD["as well"] = "and"


class Arcs:
    """A tree whose arcs can be moved: head and label of each word. Nodes after the words are copies."""

    __slots__ = ("copies", "head", "kids", "label", "n", "shift", "tag", "word")

    def __init__(self, tokens: Sequence[Token], heads: Sequence[int], labels: Sequence[str], shift: int) -> None:
        self.n = len(tokens)
        self.shift = shift
        self.word = ["", *[t.word for t in tokens]]
        self.tag = ["", *[t.tag for t in tokens]]
        self.head, self.label = [0, *heads], ["", *labels]
        self.kids: list[list[int]] = [[] for _ in self.head]
        self.copies: list[int] = []
        kids = self.kids
        for k, head in enumerate(heads):
            kids[head].append(k + 1)

    def move(self, child: int, head: int, label: str) -> None:
        self.kids[self.head[child]].remove(child)
        self.kids[head].append(child)
        self.head[child], self.label[child] = head, label

    def original(self, node: int) -> int:
        return node if node <= self.n else self.copies[node - self.n - 1]

    def copy(self, node: int, label: str) -> int:
        """A copy of a word, hung on the word itself."""
        first = self.original(node)
        new = len(self.head)
        self.copies.append(first)
        self.word.append(self.word[first])
        self.tag.append(self.tag[first])
        self.head.append(first)
        self.label.append(label)
        self.kids.append([])
        self.kids[first].append(new)
        return new

    def under(self, node: int, *names: str) -> list[int]:
        """The children by these labels, as the original goes through them."""
        label, kids = self.label, self.kids[node]
        found = [k for k in kids if label[k] in names]
        if len(found) > 1:
            size = table_size(len(kids)) - 1
            found.sort(key=lambda k: ((self.original(k) + self.shift) & size, k))
        return found


def collapse(
    tokens: Sequence[Token], heads: Sequence[int], labels: Sequence[str], sentence: int = 0
) -> tuple[list[Edge], list[int]]:
    """(edges, copies): node n + k is a copy of word copies[k−1]; `sentence`: which one of its caption, from 0."""
    a = Arcs(tokens, heads, labels, 29 * sentence)
    low = [word.lower() for word in a.word]
    if not FIRST.isdisjoint(low):
        join_prepositions(a, low)
    extra: list[Edge] = []
    conjoined = "conj" in a.label and "cc" in a.label
    if conjoined:
        split_phrases(a)
        split_prepositions(a, extra)
    name_modifiers(a, extra)
    if conjoined:
        name_conjuncts(a)
    edges = [(a.label[k], a.head[k], k) for k in range(1, len(a.head))]
    edges += extra
    if conjoined:
        share(a, edges)
    if a.copies:
        edges.sort(key=lambda edge: (a.original(edge[2]), edge[2]))
    elif conjoined or extra:
        edges.sort(key=itemgetter(2))
    return edges, a.copies


# --- prepositions of several words ----------------------------------------------------------------------------------


def join_prepositions(a: Arcs, low: list[str]) -> None:
    """ "out of", "next to", "in front of": the first word keeps `case`, the others become its parts."""
    starts = [k for k in range(1, a.n) if low[k] in FIRST]
    for k in starts:
        if f"{low[k]}_{low[k + 1]}" in TWO:
            join_simple(a, k)
    for k in starts:
        if f"{low[k]}_{low[k + 1]}" in TWO_COMPLEX:
            join_complex(a, k)
    for k in starts:
        if k + 2 <= a.n and f"{low[k]}_{low[k + 1]}_{low[k + 2]}" in THREE:
            join_three(a, k)


def join_simple(a: Arcs, k: int) -> None:
    head, label = a.head, a.label
    if head[k] == head[k + 1] and label[k] in ("case", "advmod") and label[k + 1] == "case":
        if not a.kids[k] and not a.kids[k + 1]:
            a.move(k, head[k], "case")
            a.move(k + 1, k, "mwe")


def join_complex(a: Arcs, k: int) -> None:
    """advmod(walks, away), nmod(away, house), case(house, from) → nmod(walks, house), case(house, away)."""
    head, label = a.head, a.label
    noun = head[k + 1]
    if label[k + 1] != "case" or a.kids[k + 1] or head[noun] != k or label[noun] != "nmod":
        return
    name = "nmod"
    if not head[k] or (label[k] in CLAUSES and any(label[j] == "cop" for j in a.kids[k])):
        name = label[k]
    a.move(noun, head[k], name)
    hang(a, noun, "case", k, k, k + 1)


def join_three(a: Arcs, k: int) -> None:
    """in →case front, of →case object, object →nmod front."""
    head, label = a.head, a.label
    middle, last = k + 1, k + 2
    noun = head[last]
    if label[k] != "case" or head[k] != middle or label[last] not in ("case", "mark") or a.kids[k] or a.kids[last]:
        return
    if head[noun] != middle or label[noun] not in NAMED:
        return
    name, marker = label[middle], "case"
    if name == "nmod" and label[noun] != "nmod":
        name, marker = label[noun], "mark"
    a.move(noun, head[middle], name)
    hang(a, noun, marker, middle, k, middle, last)


def hang(a: Arcs, noun: int, label: str, old: int, first: int, *rest: int) -> None:
    """The noun takes the children of the preposition's old head, and the preposition as one."""
    for kid in list(a.kids[old]):
        a.move(kid, noun, a.label[kid])
    a.move(first, noun, label)
    for part in rest:
        a.move(part, first, "mwe")


# --- joined phrases -------------------------------------------------------------------------------------------------


def conjunction(a: Arcs, cc: int) -> str:
    """The name that a conjunction gives."""
    word = a.word[cc].lower()
    if word == "not" and a.word[cc - 1].lower() == "but":
        return "conj:negcc"
    if cc == a.n:
        return f"conj:{a.word[cc]}"
    after = a.word[cc + 1].lower()
    if word == "not" and after == "to" and cc + 2 <= a.n and a.word[cc + 2].lower() == "mention":
        return "conj:and"
    return "conj:" + INSTEAD.get(f"{word} {after}", word)


def groups(a: Arcs, node: int, conjuncts: list[int], times: int) -> list[tuple[int, list[int]]]:
    """(conjunction, conjuncts) in turn; what can be read in several ways comes several times."""
    found: list[tuple[int, list[int]]] = []
    for _ in range(times):
        for cc in a.under(node, "cc"):
            if found and found[-1][0] == cc:
                found[-1][1].extend(conjuncts)
            else:
                found.append((cc, list(conjuncts)))
    return found


def split_phrases(a: Arcs) -> None:
    """ "walks out of a room and down a hall": the second phrase hangs on a copy of the verb."""
    todo = []
    for node in range(1, a.n + 1):
        if a.label[node] in NAMED and a.head[node]:
            cases = len(a.under(node, "case"))
            if cases:
                joined = [k for k in a.under(node, "conj") for _ in a.under(k, "case")]
                if joined:
                    todo += [(node, cc, conjuncts) for cc, conjuncts in groups(a, node, joined, cases)]
    for node, cc, conjuncts in todo:
        verb, label = a.head[node], a.label[node]
        name = conjunction(a, cc)
        for k in conjuncts:
            new = a.copy(verb, name)
            if a.head[k] == node:
                a.move(k, new, label)
        if a.head[cc] == node:
            a.move(cc, a.original(verb), "cc")


def split_prepositions(a: Arcs, extra: list[Edge]) -> None:
    """ "walks to and from the house": the house belongs to a copy of the verb, too."""
    for node in range(1, a.n + 1):
        if a.label[node] != "case":
            continue
        joined = a.under(node, "conj")
        noun = a.head[node]
        verb = a.head[noun]
        if not joined or not verb:
            continue
        for cc, conjuncts in groups(a, node, joined, 1):
            for k in conjuncts:
                new = a.copy(verb, conjunction(a, cc))
                label = a.label[noun]
                extra.append((f"{label}:{a.word[k].lower()}" if label in NAMED else label, new, noun))


# --- names ----------------------------------------------------------------------------------------------------------


def name_modifiers(a: Arcs, extra: list[Edge]) -> None:
    """`nmod`, `advcl`, `acl` with their prepositions."""
    label, head = a.label, a.head
    for k in range(1, a.n + 1):
        if label[k] not in NAMED or not a.kids[k]:
            continue
        cases = a.under(k, "case")
        if not cases:
            continue
        if label[k] == "nmod" and any(a.word[c].lower() == "by" for c in cases):
            if any(label[j] == "auxpass" for j in a.kids[head[k]]):
                label[k] = "nmod:agent"
                continue
        markers = [cases[-1]]
        longest = 0
        for c in cases:
            parts = [j for j in a.kids[c] if label[j] == "mwe"]
            if parts and min(len(parts), 2) >= longest:
                longest = min(len(parts), 2)
                markers = sorted([c, *parts])
        label[k] = name_of(a, k, markers, extra)


def name_of(a: Arcs, k: int, markers: list[int], extra: list[Edge]) -> str:
    """Words that do not stand together make several names, the last for the arc itself."""
    base, name = a.label[k], a.word[markers[0]]
    for one, two in pairwise(markers):
        if two == one + 1:
            name += "_" + a.word[two]
        else:
            extra.append((f"{base}:{name.lower()}", a.head[k], k))
            name = a.word[two]
    return f"{base}:{name.lower()}"


def name_conjuncts(a: Arcs) -> None:
    """The last conjunction before each conjunct, or else the first."""
    for node in range(1, len(a.head)):
        if len(a.kids[node]) < 2:
            continue
        joined = [k for k in a.kids[node] if a.label[k] == "conj"]
        for cc in a.under(node, "cc") if joined else ():
            for k in joined:
                if a.label[k] == "conj" or k > cc:
                    a.label[k] = conjunction(a, cc)


def share(a: Arcs, edges: list[Edge]) -> None:
    """What is conjoined gets the head of the first part; a verb without a subject gets its subject, too."""
    above: dict[int, list[tuple[str, int]]] = {}
    subjects: dict[int, tuple[str, int]] = {}
    passive, described = set(), set()
    for label, head, child in edges:
        if head:
            above.setdefault(child, []).append((label, head))
            if label == "auxpass":
                passive.add(head)
            elif label == "acl:relcl":
                described.add(head)
            elif label in SUBJECTS and head not in subjects:
                subject = a.under(head, *SUBJECTS)[0]
                subjects[head] = (a.label[subject], subject)
    known = set(edges)
    new: list[Edge] = []
    for label, first, other in edges:
        if not label.startswith("conj:"):
            continue
        both = first in described and other in described
        for name, head in above.get(first, ()):
            if head != other and name != "case" and not (both and name in ("dobj", "nsubj")):
                new.append((name, head, other))
        if first in subjects and other not in subjects and a.tag[other].startswith(("VB", "JJ")):
            name, subject = subjects[first]
            new.append((voice(name, a.tag[other], other in passive), other, subject))
    for edge in new:
        if edge not in known:
            known.add(edge)
            edges.append(edge)


def voice(name: str, tag: str, passive: bool) -> str:
    """The subject's label at another verb."""
    if name.endswith("pass"):
        return name[:-4] if tag in ("VB", "VBZ", "VBP") or tag.startswith("JJ") else name
    return name + "pass" if passive else name
