"""The people of a store as one HTML file: a picture a track, sorted by person, to be looked through and put right.

Nothing is loaded from outside and no script runs: pictures are in the page, every string of a user is escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fabula.media.people.cast import Cast
from fabula.report.drawing.charts import draw_timeline
from fabula.report.html import draw_head, escape_text, hash_source, read_asset

TRACKS = 24  # pictures of a person
PEOPLE = 500  # of a page
SELDOM = 2  # faces: up to so many, people stand together at the end
JPEG = b"\xff\xd8\xff"

STYLE = """
.person { margin: 2.2rem 0; }
.faces { display: flex; flex-wrap: wrap; gap: .7rem; list-style: none; margin: .7rem 0 0; padding: 0; }
.faces li { width: 6rem; color: var(--soft); font-size: .74rem; line-height: 1.35; }
.faces li span { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.faces img, .faces .none { display: block; width: 6rem; height: 6rem; object-fit: cover; border-radius: 8px;
  background: var(--panel); margin-bottom: .25rem; }
.strip { display: block; width: 100%; height: 10px; margin-top: .5rem; border-radius: 5px; background: var(--panel); }
.strip rect { fill: var(--ref); }
.where { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr; gap: .1rem .9rem; align-items: center;
  color: var(--soft); font-size: .8rem; margin-top: .5rem; }
.where span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.where .strip { margin: 0; }
@media (max-width: 40rem) { body { padding: 1.6rem 1rem 3rem; } .faces li, .faces img, .faces .none { width: 4.6rem; }
  .faces img, .faces .none { height: 4.6rem; } .where { grid-template-columns: 7rem 1fr; } }
"""


def people_page(cast: Cast, title: str, store: str = "STORE") -> str:
    """The whole document."""
    style = read_asset("report.css") + STYLE
    many = dict(zip(*(v.tolist() for v in np.unique(cast.person, return_counts=True)), strict=True))
    order = sorted(cast.people(), key=lambda p: (-many[p], p))
    often = [p for p in order if many[p] > SELDOM or p in cast.names][:PEOPLE]
    seldom = [p for p in order if p not in set(often)]
    found = list_tracks(cast)
    parts = [draw_person(cast, p, found) for p in often]
    if seldom:
        parts.append(draw_seldom(cast, seldom, found))
    if not len(cast):
        parts = ['<p class="lead">No face was found in these videos.</p>']
    videos = f"{len(cast.videos):,} video{'s' * (len(cast.videos) != 1)}"
    summary = f"{len(order):,} people, {len(cast):,} faces in {len(found):,} tracks, {videos}"
    nobody = int((cast.person < 0).sum())
    notes = [f"{cast.metadata.get('spec', '')}; {cast.metadata.get('cluster', '')}", *list_licences(cast)]
    if nobody:
        notes.append(f"{nobody:,} faces are nobody's, as the noise rule says, and not shown.")
    warnings = "".join(f"<li>{escape_text(line)}</li>" for line in cast.remarks)
    return f"""{draw_head(title, style, f"style-src '{hash_source(style)}'; img-src data:")}<body>
<header>
<h1>{escape_text(title)}</h1>
<p class="lead">{escape_text(summary)}</p>
{"".join(f'<p class="meta">{escape_text(line)}</p>' for line in notes)}
</header>
<main>
{f'<ul class="warnings">{warnings}</ul>' if warnings else ""}
{"".join(parts)}
<section><h2>To put right</h2>
<code>fabula people merge {escape_text(store)} 2 5</code>
<code>fabula people split {escape_text(store)} 2 --tracks 14,17</code>
<code>fabula people name {escape_text(store)} 2 "Anna"</code>
<p class="meta">Numbers are those on this page. Corrections are kept beside the store and applied whenever it is made
again.</p>
</section>
</main>
</body>
</html>
"""


def list_licences(cast: Cast) -> Iterator[str]:
    licences = cast.metadata.get("licence")
    if isinstance(licences, dict):
        for licence in dict.fromkeys(licences.values()):
            yield f"Weights of {' and '.join(name for name in licences if licences[name] == licence)}: {licence}"
    elif licences:
        yield f"Weights: {licences}"


def list_tracks(cast: Cast) -> dict[int, dict[str, int]]:
    """Of each track: whose it is, when it begins, how many faces."""
    tracks, first, count = np.unique(cast.faces.track, return_index=True, return_counts=True)
    return {int(t): {"row": int(row), "faces": int(n)} for t, row, n in zip(tracks, first, count, strict=True)}


def draw_person(cast: Cast, person: int, found: dict[int, dict[str, int]]) -> str:
    own = cast.tracks_of(person).tolist()
    own.sort(key=lambda t: -found[t]["faces"])
    rows = cast.person == person
    name = cast.names.get(person)
    head = f"{escape_text(name)} <small>person {person}</small>" if name else f"Person {person}"
    faces, seconds = int(rows.sum()), cast.seconds_of(person)
    about = f"{faces:,} face{'s' * (faces != 1)}, {len(own):,} track{'s' * (len(own) != 1)}, {seconds:,.1f} s"
    shown = "".join(draw_track(cast, t, found[t]) for t in own[:TRACKS])
    more = f'<p class="meta">and {len(own) - TRACKS:,} more tracks</p>' if len(own) > TRACKS else ""
    strips = "".join(draw_strip(cast, k, rows) for k in np.unique(cast.faces.video[rows]).tolist()[:8])
    return (
        f'<section class="person" id="person-{person}"><h3>{head} <small>{about}</small></h3>'
        f'<div class="where">{strips}</div><ul class="faces">{shown}</ul>{more}</section>\n'
    )


def draw_seldom(cast: Cast, people: list[int], found: dict[int, dict[str, int]]) -> str:
    """Those who are hardly seen, together."""
    shown = []
    for person in people[:PEOPLE]:
        track = int(cast.tracks_of(person)[0])
        shown.append(draw_track(cast, track, found[track], f"person {person}, "))
    more = f'<p class="meta">and {len(people) - PEOPLE:,} more</p>' if len(people) > PEOPLE else ""
    return (
        f'<section class="person" id="seldom"><h3>Hardly seen <small>{len(people):,} people of at most {SELDOM} faces'
        f'</small></h3><ul class="faces">{"".join(shown)}</ul>{more}</section>\n'
    )


def draw_track(cast: Cast, track: int, about: dict[str, int], before: str = "") -> str:
    raw = cast.thumbs.get(track, b"")
    row = about["row"]
    video, t = cast.videos[int(cast.faces.video[row])].id, float(cast.faces.time[row])
    lines = [f"{before}track {track}", f"{about['faces']}×, {t:.1f} s", video]
    label = ", ".join(lines)
    picture = '<span class="none"></span>'
    if raw.startswith(JPEG):
        src = base64.b64encode(raw).decode("ascii")
        picture = f'<img alt="{escape_text(label)}" src="data:image/jpeg;base64,{src}">'
    lines_html = "".join(f"<span>{escape_text(line)}</span>" for line in lines)
    return f'<li title="{escape_text(label)}">{picture}{lines_html}</li>'


def draw_strip(cast: Cast, video: int, rows: NDArray[np.bool_]) -> str:
    """When somebody is seen in a video: a mark a picture, next to one another as one."""
    one = cast.videos[video]
    own = rows & (cast.faces.video == video)
    fps = float(cast.recipe.get("look", {}).get("fps", 5.0) or 5.0)
    frames = np.unique(cast.faces.frame[own])
    if not len(frames):
        return ""
    runs = np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)
    strip = draw_timeline(((run[0] / fps, len(run) / fps) for run in runs), one.duration, "when")
    return f"<span>{escape_text(one.id)}</span>{strip}"
