"""A longest-match scanner: rules as regular expressions in, tokens out (position automata after Glushkov, 1961).

At each place the rule whose match, look-ahead included, reaches furthest wins; among equals the earlier rule (the
convention of lex, JFlex and their kin). Expressions become one position automaton, which is made deterministic only
where the text goes. A scan that runs far past its last match and fails leaves notes behind, so that no later scan walks
the same way again: time stays linear in the text (Reps, "Maximal-munch tokenization in linear time", 1998).

Notation of an expression, a small part of Python's `re`:
    abc        letters outside brackets match either case, as Unicode folds it (k also matches the Kelvin sign)
    [a-z]      characters inside brackets match as written; [^…] is any other 16-bit unit
    {name}     an expression of the vocabulary
    ( ) | ? * + {2} {2,4}    as in `re`; the backslash takes the next character as it is, or \\t \\n \\r \\f \\uXXXX
Text is seen as UTF-16 units, as Java sees it: a character beyond U+FFFF is two units, a lone surrogate is U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

UNITS = 1 << 16
ANY = (1 << UNITS) - 1  # a set of units is an integer with one bit per unit
FOLDED = {"i": "\u0130\u0131", "k": "\u212a", "s": "\u017f"}  # what else equals an ASCII letter when case is ignored
ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
DEAD, UNKNOWN, NO_RULE = -1, -2, -1
MOST_STATES, MOST_UNITS, MOST_EDIT = 1 << 17, 1024, 64  # of sane rules: states, units of a token, units of an edit
OVERSHOT, NOTE_EVERY = 64, 16  # a failed scan this long leaves a note at each position divisible by 16


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it matches, what must follow, and the token it makes of the match."""

    pattern: str
    ahead: str = ""  # must follow, is not consumed; of fixed length, or starting with the match's first blank
    whole: str | None = None  # the token, whatever was matched
    edits: tuple[tuple[str, str], ...] = ()  # else the match with these replacements, one after the other
    empty: str = ""  # … and this token if they leave nothing
    cut: int = 0  # units given back before the token is made
    again: int = 0  # units given back after the token is made: they are read twice
    kind: str = "token"  # or "skip", or "line": a line end if the match holds \n, else a mere separator


@dataclass(frozen=True, slots=True)
class Automaton:
    """Rules as data: the position automaton over classes of units, and what each rule does. Both engines run on it."""

    classes: bytes  # [65536] class of each unit
    members: list[bytes]  # [positions, classes] 1 where the position reads the class
    follow: list[list[int]]  # positions that may come next
    accept: list[int]  # rule that may end at the position, or NO_RULE
    first: list[int]  # positions that may start
    rules: list[Rule]
    ahead: list[int]  # per rule: length of the look-ahead, or -1 for "from the match's first blank"
    blanks: frozenset[str]


# ── expressions ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Node:
    """kind is "set", "cat", "alt" or "rep"; upto None means without end."""

    kind: str
    units: int = 0
    parts: list[Node] = field(default_factory=list)
    least: int = 0
    upto: int | None = 0


def unit_set(ranges: str) -> int:
    """The set written as hexadecimal units and ranges: "41-5a 5f"."""
    units = 0
    for item in ranges.split():
        low, _, high = item.partition("-")
        start, stop = int(low, 16), int(high or low, 16) + 1
        units |= (1 << stop) - (1 << start)
    return units


def fold_case(char: str) -> int:
    """The set of units that equal the character when case is ignored."""
    same = {char, char.lower(), char.upper(), *FOLDED.get(char.lower(), "")} if char.isascii() else {char}
    return sum(1 << ord(c) for c in same)


class Parser:
    """Recursive descent over one expression."""

    def __init__(self, text: str, words: Mapping[str, Node]) -> None:
        self.text, self.at, self.words = text, 0, words

    def parse(self) -> Node:
        node = self.alternatives()
        if self.at != len(self.text):
            raise ValueError(f"unbalanced {self.text[self.at]!r} at {self.at} of {self.text!r}")
        return node

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

    def alternatives(self) -> Node:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.take()
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Node("alt", parts=parts)

    def sequence(self) -> Node:
        parts = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.parse_repeat(self.atom()))
        return parts[0] if len(parts) == 1 else Node("cat", parts=parts)

    def atom(self) -> Node:
        char = self.take()
        if char == "(":
            node = self.alternatives()
            if self.take() != ")":
                raise ValueError(f"a ')' is missing in {self.text!r}")
            return node
        if char == "[":
            return Node("set", self.bracket())
        if char == "{":
            end = self.text.index("}", self.at)
            name, self.at = self.text[self.at : end], end + 1
            return self.words[name]
        return Node("set", fold_case(self.parse_escape() if char == "\\" else char))

    def parse_repeat(self, node: Node) -> Node:
        bounds = re.compile(r"\{(\d+)(?:,(\d+))?\}").match(self.text, self.at)
        if bounds:
            self.at = bounds.end()
            return Node("rep", parts=[node], least=int(bounds[1]), upto=int(bounds[2] or bounds[1]))
        if self.peek() in ("?", "*", "+"):
            least, upto = {"?": (0, 1), "*": (0, None), "+": (1, None)}[self.take()]
            return Node("rep", parts=[node], least=least, upto=upto)
        return node

    def parse_escape(self) -> str:
        char = self.take()
        if char == "u":
            self.at += 4
            return chr(int(self.text[self.at - 4 : self.at], 16))
        return ESCAPED.get(char, char)

    def bracket(self) -> int:
        negated = self.peek() == "^"
        self.at += negated
        units = 0
        while self.peek() != "]":
            low = high = self.bracket_char()
            if self.peek() == "-":
                self.take()
                high = self.bracket_char()
            units |= (1 << ord(high) + 1) - (1 << ord(low))
        self.take()
        return ANY & ~units if negated else units

    def bracket_char(self) -> str:
        char = self.take()
        return self.parse_escape() if char == "\\" else char


def width(node: Node) -> int | None:
    """The length of every match, or None if lengths differ."""
    if node.kind == "set":
        return 1
    widths = [width(part) for part in node.parts]
    if any(w is None for w in widths):
        return None
    known = [w for w in widths if w is not None]
    if node.kind == "cat":
        return sum(known)
    if node.kind == "alt":
        return known[0] if len(set(known)) == 1 else None
    return known[0] * node.least if node.least == node.upto else None


# ── expressions → position automaton ────────────────────────────────────────────────────────────────────────────────


class Positions:
    """Every set in an expression is a position; `follow` says which positions may come next."""

    def __init__(self) -> None:
        self.sets: list[int] = []
        self.follow: list[set[int]] = []

    def add(self, node: Node) -> tuple[bool, list[int], list[int]]:
        """(may be empty, positions that may come first, positions that may come last)."""
        if node.kind == "set":
            self.sets.append(node.units)
            self.follow.append(set())
            here = [len(self.sets) - 1]
            return False, here, here
        if node.kind == "alt":
            added = [self.add(part) for part in node.parts]
            return any(a[0] for a in added), [p for a in added for p in a[1]], [p for a in added for p in a[2]]
        if node.kind == "cat":
            return self.chain([self.add(part) for part in node.parts])
        return self.repeat(node)

    def chain(self, added: list[tuple[bool, list[int], list[int]]]) -> tuple[bool, list[int], list[int]]:
        empty, first, last = True, list[int](), list[int]()
        for may_be_empty, starts, ends in added:
            for p in last:
                self.follow[p].update(starts)
            first = first + starts if empty else first
            last = last + ends if may_be_empty else ends
            empty = empty and may_be_empty
        return empty, first, last

    def repeat(self, node: Node) -> tuple[bool, list[int], list[int]]:
        part = node.parts[0]
        if node.upto is None:
            empty, first, last = self.add(part)
            for p in last:
                self.follow[p].update(first)
            return empty or node.least == 0, first, last
        copies = [self.add(part) for _ in range(node.upto)]
        return self.chain([(c[0] or i >= node.least, c[1], c[2]) for i, c in enumerate(copies)])


def classes_of(sets: list[int]) -> tuple[bytes, list[int]]:
    """Units no set tells apart share a class: the class of each unit, and one unit of each class."""
    blocks = [ANY]
    for units in dict.fromkeys(sets):
        inside = [block & units for block in blocks]
        blocks = [b for block, cut in zip(blocks, inside, strict=True) for b in (cut, block ^ cut) if b]
    table, examples = bytearray(UNITS), []
    for number, block in enumerate(blocks):
        examples.append((block & -block).bit_length() - 1)
        while block:
            start = (block & -block).bit_length() - 1
            run = (~(block >> start) & -~(block >> start)).bit_length() - 1
            table[start : start + run] = bytes([number]) * run
            block &= ~(((1 << run) - 1) << start)
    return bytes(table), examples


def compile_rules(rules: Sequence[Rule], vocabulary: Mapping[str, str | int], blanks: str) -> Automaton:
    """The automaton of the rules; a name of the vocabulary may use the names before it."""
    words: dict[str, Node] = {}
    for name, meaning in vocabulary.items():
        words[name] = Node("set", meaning) if isinstance(meaning, int) else Parser(meaning, words).parse()
    positions, first, accept, lengths = Positions(), list[int](), dict[int, int](), list[int]()
    for number, rule in enumerate(rules):
        body, ahead = Parser(rule.pattern, words).parse(), Parser(rule.ahead, words).parse()
        _, starts, ends = positions.add(Node("cat", parts=[body, ahead]))
        first += starts
        accept.update(dict.fromkeys(ends, number))
        length = width(ahead)
        lengths.append(-1 if length is None else length)
    table, examples = classes_of(positions.sets)
    reads = {units: bytes(units >> unit & 1 for unit in examples) for units in set(positions.sets)}
    return Automaton(
        classes=table,
        members=[reads[units] for units in positions.sets],
        follow=[sorted(nexts) for nexts in positions.follow],
        accept=[accept.get(p, NO_RULE) for p in range(len(positions.sets))],
        first=first,
        rules=list(rules),
        ahead=lengths,
        blanks=frozenset(blanks),
    )


# ── running it ──────────────────────────────────────────────────────────────────────────────────────────────────────


def utf16(text: str) -> str:
    """One character per UTF-16 unit."""
    if text.isascii():
        return text
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    if max(text) > "\uffff":
        halves = memoryview(text.encode("utf-16-le")).cast("H")
        return "".join(map(chr, halves))
    return text


def join_units(units: str) -> str:
    """The characters again, from their UTF-16 units."""
    return units if units.isascii() else units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Scanner:
    """The readable engine; `_kernels/scanner.cpp` is its compiled twin."""

    def __init__(self, automaton: Automaton) -> None:
        check_automaton(automaton)
        self.automaton = automaton
        self.numbers: dict[tuple[int, ...], int] = {}
        self.rows: list[list[int]] = []  # next state by class, filled as texts ask for it
        self.nexts: list[list[int]] = []
        self.accepts: list[int] = []
        self.lock = Lock()  # threads share the states
        self.start = self.state((), automaton.first)

    def state(self, positions: tuple[int, ...], nexts: list[int]) -> int:
        if len(self.rows) >= MOST_STATES:
            raise ValueError("the rules need too many states")
        number = self.numbers[positions] = len(self.rows)
        self.rows.append([UNKNOWN] * len(self.automaton.members[0]))
        self.nexts.append(nexts)
        rules = [self.automaton.accept[p] for p in positions if self.automaton.accept[p] != NO_RULE]
        self.accepts.append(min(rules, default=NO_RULE))
        return number

    def step(self, state: int, unit_class: int) -> int:
        """The state after one more unit, made now if no text has been here before."""
        a = self.automaton
        positions = tuple(p for p in self.nexts[state] if a.members[p][unit_class])
        with self.lock:
            if not positions:
                target = DEAD
            elif positions in self.numbers:
                target = self.numbers[positions]
            else:
                target = self.state(positions, sorted({q for p in positions for q in a.follow[p]}))
            self.rows[state][unit_class] = target
        return target

    def longest(self, classes: bytes, start: int, doomed: set[tuple[int, int]]) -> tuple[int, int]:
        """(end, rule) of the match at `start`; `doomed` holds (place, state) from where no match is ever reached."""
        rows, accepts = self.rows, self.accepts
        state, at, end, rule, state_at_end = self.start, start, start, NO_RULE, self.start
        while at < len(classes) and not (doomed and (at, state) in doomed):
            target = rows[state][classes[at]]
            if target == UNKNOWN:
                target = self.step(state, classes[at])
            if target == DEAD:
                break
            state, at = target, at + 1
            if accepts[state] != NO_RULE:
                end, rule, state_at_end = at, accepts[state], state
        if at - end > OVERSHOT:
            state = state_at_end
            for place in range(end, at):
                if place % NOTE_EVERY == 0 and place > end:
                    doomed.add((place, state))
                state = rows[state][classes[place]]
        return end, rule

    def line(self, text: str) -> str:
        """The tokens joined by blanks; a line end stays a line end."""
        a, units = self.automaton, utf16(text)
        classes = bytes([a.classes[ord(c)] for c in units])
        out: list[str] = []
        doomed: set[tuple[int, int]] = set()
        at, fresh = 0, True
        while at < len(units):
            end, number = self.longest(classes, at, doomed)
            if number == NO_RULE:
                raise ValueError(f"no rule matches U+{ord(units[at]):04X}")
            rule, ahead = a.rules[number], a.ahead[number]
            if ahead < 0:
                ahead = next((end - i for i in range(at, end) if units[i] in a.blanks), end)
            end -= ahead + rule.cut
            if end - rule.again <= at:
                raise ValueError("a rule gives back all that it has matched")
            if rule.kind == "token":
                out.append(("" if fresh else " ") + make_token(rule, units[at:end]))
                fresh = False
            elif rule.kind == "line" and "\n" in units[at:end]:
                out.append("\n")
                fresh = True
            at = end - rule.again
        return join_units("".join(out))

    def lines(self, texts: Sequence[str]) -> list[str]:
        return [self.line(text) for text in texts]


def make_token(rule: Rule, match: str) -> str:
    """What a rule makes of its match."""
    if rule.whole is not None:
        return rule.whole
    most = MOST_EDIT * len(match)
    for old, new in rule.edits:
        match = match.replace(old, new)
        if len(match) > most:
            raise ValueError("a rule makes too long a token")
    return match or rule.empty


def check_automaton(a: Automaton) -> None:
    """Tables that fit together and rules that leave something of what they match: ValueError otherwise."""
    width = len(a.members[0]) if a.members else 0
    n = len(a.members)
    fits = len(a.classes) == UNITS and max(a.classes) < width <= 256 and len(a.follow) == len(a.accept) == n
    fits = fits and all(len(row) == width for row in a.members) and len(a.ahead) == len(a.rules)
    fits = fits and all(0 <= p < n for row in (a.first, *a.follow) for p in row)
    if not fits or not all(NO_RULE <= rule < len(a.rules) for rule in a.accept):
        raise ValueError("not an automaton: its tables do not fit together")
    for rule, ahead in zip(a.rules, a.ahead, strict=True):
        if not (-1 <= ahead <= MOST_UNITS and 0 <= rule.cut <= MOST_UNITS and 0 <= rule.again <= MOST_UNITS):
            raise ValueError("a rule gives back too much, or less than nothing")
        if rule.kind not in ("token", "skip", "line"):
            raise ValueError("a rule is for a token, skip or line")
        longest = max(len(utf16(text)) for text in (rule.whole or "", rule.empty))
        if longest > MOST_UNITS or any(not old or len(utf16(new)) > MOST_EDIT for old, new in rule.edits):
            raise ValueError("a rule makes too long a token, or replaces nothing by something")
