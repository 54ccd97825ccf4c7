"""The rules that name a dependency: how they are written down, looked up, and what their conditions may ask.

A rule is a relation, the labels of the phrase and of the child, and a condition on what stands around or below. Where
several hold for one child, the first by name wins, or its subtype.
"""

# ruff: noqa: SIM110  (a loop is faster than any() of a generator)
from __future__ import annotations

from collections.abc import Callable, Iterator

from fabula.text.spice.heads import CC, ETC, ING, NN, TIME, TO, Condition, Phrases
from fabula.text.spice.reshape import labels

# --- what conditions ask --------------------------------------------------------------------------------------------


def has(g: Phrases, node: int, wanted: frozenset[str]) -> bool:
    return not wanted.isdisjoint(g.names[node])


def inner(g: Phrases, node: int, wanted: frozenset[str], below: frozenset[str]) -> bool:
    """A child of these labels that has a child of those."""
    for k in g.kids[node]:
        if g.label[k] in wanted and not below.isdisjoint(g.names[k]):
            return True
    return False


def word(g: Phrases, node: int, tags: frozenset[str], bits: int) -> bool:
    """A child with one of the tags whose word has one of the bits."""
    for k in g.kids[node]:
        if g.mask[k] & bits and g.label[k] in tags:
            return True
    return False


def before(g: Phrases, t: int, c: int, wanted: frozenset[str]) -> bool:
    """A sister of these labels to the left, at any distance."""
    return not wanted.isdisjoint(g.names[t][: g.at[c]])


def after(g: Phrases, t: int, c: int, wanted: frozenset[str]) -> bool:
    return not wanted.isdisjoint(g.names[t][g.at[c] + 1 :])


def previous(g: Phrases, t: int, c: int) -> str:
    at = g.at[c]
    return g.names[t][at - 1] if at else ""


def following(g: Phrases, t: int, c: int) -> str:
    at = g.at[c] + 1
    return g.names[t][at] if at < len(g.names[t]) else ""


def first(g: Phrases, node: int) -> int:
    return g.kids[node][0] if g.kids[node] else -1


def only(g: Phrases, node: int) -> int:
    """The only child, or −1."""
    return g.kids[node][0] if len(g.kids[node]) == 1 else -1


def is_time(g: Phrases, node: int) -> bool:
    """A phrase whose head is a noun of time."""
    h = g.head[node]
    return h >= 0 and bool(g.mask[h] & TIME) and g.label[h] in NN


S_, VP_, NP_, SBAR_, WHNP_, IN_, PP_, ADJP_, ADVP_, QP_ = map(
    labels, ["S", "VP", "NP", "SBAR", "WHNP", "IN", "PP", "ADJP", "ADVP", "QP"]
)
EX_, WRB_, VBG_ = map(labels, ["EX", "WRB", "VBG"])


def to_clause(g: Phrases, s: int) -> bool:
    """S over a VP with "to"."""
    return inner(g, s, VP_, TO)


def over_to_clause(g: Phrases, sbar: int) -> bool:
    return any(g.label[k] == "S" and to_clause(g, k) for k in g.kids[sbar])


def chain(g: Phrases, node: int, through: frozenset[str]) -> Iterator[int]:
    """Children, and children of children by way of these labels."""
    for k in g.kids[node]:
        yield k
        if g.label[k] in through:
            yield from chain(g, k, through)


def is_stranded(g: Phrases, vp: int) -> bool:
    """A preposition without a noun at the end of a PP somewhere in the verb phrases: "which he works for"."""
    return any(g.label[k] == "PP" and g.names[k] and g.names[k][-1] in ("IN", "TO") for k in chain(g, vp, VP_))


def is_etc(g: Phrases, k: int) -> bool:
    """ "etc", or a phrase that starts with it."""
    if g.label[k] == "FW":
        return bool(g.mask[k] & ETC)
    return g.label[k] in ("ADVP", "NP") and g.names[k][:1] == ("FW",) and bool(g.mask[g.kids[k][0]] & ETC)


def ends_in_etc(g: Phrases, t: int) -> bool:
    return "FW" in g.label and is_etc(g, g.kids[t][-1])


def has_etc(g: Phrases, t: int) -> bool:
    return "FW" in g.label and any(is_etc(g, k) for k in g.kids[t])


def right_edge(g: Phrases, node: int) -> Iterator[int]:
    while g.kids[node]:
        node = g.kids[node][-1]
        yield node


def ends_possessive(g: Phrases, node: int) -> bool:
    return any(g.label[k] == "POS" or (g.label[k] == "VBZ" and g.word[k] == "'s") for k in right_edge(g, node))


def participle_first(g: Phrases, vp: int) -> bool:
    """It begins with a participle, or with a participle after an adverb."""
    names = g.names[vp]
    return names[:1] != () and (names[0] in ING or (names[1:2] != () and names[1] in ING and names[0] == "ADVP"))


def yes(g: Phrases, t: int, c: int) -> bool:
    return True


# --- the rules --------------------------------------------------------------------------------------------------------

RULES: list[tuple[str, frozenset[str] | None, Callable[[str], bool] | frozenset[str], Condition]] = []
Labels = str | frozenset[str]


def rule(name: str, of: Labels | None, child: Labels | Callable[[str], bool]) -> Callable[[Condition], Condition]:
    """The relation to a child of these labels of a phrase of those labels (None: of any)."""

    def register(condition: Condition) -> Condition:
        RULES.append(
            (
                name,
                labels(of) if isinstance(of, str) else of,
                labels(child) if isinstance(child, str) else child,
                condition,
            )
        )
        return condition

    return register


def always(name: str, of: Labels | None, child: Labels | Callable[[str], bool]) -> None:
    rule(name, of, child)(yes)


# relations to something other than a child: the phrase, where to look

Far = Callable[[Phrases, int], list[int]]
FAR: list[tuple[str, str, frozenset[str], Far]] = []
SEARCHES: dict[frozenset[str], dict[str, list[tuple[str, Far]]]] = {}


def far(name: str, of: str, needs: str) -> Callable[[Far], Far]:
    """From phrases of these labels, in a tree that has the label `needs` somewhere."""

    def register(find: Far) -> Far:
        FAR.append((name, needs, labels(of), find))
        return find

    return register


def searches_for(g: Phrases) -> dict[str, list[tuple[str, Far]]]:
    """By label: what is worth looking for in this tree."""
    have = frozenset(needs for _, needs, _, _ in FAR).intersection(g.label)
    found = SEARCHES.get(have)
    if found is None:
        SEARCHES[have] = found = {}
        for name, needs, of, find in FAR:
            if needs in have:
                for label in of:
                    found.setdefault(label, []).append((name, find))
    return found


SUBTYPES = {
    "aux": ("auxpass", "cop"),
    "nsubj": ("nsubjpass",),
    "csubj": ("csubjpass",),
    "nmod": ("nmod:tmod",),
    "advmod": ("neg",),
}
JOINING = CC | labels(",")  # without one of these among the children, or "etc", there is no conj
Found = tuple[tuple[str, Condition, tuple[tuple[str, Condition], ...]], ...]
BY_LABELS: dict[tuple[str, bool], dict[str, Found]] = {}  # phrase and whether it joins, then child


def rules_for(of: str, joins: bool, child: str) -> Found:
    """(relation, condition, subtypes with theirs), in the order in which they count."""
    matching = [
        (name, condition)
        for name, ofs, children, condition in RULES
        if (ofs is None or of in ofs)
        and (child in children if isinstance(children, frozenset) else children(child))
        and (joins or name != "conj")
    ]
    matching.sort(key=lambda pair: pair[0])
    return tuple(
        (name, condition, tuple(pair for pair in matching if pair[0] in SUBTYPES.get(name, ())))
        for name, condition in matching
    )


def relation(g: Phrases, t: int, c: int, rules: Found) -> str:
    for name, condition, subtypes in rules:
        if condition is yes or condition(g, t, c):
            for sub, narrower in subtypes:
                if narrower is yes or narrower(g, t, c):
                    return sub
            return name
    return ""


def stronger(a: str, b: str) -> str:
    """Of two relations that both hold."""
    a, b = sorted((a, b))
    return b if not a or b in SUBTYPES.get(a, ()) else a
