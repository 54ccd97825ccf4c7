"""A comparison as text: for a terminal, a pipe, Markdown, LaTeX and JSON. Numbers × 100.

Systems have letters; a letter behind a score names a system that it beats (p, corrected, below α).
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase
from typing import TYPE_CHECKING

from fabula.report.table import plain_rows
from fabula.stats.bootstrap import Interval
from fabula.stats.compare import Comparison, Duel, Line

if TYPE_CHECKING:
    from rich.console import Group

DUELS = ["metric", "difference", "delta", "low", "high", "p", "p (Holm)"]


def letters(comparison: Comparison) -> dict[str, str]:
    """a, b, …, z, aa, ab, …"""
    names = [*ascii_lowercase, *(x + y for x in ascii_lowercase for y in ascii_lowercase)]
    return dict(zip(comparison.systems, names, strict=False))


def marks(comparison: Comparison, line: Line, system: str) -> str:
    letter = letters(comparison)
    return " ".join(letter[s] for s in comparison.systems if s in line.beaten(system, comparison.testing.alpha))


def best(line: Line) -> set[str]:
    top = max(line.values.values())
    return {s for s, v in line.values.items() if v == top}


def number(line: Line, value: float, sign: bool = False) -> str:
    return f"{value * line.scale:{'+' if sign else ''}.2f}"


def cell(comparison: Comparison, line: Line, system: str) -> str:
    """27.41 [24.10, 30.22] b c"""
    bounds = show_interval(line, line.intervals[system])
    return " ".join(filter(None, [number(line, line.values[system]), bounds, marks(comparison, line, system)]))


def show_interval(line: Line, interval: Interval | None) -> str:
    """[24.10, 30.22]; nothing where there is none."""
    return "" if interval is None else "[{}, {}]".format(*(number(line, x) for x in interval))


def p_value(p: float) -> str:
    return f"{p:.4f}" if p >= 0.00005 else f"{p:.1e}"


def duel_cells(comparison: Comparison, line: Line, duel: Duel) -> list[str]:
    bounds = ("–", "–") if duel.interval is None else (number(line, x, sign=True) for x in duel.interval)
    cells = [number(line, duel.delta, sign=True), *bounds, p_value(duel.p), p_value(duel.p_holm)]
    if has_hits(comparison):
        cells.append(p_value(duel.mcnemar.p) if duel.mcnemar else "–")
    return [line.metric, f"{duel.b} − {duel.a}", *cells, "*" if duel.p_holm < comparison.testing.alpha else ""]


def has_hits(comparison: Comparison) -> bool:
    """Whether some rows are hits, which McNemar's test compares."""
    return any(duel.mcnemar for line in comparison.lines.values() for duel in line.duels)


def duel_heads(comparison: Comparison) -> list[str]:
    return [*DUELS, *(["p (McNemar)"] if has_hits(comparison) else []), ""]


def heads(comparison: Comparison) -> list[str]:
    return [f"{letter}: {system}" for system, letter in letters(comparison).items()]


def plain(comparison: Comparison) -> Iterator[str]:
    """Two tables, tab separated, and a line that says how."""
    lines = comparison.lines.values()
    yield from plain_rows(
        ["metric", *heads(comparison)],
        [[x.metric, *(cell(comparison, x, s) for s in comparison.systems)] for x in lines],
    )
    yield ""
    yield from plain_rows(
        [*duel_heads(comparison)[:-1], f"p<{comparison.testing.alpha:g}"],
        [duel_cells(comparison, x, d) for x in lines for d in x.duels],
    )
    yield ""
    yield comparison.how


def rich_tables(comparison: Comparison) -> Group:
    from rich.console import Group
    from rich.text import Text

    from fabula.report.layout import Paragraph, TextTable

    scores, duels = [], []
    for line in comparison.lines.values():
        top = best(line)
        cells = [Text(cell(comparison, line, s), style="bold green" if s in top else "") for s in comparison.systems]
        scores.append([Text(line.metric, style="bold"), *cells])
        for duel in line.duels:
            *cells_of_duel, star = duel_cells(comparison, line, duel)
            duels.append([Text(c, style="bold" if star else "") for c in (*cells_of_duel, star)])
    note = f"a letter names a system that is beaten, p < {comparison.testing.alpha:g} after Holm's correction"
    return Group(
        TextTable(["metric", *heads(comparison)], scores),
        Text(),
        TextTable(duel_heads(comparison), duels, names=2),
        Text(),
        Paragraph(note, style="dim"),
        Paragraph(comparison.how, style="dim"),
    )


def markdown(comparison: Comparison) -> Iterator[str]:
    """A GitHub table; the best of each line in bold."""
    yield "| metric | " + " | ".join(escaped(h) for h in heads(comparison)) + " |"
    yield "|---" + "|---:" * len(comparison.systems) + "|"
    for line in comparison.lines.values():
        cells = []
        for system in comparison.systems:
            value = number(line, line.values[system])
            bounds = show_interval(line, line.intervals[system])
            raised = f" <sup>{marks(comparison, line, system)}</sup>" if marks(comparison, line, system) else ""
            cells.append((f"**{value}**" if system in best(line) else value) + f"{raised} {bounds}".rstrip())
        yield f"| {escaped(line.metric)} | " + " | ".join(cells) + " |"
    yield ""
    hits = ["p (McNemar)"] if has_hits(comparison) else []
    yield "| metric | difference | Δ | interval | p | p (Holm) |" + "".join(f" {head} |" for head in hits)
    yield "|---|---|---:|---:|---:|---:|" + "---:|" * len(hits)
    for line in comparison.lines.values():
        for duel in line.duels:
            metric, who, delta, low, high, p, q, *exact, star = duel_cells(comparison, line, duel)
            bounds = f"[{low}, {high}]" if duel.interval else "–"
            cells = [escaped(metric), escaped(who), delta, bounds, p, q + escaped(star), *exact]
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"`{comparison.how}`"


def latex(comparison: Comparison) -> Iterator[str]:
    """A booktabs table: metrics in lines, systems in columns, letters raised."""
    yield "% " + comparison.how
    for metric, signature in comparison.signatures.items():
        yield f"% {metric}: {signature}"
    yield r"\begin{tabular}{l" + "r" * len(comparison.systems) + "}"
    yield r"\toprule"
    heads = [f"{tex(s)}$^{{{letter}}}$" for s, letter in letters(comparison).items()]
    yield " & ".join(["Metric", *heads]) + r" \\"
    yield r"\midrule"
    for line in comparison.lines.values():
        cells = []
        for system in comparison.systems:
            value, mark = number(line, line.values[system]), marks(comparison, line, system).replace(" ", "")
            bounds = show_interval(line, line.intervals[system])
            shown = rf"\textbf{{{value}}}" if system in best(line) else value
            cells.append(shown + (f"$^{{{mark}}}$" if mark else "") + (rf" {{\scriptsize {bounds}}}" if bounds else ""))
        yield " & ".join([tex(line.metric), *cells]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def as_json(comparison: Comparison) -> dict[str, object]:
    return {
        "systems": list(comparison.systems),
        "test": comparison.testing.test,
        "ci": comparison.testing.method,
        "level": comparison.testing.level,
        "resamples": comparison.testing.resamples,
        "seed": comparison.testing.seed,
        "alpha": comparison.testing.alpha,
        "correction": "holm",
        **({"clusters": comparison.clusters} if comparison.clusters else {"videos": comparison.videos}),
        "metrics": {
            line.metric: {
                "signature": comparison.signatures.get(line.metric, ""),
                "scores": {
                    s: {"value": line.values[s], **interval_json(line.intervals[s], line.ci_methods.get(s, ""))}
                    for s in comparison.systems
                },
                "differences": [
                    {"a": d.a, "b": d.b, "delta": d.delta}
                    | interval_json(d.interval, d.ci_method)
                    | {"p": d.p, "p_holm": d.p_holm}
                    | ({"mcnemar": d.mcnemar._asdict()} if d.mcnemar else {})
                    for d in line.duels
                ],
            }
            for line in comparison.lines.values()
        },
        "warnings": list(comparison.warnings),
    }


def interval_json(interval: Interval | None, method: str) -> dict[str, object]:
    """Its ends, or null where there is none; and how it was made."""
    return {"ci": None if interval is None else list(interval), "ci_method": method or None}


def escaped(text: str) -> str:
    """What Markdown would read as a sign of its own."""
    return "".join(f"\\{c}" if c in "\\|*_`<>[]" else c for c in text)


TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def tex(text: str) -> str:
    return "".join(TEX.get(c) or (f"\\{c}" if c in "&%$#_{}" else c) for c in text)
