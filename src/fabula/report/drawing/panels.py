"""Figures of several panels as SVG: curves, boxes over a number, grids of shades.

Each panel is an <svg> element, so that a page can wrap them and a file can have them side by side. No style and no
script is needed: colours are attributes, words have the colour of the text around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabula.report.drawing.elements import XMLNS, clean, list_ticks, tag, tenth

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")  # Okabe-Ito
WIDTH, HEIGHT = 360, 240  # of a panel with axes
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 30, 44
CELL, LEAST = 18.0, 2.0  # largest and smallest width of a grid's cell in pixels
ROW = 20
LETTER, GROUP = 6.5, 13  # pixels of a letter, and of a line of groups' names
LINE = 16  # pixels of a line of text below the panels
NAME = 15  # pixels of a line's name below its panel
LABELLED = 40  # up to so many columns have names; of more, only the groups
STEPS = (1, 2, 5)  # of ticks
Point = tuple[float, float]
FiveNumbers = tuple[float, float, float, float, float]  # least, quartiles, greatest


@dataclass(frozen=True)
class Curves:
    """Lines over one number."""

    title: str
    x: str  # what is on the axis
    y: str
    lines: dict[str, tuple[Point, ...]]
    marked: bool = False  # draw the points


@dataclass(frozen=True)
class Boxes:
    """Least, quartiles and greatest value over one number."""

    title: str
    x: str
    y: str
    boxes: dict[float, FiveNumbers]


@dataclass(frozen=True)
class Grid:
    """A shade per cell, from 0 to the largest; groups are runs of columns with a name each."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()


Panel = Curves | Boxes | Grid


@dataclass(frozen=True)
class Figure:
    """Panels that belong together, and the caption below them."""

    name: str  # of its file: fig4
    title: str
    words: str
    panels: tuple[Panel, ...]
    lines: tuple[str, ...] = ()  # text beside the panels, such as captions


def draw_panel(panel: Panel) -> tuple[str, float, float]:
    """The content of an <svg> element, its width and height."""
    if isinstance(panel, Grid):
        return draw_grid(panel)
    if isinstance(panel, Boxes):
        return draw_boxes(panel), WIDTH, HEIGHT
    return draw_curves(panel), WIDTH, HEIGHT + (NAME * len(panel.lines) if len(panel.lines) > 1 else 0)


def as_inline(panel: Panel) -> str:
    """For a page."""
    inner, width, height = draw_panel(panel)
    size = {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"}
    return tag("svg", inner, **size, role="img", aria_label=panel.title, font_size=11)


def as_file(figure: Figure) -> str:
    """A file: panels from left to right, on white."""
    drawn = [draw_panel(panel) for panel in figure.panels]
    width, height = sum(w for _, w, _ in drawn), max((h for _, _, h in drawn), default=0.0)
    parts, x = list[str](), 0.0
    for inner, w, h in drawn:
        parts.append(tag("svg", inner, x=f"{x:g}", width=f"{w:g}", height=f"{h:g}"))
        x += w
    for k, words in enumerate(figure.lines):
        parts.append(text(LEFT, height + LINE * (k + 1), words, "start"))
    if figure.lines:
        width = max(width, LEFT + max(LETTER * len(words) for words in figure.lines))
        height += LINE * (len(figure.lines) + 1)
    size = {"xmlns": XMLNS, "viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}"}
    style = {"font_family": "sans-serif", "font_size": 11, "color": "#1d2329"}
    white = tag("rect", width=f"{width:g}", height=f"{height:g}", fill="#fff")
    return tag("svg", tag("title", clean(figure.title)), white, *parts, **size, **style) + "\n"


# --- parts -----------------------------------------------------------------------------------------------------------


def text(x: float, y: float, words: str, anchor: str = "middle", **more: object) -> str:
    return tag("text", clean(words), x=tenth(x), y=tenth(y), text_anchor=anchor, fill="currentColor", **more)


def line(x1: float, y1: float, x2: float, y2: float, colour: str = "currentColor", **more: object) -> str:
    return tag("line", x1=tenth(x1), y1=tenth(y1), x2=tenth(x2), y2=tenth(y2), stroke=colour, **more)


class Axes:
    """The position of a number of x and of y in a panel, and the drawn axes."""

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
        foot = HEIGHT - BOTTOM
        parts = [
            text(WIDTH / 2, 16, self.panel.title, font_weight=600),
            line(LEFT, foot, WIDTH - RIGHT, foot),
        ]
        for value in list_ticks(self.low, self.high, 5, STEPS):
            x = self.x(value)
            parts += [line(x, foot, x, foot + 4), text(x, foot + 16, f"{value:g}")]
        for value in list_ticks(0, self.top, 4, STEPS):
            y = self.y(value)
            parts += [line(LEFT, y, WIDTH - RIGHT, y, stroke_opacity=".25"), text(LEFT - 6, y + 4, f"{value:g}", "end")]
        parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, self.panel.x))
        middle = (TOP + foot) / 2
        parts.append(text(13, middle, self.panel.y, transform=f"rotate(-90 13 {middle:.1f})"))
        return "".join(parts)


def draw_curves(panel: Curves) -> str:
    points = [p for line_points in panel.lines.values() for p in line_points]
    axes = Axes(panel, [x for x, _ in points], [y for _, y in points])
    parts = [axes.draw()]
    if not points:
        parts.append(text((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2, "there is nothing to draw"))
    for k, (name, line_points) in enumerate(panel.lines.items()):
        colour = COLOURS[k % len(COLOURS)]
        stroke = {"stroke_width": 2, "stroke_dasharray": (None, "7 3", "2 3")[k % 3]}  # distinct without colours, too
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in line_points)
        parts.append(tag("polyline", points=path, fill="none", stroke=colour, **stroke))
        if panel.marked:
            for x, y in line_points:
                hint = tag("title", clean(f"{name}: {x:g}, {y:.3g}"))
                parts.append(tag("circle", hint, cx=tenth(axes.x(x)), cy=tenth(axes.y(y)), r=3.5, fill=colour))
        if len(panel.lines) > 1:  # names stand below the plot, where they cover nothing
            y = HEIGHT + 8 + NAME * k
            parts += [line(LEFT, y - 4, LEFT + 20, y - 4, colour, **stroke)]
            parts += [text(LEFT + 26, y, name, "start")]
    return "".join(parts)


def draw_boxes(panel: Boxes) -> str:
    axes = Axes(panel, list(panel.boxes), [greatest for *_, greatest in panel.boxes.values()])
    wide = min(16.0, (WIDTH - LEFT - RIGHT) / (2 * max(1, len(panel.boxes))))
    parts = [axes.draw()]
    for at, five in panel.boxes.items():
        x, (low, q1, q2, q3, high) = axes.x(at), (axes.y(value) for value in five)
        parts += [line(x, low, x, q1), line(x, q3, x, high)]
        hint = tag("title", f"{at:g}: {', '.join(f'{v:g}' for v in five)}")
        size = {"width": tenth(wide), "height": tenth(max(q1 - q3, 1))}
        fill = {"fill": COLOURS[0], "fill_opacity": ".35", "stroke": COLOURS[0]}
        parts.append(tag("rect", hint, x=tenth(x - wide / 2), y=tenth(q3), **size, **fill))
        parts.append(line(x - wide / 2, q2, x + wide / 2, q2, stroke_width=2))
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
    parts = [text(width / 2, 16, panel.title, font_weight=600)]
    for i, (name, row) in enumerate(zip(panel.rows, panel.cells, strict=True)):
        y = TOP + ROW * i
        parts.append(text(left - 6, y + 14, name, "end"))
        for j, value in enumerate(row):
            hint = tag("title", clean(f"{name}, {panel.columns[j]}: {value:.3f}"))
            cell = {"x": tenth(left + wide * j), "y": tenth(y), "width": tenth(wide), "height": ROW}
            parts.append(tag("rect", hint, **cell, fill=COLOURS[0], fill_opacity=f"{value / most:.3f}"))
    border = {"fill": "none", "stroke": "currentColor", "stroke_opacity": ".4"}
    parts.append(tag("rect", x=tenth(left), y=TOP, width=tenth(wide * n), height=foot - TOP, **border))
    if named:
        parts += [text(left + wide * (j + 0.5), foot + 12, name) for j, name in enumerate(panel.columns)]
    x, below = left, foot + (28 if named else 14)
    for (name, count), at in zip(panel.groups, lines, strict=True):
        parts += [line(x, TOP, x, foot, stroke_opacity=".4")]
        parts += [text(x + wide * count / 2, below + GROUP * at, name)]
        x += wide * count
        width = max(width, x - wide * count / 2 + LETTER * len(name) / 2 + 4)
    return "".join(parts), width, height


def place_names(groups: Sequence[tuple[str, int]], left: float, wide: float) -> list[int]:
    """The line below the grid of each group's name, so that names do not overlap."""
    ends: list[float] = []  # of each line's last name
    placed = []
    for name, count in groups:
        middle, half = left + wide * count / 2, LETTER * len(name) / 2
        at = next((i for i, end in enumerate(ends) if middle - half >= end), len(ends))
        ends[at:] = [middle + half, *ends[at + 1 :]]
        placed.append(at)
        left += wide * count
    return placed
