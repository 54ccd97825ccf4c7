"""Basic dependencies → collapsed, CC-processed ones (Universal Dependencies 1, as CoreNLP 3.6 makes them for SPICE).

    basic      walks →nsubj man, walks →nmod street, street →case down, walks →conj sits
    collapsed  walks →nsubj man, sits →nsubj man, walks →nmod:down street, walks →conj:and sits

Prepositions of several words become one, `nmod` and its like take the name of their preposition, `conj` that of the
conjunction; then what is conjoined shares the head of its first part and, if it is a verb, the subject.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

from collections.abc import Sequence

from fabula.text.spice_graph import Edge, Token

TWO = frozenset(
    "across_from along_with alongside_of apart_from as_for as_from as_of as_per as_to aside_from based_on "
    "close_by close_to contrary_to compared_to compared_with due_to depending_on except_for exclusive_of far_from "
    "followed_by inside_of irrespective_of next_to near_to off_of out_of outside_of owing_to preliminary_to "
    "preparatory_to previous_to prior_to pursuant_to regardless_of subsequent_to thanks_to together_with".split()
)
TWO_COMPLEX = frozenset(
    "apart_from as_from aside_from away_from close_by close_to contrary_to far_from next_to near_to out_of "
    "outside_of pursuant_to regardless_of together_with".split()
)
THREE = frozenset(
    "by_means_of in_accordance_with in_addition_to in_case_of in_front_of in_lieu_of in_place_of in_spite_of "
    "on_account_of on_behalf_of on_top_of with_regard_to with_respect_to".split()
)
NAMED = frozenset(["nmod", "advcl", "acl"])
AND = frozenset(["as_well_as", "as_well", "&"])  # said as "and"
SUBJECTS = frozenset(["nsubj", "nsubjpass", "csubj", "csubjpass"])


class Arcs:
    """A tree whose arcs can be moved: head and label of each word."""

    __slots__ = ("head", "kids", "label", "tag", "word")

    def __init__(self, tokens: Sequence[Token], heads: Sequence[int], labels: Sequence[str]) -> None:
        self.word = ["", *(t.word.lower() for t in tokens)]
        self.tag = ["", *(t.tag for t in tokens)]
        self.head, self.label = [0, *heads], ["", *labels]
        self.kids: list[list[int]] = [[] for _ in self.head]
        for k in range(1, len(self.head)):
            self.kids[self.head[k]].append(k)

    def move(self, child: int, head: int, label: str) -> None:
        self.kids[self.head[child]].remove(child)
        self.kids[head].append(child)
        self.kids[head].sort()
        self.head[child], self.label[child] = head, label


def collapse(tokens: Sequence[Token], heads: Sequence[int], labels: Sequence[str]) -> tuple[list[Edge], list[int]]:
    """(edges, copies): node n + k is a copy of word copies[k−1], made where one verb has two conjoined prepositions."""
    a = Arcs(tokens, heads, labels)
    join_prepositions(a)
    edges: list[Edge] = []
    copies: list[int] = []
    name = [name_of(a, k) for k in range(len(a.head))]
    conj: list[tuple[int, int]] = []
    for k in range(1, len(a.head)):
        if a.label[k] == "punct" and a.head[k] == 0:
            continue
        if a.label[k] == "conj":
            conj.append((a.head[k], k))
        edges.append((name[k], a.head[k], k))
    if conj:
        copies = split_prepositions(a, edges, conj)
        share(a, edges, conj, copies)
    edges.sort(key=lambda edge: edge[2])
    return edges, copies


def join_prepositions(a: Arcs) -> None:
    """ "out of", "next to", "in front of": the first word keeps `case`, the others become its parts."""
    word, head, label = a.word, a.head, a.label
    for k in range(1, len(word) - 1):
        two = f"{word[k]}_{word[k + 1]}"
        if k + 2 < len(word) and f"{two}_{word[k + 2]}" in THREE:
            noun, of = k + 1, k + 2
            obj = head[of]
            # in →case front, of →case object, object →nmod front
            if (
                head[k] == noun
                and head[obj] == noun
                and label[of] in ("case", "mark")
                and label[obj] in ("nmod", "acl", "advcl")
            ):
                kind = label[obj]
                if label[noun] in (
                    "nmod",
                    "acl",
                    "advcl",
                    "dep",
                    "root",
                    "conj",
                    "xcomp",
                    "ccomp",
                    "advmod",
                    "acl:relcl",
                ):
                    outer = head[noun]
                    outer_label = kind if label[noun] == "nmod" else label[noun]
                    a.move(obj, outer, outer_label if label[noun] != "nmod" else "nmod" if kind == "nmod" else kind)
                    for kid in list(a.kids[noun]):
                        if kid != k:
                            a.move(kid, obj, label[kid])
                    a.move(k, obj, label[of])
                    a.move(noun, k, "mwe")
                    a.move(of, k, "mwe")
                    continue
        if (
            two in TWO
            and label[k] in ("case", "mark", "advmod")
            and label[k + 1] in ("case", "mark")
            and head[k] == head[k + 1]
        ):
            a.move(k, head[k], label[k + 1])
            a.move(k + 1, k, "mwe")
        elif two in TWO_COMPLEX:
            obj = head[k + 1]
            if label[k + 1] in ("case", "mark") and head[obj] == k and label[obj] in ("nmod", "advcl", "acl"):
                a.move(obj, head[k], label[obj] if label[k] in ("advmod", "amod", "nmod", "xcomp") else label[k])
                for kid in list(a.kids[k]):
                    a.move(kid, obj, label[kid])
                a.move(k, obj, label[k + 1])
                a.move(k + 1, k, "mwe")


def name_of(a: Arcs, k: int) -> str:
    """The label with its preposition or conjunction."""
    label = a.label[k]
    if label in NAMED:
        marker = 0
        for kid in a.kids[k]:
            if a.label[kid] == "case" and (kid < k or not marker):
                marker = kid
        if marker:
            parts = [a.word[marker], *(a.word[kid] for kid in a.kids[marker] if a.label[kid] == "mwe")]
            name = "_".join(parts)
            if label == "nmod" and name == "by" and any(a.label[kid] in ("auxpass",) for kid in a.kids[a.head[k]]):
                name = "agent"
            return f"{label}:{name}"
    elif label == "conj":
        cc = [kid for kid in a.kids[a.head[k]] if a.label[kid] == "cc"]
        before = [kid for kid in cc if kid < k] or cc
        if before:
            marker = before[-1]
            name = "_".join([a.word[marker], *(a.word[kid] for kid in a.kids[marker] if a.label[kid] == "mwe")])
            return f"conj:{'and' if name in AND else name}"
    return label


def split_prepositions(a: Arcs, edges: list[Edge], conj: list[tuple[int, int]]) -> list[int]:
    """ "walks out of a room and down a hall": the second phrase hangs on a copy of the verb."""
    copies: list[int] = []
    for first, other in list(conj):
        if a.label[first] not in NAMED or not has_case(a, first) or not has_case(a, other):
            continue
        cc = [k for k in a.kids[first] if a.label[k] == "cc"]
        verb = a.head[first]
        if not cc or not verb:
            continue
        copies.append(verb)
        copy = len(a.word)
        a.word.append(a.word[verb])
        a.tag.append(a.tag[verb])
        a.kids.append([])
        joined = name_of(a, other)
        a.label[other] = a.label[first]
        edges[:] = [
            (label, verb if child in cc and label == "cc" else head, child)
            for label, head, child in edges
            if child != other
        ]
        edges += [(joined, verb, copy), (name_of(a, other), copy, other)]
        conj.remove((first, other))
        conj.append((verb, copy))
    return copies


def has_case(a: Arcs, k: int) -> bool:
    return any(a.label[kid] == "case" for kid in a.kids[k])


def share(a: Arcs, edges: list[Edge], conj: list[tuple[int, int]], copies: list[int]) -> None:
    """What is conjoined gets the head of the first part; a verb without a subject gets its subject, too."""
    subjects: dict[int, list[tuple[str, int]]] = {}
    for label, head, child in edges:
        if label in SUBJECTS:
            subjects.setdefault(head, []).append((label, child))
    above: dict[int, list[tuple[str, int]]] = {}
    for label, head, child in edges:
        if head:
            above.setdefault(child, []).append((label, head))
    for first, other in sorted(conj):
        edges += [(label, head, other) for label, head in above.get(first, ())]
        if first in subjects and other not in subjects and a.tag[other].startswith(("VB", "JJ")):
            label, subject = subjects[first][0]
            if label == "nsubjpass" and a.tag[other] in ("VB", "VBZ", "VBP", "JJ"):
                label = "nsubj"
            elif label == "nsubj" and any(a.label[k] == "auxpass" for k in a.kids[other]):
                label = "nsubjpass"
            edges.append((label, other, subject))
