"""SVG elements whose text is escaped, and the frame of a plot, as papers print it.

Lengths are points (1/72 in), so that 8 is 8-point type when the file is put into a paper at its own size. Text stays
text. Colours are Okabe and Ito's, which colour-blind readers can distinguish; each also has its own mark and dash.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

COLUMN, PAGE = 3.3 * 72, 6.9 * 72  # the width of one column of a paper, and of two
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
DASHES = ("", "5 2", "1.5 1.5", "6 2 1.5 2", "3 1.5", "8 2", "2 3")
MARKS = ("circle", "square", "triangle", "diamond", "cross")
XMLNS = "http://www.w3.org/2000/svg"
INK, SOFT, RULE = "#000000", "#555555", "#dddddd"
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
SIZE = 8.0  # of type
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """A user's string as XML text."""
    return escape(NOT_XML.sub("\ufffd", text))


def write(value: object) -> str:
    """An attribute's value: numbers short, strings escaped."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
    return clean(str(value))


def tenth(value: float) -> str:
    """With one decimal."""
    return f"{value:.1f}"


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element. `children` are elements; an attribute's underscores are hyphens, and None leaves it out."""
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{write(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{named}>{''.join(children)}</{name}>" if children else f"<{name}{named}/>"


def text(words: str, x: float, y: float, **attributes: object) -> str:
    return tag("text", clean(words), x=x, y=y, **attributes)


def line(points: Sequence[tuple[float, float]], **attributes: object) -> str:
    """Straight from point to point."""
    return tag("path", d="M" + "L".join(f"{write(x)},{write(y)}" for x, y in points), fill="none", **attributes)


def mark(kind: int, x: float, y: float, size: float = 2.0, **attributes: object) -> str:
    """The k-th shape, `size` from its middle to its edge; `attributes` as of an element."""
    name, s = MARKS[kind % len(MARKS)], size
    if name == "circle":
        return tag("circle", cx=x, cy=y, r=s, **attributes)
    if name == "square":
        return tag("rect", x=x - 0.9 * s, y=y - 0.9 * s, width=1.8 * s, height=1.8 * s, **attributes)
    if name == "cross":
        d = write(2 * s)
        path = f"M{write(x - s)},{write(y - s)}l{d},{d}m0,-{d}l-{d},{d}"
        return tag("path", d=path, **(attributes | {"fill": "none", "stroke": attributes.get("fill", INK)}))
    corners = (
        [(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]
        if name == "triangle"
        else [(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]
    )
    points = " ".join(f"{write(x + s * dx)},{write(y + s * dy)}" for dx, dy in corners)
    return tag("polygon", points=points, **attributes)


def document(width: float, height: float, parts: Iterable[str], title: str, about: str = "") -> str:
    """A file, with a title and a description for screen readers."""
    names = [tag("title", clean(title)), *([tag("desc", clean(about))] if about else [])]
    size = {
        "width": f"{write(width)}pt",
        "height": f"{write(height)}pt",
        "viewBox": f"0 0 {write(width)} {write(height)}",
    }
    ground = tag("rect", width=width, height=height, fill="#ffffff")
    named = {"font_family": FONT, "font_size": SIZE, "fill": INK, "role": "img"}
    drawn = tag("svg", *names, ground, *parts, xmlns=XMLNS, **size, **named)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}\n'


# --- a plot's frame --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps numbers from `low` to `high` to positions from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high != self.low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """At most so many round numbers in the range."""
        return list_ticks(self.low, self.high, most)


def list_ticks(low: float, high: float, most: int = 6, steps: Sequence[float] = (1, 2, 2.5, 5)) -> list[float]:
    """Multiples of one of `steps` times a power of ten, from low to high."""
    reach = high - low
    if not reach > 0 or not math.isfinite(reach):
        return [low]
    power = 10.0 ** math.floor(math.log10(reach / most))
    step = next(k * power for k in (*steps, 10, 20) if reach / (k * power) <= most)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def widen(values: Iterable[float], room: float = 0.05) -> tuple[float, float]:
    """The least and the greatest value, with a margin at both ends."""
    known = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(known), max(known)
    more = (high - low) * room or abs(high) * room or 1.0
    return low - more, high + more


@dataclass(frozen=True, slots=True)
class Frame:
    """The box of a plot."""

    x: Scale
    y: Scale

    def draw(self, x_label: str, y_label: str, grid: bool = True, at_x: Sequence[float] = ()) -> list[str]:
        """Axes with ticks (at `at_x`, if there are any) and names, and the grid."""
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        parts = []
        for value in at_x or self.x.ticks():
            at = self.x(value)
            parts += [line([(at, bottom), (at, top)], stroke=RULE, stroke_width=0.5)] if grid else []
            parts.append(line([(at, bottom), (at, bottom + 3)], stroke=INK, stroke_width=0.6))
            parts.append(text(f"{value:g}", at, bottom + 11.5, text_anchor="middle"))
        for value in self.y.ticks():
            at = self.y(value)
            parts += [line([(left, at), (right, at)], stroke=RULE, stroke_width=0.5)] if grid else []
            parts.append(line([(left - 3, at), (left, at)], stroke=INK, stroke_width=0.6))
            parts.append(text(f"{value:g}", left - 5, at + 2.8, text_anchor="end"))
        parts.append(line([(left, top), (left, bottom), (right, bottom)], stroke=INK, stroke_width=0.8))
        parts.append(text(x_label, (left + right) / 2, bottom + 23, text_anchor="middle"))
        middle = (top + bottom) / 2
        turned = f"rotate(-90 {write(left - 26)} {write(middle)})"
        parts.append(text(y_label, left - 26, middle, text_anchor="middle", transform=turned) if y_label else "")
        return [part for part in parts if part]


def width_of(words: str, size: float = SIZE) -> float:
    """An upper estimate of the width of words: 0.6 of the font size per character."""
    return 0.6 * size * len(words)


def cut(words: str, most: int) -> str:
    """Shorten to `most` letters by leaving out the middle: names of one family differ at the end."""
    return words if len(words) <= most else f"{words[: most // 2 - 1]}…{words[-(most - most // 2) :]}"
