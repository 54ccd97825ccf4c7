"""A result told in few lines: a table as text and as HTML, and what the signatures of its numbers have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from fabula.core.printable import printable

if TYPE_CHECKING:
    from fabula.data.result import Result, Score

WIDEST = 8  # columns of numbers beside each other
CHOICES = re.compile(r"[^(]*\(([^()]*)\).*")
HEADS = {"precision": "P", "recall": "R", "f1": "F1"}


def list_parts(signature: str) -> list[str]:
    """Its choices and facts: `A(x=1,y=2)@0.5|videos:15` → x=1, y=2, @0.5, videos:15."""
    spec, *facts = signature.split("|")
    inside, at = CHOICES.sub(r"\1", spec) if "(" in spec else "", spec.rpartition("@")[2] if "@" in spec else ""
    return [*(part for part in inside.split(",") if part), *([f"@{at}"] if at else []), *facts]


def short_signatures(scores: Mapping[str, Score]) -> list[str]:
    """Small print: what all numbers share stands once; then what else is said, and of which metrics.

    all: refs=best|videos:15|sets:2|fabula:0.1.0
    SODA_a, SODA_c: meteor:1.5-en-norm
    """
    parts = {name: list_parts(score.short or score.signature) for name, score in scores.items()}
    first = next(iter(parts.values()), [])
    common = [part for part in first if all(part in fields for fields in parts.values())]
    rest: dict[str, list[str]] = {}
    for name, fields in parts.items():
        if own := "|".join(part for part in fields if part not in common):
            rest.setdefault(own, []).append(name)
    lines = [f"{', '.join(names)}: {own}" for own, names in rest.items()]
    return [*([f"all: {'|'.join(common)}"] if common else []), *lines]


def cells(result: Result) -> tuple[list[str], list[list[str]]]:
    """The head and the lines of a table; a line per number where they are too many to stand side by side."""
    fields = list(dict.fromkeys(field for score in result.scores.values() for field in score.values))
    fields.sort(key=lambda field: field == "value")
    ci = any(score.ci for score in result.scores.values())
    if len(fields) > WIDEST:
        head = ["metric", "number", "×100", *(["interval"] if ci else [])]
        rows = [
            ["" if i else name, field, spell(score, field), *([interval(score, field)] if ci else [])]
            for name, score in result.scores.items()
            for i, field in enumerate(score.values)
        ]
        return head, rows
    head = ["metric", *(HEADS.get(field, field) for field in fields), *(["interval"] if ci else [])]
    rows = [
        [name, *(spell(score, field) for field in fields), *([interval(score, score.primary)] if ci else [])]
        for name, score in result.scores.items()
    ]
    return head, rows


def spell(score: Score, field: str) -> str:
    return f"{score.values[field] * score.scale:.2f}" if field in score.values else ""


def interval(score: Score, field: str) -> str:
    if not score.ci or field not in score.ci:
        return ""
    low, high = score.ci[field]
    return f"[{low * score.scale:.2f}, {high * score.scale:.2f}]"


def title(result: Result) -> str:
    counts = ", ".join(f"{n:,} {what}" for what, n in result.counts.items() if n)
    return f"{result.task} · protocol {result.protocol} · ×100 · {counts}"


def tell_warnings(result: Result) -> str:
    n = len(result.warnings)
    return f"{n} warning{'s' if n > 1 else ''} in .warnings" if n else ""


def as_text(result: Result) -> str:
    """A few lines, whatever the number of videos."""
    head, rows = cells(result)
    texts = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    left = 2 if head[1:2] == ["number"] else 1
    lines = [printable(title(result)), *(lay(row, widths, left) for row in texts)]
    lines += [printable(line) for line in short_signatures(result.scores)]
    return "\n".join([*lines, *([warning] if (warning := tell_warnings(result)) else [])])


def lay(row: Sequence[str], widths: Sequence[int], left: int) -> str:
    pairs = enumerate(zip(row, widths, strict=True))
    return "  ".join(cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in pairs).rstrip()


def as_html(result: Result) -> str:
    """The same for a notebook."""
    head, rows = cells(result)
    left = 2 if head[1:2] == ["number"] else 1

    def line(tag: str, row: Sequence[str]) -> str:
        align = ("left", "right")
        return "".join(f'<{tag} style="text-align:{align[i >= left]}">{escape(c)}</{tag}>' for i, c in enumerate(row))

    small = "<br>".join(f"<code>{escape(printable(text))}</code>" for text in short_signatures(result.scores))
    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    warning = f"<p>{escape(tell_warnings(result))}</p>" if result.warnings else ""
    return (
        f"<p>{escape(printable(title(result)))}</p><table><thead><tr>{line('th', head)}</tr></thead>"
        f"<tbody>{body}</tbody></table><p><small>{small}</small></p>{warning}"
    )
