"""Captionsets of a model as one HTML file: a frame of each clip, the true and the predicted words, where it looked.

Frames are in the page, as JPEG; a clip without one is a plain box with its name. No script runs; every string of a user
is escaped.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fabula.data.identity import ID
from fabula.report.html import draw_head, draw_warnings, escape_text, hash_source, read_asset

PEOPLE = 7  # colours of people: report.css has as many
LOOKS = 3  # of a blank: faces with the most attention
STYLE = """
.looks { list-style: none; margin: .3rem 0 0; padding: 0; font-size: .82rem; color: var(--soft); }
.looks li { margin-top: .2rem; }
.looks b { color: var(--ink); font-weight: 600; }
"""


@dataclass(frozen=True, slots=True)
class Look:
    """Where one blank of a clip looks: people by their faces in clips, with their share of the attention to faces."""

    blank: str  # its number and who was filled in
    faces: tuple[tuple[str, float], ...]  # the most looked at first

    def describe(self) -> str:
        return ", ".join(f"{who} {100 * share:.0f} %" for who, share in self.faces)


@dataclass(frozen=True, slots=True)
class ShownClip:
    """One clip: its frame, what is true of it, and what the model says; None where it does not."""

    name: str
    frame: bytes | None  # a picture, as a file has it
    truth: str | None
    filled: str | None = None
    caption: str | None = None
    looks: tuple[Look, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownSet:
    """A captionset clip by clip."""

    name: str
    clips: tuple[ShownClip, ...]


def captionset_page(sets: Sequence[ShownSet], title: str, notes: Sequence[str] = ()) -> str:
    """The whole document."""
    style = read_asset("report.css") + STYLE
    many = f"{len(sets):,} captionset{'s' * (len(sets) != 1)}: truth, filled blanks and captions of the model"
    links = "".join(f' <a href="#set-{k}">{escape_text(one.name)}</a>' for k, one in enumerate(sets))
    return f"""{draw_head(title, style, f"style-src '{hash_source(style)}'; img-src data:")}<body>
<header>
<h1>{escape_text(title)}</h1>
<p class="lead">{escape_text(many)}</p>
<p class="meta">A colour is a person; a filled-in person has the colour of whom it stands for most often, a person of a
new caption its own. A blank's faces are those with most of its attention to faces.</p>
<nav aria-label="Captionsets">{links}</nav>
</header>
<main>
{draw_warnings(notes) if notes else ""}{"".join(draw_set(one, k) for k, one in enumerate(sets))}
</main>
</body>
</html>
"""


def draw_set(one: ShownSet, k: int) -> str:
    truth, filled, caption = ([getattr(clip, side) for clip in one.clips] for side in ("truth", "filled", "caption"))
    right = order_people(truth)
    lines: list[tuple[str, Sequence[str | None], Callable[[str], int]]] = [("Truth", truth, right)]
    if any(text is not None for text in filled):
        lines.append(("Filled in", filled, stand_for(truth, filled, right)))
    if any(text is not None for text in caption):
        lines.append(("Caption", caption, order_people(caption)))
    cards = "".join(draw_clip(clip, n, lines) for n, clip in enumerate(one.clips))
    name = escape_text(one.name)
    return (
        f'<section class="clips" aria-labelledby="set-{k}"><h2 id="set-{k}">{name}</h2>'
        f'<ol tabindex="0" aria-label="Clips of {name}">{cards}</ol></section>\n'
    )


def draw_clip(clip: ShownClip, n: int, lines: Sequence[tuple[str, Sequence[str | None], Callable[[str], int]]]) -> str:
    said = "".join(f"<dt>{head}</dt><dd>{colour_people(texts[n], colour)}</dd>" for head, texts, colour in lines)
    looks = "".join(f"<li><b>{escape_text(look.blank)}</b> {escape_text(look.describe())}</li>" for look in clip.looks)
    seen = f'<ul class="looks" aria-label="Attention to faces">{looks}</ul>' if looks else ""
    head = f'<p class="meta">{n + 1}: {escape_text(clip.name)}</p>'
    return f"<li>{draw_frame(clip)}{head}<dl>{said}</dl>{seen}</li>"


def draw_frame(clip: ShownClip) -> str:
    if clip.frame is None:
        return f'<div class="still none">{escape_text(clip.name)}</div>'
    kind = "png" if clip.frame.startswith(b"\x89PNG") else "jpeg"
    source = f"data:image/{kind};base64,{base64.b64encode(clip.frame).decode('ascii')}"
    return f'<img class="still" src="{source}" alt="Frame of {escape_text(clip.name)}">'


def list_people(texts: Sequence[str | None]) -> list[str]:
    return [found[0].upper() for text in texts for found in ID.finditer(text or "")]


def order_people(texts: Sequence[str | None]) -> Callable[[str], int]:
    """People by first mention."""
    order = list(dict.fromkeys(list_people(texts)))
    return lambda who: order.index(who)


def stand_for(
    truth: Sequence[str | None], filled: Sequence[str | None], right: Callable[[str], int]
) -> Callable[[str], int]:
    """Whom a filled-in person meets most often; by first mention where the blanks do not correspond."""
    true, given = list_people(truth), list_people(filled)
    if len(true) != len(given):
        return order_people(filled)
    met = Counter(zip(given, true, strict=True))
    return lambda who: right(max((pair for pair in met if pair[0] == who), key=lambda pair: met[pair])[1])


def colour_people(text: str | None, colour: Callable[[str], int]) -> str:
    """A caption as HTML, people in colours."""
    if not text:
        return '<span class="tag missed">nothing</span>'
    parts, at = list[str](), 0
    for found in ID.finditer(text):
        kind = f"person p{colour(found[0].upper()) % PEOPLE}"
        parts += [escape_text(text[at : found.start()]), f'<span class="{kind}">{escape_text(found[0])}</span>']
        at = found.end()
    return "".join([*parts, escape_text(text[at:])])
