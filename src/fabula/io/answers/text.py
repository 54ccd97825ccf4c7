"""Sentences, lists, labels and tables of a free-form answer: where two times make a span, and which words belong to it.

Two numbers are a span when the text says so: a unit, a clock, brackets, labels, "from … to …", the head of a line.
`2 to 3 eggs` is none. Each line ends as part of an event, as a refused line with its reason, or as prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fabula.core.patterns import lazy
from fabula.io.answers.times import PLAIN, Time, cut_lines, scan_times
from fabula.io.answers.words import HEAD, Span, assign_words, find_bullet_end, find_line, tidy_words

MARK = r"(?:about|around|approximately|approx\.?|roughly|exactly|the|at|timestamps?|time|mark|on|by|t\s?=)"
LABEL = r"(?:[_ ]?(?:time|times|at|timestamps?|stamp|seconds?|secs?|sec|frames?|frame|point))"
START = rf"(?:starts?|started|starting|begins?|beginning|began|start|from){LABEL}{{0,2}}"
END = rf"(?:ends?|ended|ending|finish(?:es|ed|ing)?|stops?|stopped|stopping|concludes?|concluding){LABEL}{{0,2}}"
SIGNS = r"['\"*]{0,3}\s{0,2}[:=]?\s{0,2}['\"*]{0,3}\s{0,2}"
TAIL = rf"(?:\s?\(s(?:ec(?:ond)?s?)?\))?{SIGNS}(?:{MARK}\s{{1,2}}){{0,3}}"
STRONG = lazy(
    rf"(?:-{{1,3}}>?|~|=>|\.{{2,3}}|(?:up )?to|until|till?|through|thru)\s{{0,2}}(?:{MARK}\s{{0,2}}){{0,3}}", re.I
)
AND = lazy(rf"(?:and|&)\s{{0,2}}(?:{MARK}\s{{0,2}}){{0,3}}", re.I)
LIST = lazy(r"[,;|/]")
THEN = r"(?:[,;|.\-]|\b(?:and|then|but|until|to|it|the|event|he|she|they|which)\b|\s){0,8}"
TO_END = lazy(rf"[\"'*]{{0,3}}{THEN}[-*\s\"'(]{{0,6}}{END}{TAIL}", re.I)
TO_START = lazy(rf"[\"'*]{{0,3}}{THEN}[-*\s\"'(]{{0,6}}{START}{TAIL}", re.I)
LASTS = lazy(
    rf"{THEN}(?:lasts?|lasting|lasted|goes on|continues|continuing)\s(?:for\s)?(?:{MARK}\s{{1,2}}){{0,2}}", re.I
)
SPELLED_UNIT = lazy(r"(?:sec|min|hour)[a-z]{0,5}$", re.I)
JOINS = lazy(r"[a-z,;|/&~=.\-]", re.I)  # without one of these, nothing joins two times
WRAP = " \n\t)]}>\"'*`([{<"
OPEN = "\"'*`([{<"

BEFORE = lazy(
    rf"(?:\b(?P<range>from|between|during|within|in|at|for|of|over|across)\s|\b(?P<start>{START}{TAIL})|\b(?P<end>{END}{TAIL})"
    r"|\b(?P<label>timestamps?|time\s?(?:range|span|frame|stamps?|interval|window)?|interval|segment|window|span|range"
    rf"|period|duration|times)['\"*]{{0,3}}\s?[:=]?\s{{0,2}}['\"*]{{0,2}})\s{{0,2}}(?:{MARK}\s{{1,2}}){{0,2}}(?:seconds?\s)?$",
    re.I,
)
OF_VIDEO = lazy(
    r"\s?(?:of|into|through)\s(?:the\s)?(?:(?:whole|total|entire|full)\s)?(?:video(?:'s)?(?:\s(?:duration|length))?|clip|duration|length)\b",
    re.I,
)
ITEM = lazy(r"\s*(?:[-*•·‣▪◦+]\s|\(?\d{1,4}[.):]\s|\#\d)")
HEADED = lazy(r"\b(?:start|begin|from|end|time|timestamp|caption|sentence|description|event|action)", re.I)


class Length:
    """Two numbers in the words of an event: bake for 10 to 15 minutes, stir 10-15 seconds."""


LENGTH = Length()


@dataclass(slots=True)
class Found:
    """What a text holds: spans with their words, refused lines with a reason, and the prose around them."""

    spans: list[Span] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)  # line number, reason
    prose: list[int] = field(default_factory=list)


def find_spans(text: str, plain: str) -> Found:
    """`plain` is the text with its signs made plain, character for character."""
    text = TIME_TAG.sub(lambda tag: " " * len(tag[0]), text)
    plain = TIME_TAG.sub(bracket_tag, plain)
    rows = list(cut_lines(plain))
    tabular = read_tables(plain, rows)
    spans: list[Span] = []
    covered = {n for n, _, _ in tabular}
    bare = {n for n, span, data in tabular if span is None and data}
    free = [
        t
        for t in share_units(scan_times(plain), plain)
        if (n := find_line(rows, t.start)) not in covered and not is_count(t, plain, rows[n])
    ]
    for span in pair_times(free, plain, rows, covered):
        span.lines = list(range(find_line(rows, span.low), find_line(rows, span.high) + 1))
        spans.append(span)
    assign_words(spans, text, plain, rows, covered)
    spans += [span for _, span, _ in tabular if span is not None]
    spans.sort(key=lambda s: (s.lines[0], s.low))
    return sort_lines(spans, plain, rows, bare, free)


TIME_TAG = lazy(r"<(?P<end>/?)(?:time|timestamp|timestep|span|segment|interval|window)s?>", re.I)


def bracket_tag(tag: re.Match[str]) -> str:
    """<time> and </time> as brackets, as long as they were."""
    blanks = " " * (len(tag[0]) - 1)
    return f"]{blanks}" if tag["end"] else f"{blanks}["


def share_units(times: list[Time], plain: str) -> list[Time]:
    """`10 - 12, 20 - 22 seconds`: spans that are listed share the unit that stands behind the last of them."""
    shared = list(times)
    for i in range(len(shared) - 4, -1, -1):
        a, b, c, d = shared[i : i + 4]
        unit = d if d.has_unit else c
        if a.has_unit or b.has_unit or not unit.has_unit or unit.unit == "clock" or unit.scale is None:
            continue
        gaps = [plain[x.end : y.start] for x, y in ((a, b), (b, c), (c, d))]
        if all(STRONG.fullmatch(g.strip(WRAP)) for g in (gaps[0], gaps[2])) and LISTED.fullmatch(gaps[1]):
            shared[i + 1] = replace(b, unit=unit.unit, scale=unit.scale, value=b.value * (unit.scale or 1.0))
    return shared


LISTED = lazy(r"\s{0,2}(?:[,;&]|and|,\s?and)\s{0,2}", re.I)


def holds_span(words: str) -> bool:
    """True for words in which another span of times stands; `bake for 10 to 15 minutes` tells how long, not when."""
    plain = TIME_TAG.sub(bracket_tag, words.translate(PLAIN))
    tagged, times = TIME_TAG.search(words) is not None, scan_times(plain)
    for a, b in pairwise(times):
        gap = plain[a.end : b.start]
        if "\n" in gap or len(gap) > 12 or not (STRONG.fullmatch(gap.strip(WRAP)) or b.signed):
            continue
        before = find_introduction(plain[max(0, a.start - 48) : a.start].rstrip(OPEN))
        low, high = widen_span(a.start, b.end, plain, 0, len(plain))
        bracketed = plain[low : a.start].strip("\"'*`_ ").endswith(("[", "(", "{", "<"))
        if before == "for":
            continue
        if tagged or plain[:low].strip(" ,;").lower() in ("and", "&"):
            return True
        if not a.has_unit and not b.has_unit:
            whole = all(t.value == int(t.value) for t in (a, b))
            if (bracketed or before in WHEN) and (not whole or ends_well(plain[high : high + HEAD], a, b, True)):
                return True
        elif bracketed or before is not None or {a.unit, b.unit} & {"clock", "token", "frame", "percent"}:
            return True
    return False


WHEN = ("from", "between", "during", "within", "in", "at", "label", "start")


def is_count(time: Time, plain: str, line: tuple[int, int]) -> bool:
    """Whether this number only counts the lines of a list."""
    return not time.has_unit and time.start - line[0] < HEAD and time.end <= find_bullet_end(plain, line)


def sort_lines(
    spans: list[Span], plain: str, rows: Sequence[tuple[int, int]], bare: set[int], times: Sequence[Time]
) -> Found:
    """Every line that is no part of an event is refused with a reason, or prose."""
    out = Found(spans)
    used = {n for span in spans for n in span.lines}
    timed = {find_line(rows, t.start) for t in times if t.has_unit}
    for n, (low, high) in enumerate(rows):
        line = plain[low:high]
        if n in used or not line.strip():
            continue
        if n in bare:
            out.refused.append((n, "a row without two times"))
        elif n in timed:
            out.refused.append((n, "one time, or times that make no span"))
        elif not spans or (ITEM.match(line) and any(c.isalnum() for c in line)):
            out.refused.append((n, "no time"))
        else:
            out.prose.append(n)
    return out


# Spans ------------------------------------------------------------------------------------------------------


def pair_times(times: Sequence[Time], plain: str, rows: Sequence[tuple[int, int]], covered: set[int]) -> list[Span]:
    spans: list[Span] = []
    i, free = 0, 0  # the next time, and where the text begins that no span has taken
    while i + 1 < len(times):
        found = join_times(times[i], times[i + 1], plain, rows, free, covered)
        if isinstance(found, Span) and found.low >= free:
            spans.append(found)
            free = found.high
        i += 1 if found is None else 2
    return spans


def join_times(
    a: Time, b: Time, plain: str, rows: Sequence[tuple[int, int]], free: int, covered: set[int]
) -> Span | Length | None:
    """The span that two neighbouring times make; None where they do not belong together."""
    line, last = find_line(rows, a.start), find_line(rows, b.start)
    gap = plain[a.end : b.start]
    if len(gap) > 60 or any(n in covered for n in range(line, last + 1)):
        return None
    if not JOINS.search(gap) and not b.signed and b.unit != "token":
        return None
    if b.signed and not STRONG.fullmatch(gap.strip(WRAP)):
        gap, b = gap + "-", Time(-b.value, "", b.start, b.end)
    first = max(free, rows[line][0])
    before = find_introduction(plain[max(first, a.start - 48) : a.start].rstrip(OPEN))
    kind = "strong" if a.unit == b.unit == "token" and len(gap) < 4 and "\n" not in gap else find_link(gap, before)
    if kind is None:
        return None
    if before == "for":
        return LENGTH
    low, high = widen_span(a.start, b.end, plain, first, rows[last][1])
    bracketed = plain[low : a.start].strip("\"'*`_ \n").endswith(("[", "(", "{", "<"))
    head = rows[line]
    at_head = low - head[0] < HEAD and not (
        plain[head[0] : low].strip() and plain[find_bullet_end(plain, head) : low].strip()
    )
    if kind == "list" and not (bracketed or (at_head and is_csv(plain, a, b, rows[last][1]))):
        return None
    ahead = plain[max(first, low - 8) : low].rstrip()
    clause = not ahead or ahead[-1] in ".;,!?:-"  # a new clause begins with the span
    clause = clause or (free > head[0] and ahead.strip(" ,;").lower() in ("and", "&"))  # or it follows another
    loose = not (bracketed or at_head or clause or before) and bool(SPELLED_UNIT.search(plain, b.start, b.end))
    if loose and (first > head[0] or b.scale == 60):
        return LENGTH
    whole = OF_VIDEO.match(plain, high)
    if not a.has_unit and not b.has_unit:
        if whole and min(a.value, b.value) >= 0 and max(a.value, b.value) <= 1:
            a, b = replace(a, unit="fraction"), replace(b, unit="fraction")
        elif not (bracketed or kind in ("end", "start", "length") or before in ("label", "start")) and not ends_well(
            plain[high : min(high + HEAD, rows[last][1])],
            a,
            b,
            at_head or before in ("from", "between") or (clause and plain[high : high + 2].strip()[:1] == ":"),
        ):
            return None
    if whole and a.unit != "s":
        high = whole.end()
    low = find_opening(plain, low, first)
    return Span(*((b, a) if kind == "start" else (a, b)), low, high, lasting=kind == "length")


def find_introduction(words: str) -> str | None:
    """What the words before a time say it is: from, between, start, end, label, or only a preposition."""
    found = BEFORE.search(words)
    if found is None:
        return None
    if found["range"]:
        return found["range"].lower()
    return next(kind for kind in ("start", "end", "label") if found[kind])


def find_link(gap: str, before: str | None) -> str | None:
    """How the text between two times joins them: strong (to, a dash), list (a comma), end or start (labels), length."""
    core = gap.strip(WRAP)
    if STRONG.fullmatch(core) or (AND.fullmatch(core) and before == "between"):
        return None if "\n" in gap else "strong"
    if TO_END.fullmatch(gap.rstrip(WRAP)) or TO_END.fullmatch(gap):
        return "end"
    if before == "end" and (TO_START.fullmatch(gap.rstrip(WRAP)) or TO_START.fullmatch(gap)):
        return "start"
    if "\n" not in gap and LASTS.fullmatch(gap):
        return "length"
    return "list" if "\n" not in gap and LIST.fullmatch(core) else None


def find_opening(plain: str, low: int, first: int) -> int:
    """Where the words that introduce the span begin."""
    at = max(first, low - 48)
    found = BEFORE.search(plain[at:low])
    return at + found.start() if found else low


def is_csv(plain: str, a: Time, b: Time, end: int) -> bool:
    """12, 30, words: a third field follows that is no number; or the line is nothing but two decimal numbers."""
    rest = plain[b.end : min(b.end + 4, end)].lstrip(" ")
    if not plain[b.end : min(b.end + HEAD, end)].strip():
        return "." in plain[a.start : a.end] and "." in plain[b.start : b.end]
    return rest[:1] in (",", ";") and not rest[1:].strip()[:1].isdigit()


def ends_well(rest: str, a: Time, b: Time, introduced: bool) -> bool:
    """What follows two bare numbers lets them be times: nothing, a sign, or a capital; never a noun that is counted."""
    if not introduced:
        return False
    follows = rest.strip()[:1]
    if not follows or follows in ":,.;|-)]}~*\"'?!<":
        return True
    return a.value != int(a.value) or b.value != int(b.value) or not follows.islower()


def widen_span(low: int, high: int, plain: str, first: int, last: int) -> tuple[int, int]:
    """The span with the brackets, quotes and stars around it."""
    for _ in range(6):
        if low > first and plain[low - 1] in "\"'*`([{<_":
            low -= 1
        if high < last and plain[high] in "\"'*`)]}>_":
            high += 1
    return low, high


# Tables -----------------------------------------------------------------------------------------------------


def read_tables(plain: str, rows: Sequence[tuple[int, int]]) -> list[tuple[int, Span | None, bool]]:
    """Rows of | cells |, and of start,end,caption files: (line, its span, whether it is no head and no ruler)."""
    found: list[tuple[int, Span | None, bool]] = []
    names: list[str] | None = None
    sign = "|"
    for n, (low, high) in enumerate(rows):
        line = plain[low:high]
        if names is None or not names or sign == "|":
            sign = "|" if line.count("|") >= 2 else sign
        cells = split_cells(line, sign)
        if len(cells) < 2 or (sign == "|" and line.count("|") < 2 and not names):
            if is_headed(comma := split_cells(line, ",")) and len(comma) > 1:
                names, sign = [c.lower() for c in comma], ","
                found.append((n, None, False))
            elif not line.strip() or sign != "|":
                names, sign = (names, sign) if names and line.strip() and sign == "," else (None, "|")
            continue
        if is_headed(cells):
            names = [c.lower() for c in cells]
            found.append((n, None, False))
        elif not any(c.isalnum() for c in line):
            found.append((n, None, False))
        elif (span := read_row(cells, names, low, n)) is not None:
            found.append((n, span, True))
        elif sign == "|" and (names or line.lstrip().startswith("|")):
            found.append((n, None, True))
    return found


def split_cells(line: str, sign: str) -> list[str]:
    limit = 2 if sign == "," else -1
    return [c.strip(" *`\"'") for c in line.strip().strip("|").split(sign, limit)] if sign in line else []


def is_headed(cells: Sequence[str]) -> bool:
    return sum(bool(HEADED.search(c)) for c in cells) >= 2 and not any(c.isdigit() for cell in cells for c in cell)


def read_row(cells: Sequence[str], names: Sequence[str] | None, low: int, n: int) -> Span | None:
    """The two times of a row: in the columns its head names, in one cell, or in the last two cells that are times."""
    read = [scan_times(c) for c in cells]
    whole = [len(r) == 1 and r[0].end - r[0].start == len(c.strip("<>[]()")) for r, c in zip(read, cells, strict=True)]
    at: list[int] = []
    if names and len(names) >= len(cells):
        starts = [i for i in range(len(cells)) if whole[i] and re.match(r"(?:start|begin|from)", names[i])]
        ends = [i for i in range(len(cells)) if whole[i] and re.match(r"(?:end|stop|to\b|finish)", names[i])]
        at = [*starts[:1], *ends[:1]]
    if len(at) < 2:
        at = next(([i] for i, c in enumerate(cells) if parse_span(c)), [])
    if not at:
        pairs = [i for i in range(len(cells) - 1) if whole[i] and whole[i + 1]]
        at = [pairs[-1], pairs[-1] + 1] if pairs else []
    if not at:
        return None
    if len(at) == 1:
        a, b = parse_span(cells[at[0]]) or (read[at[0]][0], read[at[0]][1])
    else:
        a, b = read[at[0]][0], read[at[1]][0]
    a, b = (apply_unit(t, names[i] if names and i < len(names) else "") for t, i in ((a, at[0]), (b, at[-1])))
    rest = [(i, tidy_words(c)) for i, c in enumerate(cells) if i not in at]
    worded = [c for i, c in rest if any(ch.isalpha() for ch in c) and not re.fullmatch(r"\w+\s?\d{1,3}", c)]
    named = [c for i, c in rest if names and i < len(names) and re.match(r"capt|sent|desc|text|summ", names[i])]
    return Span(a, b, low, low, caption=" ".join(named or worded or [c for _, c in rest if not c.isdigit()]), lines=[n])


def parse_span(cell: str) -> tuple[Time, Time] | None:
    """The two times of text that holds nothing but a span."""
    times = scan_times(cell)
    if len(times) != 2:
        return None
    a, b = times
    outside = cell[: a.start] + cell[b.end :]
    gap = cell[a.end : b.start].strip(WRAP)
    if b.signed:
        gap, b = gap + "-", Time(-b.value, "", b.start, b.end)
    framed = re.sub(r"(?i)from|between|seconds?|[\s<>\[\](){}\"'*`:.,]", "", outside)
    return (a, b) if not framed and (STRONG.fullmatch(gap) or AND.fullmatch(gap) or LIST.fullmatch(gap)) else None


def apply_unit(time: Time, name: str) -> Time:
    """A bare number takes the unit that its column or key names."""
    if time.has_unit:
        return time
    for unit, sign in (
        ("frame", r"frame"),
        ("percent", r"%|percent|pct"),
        ("ms", r"\(ms\)|_ms\b|milli"),
        ("min", r"\(min|minutes"),
    ):
        if re.search(sign, name):
            return {"ms": Time(time.value / 1000, "s"), "min": Time(time.value * 60, "s")}.get(
                unit, Time(time.value, unit)
            )
    return Time(time.value, "s") if re.search(r"\(s|sec", name) else time
