"""Films with what is spoken and written in them, as one HTML file: the film plays, its lines and signs follow.

A click on a line goes there; the line of the moment is marked; signs are framed in the picture. The film is linked by
a path relative to the page and plays where the browser can play it; the page loads nothing else, and only its own
script and style may run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fabula.core.errors import InputError
from fabula.data.transcripts import Sign, SignList, SpokenLine, Transcript
from fabula.report._data import pack_data
from fabula.report._events import Cells, round_seconds
from fabula.report.film import count
from fabula.report.html import draw_head, escape_text, hash_source, read_asset
from fabula.report.links import link_file


@dataclass(frozen=True, slots=True)
class FilmText:
    """A film and what is spoken and written in it; either may be missing."""

    transcript: Transcript | None = None
    signs: SignList | None = None
    video: Path | None = None

    @property
    def id(self) -> str:
        either = self.transcript or self.signs
        return "" if either is None else either.video


def pair_up(
    transcripts: Sequence[Transcript] = (), signs: Sequence[SignList] = (), videos: dict[str, Path] | None = None
) -> list[FilmText]:
    """Transcripts and signs of the same films, by their ids."""
    spoken, written = {t.video: t for t in transcripts}, {s.video: s for s in signs}
    ids = dict.fromkeys([*spoken, *written])
    return [FilmText(spoken.get(id), written.get(id), (videos or {}).get(id)) for id in ids]


def lines_page(
    films: Sequence[FilmText], title: str, *, folder: str | Path | None = None, notes: Sequence[str] = ()
) -> str:
    """The whole document. `folder` is where the page will lie (default: here); `notes` are lines above everything."""
    films = [film for film in films if film.transcript is not None or film.signs is not None]
    if not films:
        raise InputError("no lines and no signs to show", hint="transcribe or read at least one film")
    place = Path(folder or ".")
    rows = [list_film(film, place) for film in films]
    spoken = sum(len(film.transcript.lines) for film in films if film.transcript)
    written = sum(len(film.signs.signs) for film in films if film.signs)
    lead = [count(len(films), "film")]
    lead += [count(spoken, "line")] if any(film.transcript for film in films) else []
    lead += [count(written, "sign")] if any(film.signs for film in films) else []
    style = read_asset("report.css") + read_asset("lines.css")
    script = read_asset("elements.js") + read_asset("lines.js")
    policy = f"style-src '{hash_source(style)}'; script-src '{hash_source(script)}'; media-src 'self' file:"
    above = "".join(f'<p class="meta">{escape_text(line)}</p>' for line in notes)
    return f"""{draw_head(title, style, policy)}<body>
<header>
<h1>{escape_text(title)}</h1>
<p class="lead">{escape_text(", ".join(lead))}</p>
{above}
</header>
<main>
<noscript><p class="fault">The film and its lines need JavaScript, which is switched off here.</p></noscript>
<div id="app"></div>
</main>
<script type="application/octet-stream" id="data">{pack_data({"rows": rows})}</script>
<script>{script}</script>
</body>
</html>
"""


def list_film(film: FilmText, place: Path) -> Cells:
    """[id, seconds, address or null, language or null, entries, [what was heard or read, and by what]]."""
    spoken = film.transcript.lines if film.transcript else ()
    written = film.signs.signs if film.signs else ()
    entries = sorted([*map(list_line, spoken), *map(list_sign, written)], key=lambda cells: (cells[0], cells[1]))
    durations = [one.duration for one in (film.transcript, film.signs) if one is not None and one.duration]
    seconds = max([0.0, *durations, *(cells[1] for cells in entries)])
    sources = [f"Lines: {film.transcript.source or 'source not known'}"] if film.transcript else []
    sources += [f"Signs: {film.signs.source or 'source not known'}"] if film.signs else []
    language = film.transcript.language if film.transcript else None
    return [film.id, round_seconds(seconds), link_file(film.video, place), language, entries, sources]


def list_line(line: SpokenLine) -> Cells:
    """[start, end, "line", text, confidence or null, speaker or null]."""
    times = [round_seconds(line.start), round_seconds(line.end)]
    return [*times, "line", line.text, round_share(line.confidence), line.speaker]


def list_sign(sign: Sign) -> Cells:
    """[start, end, kind, text, confidence, box or null]."""
    box = None if sign.box is None else [round(x, 4) for x in sign.box]
    times = [round_seconds(sign.start), round_seconds(sign.end)]
    return [*times, sign.kind, sign.text, round_share(sign.confidence), box]


def round_share(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
