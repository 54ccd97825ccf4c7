"""One video as SVG: a strip of bars per storyteller over a common time axis, lines between matched pairs.

Across, everything is in percent of the video, so that a drawing fits any page; down, in pixels, so that type keeps its
size. What follows is layout: which event lies where on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from fabula.core.nouns import Event
from fabula.match._matrix import Pairs
from fabula.pair.tiou import Matrix

BAR, SLIM, GAP = 38, 9, 4  # px: a bar of two lines, a bar where many overlap, between lanes
LINKS, BETWEEN, AXIS = 46, 16, 26  # px: room for the lines, between strips, for the axis
CROWD = 6  # lanes from which bars are slim and carry no words
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)  # s between ticks


@dataclass(frozen=True)
class Strip:
    """The events of one storyteller that can be drawn, in order; `matched` are the places that have a partner."""

    name: str
    role: str  # reference, prediction, other
    events: Sequence[Event]
    matched: frozenset[int] = frozenset()


def safe(text: str) -> str:
    """A user's string as HTML text: tags stay words, lone surrogates become question marks."""
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def clock(seconds: float) -> str:
    """83.4 → 1:23"""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


def when(event: Event) -> str:
    return f"{event.segment.start:g}–{event.segment.end:g} s"


def lanes(events: Sequence[Event]) -> list[int]:
    """For each event the first lane that is free when it starts; events that overlap lie below each other."""
    free_from: list[float] = []
    chosen = []
    for event in events:
        lane = next((k for k, end in enumerate(free_from) if end <= event.segment.start), len(free_from))
        free_from[lane : lane + 1] = [event.segment.end]
        chosen.append(lane)
    return chosen


@dataclass(frozen=True)
class Laid:
    """A strip in its place: where it begins, how high its bars are, and the top of each bar."""

    strip: Strip
    y: int
    size: int
    tops: Sequence[int]

    @property
    def bottom(self) -> int:
        return max([self.y + BAR, *(top + self.size for top in self.tops)])


def lay(strip: Strip, y: int) -> Laid:
    at = lanes(strip.events)
    size = BAR if max(at, default=0) < CROWD else SLIM
    return Laid(strip, y, size, [y + lane * (size + GAP) for lane in at])


def timeline(strips: Sequence[Strip], pairs: Pairs, iou: Matrix, extent: float, id: str, about: str) -> str:
    """The drawing. `pairs` and `iou` belong to the first two strips: the reference and the prediction."""
    laid, y = [], 0
    for k, strip in enumerate(strips):
        laid.append(lay(strip, y))
        y = laid[-1].bottom + (LINKS if k == 0 else BETWEEN)
    parts = [*links(laid[0], laid[1], pairs, iou, extent), *(bars(each, extent) for each in laid), axis(extent, y)]
    return (
        f'<svg class="timeline" role="img" aria-labelledby="{id}-t {id}-d" width="100%" height="{y + AXIS}">'
        f'<title id="{id}-t">{about}</title><desc id="{id}-d">{len(strips)} strips of events over {clock(extent)} '
        f"minutes; {len(pairs)} matched pairs. The table below says the same in words.</desc>{''.join(parts)}</svg>"
    )


def bars(laid: Laid, extent: float) -> str:
    """A strip's label and bars."""
    strip, y = laid.strip, laid.y
    role = "reference" if strip.role == "other" else strip.role
    name = strip.name if len(strip.name) <= 17 else f"{strip.name[:16]}…"
    out = [
        f'<text class="name" x="-14" y="{y + 16}">{safe(name)}<title>{safe(strip.name)}</title></text>'
        f'<text class="role" x="-14" y="{y + 30}">{role}</text>'
    ]
    for i, (event, top) in enumerate(zip(strip.events, laid.tops, strict=True)):
        lone = "" if strip.role == "other" or i in strip.matched else " lone"
        words = event.caption or ""
        label = f'<foreignObject width="100%" height="{BAR}"><p>{safe(words[:120])}</p></foreignObject>'
        out.append(
            f'<svg class="{strip.role}{lone}" x="{percent(event.segment.start, extent)}" y="{top}" '
            f'width="{percent(max(event.segment.length, extent / 400), extent)}" height="{laid.size}">'
            f'<rect width="100%" height="100%" rx="5"><title>{when(event)}: {safe(words)}</title></rect>'
            f"{label if laid.size == BAR else ''}</svg>"
        )
    return "".join(out)


def links(ref: Laid, pred: Laid, pairs: Pairs, iou: Matrix, extent: float) -> list[str]:
    """A line per pair from bar to bar, with its IoU where there is room for it."""
    lines, words, written = [], [], -extent
    for i, j in pairs:
        x1, x2 = (e.segment.start + e.segment.length / 2 for e in (ref.strip.events[i], pred.strip.events[j]))
        y1, y2 = ref.tops[i] + ref.size, pred.tops[j]
        value, middle = f"{iou[i, j]:.2f}", (x1 + x2) / 2
        lines.append(
            f'<line class="link" x1="{percent(x1, extent)}" y1="{y1 + 3}" x2="{percent(x2, extent)}" y2="{y2 - 3}">'
            f"<title>IoU {value}</title></line>"
        )
        if middle - written > extent / 25:
            words.append(
                f'<text class="iou" x="{percent(middle, extent)}" y="{pred.y - LINKS // 2 + 4}">{value}</text>'
            )
            written = middle
    return lines + words


def axis(extent: float, y: int) -> str:
    step = next((s for s in STEPS if extent / s <= 10), int(extent // 10) + 1)
    out = [f'<line class="axis" x1="0" y1="{y}" x2="100%" y2="{y}"/>']
    for tick in range(0, int(extent) + 1, step):
        x = percent(tick, extent)
        out.append(
            f'<line class="axis" x1="{x}" y1="{y}" x2="{x}" y2="{y + 5}"/>'
            f'<text class="tick" x="{x}" y="{y + 19}">{clock(tick)}</text>'
        )
    return "".join(out)


def percent(seconds: float, extent: float) -> str:
    return f"{100 * seconds / extent:.3f}%"
