"""A result as a table: for a terminal with rich, and as plain tab-separated lines for a pipe. Numbers × 100."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fabula.core.brief import short_signatures
from fabula.core.printable import printable
from fabula.core.result import Result, Score

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

WIDE = 9  # fields that still fit beside each other
SHORT = {"precision": "P", "recall": "R", "f1": "F1", "value": ""}


def number(score: Score, field: str) -> str:
    return f"{score.values[field] * score.scale:.2f}"


def columns(result: Result) -> list[str]:
    """Every field any metric reports, in the order of the metrics; a single value last."""
    return sorted(dict.fromkeys(f for s in result.scores.values() for f in s.values), key=lambda f: f == "value")


def rich_table(result: Result, title: str, thresholds: bool = False, full: bool = False) -> Group:
    """Scores, with `thresholds` also at each of them; then their signatures and the counts, in small print.

    What all signatures share stands once, and defaults are left out, unless they are wanted in `full`.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    table.add_column("metric", overflow="fold")
    told = [s.signature for s in result.scores.values()] if full else short_signatures(result.scores)
    signatures = [Text(printable(line), style="dim", overflow="fold") for line in told]
    small_print: tuple[RenderableType, ...] = (
        *type_tables(result),
        *(threshold_tables(result) if thresholds else ()),
        Text(),
        *signatures,
        Text(),
        Text(counts(result), style="dim"),
    )
    if len(columns(result)) > WIDE:  # too many for one line: a line per number
        table.add_column("number", overflow="fold")
        table.add_column("value", justify="right", overflow="fold")
        for name, score in result.scores.items():
            for i, field in enumerate(score.values):
                table.add_row(Text("" if i else name, style="bold"), field, cell(score, field))
        return Group(table, *small_print)
    fields = [f for f in columns(result) if f != "value"]
    single = any("value" in s.values for s in result.scores.values())
    for field in fields:
        table.add_column(SHORT.get(field, field), justify="right", overflow="fold")
    if single:
        table.add_column("value", justify="right", overflow="fold")
    if any(s.ci for s in result.scores.values()):
        table.add_column("interval", justify="right", overflow="fold")
    for name, score in result.scores.items():
        cells = [cell(score, f) for f in (*fields, *(["value"] if single else []))]
        table.add_row(Text(name, style="bold"), *cells, *([Text(interval(score))] if score.ci else []))
    return Group(table, *small_print)


def type_tables(result: Result) -> Iterator[RichTable]:
    """The same numbers by type of query, or by kind of question, where the references have some."""
    from rich.table import Table
    from rich.text import Text

    types = list(dict.fromkeys(t for s in result.scores.values() for t in s.by_type))
    if not types:
        return
    counted = "items" if result.task == "questions" else "queries"
    title = Text("\nby kind" if counted == "items" else "\nby type of query")
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
    for head in ("metric", "number"):
        table.add_column(head, overflow="fold")
    for type in types:
        n = max(int(s.by_type[type][counted]) for s in result.scores.values() if type in s.by_type)
        table.add_column(f"{type} ({n:,})", justify="right", overflow="fold")
    for name, score in result.scores.items():
        for i, field in enumerate(score.values if score.by_type else ()):
            cells = [f"{v[field] * score.scale:.2f}" if (v := score.by_type.get(t)) else "" for t in types]
            table.add_row("" if i else name, field, *cells)
    yield table


def threshold_tables(result: Result) -> Iterator[RichTable]:
    """The same numbers at each threshold, where a score is the mean over several: a table for those that share them."""
    from rich.table import Table

    shared: dict[tuple[str, ...], list[str]] = {}
    for name, score in result.scores.items():
        if score.by_threshold:
            shared.setdefault(tuple(score.by_threshold), []).append(name)
    for levels, names in shared.items():
        table = Table(title="\nat each threshold", title_justify="left", box=None, pad_edge=False, header_style="dim")
        for head in ("metric", "number"):
            table.add_column(head, overflow="fold")
        for level in levels:
            table.add_column(level, justify="right", overflow="fold")
        for name in names:
            score = result.scores[name]
            for i, field in enumerate(score.by_threshold[levels[0]]):
                cells = [f"{score.by_threshold[level][field] * score.scale:.2f}" for level in levels]
                table.add_row("" if i else name, field, *cells)
        yield table


def cell(score: Score, field: str) -> Text:
    from rich.text import Text

    if field not in score.values:
        return Text()
    return Text(number(score, field), style="bold" if field == score.primary else "")


def interval(score: Score) -> str:
    """[low, high] of the primary number."""
    low, high = (score.ci or {})[score.primary]
    return f"[{low * score.scale:.2f}, {high * score.scale:.2f}]"


def counts(result: Result) -> str:
    return " · ".join(f"{n:,} {what}" for what, n in result.counts.items() if n or what in ("videos", "missing"))


def plain_lines(result: Result, thresholds: bool = False) -> Iterator[str]:
    """metric ⇥ field ⇥ number × 100 ⇥ signature: one line a number; an interval is two more, field.low and .high.

    By type of query the field is `type-field`, as in short-r1@0.5; at a threshold `field@0.3`.
    """
    for name, score in result.scores.items():
        bounds = {
            f"{f}.{end}": x for f, ci in (score.ci or {}).items() for end, x in zip(("low", "high"), ci, strict=True)
        }
        types = {f"{t}-{f}": v[f] for t, v in score.by_type.items() for f in score.values}
        at = {f"{f}@{t}": x for t, v in score.by_threshold.items() for f, x in v.items()} if thresholds else {}
        for field, value in {**score.values, **bounds, **types, **at}.items():
            yield join_cells([name, field, f"{value * score.scale:.4f}", score.signature])


def plain_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield join_cells(head)
    yield from map(join_cells, rows)


def join_cells(cells: Sequence[str]) -> str:
    """A line for a pipe: a tab parts two cells, and none stands in one."""
    return "\t".join(map(printable, cells))


def compared(results: Mapping[str, Result]) -> Iterator[list[str]]:
    """A line per metric: its primary number for each system."""
    first = next(iter(results.values()))
    for name, score in first.scores.items():
        field = "" if score.primary == "value" else f" {SHORT.get(score.primary, score.primary)}"
        yield [f"{name}{field}", *(number(r[name], score.primary) for r in results.values())]


def plain_comparison(results: Mapping[str, Result]) -> Iterator[str]:
    return plain_rows(["metric", *results], list(compared(results)))


def rich_comparison(results: Mapping[str, Result], title: str) -> RichTable:
    """The highest number of each line in bold."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    table.add_column("metric", overflow="fold")
    for name in results:
        table.add_column(name, justify="right", overflow="fold")
    for metric, *cells in compared(results):
        top = max(cells, key=float)
        table.add_row(metric, *(Text(c, style="bold green" if c == top else "") for c in cells))
    return table
