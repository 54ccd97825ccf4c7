"""Conditions on phrase-structure trees, written as text and compiled once.

A condition is asked of a child `c` of a phrase `t`: paths, joined by `&`, `|`, `!` and round brackets. A path is true
where it leads somewhere. It starts at `c` or at `t`, within square brackets at the node reached, and goes on by steps:

    /X  a child          /{Z}X  a child, or one further down by way of Z           ^X   the parent
    <X  the sister before    <<X  any sister before    <<X~Z  with no sister Z in between; after it: >X, >>X, >>X~Z
    %<X, %>X, %^X  further down along the first children, the last ones, the heads

X is a label, the name of a set of labels in lower case, several of these in round brackets, or `_` for any label. What
the node has to be besides follows: `=X` (its label, where a path starts), `:be` (a class of words), "word" or 'word'
(as it is written, or in lower case; several with blanks between, `*` for any letters), `.first` (a fact), `@passive` (a
condition that has a name), or a condition in square brackets.

    c>>VP[!<<NP]/verb:be      after c a verb phrase with no noun phrase before it that has a form of "be"

What labels, classes of words and the head of a phrase decide is found once for all phrases like it (`settle`).
"""

# ruff: noqa: C419, SIM110  (a list or a loop is faster than a generator)
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from functools import partial, reduce
from typing import NamedTuple

from fabula.text.spice.heads import BITS, NN, Phrases, plain_head
from fabula.text.spice.labels import find_labels

TOKEN = re.compile(r"""\s*('[^']*'|"[^"]*"|<<|>>|%[<>^]|[/<>^~=@.:!&|()\[\]{}]|[\w$*-]+)""")

Test = Callable[[Phrases, int], bool]
Walk = Callable[[Phrases, int], list[int]]
Labels = frozenset[str]


class Condition(NamedTuple):
    """`local`: the labels of the phrase and its children, their classes of words and the head decide it."""

    test: Test
    local: bool
    joined: str = ""  # how the parts are, of which some may be local
    parts: tuple[Condition, ...] = ()


class Step(NamedTuple):
    """To these nodes (None: it stays), and what is asked there; `local`: it ends among the phrase's children."""

    walk: Walk | None
    asked: list[Condition]
    local: bool
    kids: Labels = frozenset()  # where the step goes to children alone: their labels


# --- what a node is --------------------------------------------------------------------------------------------------


def test_label(wanted: Labels) -> Test:
    return lambda g, k: g.label[k] in wanted


def test_bits(bits: int) -> Test:
    return lambda g, k: g.mask[k] & bits != 0


def test_word(text: str, exact: bool) -> Test:
    words = frozenset(text.split())
    if "*" not in text:
        return (lambda g, k: g.word[k] in words) if exact else (lambda g, k: g.low[k] in words)
    match = re.compile("|".join(map(translate, words))).match
    return lambda g, k: match((g.word if exact else g.low)[k]) is not None


# --- steps ------------------------------------------------------------------------------------------------------------


def walk_down(wanted: Labels, through: Labels) -> Walk:
    def walk(g: Phrases, k: int) -> list[int]:
        found = []
        for kid in g.kids[k]:
            if g.label[kid] in wanted:
                found.append(kid)
            if g.label[kid] in through:
                found += walk(g, kid)
        return found

    return walk


def walk_up(wanted: Labels, _: Labels) -> Walk:
    return lambda g, k: [g.parent[k]] if g.label[g.parent[k]] in wanted else []


def walk_aside(wanted: Labels, blocked: Labels, *, left: bool, far: bool) -> Walk:
    """To the nearest sister, or to all as far as nothing blocks the way; the root has none."""

    def walk(g: Phrases, k: int) -> list[int]:
        sisters, at = g.kids[g.parent[k]] if k else [], g.at[k]
        if not far:
            sisters = sisters[at - 1 : at] if left else sisters[at + 1 : at + 2]
        else:
            sisters = sisters[:at] if left else sisters[at + 1 :]
        if blocked:
            stops = [n for n, sister in enumerate(sisters) if g.label[sister] in blocked]
            if stops:
                sisters = sisters[stops[-1] :] if left else sisters[: stops[0] + 1]
        return [sister for sister in sisters if g.label[sister] in wanted]

    return walk


def walk_edge(wanted: Labels, _: Labels, *, next_of: Callable[[Phrases, int], int]) -> Walk:
    def walk(g: Phrases, k: int) -> list[int]:
        found = []
        while g.kids[k]:
            k = next_of(g, k)
            if g.label[k] in wanted:
                found.append(k)
        return found

    return walk


WALKS: Mapping[str, Callable[[Labels, Labels], Walk]] = {
    "/": walk_down,
    "^": walk_up,
    "<": partial(walk_aside, left=True, far=False),
    "<<": partial(walk_aside, left=True, far=True),
    ">": partial(walk_aside, left=False, far=False),
    ">>": partial(walk_aside, left=False, far=True),
    "%<": partial(walk_edge, next_of=lambda g, k: g.kids[k][0]),
    "%>": partial(walk_edge, next_of=lambda g, k: g.kids[k][-1]),
    "%^": partial(walk_edge, next_of=lambda g, k: g.head[k]),
}

# --- facts about a node -----------------------------------------------------------------------------------------------


def is_time(g: Phrases, k: int) -> bool:
    """A phrase whose head is a noun of time."""
    h = g.head[k]
    return h >= 0 and g.mask[h] & BITS["time"] != 0 and g.label[h] in NN


def is_short(g: Phrases, k: int) -> bool:
    """It begins like an abbreviation: two capitals, perhaps with a dot between."""
    text = g.word[k]
    return text[:1].isupper() and text[1:].removeprefix(".")[:1].isupper()


def is_twin(g: Phrases, k: int) -> bool:
    """The sister after the next one has the same label."""
    return g.names[g.parent[k]][g.at[k] + 2 : g.at[k] + 3] == (g.label[k],)


FACTS: Mapping[str, Condition] = {
    "first": Condition(lambda g, k: g.at[k] == 0, True),
    "last": Condition(lambda g, k: g.at[k] + 1 == len(g.kids[g.parent[k]]), True),
    "only": Condition(lambda g, k: len(g.kids[g.parent[k]]) == 1, True),
    "twin": Condition(is_twin, True),
    "head": Condition(lambda g, k: g.head[g.parent[k]] == k, True),
    "core": Condition(lambda g, k: plain_head(g, g.parent[k]) == k, False),  # the head whatever stands around
    "time": Condition(is_time, False),
    "short": Condition(is_short, False),
}

# --- conditions -------------------------------------------------------------------------------------------------------

JOIN: Mapping[str, Callable[..., Test]] = {
    "!": lambda a: lambda g, k: not a(g, k),
    "&": lambda a, b: lambda g, k: a(g, k) and b(g, k),
    "|": lambda a, b: lambda g, k: a(g, k) or b(g, k),
}


def combine(joined: str, *parts: Condition) -> Condition:
    return Condition(JOIN[joined](*[part.test for part in parts]), all(part.local for part in parts), joined, parts)


def follow(steps: list[Step]) -> Test:
    """Whether the steps lead somewhere."""
    rest: Test | None = None
    for step in reversed(steps):
        tests = [asked.test for asked in step.asked] + ([] if rest is None else [rest])
        rest = reduce(JOIN["&"], tests) if tests else None
        if step.kids:
            rest = reach_kid(step.kids, rest)
        elif step.walk is not None:
            rest = reach(step.walk, rest)
    return rest or (lambda g, k: True)


def reach(walk: Walk, test: Test | None) -> Test:
    if test is None:
        return lambda g, k: bool(walk(g, k))
    return lambda g, k: any([test(g, node) for node in walk(g, k)])


def reach_kid(wanted: Labels, test: Test | None) -> Test:
    """The same for the commonest step."""
    if test is None:
        return lambda g, k: not wanted.isdisjoint(g.names[k])

    def found(g: Phrases, k: int) -> bool:
        for kid in g.kids[k]:
            if g.label[kid] in wanted and test(g, kid):
                return True
        return False

    return found


def join_steps(start: list[Condition], steps: list[Step]) -> Condition:
    """What is asked where a path starts, what labels alone can say against its steps, and the steps themselves."""
    if start and not steps:
        return reduce(partial(combine, "&"), start)
    near: list[Step] = []
    for step in steps:
        if step.local:
            near.append(step._replace(asked=[asked for asked in step.asked if asked.local]))
        if not step.local or len(near[-1].asked) < len(step.asked):
            parts = Condition(follow(near), True), Condition(follow(steps), False)
            found = Condition(parts[1].test, False, "path", parts)
            break
    else:
        found = Condition(follow(steps), True)
    return reduce(partial(combine, "&"), [*start, found])


def ask_parent(condition: Condition) -> Condition:
    test = condition.test
    return condition._replace(test=lambda g, k: test(g, g.parent[k]), parts=tuple(map(ask_parent, condition.parts)))


def split_condition(condition: Condition) -> list[Condition]:
    """The conditions all of which it asks for."""
    return [c for part in condition.parts for c in split_condition(part)] if condition.joined == "&" else [condition]


class Reader:
    """A text, read from left to right. `level`: 0 at the phrase, 1 at its children, more below them."""

    def __init__(self, text: str, named: Mapping[str, str]) -> None:
        self.tokens = [*TOKEN.findall(text), ""]
        self.at = 0
        self.named = named

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, *wanted: str) -> str:
        return self.next() if self.tokens[self.at] in wanted else ""

    def labels(self, end: str = ")") -> Labels:
        """Those of one name, or of several up to a bracket."""
        if end == ")" and not self.accept("("):
            return find_labels(self.next())
        return find_labels(" ".join(iter(self.next, end)))

    def condition(self, level: int = 1) -> Condition:
        """An empty one is true."""
        found = self.conjunction(level)
        while self.accept("|"):
            found = combine("|", found, self.conjunction(level))
        return found

    def conjunction(self, level: int) -> Condition:
        found = self.factor(level)
        while self.accept("&"):
            found = combine("&", found, self.factor(level))
        return found

    def factor(self, level: int) -> Condition:
        if self.accept("!"):
            return combine("!", self.factor(level))
        if self.accept("("):
            found = self.condition(level)
            self.next()
            return found
        start = self.accept("t", "c")
        level -= start == "t"
        found = join_steps(self.asked(level), self.steps(level))
        return ask_parent(found) if start == "t" else found

    def steps(self, level: int) -> list[Step]:
        steps: list[Step] = []
        while way := self.accept(*WALKS):
            through = self.labels("}") if self.accept("{") else frozenset()
            wanted = self.labels()
            blocked = self.labels() if self.accept("~") else frozenset()
            level += {"/": 1, "^": -1}.get(way, 2 * way.startswith("%")) + bool(through)
            walk = WALKS[way](wanted, through or blocked)
            kids = wanted if way == "/" and not through else frozenset()
            steps.append(Step(walk, self.asked(level), level == 1, kids))
        return steps

    def asked(self, level: int) -> list[Condition]:
        """What is asked of one node."""
        found: list[Condition] = []
        while True:
            if self.accept("="):
                found.append(Condition(test_label(self.labels()), level < 2))
            elif self.accept(":"):
                found.append(Condition(test_bits(BITS[self.next()]), level == 1))
            elif self.accept("."):
                fact = FACTS[self.next()]
                found.append(fact._replace(local=fact.local and level == 1))
            elif self.accept("@"):
                found += split_condition(Reader(self.named[self.next()], self.named).condition(level))
            elif self.accept("["):
                found += split_condition(self.condition(level))
                self.next()
            elif self.tokens[self.at].startswith(("'", '"')):
                text = self.next()
                found.append(Condition(test_word(text[1:-1], text[0] == '"'), False))
            else:
                return found


def settle(condition: Condition, g: Phrases, c: int) -> bool | Test:
    """Yes, no, or what is left to ask of children in this place of phrases like this one."""
    if condition.local:
        return condition.test(g, c)
    if not condition.parts:
        return condition.test
    found = [settle(part, g, c) for part in condition.parts]
    if condition.joined == "!":
        return JOIN["!"](found[0]) if callable(found[0]) else not found[0]
    decides = condition.joined == "|"
    if any(part is decides for part in found):
        return decides
    tests = [part for part in found if callable(part)]
    return reduce(JOIN["|" if decides else "&"], tests) if tests else not decides


def find_nodes(text: str, named: Mapping[str, str]) -> Walk:
    """Where a path leads to from a node."""
    reader = Reader(text, named)
    start, steps = follow([Step(None, reader.asked(0), False)]), reader.steps(0)

    def walk(g: Phrases, k: int) -> list[int]:
        nodes = [k] if start(g, k) else []
        for step in steps if nodes else ():
            nodes = [found for node in nodes for found in step.walk(g, node)]
            nodes = [node for node in nodes if all([asked.test(g, node) for asked in step.asked])]
        return nodes

    return walk
