"""An answer as one HTML file: a contact sheet of moments with pictures, times, scores and what is said of them.

Nothing is loaded from outside and no script runs: pictures are in the page, every string of a user is escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fabula.library.find import Moment, SearchResult

if TYPE_CHECKING:
    from fabula.report.layout import TextTable

JPEG = b"\xff\xd8\xff"
Thumb = Callable[[int], bytes | None]  # a clip's picture

STYLE = """
.sheet { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 1.2rem; list-style: none;
  margin: 1.4rem 0; padding: 0; }
.sheet img, .sheet .none { display: block; width: 100%; aspect-ratio: 16 / 9; object-fit: cover; border-radius: 8px;
  background: var(--panel); }
.sheet b, .sheet span { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sheet b { margin-top: .4rem; font-size: .9rem; }
.sheet span { color: var(--soft); font-size: .8rem; }
"""


def clock(seconds: float) -> str:
    """1:02:03.5"""
    minutes, tenths = divmod(round(seconds * 10), 600)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{tenths / 10:04.1f}" if hours else f"{minutes}:{tenths / 10:04.1f}"


def percent(p: float | None) -> str:
    return "" if p is None else f"{100 * p:.0f} %"


def search_page(found: SearchResult, thumb: Thumb, title: str | None = None) -> str:
    """The whole document."""
    from fabula.report.html import draw_head, escape_text, hash_source, read_asset

    style = read_asset("report.css") + STYLE
    title = title or f"Search: {found.query}"
    summary = describe(found)
    cells = "".join(draw_moment(n + 1, m, thumb) for n, m in enumerate(found.moments))
    notes = "".join(f"<li>{escape_text(line)}</li>" for line in found.notes)
    return f"""{draw_head(title, style, f"style-src '{hash_source(style)}'; img-src data:")}<body>
<header>
<h1>{escape_text(str(found.query))}</h1>
<p class="lead">{escape_text(summary)}</p>
<p class="meta">{escape_text(f"{found.stage}: {found.why}")}</p>
</header>
<main>
{f'<ul class="warnings">{notes}</ul>' if notes else ""}
{f'<ul class="sheet">{cells}</ul>' if cells else ""}
</main>
</body>
</html>
"""


def describe(found: SearchResult) -> str:
    """In one line: how much was found, and how likely it is."""
    likely = "" if found.probability is None else f", probability {percent(found.probability)}"
    if found.nothing:
        return f"nothing found{likely}"
    return f"{len(found.moments)} moments{likely}, {1000 * found.seconds:.0f} ms"


def draw_moment(rank: int, m: Moment, thumb: Thumb) -> str:
    from fabula.report.html import escape_text

    data = thumb(m.clips[0]) if m.clips else None
    picture = '<div class="none"></div>'
    if data and data.startswith(JPEG):
        picture = f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(data).decode()}">'
    score = f"{m.score:.3f}" + (f" · {percent(m.probability)}" if m.probability is not None else "")
    return (
        f'<li>{picture}<b title="{escape_text(m.video)}">{rank}. {escape_text(m.video)}</b>'
        f"<span>{clock(m.start)} – {clock(m.end)}</span><span>{score}</span></li>\n"
    )


def lines(found: SearchResult) -> Iterator[str]:
    """For a pipe: rank, video, start, end, score, probability; tabs part them."""
    for n, m in enumerate(found.moments):
        p = "" if m.probability is None else f"{m.probability:.4f}"
        yield "\t".join([str(n + 1), m.video, f"{m.start:.3f}", f"{m.end:.3f}", f"{m.score:.4f}", p])


def table(found: SearchResult) -> TextTable:
    """For a terminal."""
    from fabula.report.layout import TextTable

    rows = [
        [f"{n}. {m.video}", clock(m.start), clock(m.end), f"{m.score:.3f}", percent(m.probability)]
        for n, m in enumerate(found.moments, 1)
    ]
    return TextTable(["video", "from", "to", "score", "probability"], rows)
