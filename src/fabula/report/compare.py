"""A comparison as text: for a terminal, a pipe, Markdown, LaTeX and JSON. Numbers × 100.

Systems have letters; a letter behind a score names a system that it beats (p, corrected, below α).
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from fabula.report.table import plain_rows
from fabula.stats.bootstrap import Interval
from fabula.stats.compare import Comparison, Duel, Line

if TYPE_CHECKING:
    from rich.console import Group

DUELS = ["metric", "difference", "delta", "low", "high", "p", "p (Holm)"]


def letters(seen: Comparison) -> dict[str, str]:
    """a, b, …, z, aa, ab, …"""
    names = [*ascii_lowercase, *(x + y for x in ascii_lowercase for y in ascii_lowercase)]
    return dict(zip(seen.systems, names, strict=False))


def marks(seen: Comparison, line: Line, system: str) -> str:
    letter = letters(seen)
    return " ".join(letter[s] for s in seen.systems if s in line.beaten(system, seen.testing.alpha))


def best(line: Line) -> set[str]:
    top = max(line.values.values())
    return {s for s, v in line.values.items() if v == top}


def number(line: Line, value: float, sign: bool = False) -> str:
    return f"{value * line.scale:{'+' if sign else ''}.2f}"


def cell(seen: Comparison, line: Line, system: str) -> str:
    """27.41 [24.10, 30.22] b c"""
    bounds = show_interval(line, line.intervals[system])
    return " ".join(filter(None, [number(line, line.values[system]), bounds, marks(seen, line, system)]))


def show_interval(line: Line, interval: Interval | None) -> str:
    """[24.10, 30.22]; nothing where there is none."""
    return "" if interval is None else "[{}, {}]".format(*(number(line, x) for x in interval))


def p_value(p: float) -> str:
    return f"{p:.4f}" if p >= 0.00005 else f"{p:.1e}"


def duel_cells(seen: Comparison, line: Line, duel: Duel) -> list[str]:
    bounds = ("–", "–") if duel.interval is None else (number(line, x, sign=True) for x in duel.interval)
    told = [number(line, duel.delta, sign=True), *bounds, p_value(duel.p), p_value(duel.p_holm)]
    if has_hits(seen):
        told.append(p_value(duel.mcnemar.p) if duel.mcnemar else "–")
    return [line.metric, f"{duel.b} − {duel.a}", *told, "*" if duel.p_holm < seen.testing.alpha else ""]


def has_hits(seen: Comparison) -> bool:
    """Whether some rows are hits, which McNemar's test compares."""
    return any(duel.mcnemar for line in seen.lines.values() for duel in line.duels)


def duel_heads(seen: Comparison) -> list[str]:
    return [*DUELS, *(["p (McNemar)"] if has_hits(seen) else []), ""]


def heads(seen: Comparison) -> list[str]:
    return [f"{letter}: {system}" for system, letter in letters(seen).items()]


def plain(seen: Comparison) -> Iterator[str]:
    """Two tables, tab separated, and a line that says how."""
    lines = seen.lines.values()
    yield from plain_rows(
        ["metric", *heads(seen)], [[x.metric, *(cell(seen, x, s) for s in seen.systems)] for x in lines]
    )
    yield ""
    yield from plain_rows(
        [*duel_heads(seen)[:-1], f"p<{seen.testing.alpha:g}"], [duel_cells(seen, x, d) for x in lines for d in x.duels]
    )
    yield ""
    yield seen.how


def rich_tables(seen: Comparison) -> Group:
    from rich.console import Group
    from rich.text import Text

    from fabula.report.layout import Paragraph, TextTable

    scores, duels = [], []
    for line in seen.lines.values():
        top = best(line)
        cells = [Text(cell(seen, line, s), style="bold green" if s in top else "") for s in seen.systems]
        scores.append([Text(line.metric, style="bold"), *cells])
        for duel in line.duels:
            *told, star = duel_cells(seen, line, duel)
            duels.append([Text(c, style="bold" if star else "") for c in (*told, star)])
    note = f"a letter names a system that is beaten, p < {seen.testing.alpha:g} after Holm's correction"
    return Group(
        TextTable(["metric", *heads(seen)], scores),
        Text(),
        TextTable(duel_heads(seen), duels, names=2),
        Text(),
        Paragraph(note, style="dim"),
        Paragraph(seen.how, style="dim"),
    )


def markdown(seen: Comparison) -> Iterator[str]:
    """A GitHub table; the best of each line in bold."""
    yield "| metric | " + " | ".join(escaped(h) for h in heads(seen)) + " |"
    yield "|---" + "|---:" * len(seen.systems) + "|"
    for line in seen.lines.values():
        cells = []
        for system in seen.systems:
            value = number(line, line.values[system])
            bounds = show_interval(line, line.intervals[system])
            raised = f" <sup>{marks(seen, line, system)}</sup>" if marks(seen, line, system) else ""
            cells.append((f"**{value}**" if system in best(line) else value) + f"{raised} {bounds}".rstrip())
        yield f"| {escaped(line.metric)} | " + " | ".join(cells) + " |"
    yield ""
    hits = ["p (McNemar)"] if has_hits(seen) else []
    yield "| metric | difference | Δ | interval | p | p (Holm) |" + "".join(f" {head} |" for head in hits)
    yield "|---|---|---:|---:|---:|---:|" + "---:|" * len(hits)
    for line in seen.lines.values():
        for duel in line.duels:
            metric, who, delta, low, high, p, q, *exact, star = duel_cells(seen, line, duel)
            bounds = f"[{low}, {high}]" if duel.interval else "–"
            cells = [escaped(metric), escaped(who), delta, bounds, p, q + escaped(star), *exact]
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"`{seen.how}`"


def latex(seen: Comparison) -> Iterator[str]:
    """A booktabs table: metrics in lines, systems in columns, letters raised."""
    yield "% " + seen.how
    for metric, signature in seen.signatures.items():
        yield f"% {metric}: {signature}"
    yield r"\begin{tabular}{l" + "r" * len(seen.systems) + "}"
    yield r"\toprule"
    heads = [f"{tex(s)}$^{{{letter}}}$" for s, letter in letters(seen).items()]
    yield " & ".join(["Metric", *heads]) + r" \\"
    yield r"\midrule"
    for line in seen.lines.values():
        cells = []
        for system in seen.systems:
            value, mark = number(line, line.values[system]), marks(seen, line, system).replace(" ", "")
            bounds = show_interval(line, line.intervals[system])
            shown = rf"\textbf{{{value}}}" if system in best(line) else value
            cells.append(shown + (f"$^{{{mark}}}$" if mark else "") + (rf" {{\scriptsize {bounds}}}" if bounds else ""))
        yield " & ".join([tex(line.metric), *cells]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def as_json(seen: Comparison) -> dict[str, Any]:
    return {
        "systems": list(seen.systems),
        "test": seen.testing.test,
        "ci": seen.testing.method,
        "level": seen.testing.level,
        "resamples": seen.testing.resamples,
        "seed": seen.testing.seed,
        "alpha": seen.testing.alpha,
        "correction": "holm",
        **({"clusters": seen.clusters} if seen.clusters else {"videos": seen.videos}),
        "metrics": {
            line.metric: {
                "signature": seen.signatures.get(line.metric, ""),
                "scores": {
                    s: {"value": line.values[s], **interval_json(line.intervals[s], line.ci_methods.get(s, ""))}
                    for s in seen.systems
                },
                "differences": [
                    {"a": d.a, "b": d.b, "delta": d.delta}
                    | interval_json(d.interval, d.ci_method)
                    | {"p": d.p, "p_holm": d.p_holm}
                    | ({"mcnemar": d.mcnemar._asdict()} if d.mcnemar else {})
                    for d in line.duels
                ],
            }
            for line in seen.lines.values()
        },
        "warnings": list(seen.warnings),
    }


def interval_json(interval: Interval | None, method: str) -> dict[str, Any]:
    """Its ends, or null where there is none; and how it was made."""
    return {"ci": None if interval is None else list(interval), "ci_method": method or None}


def escaped(text: str) -> str:
    """What Markdown would read as a sign of its own."""
    return "".join(f"\\{c}" if c in "\\|*_`<>[]" else c for c in text)


TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def tex(text: str) -> str:
    return "".join(TEX.get(c) or (f"\\{c}" if c in "&%$#_{}" else c) for c in text)
