"""Protocols side by side as text: a table, a sentence for each number that differs, and JSON. Numbers × 100."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabula.diagnosis.protocols import Apart, Overview, Reason, Rule, has_moved, title_number
from fabula.diagnosis.readings import Readings
from fabula.report.table import plain_rows

if TYPE_CHECKING:
    from fabula.report.layout import Cell, TextTable

NAMED = 3  # units a sentence names; --explain lists them all
WRITTEN = 100  # units a rule has in the JSON


def cells(overview: Overview) -> list[list[str]]:
    """A line per number, a column per protocol."""
    lines = []
    for label, number in overview.lines():
        scores = [c.result.scores.get(label) if c.result else None for c in overview.columns]
        primary = next(s.primary for s in scores if s is not None)
        values = [f"{s.values[number] * s.scale:.2f}" if s and number in s.values else "" for s in scores]
        lines.append([title_number(label, number, primary), *values])
    return lines


def plain(overview: Overview) -> Iterator[str]:
    return plain_rows(head(overview), cells(overview))


def rich_table(overview: Overview) -> TextTable:
    from rich.text import Text

    from fabula.report.layout import TextTable

    rows: list[list[Cell]] = [[*(Text(c, style="bold") for c in line[:2]), *line[2:]] for line in cells(overview)]
    return TextTable(head(overview), rows)


def head(overview: Overview) -> list[str]:
    return ["metric", *(c.name for c in overview.columns)]


def reasons(overview: Overview) -> Iterator[str]:
    """One sentence for each number that differs from the default; protocols that agree share it."""
    yield ""
    under: dict[str, list[str]] = {}
    yield from (f"{c.name}: not computed: {c.refused}" for c in overview.columns[1:] if c.result is None)
    for name, found in overview.every_reason().items():
        for reason in found:
            under.setdefault(explain_reason(reason), []).append(name)
    for sentence in sorted(under):
        metric, _, rest = sentence.partition("\t")
        yield f"{metric} under {', '.join(under[sentence])}: {rest}"
    yield from readings(overview)


def readings(overview: Overview) -> Iterator[str]:
    """Of answers in words: a line per reader, how many it reads, and how many as ours does."""
    if overview.readings is None:
        return
    total = len(overview.readings.answers)
    yield ""
    rows = [
        [name, str(overview.readings.read(name)), str(overview.readings.alike(name))]
        for name in overview.readings.windows
    ]
    yield from plain_rows([f"reader of {total} answers", "finds a window in", "first window as ours"], rows)


def explain_reason(reason: Reason) -> str:
    here, there = digits(reason.here, reason.there, reason.scale)
    numbers = f"{reason.metric}\t{here}, default {there}"
    why = "; ".join(f"{rule.does} ({shows(rule, reason)})" for rule in reason.rules)
    return f"{numbers}: {why or 'no rule alone moves it'}"


def shows(rule: Rule, reason: Reason) -> str:
    """How far the rule goes by itself, and where it shows."""
    units = reason.unit if len(rule.units) != 1 else one(reason.unit)
    who = ", ".join(unit for unit, _, _ in rule.units[:NAMED]) + (", …" if len(rule.units) > NAMED else "")
    where = f"{len(rule.units):,} {units}: {who}" if rule.units else f"the {reason.unit} are the same, the fold differs"
    if rule.alone is None:
        return where
    if not has_moved(rule.alone, reason.there):
        return f"only with the others; {where}"
    return f"alone {digits(rule.alone, reason.there, reason.scale)[0]}; {where}"


def one(units: str) -> str:
    return f"{units[:-3]}y" if units.endswith("ies") else units[:-1]


def explained(overview: Overview, a: str, b: str) -> Iterator[str]:
    """Number by number: the rules, each with the score it alone leads to, and the units in which it shows."""
    found = overview.reasons(a, b)
    if not found:
        yield f"{a} and {b} give the same numbers here, or have no number in common"
    for reason in found:
        scale = reason.scale
        ours, theirs = digits(reason.here, reason.there, scale)
        yield f"{reason.metric}: {a} {ours}, {b} {theirs}"
        for rule in reason.rules:
            yield f"  {a}: {rule.does} ({shows(rule, reason)})"
            for unit, here, there in rule.units:
                yield f"    {unit}: {against(here, there, scale)}"
        if not reason.rules:
            yield "  no rule alone moves it"
            for unit, here, there in reason.most:
                yield f"    {unit}: {against(here, there, scale)}"


def against(here: float, there: float, scale: float) -> str:
    if here == there:
        return f"{here * scale:.2f} by itself, another part in the whole"
    return " against ".join(digits(here, there, scale))


def digits(here: float, there: float, scale: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to see that they differ, two at least."""
    for places in range(2, 7):
        both = [f"{x * scale:.{places}f}" if x == x else "does not count" for x in (here, there)]
        if both[0] != both[1]:
            break
    return both[0], both[1]


def as_json(overview: Overview) -> dict[str, object]:
    return {
        "task": overview.task,
        "protocols": {c.name: c.result.to_dict() if c.result else {"refused": c.refused} for c in overview.columns},
        "reasons": {name: [reason_json(r) for r in found] for name, found in overview.every_reason().items()},
        **({} if overview.readings is None else {"readings": readings_json(overview.readings)}),
    }


def readings_json(found: Readings) -> dict[str, object]:
    return {
        name: {"answers": len(found.answers), "read": found.read(name), "alike": found.alike(name)}
        for name in found.windows
    }


def reason_json(reason: Reason) -> dict[str, object]:
    return {
        "metric": reason.metric,
        "value": reason.here,
        "default": reason.there,
        "rules": [rule_json(rule, reason.unit) for rule in reason.rules],
        **units_json(reason.unit, reason.most),
    }


def rule_json(rule: Rule, unit: str) -> dict[str, object]:
    return {"rule": rule.field, "does": rule.does, "alone": rule.alone, **units_json(unit, rule.units)}


def units_json(unit: str, units: tuple[Apart, ...]) -> dict[str, object]:
    """How many, and the most different of them; one that does not count has null."""
    most = [
        {one(unit): id, "value": None if here != here else here, "default": None if there != there else there}
        for id, here, there in units[:WRITTEN]
    ]
    return {unit: len(units), "most": most}
