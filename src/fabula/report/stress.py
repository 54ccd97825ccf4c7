"""Metrics under stress as text: for a terminal, a pipe and JSON. A number is what is left of the score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from fabula.diagnosis.stress import Cell, Stress
from fabula.report.table import plain_rows
from fabula.stats.choose import name_methods

if TYPE_CHECKING:
    from rich.console import Group


def shown(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return f"{cell.ratio:.2f}" + (" [{:.2f}, {:.2f}]".format(*cell.interval) if cell.interval else "")


def counts(stress: Stress) -> list[str]:
    """How many stories each way applies to."""
    return [str(max((c[way].stories for c in stress.cells.values() if c[way]), default=0)) for way in stress.ways]  # type: ignore[union-attr]


def lines(stress: Stress) -> tuple[list[str], list[list[str]]]:
    """A line per way, a column per metric: ŝ/s and its interval."""
    names = list(stress.cells)
    body = [
        [way, n, *(shown(stress[m][way]) for m in names)] for way, n in zip(stress.ways, counts(stress), strict=True)
    ]
    return ["ŝ/s", "stories", *names], body


def how(stress: Stress) -> str:
    methods = name_methods(c.ci_method for ways in stress.cells.values() for c in ways.values() if c)
    return f"stories:{stress.stories}|copies:{stress.copies}|seed:{stress.seed}|ci:{stress.how.named(methods)}"


def plain(stress: Stress) -> Iterator[str]:
    yield from plain_rows(*lines(stress))
    yield ""
    yield how(stress)


def rich_tables(stress: Stress) -> Group:
    """The lowest of each line, that which notices most, in bold."""
    from rich.console import Group
    from rich.text import Text

    from fabula.report.layout import Paragraph, TextTable

    head, body = lines(stress)
    rows = []
    for line in body:
        low = min((c.split()[0] for c in line[2:] if c), default="")
        styled = [Text(c, style="bold green" if c and c.split()[0] == low else "") for c in line[2:]]
        rows.append([Text(line[0], style="bold"), Text(line[1], style="dim"), *styled])
    note = "1: the metric does not notice; the metric that notices most is marked"
    return Group(TextTable(head, rows), Text(), Paragraph(note, style="dim"), Paragraph(how(stress), style="dim"))


def as_json(stress: Stress) -> dict[str, object]:
    return {
        "stories": stress.stories,
        "copies": stress.copies,
        "seed": stress.seed,
        "ci": asdict(stress.how),
        "metrics": {
            m: {
                "signature": stress.signatures[m],
                "ways": {
                    way: None
                    if c is None
                    else {
                        "ratio": c.ratio,
                        "ci": list(c.interval) if c.interval else None,
                        "ci_method": c.ci_method,
                        "stories": c.stories,
                        "skipped": c.skipped,
                    }
                    for way, c in ways.items()
                },
            }
            for m, ways in stress.cells.items()
        },
    }
