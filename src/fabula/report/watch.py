"""Predicted stories as one HTML file beside their videos: a timeline that follows the film, and events that seek in it.

No references and no scores: for looking at what a model says of a video. The page holds the stories (packed, as
report/html.py does it); a video is linked, by a path relative to the page, and plays where the browser can play it.
Only our script and style may run; media may come from the page's own place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fabula.core.errors import InputError
from fabula.data.stories import Story
from fabula.report._data import pack_data
from fabula.report._events import Cells, list_events
from fabula.report.html import draw_head, escape_text, hash_source, read_asset
from fabula.report.links import link_file


def watch_page(
    stories: Mapping[str, Story],
    title: str,
    *,
    videos: Mapping[str, str | Path] | None = None,
    folder: str | Path | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The whole document. `videos` are files by id; `folder` is where the page will lie (default: here).

    A story without a video has its timeline alone; `notes` are lines above everything (which model, which features).
    """
    if not stories:
        raise InputError("no story to show", hint="predict at least one video")
    place = Path(folder or ".")
    rows = [
        [id, story.duration or 0, list_events(story), link_file((videos or {}).get(id), place)]
        for id, story in stories.items()
    ]
    events = sum(len(story) for story in stories.values())
    many = f"{len(rows):,} video{'s' * (len(rows) != 1)}, {events:,} predicted event{'s' * (events != 1)}"
    return draw_watch(rows, title, many, notes)


def draw_watch(rows: Sequence[Cells], title: str, lead: str, notes: Sequence[str] = ()) -> str:
    """The document of rows as watch.js has them."""
    style = read_asset("report.css") + read_asset("watch.css")
    script = read_asset("elements.js") + read_asset("watch.js")
    policy = (
        f"style-src '{hash_source(style)}'; script-src '{hash_source(script)}'; media-src 'self' file:; img-src data:"
    )
    lines = "".join(f'<p class="meta">{escape_text(line)}</p>' for line in notes)
    return f"""{draw_head(title, style, policy)}<body>
<header>
<h1>{escape_text(title)}</h1>
<p class="lead">{escape_text(lead)}</p>
{lines}
</header>
<main>
<noscript><p class="fault">The timeline needs JavaScript, which is switched off here.</p></noscript>
<div id="app"></div>
</main>
<script type="application/octet-stream" id="data">{pack_data({"rows": rows})}</script>
<script>{script}</script>
</body>
</html>
"""
