"""fabula protocols: the same predictions under every published evaluator, and why they differ."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fabula.cli._console import Several, bar, say, tell
from fabula.cli._out import check_outputs, write_json
from fabula.cli._what import What, check_said, what_to_score
from fabula.diagnose._rules import Apart, Rule, moved
from fabula.diagnose.protocols import Overview, Reason, overview, titled
from fabula.report.table import plain_rows

NAMED = 3  # units a sentence names; --explain lists them all
WRITTEN = 100  # units a rule has in the JSON


@click.command("protocols", cls=Several)
@click.argument("predictions", type=click.Path(path_type=Path))
@what_to_score(without=("protocol", "metrics", "strict"))
@click.option("--explain", nargs=2, metavar="A B", help="List what parts protocol A from protocol B, unit by unit.")
@click.option("--only", help="Protocols to compare, comma separated. Default: all that apply.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write JSON; - for standard output.")
def command(
    predictions: Path, what: What, explain: tuple[str, str] | None, only: str | None, json_: Path | None
) -> None:
    """Score PREDICTIONS under every published protocol that applies, the default first.

    \b
    fabula protocols preds.json --refs val_1.json val_2.json
    fabula protocols preds.json --refs val_1.json --explain soda-2021 vid2seq
    fabula protocols boxes.json --refs region_descriptions.json --task regions
    fabula protocols filled.csv --refs references.csv --sets valSets.csv --task identity
    """
    check_said("--only", only)
    names = [n.strip() for n in only.split(",")] if only else [n for n in explain or () if n != "default"]
    check_outputs([predictions, *what["refs"], what["sets"]], json_=json_)
    with bar() as progress:
        seen = overview(predictions, what.pop("refs"), names or None, progress=progress, **what)
    for line in seen.warnings:
        say(f"warning: {line}", style="yellow")
    if json_ and write_json(json_, as_json(seen)):
        return
    if explain:
        tell(explained(seen, *explain))
        return
    show(seen)
    tell(reasons(seen))


def cells(seen: Overview) -> list[list[str]]:
    """A line per number, a column per protocol."""
    lines = []
    for label, number in seen.lines():
        scores = [c.result.scores.get(label) if c.result else None for c in seen.columns]
        primary = next(s.primary for s in scores if s is not None)
        values = [f"{s.values[number] * s.scale:.2f}" if s and number in s.values else "" for s in scores]
        lines.append([titled(label, number, primary), *values])
    return lines


def show(seen: Overview) -> None:
    head = ["metric", *(c.name for c in seen.columns)]
    if not sys.stdout.isatty():
        tell(plain_rows(head, cells(seen)))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, name in enumerate(head):
        table.add_column(name, justify="left" if i == 0 else "right", style="bold" if i < 2 else None, overflow="fold")
    for line in cells(seen):
        table.add_row(*line)
    Console().print(table)


def reasons(seen: Overview) -> Iterator[str]:
    """One sentence for each number that differs from the default; protocols that agree share it."""
    yield ""
    told: dict[str, list[str]] = {}
    for column in seen.columns[1:]:
        if column.result is None:
            yield f"{column.name}: not computed: {column.refused}"
            continue
        for reason in seen.reasons(column.name):
            told.setdefault(said(reason), []).append(column.name)
    for sentence in sorted(told):
        metric, _, rest = sentence.partition("\t")
        yield f"{metric} under {', '.join(told[sentence])}: {rest}"


def said(reason: Reason) -> str:
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
    if not moved(rule.alone, reason.there):
        return f"only with the others; {where}"
    return f"alone {digits(rule.alone, reason.there, reason.scale)[0]}; {where}"


def one(units: str) -> str:
    return f"{units[:-3]}y" if units.endswith("ies") else units[:-1]


def explained(seen: Overview, a: str, b: str) -> Iterator[str]:
    """Number by number: the rules, each with the score it alone leads to, and the units in which it shows."""
    found = seen.reasons(a, b)
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
        told = [f"{x * scale:.{places}f}" if x == x else "does not count" for x in (here, there)]
        if told[0] != told[1]:
            break
    return told[0], told[1]


def as_json(seen: Overview) -> dict[str, Any]:
    return {
        "task": seen.task,
        "protocols": {c.name: c.result.to_dict() if c.result else {"refused": c.refused} for c in seen.columns},
        "reasons": {c.name: [reason_json(r) for r in seen.reasons(c.name)] for c in seen.columns[1:] if c.result},
    }


def reason_json(reason: Reason) -> dict[str, Any]:
    return {
        "metric": reason.metric,
        "value": reason.here,
        "default": reason.there,
        "rules": [rule_json(rule, reason.unit) for rule in reason.rules],
        **units_json(reason.unit, reason.most),
    }


def rule_json(rule: Rule, unit: str) -> dict[str, Any]:
    return {"rule": rule.field, "does": rule.does, "alone": rule.alone, **units_json(unit, rule.units)}


def units_json(unit: str, units: tuple[Apart, ...]) -> dict[str, Any]:
    """How many, and the most different of them; one that does not count has null."""
    most = [
        {one(unit): id, "value": None if here != here else here, "default": None if there != there else there}
        for id, here, there in units[:WRITTEN]
    ]
    return {unit: len(units), "most": most}
