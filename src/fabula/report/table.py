"""A result as a table: for a terminal with rich, and as plain tab-separated lines for a pipe. Numbers × 100."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fabula.core.printable import printable
from fabula.data.brief import short_signatures
from fabula.data.result import Result, Score

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.text import Text

    from fabula.report.layout import Cell, TextTable

WIDE = 9  # fields that still fit beside each other
COUNTED = {"questions": "items", "dense": "videos", "procedure": "videos"}  # what is counted by type; else queries
TYPES = {"items": "kind", "videos": "category of video", "queries": "type of query"}
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
    from rich.text import Text

    from fabula.report.layout import Paragraph

    signatures = [s.signature for s in result.scores.values()] if full else short_signatures(result.scores)
    return Group(
        score_table(result, title),
        *type_tables(result),
        *(threshold_tables(result) if thresholds else ()),
        Text(),
        *(Paragraph(line, style="dim") for line in signatures),
        Text(),
        Paragraph(counts(result), style="dim"),
    )


def score_table(result: Result, title: str) -> TextTable:
    """A row per metric; where the fields are too many for that, a row per number."""
    from rich.text import Text

    from fabula.report.layout import TextTable

    fields = columns(result)
    spread = ["interval"] if any(s.ci for s in result.scores.values()) else []
    if len(fields) > WIDE:
        rows: list[list[Cell]] = [
            [Text("" if i else name, style="bold"), field, cell(score, field), interval(score, field)]
            for name, score in result.scores.items()
            for i, field in enumerate(score.values)
        ]
        return TextTable(["metric", "number", "value", *spread], rows, title, names=2)
    rows = [
        [Text(name, style="bold"), *(cell(score, f) for f in fields), interval(score, score.primary)]
        for name, score in result.scores.items()
    ]
    heads = [SHORT.get(f, f) if f != "value" else f for f in fields]
    return TextTable(["metric", *heads, *spread], rows, title)


def type_tables(result: Result) -> Iterator[RenderableType]:
    """The same numbers by type of query, kind of question or category of video, where the references have some."""
    from rich.text import Text

    from fabula.report.layout import TextTable

    types = list(dict.fromkeys(t for s in result.scores.values() for t in s.by_type))
    if not types:
        return
    counted = COUNTED.get(result.task, "queries")
    sizes = [max(int(s.by_type[t][counted]) for s in result.scores.values() if t in s.by_type) for t in types]
    rows = [
        [
            "" if i else name,
            field,
            *(f"{v[field] * score.scale:.2f}" if (v := score.by_type.get(t)) else "" for t in types),
        ]
        for name, score in result.scores.items()
        for i, field in enumerate(score.values if score.by_type else ())
    ]
    heads = [f"{type} ({n:,})" for type, n in zip(types, sizes, strict=True)]
    yield Text()
    yield TextTable(["metric", "number", *heads], rows, f"by {TYPES[counted]}", names=2)


def threshold_tables(result: Result) -> Iterator[RenderableType]:
    """The same numbers at each threshold, where a score is the mean over several: a table for those that share them."""
    from rich.text import Text

    from fabula.report.layout import TextTable

    shared: dict[tuple[str, ...], list[str]] = {}
    for name, score in result.scores.items():
        if score.by_threshold:
            shared.setdefault(tuple(score.by_threshold), []).append(name)
    for levels, names in shared.items():
        rows = []
        for name in names:
            score = result.scores[name]
            for i, field in enumerate(score.by_threshold[levels[0]]):
                cells = [f"{score.by_threshold[level][field] * score.scale:.2f}" for level in levels]
                rows.append(["" if i else name, field, *cells])
        yield Text()
        yield TextTable(["metric", "number", *levels], rows, "at each threshold", names=2)


def cell(score: Score, field: str) -> Text:
    from rich.text import Text

    if field not in score.values:
        return Text()
    return Text(number(score, field), style="bold" if field == score.primary else "")


def interval(score: Score, field: str) -> str:
    """[low, high], where there is one."""
    if not score.ci or field not in score.ci:
        return ""
    low, high = score.ci[field]
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


def rich_comparison(results: Mapping[str, Result], title: str) -> TextTable:
    """The highest number of each line in bold."""
    from rich.text import Text

    from fabula.report.layout import TextTable

    rows: list[list[Cell]] = []
    for metric, *cells in compared(results):
        top = max(cells, key=float)
        rows.append([metric, *(Text(c, style="bold green" if c == top else "") for c in cells)])
    return TextTable(["metric", *results], rows, title)
