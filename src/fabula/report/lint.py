"""What lint found as text: a table for a terminal, lines for a pipe, and a sentence on the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.checks import Finding, Mended, Report
from fabula.core.printable import cut_words, printable
from fabula.data.statistics import MEANINGS, Statistics
from fabula.report.table import join_cells

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fabula.report.layout import Cell

NAMED = 3  # places a table names
WIDEST = 80  # characters of each; --json has them whole
STYLES = {"error": "red", "warning": "yellow", "info": "dim"}


def plain(report: Report) -> Iterator[str]:
    """level ⇥ check ⇥ count ⇥ first places ⇥ what it means."""
    for f in report.findings:
        yield join_cells([f.level, f.check, str(len(f.places)), places(f), f.about])


def places(finding: Finding) -> str:
    more = ", …" if len(finding.places) > NAMED else ""
    return ", ".join(cut_words(printable(str(place)), WIDEST) for place in finding.places[:NAMED]) + more


def rich_table(report: Report, file: Path) -> RenderableType:
    from rich.text import Text

    from fabula.report.layout import TextTable

    if not report.findings:
        return Text("nothing is odd", style="green")
    rows: list[list[Cell]] = []
    for f in report.findings:
        level, check = Text(f.level, style=STYLES[f.level]), Text(f.check, style="bold")
        rows.append([level, check, f"{len(f.places):,}", places(f), f.about, f.fix or ""])
    return TextTable(["level", "check", "count", "where", "what it means", "fix"], rows, str(file), names=2)


def summary(report: Report, file: Path, format: str) -> str:
    """How much was looked at, and how much of it is odd."""
    n = report.numbers
    covered = f", {n['told']:.1%} of their time told" if "told" in n else ""
    matched = f", {n['found']:,} of {n['references']:,} reference ids" if "found" in n else ""
    levels = ", ".join(f"{count:,} {level}" for level, count in report.count_places().items())
    return f"{file} ({format}): {n['videos']:,} ids, {n['events']:,} captions or events{covered}{matched}: {levels}"


def list_statistics(stats: Statistics) -> Iterator[str]:
    """stats ⇥ name ⇥ number ⇥ what it is."""
    for name, value in stats.to_dict().items():
        shown = "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
        yield join_cells(["stats", name, shown, MEANINGS[name]])


def deeds(mended: Mended, target: Path) -> str:
    """What was done to the copy."""
    counts = Counter(str(deed["deed"]) for deed in mended.deeds)
    done = "; ".join(f"{mended.meanings[deed]} {count:,} ×" for deed, count in counts.items())
    return f"{target}: {done or 'nothing to mend'}"
