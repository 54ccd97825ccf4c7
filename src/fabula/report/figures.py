"""Figures as SVG: curves, grids of shades, boxes over a number. A value in, text out; nothing is measured here.

A figure is some panels; each panel is an <svg> of its own, so that a page can let them wrap, and a file has them side
by side. No style and no script is needed: colours are attributes, words have the colour of the text around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")  # Okabe-Ito
WIDTH, HEIGHT = 360, 240  # of a panel with axes
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 30, 44
CELL, LEAST = 18.0, 2.0  # pixels of a grid's cell, at most and at least
ROW = 20
LETTER, GROUP = 6.5, 13  # pixels of a letter, and of a line of groups' names
NAME = 15  # pixels of a line's name below its panel
LABELLED = 40  # columns that have names below them; of more, the groups alone
Point = tuple[float, float]
Five = tuple[float, float, float, float, float]  # least, quartiles, most


@dataclass(frozen=True)
class Curves:
    """Lines over one number."""

    title: str
    x: str  # what is on the axis
    y: str
    lines: dict[str, tuple[Point, ...]]
    marked: bool = False  # points are shown


@dataclass(frozen=True)
class Boxes:
    """Least, quartiles and most over one number."""

    title: str
    x: str
    y: str
    boxes: dict[float, Five]


@dataclass(frozen=True)
class Grid:
    """A shade a cell, from 0 to the largest; groups are runs of columns with a name each."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()


Panel = Curves | Boxes | Grid


@dataclass(frozen=True)
class Figure:
    """Panels that belong together, and the words below them."""

    name: str  # of its file: fig4
    title: str
    words: str
    panels: tuple[Panel, ...]


def draw_panel(panel: Panel) -> tuple[str, float, float]:
    """What stands inside an <svg>, its width and height."""
    if isinstance(panel, Grid):
        return draw_grid(panel)
    if isinstance(panel, Boxes):
        return draw_boxes(panel), WIDTH, HEIGHT
    return draw_curves(panel), WIDTH, HEIGHT + (NAME * len(panel.lines) if len(panel.lines) > 1 else 0)


def as_inline(panel: Panel) -> str:
    """For a page."""
    inner, width, height = draw_panel(panel)
    box = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg {box} role="img" aria-label="{escape(panel.title)}" font-size="11">{inner}</svg>'


def as_file(figure: Figure) -> str:
    """A document of its own: panels from left to right, on white."""
    drawn = [draw_panel(panel) for panel in figure.panels]
    width, height = sum(w for _, w, _ in drawn), max((h for _, _, h in drawn), default=0.0)
    parts, x = list[str](), 0.0
    for inner, w, h in drawn:
        parts.append(f'<svg x="{x:g}" width="{w:g}" height="{h:g}">{inner}</svg>')
        x += w
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
    style = 'font-family="sans-serif" font-size="11" color="#1d2329"'
    white = f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>'
    return f"{head} {style}><title>{escape(figure.title)}</title>{white}{''.join(parts)}</svg>\n"


# --- parts -----------------------------------------------------------------------------------------------------------


def text(x: float, y: float, said: str, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor"{more}>{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str = "currentColor", more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def ticks(low: float, high: float, about: int = 5) -> Iterator[float]:
    """Round numbers from low to high, some `about`."""
    span = (high - low) or 1.0
    power = 10.0
    while power > span / about:
        power /= 10
    while power * 10 <= span / about:
        power *= 10
    step = next((power * m for m in (1, 2, 5, 10) if span / (power * m) <= about), power * 10)
    n = -(-low // step)
    while n * step <= high + 1e-9 * span:
        yield n * step + 0.0  # no −0
        n += 1


class Axes:
    """Where a number of x and of y lies in a panel, and the lines that say so."""

    def __init__(self, panel: Curves | Boxes, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.panel = panel
        self.low, self.high = min(xs, default=0.0), max(xs, default=1.0)
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.top = max(ys, default=1.0) * 1.05 or 1.0

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.low) / (self.high - self.low)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.top

    def draw(self) -> str:
        foot, faint = HEIGHT - BOTTOM, ' stroke-opacity=".25"'
        parts = [
            text(WIDTH / 2, 16, self.panel.title, more=' font-weight="600"'),
            line(LEFT, foot, WIDTH - RIGHT, foot),
        ]
        for value in ticks(self.low, self.high):
            x = self.x(value)
            parts += [line(x, foot, x, foot + 4), text(x, foot + 16, f"{value:g}")]
        for value in ticks(0, self.top, 4):
            y = self.y(value)
            parts += [line(LEFT, y, WIDTH - RIGHT, y, more=faint), text(LEFT - 6, y + 4, f"{value:g}", "end")]
        parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, self.panel.x))
        middle = (TOP + foot) / 2
        parts.append(text(13, middle, self.panel.y, more=f' transform="rotate(-90 13 {middle:.1f})"'))
        return "".join(parts)


def draw_curves(panel: Curves) -> str:
    points = [p for some in panel.lines.values() for p in some]
    axes = Axes(panel, [x for x, _ in points], [y for _, y in points])
    parts = [axes.draw()]
    if not points:
        parts.append(text((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2, "there is nothing to draw"))
    for k, (name, some) in enumerate(panel.lines.items()):
        colour = COLOURS[k % len(COLOURS)]
        dash = ("", ' stroke-dasharray="7 3"', ' stroke-dasharray="2 3"')[k % 3]  # told apart without colours, too
        way = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in some)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        if panel.marked:
            parts += [
                f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="3.5" fill="{colour}">'
                f"<title>{escape(name)}: {x:g}, {y:.3g}</title></circle>"
                for x, y in some
            ]
        if len(panel.lines) > 1:  # names below, where they cover nothing and have room
            y = HEIGHT + 8 + NAME * k
            parts += [line(LEFT, y - 4, LEFT + 20, y - 4, colour, f' stroke-width="2"{dash}')]
            parts += [text(LEFT + 26, y, name, "start")]
    return "".join(parts)


def draw_boxes(panel: Boxes) -> str:
    axes = Axes(panel, list(panel.boxes), [most for *_, most in panel.boxes.values()])
    wide = min(16.0, (WIDTH - LEFT - RIGHT) / (2 * max(1, len(panel.boxes))))
    parts = [axes.draw()]
    for at, five in panel.boxes.items():
        x, (low, q1, q2, q3, high) = axes.x(at), (axes.y(value) for value in five)
        parts += [line(x, low, x, q1), line(x, q3, x, high)]
        parts.append(
            f'<rect x="{x - wide / 2:.1f}" y="{q3:.1f}" width="{wide:.1f}" height="{max(q1 - q3, 1):.1f}" '
            f'fill="{COLOURS[0]}" fill-opacity=".35" stroke="{COLOURS[0]}">'
            f"<title>{at:g}: {', '.join(f'{v:g}' for v in five)}</title></rect>"
        )
        parts.append(line(x - wide / 2, q2, x + wide / 2, q2, more=' stroke-width="2"'))
    return "".join(parts)


def draw_grid(panel: Grid) -> tuple[str, float, float]:
    n, most = len(panel.columns), max((v for row in panel.cells for v in row), default=0.0) or 1.0
    wide = max(LEAST, min(CELL, 620 / max(1, n)))
    left = 14 + 6.2 * max((len(row) for row in panel.rows), default=0)
    named = n <= LABELLED
    foot = TOP + ROW * len(panel.rows)
    width = max(left + wide * n + RIGHT, left + 6.5 * len(panel.title))
    lines = place_names(panel.groups, left, wide)
    height = foot + (14 if named else 4) + (18 + GROUP * max(lines) if lines else 0)
    parts = [text(width / 2, 16, panel.title, more=' font-weight="600"')]
    for i, (name, row) in enumerate(zip(panel.rows, panel.cells, strict=True)):
        y = TOP + ROW * i
        parts.append(text(left - 6, y + 14, name, "end"))
        for j, value in enumerate(row):
            shade = f'fill="{COLOURS[0]}" fill-opacity="{value / most:.3f}"'
            parts.append(
                f'<rect x="{left + wide * j:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{ROW}" {shade}>'
                f"<title>{escape(name)}, {escape(panel.columns[j])}: {value:.3f}</title></rect>"
            )
    parts.append(
        f'<rect x="{left:.1f}" y="{TOP}" width="{wide * n:.1f}" height="{foot - TOP}" fill="none" '
        'stroke="currentColor" stroke-opacity=".4"/>'
    )
    if named:
        parts += [text(left + wide * (j + 0.5), foot + 12, name) for j, name in enumerate(panel.columns)]
    x, below = left, foot + (28 if named else 14)
    for (name, count), at in zip(panel.groups, lines, strict=True):
        parts += [line(x, TOP, x, foot, more=' stroke-opacity=".4"')]
        parts += [text(x + wide * count / 2, below + GROUP * at, name)]
        x += wide * count
        width = max(width, x - wide * count / 2 + LETTER * len(name) / 2 + 4)
    return "".join(parts), width, height


def place_names(groups: Sequence[tuple[str, int]], left: float, wide: float) -> list[int]:
    """The line below the grid on which the name of each group stands, so that none is printed over another."""
    ends: list[float] = []  # of each line's last name
    placed = []
    for name, count in groups:
        middle, half = left + wide * count / 2, LETTER * len(name) / 2
        at = next((i for i, end in enumerate(ends) if middle - half >= end), len(ends))
        ends[at:] = [middle + half, *ends[at + 1 :]]
        placed.append(at)
        left += wide * count
    return placed
