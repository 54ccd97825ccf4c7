"""An analysis of a trained model: its numbers as JSON, each figure as SVG, and one page with all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabula.report.drawing.panels import Figure, as_file, as_inline
from fabula.report.html import draw_head, draw_warnings, escape_text, hash_source, read_asset

STYLE = """
figure { margin: 0 0 1.5rem; }
.panels { display: flex; flex-wrap: wrap; gap: 1rem 2rem; overflow-x: auto; }
.panels svg { flex: none; }
figure ol { margin: .5rem 0; padding: 0; list-style: none; max-width: 48rem; }
figcaption { color: var(--soft); max-width: 48rem; font-size: .95rem; }
"""


@dataclass(frozen=True)
class Analysis:
    """Figures, and what they were drawn from."""

    title: str
    figures: tuple[Figure, ...]
    numbers: dict[str, object]  # plain values, for JSON
    notes: tuple[str, ...] = field(default=())
    summary: tuple[str, ...] = field(default=())  # lines for the command line
    pages: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # further pages by file: title, text


def analysis_page(analysis: Analysis) -> str:
    """One document; nothing in it runs."""
    style = read_asset("report.css") + STYLE
    policy = f"style-src '{hash_source(style)}'"
    figures = "".join(
        f'<h2>{escape_text(figure.title)}</h2><figure><div class="panels">'
        f"{''.join(map(as_inline, figure.panels))}</div>{draw_lines(figure.lines)}"
        f"<figcaption>{escape_text(figure.words)}</figcaption></figure>"
        for figure in analysis.figures
    )
    notes = draw_warnings(analysis.notes) if analysis.notes else ""
    notes += "".join(f"<p>{escape_text(line)}</p>" for line in analysis.summary)
    head = draw_head(analysis.title, style, policy)
    links = " ".join(f'<a href="{escape_text(file)}">{escape_text(n)}</a>' for file, (n, _) in analysis.pages.items())
    more = f'<nav aria-label="Further pages">{links}</nav>' if links else ""
    title = f"<header><h1>{escape_text(analysis.title)}</h1>{more}</header>"
    return f"{head}<body>{title}<main>{notes}{figures}</main></body></html>\n"


def draw_lines(lines: Sequence[str]) -> str:
    """Text beside the panels."""
    return f"<ol>{''.join(f'<li>{escape_text(line)}</li>' for line in lines)}</ol>" if lines else ""


def as_files(analysis: Analysis) -> dict[str, str]:
    """Name → text: the page, its figures, its numbers."""
    document = {"title": analysis.title, "notes": list(analysis.notes), **analysis.numbers}
    return {
        "index.html": analysis_page(analysis),
        **{file: text for file, (_, text) in analysis.pages.items()},
        **{f"{figure.name}.svg": as_file(figure) for figure in analysis.figures},
        "analysis.json": json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n",
    }
