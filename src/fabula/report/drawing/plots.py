"""Plots for papers as SVG: scatter, curves, intervals.

Only positions are computed here; the verb `plot` prepares the numbers, times 100 as tables print them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabula.report.drawing import elements as svg

MARKED = 7  # up to so many thresholds all have ticks
NAMES = 34  # letters of a name on an axis, less where the plot is narrow


@dataclass(frozen=True, slots=True)
class Scatter:
    """Two systems, a point per video."""

    metric: str
    systems: tuple[str, str]
    points: Sequence[tuple[float, float]]
    above: int  # videos on which the second is higher
    below: int
    equal: int
    unit: str = "video"


@dataclass(frozen=True, slots=True)
class ThresholdCurves:
    """A number against a threshold, a line per system or metric."""

    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    x: str = "threshold"


@dataclass(frozen=True, slots=True)
class Intervals:
    """Numbers with their intervals, a strip per metric, a line per system."""

    metrics: Mapping[str, Sequence[Interval]]
    names: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Interval:
    system: str
    value: float
    low: float | None = None
    high: float | None = None


def draw_scatter(plot: Scatter, width: float) -> str:
    """Points above the diagonal are videos on which the second system is better."""
    left, top, right = 38.0, 10.0, 8.0
    side = min(width - left - right, 3.6 * 72)
    low, high = svg.widen([v for point in plot.points for v in point])
    low = max(low, 0.0) if all(v >= 0 for point in plot.points for v in point) else low
    frame = svg.Frame(svg.Scale(low, high, left, left + side), svg.Scale(low, high, top + side, top))
    a, b = (svg.cut(name, NAMES) for name in plot.systems)
    parts = frame.draw(f"{plot.metric} of {a}", f"{plot.metric} of {b}")
    parts.append(
        svg.line(
            [(frame.x(low), frame.y(low)), (frame.x(high), frame.y(high))], stroke=svg.SOFT, stroke_dasharray="3 2"
        )
    )
    size = 2.2 if len(plot.points) < 400 else 1.4
    dots = (svg.mark(0, frame.x(x), frame.y(y), size, fill=svg.COLORS[0], fill_opacity=0.45) for x, y in plot.points)
    parts.append(svg.tag("g", *dots))
    words = f"{plot.above:,} above, {plot.below:,} below" + (f", {plot.equal:,} on the line" if plot.equal else "")
    parts.append(svg.text(words, left + 5, top + 9, fill=svg.SOFT))
    title = f"{plot.metric} per {plot.unit}: {plot.systems[1]} against {plot.systems[0]}"
    about = f"{len(plot.points):,} {plot.unit}s: {words}."
    return svg.document(left + side + right, top + side + 30, parts, title, about)


def draw_curves(plot: ThresholdCurves, width: float) -> str:
    left, top, right = 38.0, 8.0, 8.0
    height = min(0.68 * width, 2.9 * 72)
    xs = [x for line in plot.lines.values() for x, _ in line]
    ys = [y for line in plot.lines.values() for _, y in line]
    low, high = svg.widen(ys)
    low = 0.0 if min(ys) >= 0 else low
    frame = svg.Frame(svg.Scale(*svg.widen(xs, 0.03), left, width - right), svg.Scale(low, high, top + height, top))
    marks = sorted(set(xs))
    parts = frame.draw(plot.x, plot.y, at_x=marks if len(marks) <= MARKED else ())
    for k, line in enumerate(plot.lines.values()):
        colour, dash = svg.COLORS[k % len(svg.COLORS)], svg.DASHES[k % len(svg.DASHES)]
        places = [(frame.x(x), frame.y(y)) for x, y in line]
        parts.append(svg.line(places, stroke=colour, stroke_width=1.2, stroke_dasharray=dash or None))
        parts += [svg.mark(k, x, y, 2.0, fill=colour) for x, y in places]
    bottom = top + height + 30
    legend, used = draw_legend(list(plot.lines), left, bottom, width - left - right)
    title = f"{plot.y} against {plot.x}"
    return svg.document(width, bottom + used, [*parts, *legend], title, f"Lines: {', '.join(plot.lines)}.")


def draw_intervals(plot: Intervals, width: float) -> str:
    """Strips have axes of their own: metrics are not of one size."""
    letters = 14 if width <= svg.COLUMN else NAMES
    names = list(dict.fromkeys(one.system for intervals in plot.metrics.values() for one in intervals))
    left = 10 + max(svg.width_of(svg.cut(name, letters)) for name in names)
    right, y, parts = 30.0, 4.0, list[str]()
    for metric, intervals in plot.metrics.items():
        parts.append(svg.text(metric, 4, y + 9, font_weight="bold"))
        top, y = y + 13, y + 13
        ends = [v for one in intervals for v in (one.low, one.value, one.high) if v is not None]
        scale = svg.Scale(*svg.widen(ends, 0.08), left, width - right)
        bottom = top + 13.0 * len(intervals) + 3
        for value in scale.ticks(5):
            at = scale(value)
            parts.append(svg.line([(at, top), (at, bottom)], stroke=svg.RULE, stroke_width=0.5))
            parts.append(svg.text(f"{value:g}", at, bottom + 9, text_anchor="middle", fill=svg.SOFT, font_size=7))
        parts.append(svg.line([(left, bottom), (width - right, bottom)], stroke=svg.INK, stroke_width=0.6))
        for one in intervals:
            k, at = names.index(one.system), y + 8
            colour = svg.COLORS[k % len(svg.COLORS)]
            parts.append(svg.text(svg.cut(one.system, letters), left - 5, at + 2.8, text_anchor="end"))
            if one.low is not None and one.high is not None:
                low, high = scale(one.low), scale(one.high)
                parts.append(svg.line([(low, at), (high, at)], stroke=colour, stroke_width=1.2))
                parts += [
                    svg.line([(x, at - 2.4), (x, at + 2.4)], stroke=colour, stroke_width=1.2) for x in (low, high)
                ]
            parts.append(svg.mark(k, scale(one.value), at, 2.4, fill=colour))
            parts.append(svg.text(f"{one.value:.1f}", width - 3, at + 2.8, text_anchor="end"))
            y += 13
        y = bottom + 16
    title = f"Intervals of {', '.join(plot.metrics)}"
    lacking = any(one.low is None for intervals in plot.metrics.values() for one in intervals)
    about = "A point without whiskers has no interval: it was scored without --ci." if lacking else ""
    return svg.document(width, y, parts, title, about)


def draw_legend(names: Sequence[str], left: float, top: float, room: float) -> tuple[list[str], float]:
    """Line, mark and name, in as many lines as they need; and how high that is."""
    if len(names) < 2:
        return [], 0.0
    parts, x, y = list[str](), left, top + 6
    for k, name in enumerate(names):
        short = svg.cut(name, NAMES)
        wide = 24 + svg.width_of(short) + 8
        if x > left and x + wide > left + room:
            x, y = left, y + 12
        colour, dash = svg.COLORS[k % len(svg.COLORS)], svg.DASHES[k % len(svg.DASHES)]
        parts.append(svg.line([(x, y), (x + 18, y)], stroke=colour, stroke_width=1.2, stroke_dasharray=dash or None))
        parts.append(svg.mark(k, x + 9, y, 2.0, fill=colour))
        parts.append(svg.text(short, x + 23, y + 2.8))
        x += wide
    return parts, y - top + 10
