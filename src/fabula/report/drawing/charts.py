"""Small charts as SVG: reliability diagram, histogram, points, estimates with intervals, counts, timeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fabula.report.drawing.elements import XMLNS, clean, tag, tenth
from fabula.stats.calibration import Bin, expected_calibration_error
from fabula.stats.twoway import Estimate

SIDE, EDGE = 320, 44  # of the reliability diagram, in pixels
COLOURS = ("#4477aa", "#cc6677", "#117733", "#999933")
WIDTH, HEIGHT = 640, 220  # of a histogram
LEFT, NAME = 260, 36  # pixels left of a chart with names, and letters of a name


def inline(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """An <svg> element of a page; `label` is for screen readers."""
    size = {"viewBox": f"0 0 {width} {height}", "width": width}
    return tag("svg", "".join(parts), **size, role="img", aria_label=label)


def draw_reliability(curves: Mapping[str, Sequence[Bin]], title: str, binning: str, noun: str) -> str:
    """A file with a curve for each set of bins: on the diagonal, probabilities are right."""
    width, height = SIDE + 2 * EDGE, SIDE + 2 * EDGE + 18 * len(curves)

    def at(p: float, share: float) -> tuple[str, str]:
        return tenth(EDGE + p * SIDE), tenth(EDGE + (1 - share) * SIDE)

    def path(points: Iterable[tuple[float, float]]) -> str:
        return " ".join(",".join(at(p, share)) for p, share in points)

    parts = [
        tag("title", clean(title)),
        tag("rect", width=width, height=height, fill="#ffffff"),
        tag("text", clean(title), x=EDGE, y=20, font_size=13),
        tag("rect", x=EDGE, y=EDGE, width=SIDE, height=SIDE, fill="none", stroke="#999999"),
        tag("polyline", points=path([(0, 0), (1, 1)]), stroke="#bbbbbb", stroke_dasharray="4 4"),
    ]
    for k in range(6):
        x, y = EDGE + k / 5 * SIDE, EDGE + (1 - k / 5) * SIDE
        parts.append(tag("text", tenth(k / 5), x=tenth(x), y=EDGE + SIDE + 16, text_anchor="middle"))
        parts.append(tag("text", tenth(k / 5), x=EDGE - 6, y=tenth(y + 4), text_anchor="end"))
    middle = tenth(EDGE + SIDE / 2)
    parts.append(tag("text", "probability", x=middle, y=EDGE + SIDE + 32, text_anchor="middle"))
    turned = {"text_anchor": "middle", "transform": f"rotate(-90 12 {middle})"}
    parts.append(tag("text", "share that is true", x=12, y=middle, **turned))
    for n, (name, bins) in enumerate(curves.items()):
        colour, low = COLOURS[n % len(COLOURS)], EDGE + SIDE + 52 + 18 * n
        points = path((b.probability, b.share) for b in bins)
        parts.append(tag("polyline", points=points, fill="none", stroke=colour, stroke_width="1.5"))
        for b in bins:
            cx, cy = at(b.probability, b.share)
            words = f"probability {b.probability:.3f}: {b.share:.1%} of {b.samples:,} {noun} are true"
            parts.append(tag("circle", tag("title", clean(words)), cx=cx, cy=cy, r=3, fill=colour))
        parts.append(tag("rect", x=EDGE, y=low - 9, width=10, height=10, fill=colour))
        error = f"{name}: ECE ({binning}) {expected_calibration_error(bins):.3f}"
        parts.append(tag("text", clean(error), x=EDGE + 16, y=low))
    size = {"xmlns": XMLNS, "viewBox": f"0 0 {width} {height}", "width": width, "role": "img"}
    return tag("svg", "\n".join([*parts, ""]), **size, font_family="sans-serif", font_size=12) + "\n"


def draw_histogram(bins: Sequence[tuple[float, int]], title: str) -> str:
    """Bars over the left ends of their bins."""
    top, step = max(n for _, n in bins), WIDTH / len(bins)
    reach = bins[1][0] - bins[0][0] if len(bins) > 1 else 1.0
    parts = []
    for i, (left, n) in enumerate(bins):
        hint, tall = tag("title", f"{left:g} to {left + reach:g}: {n}"), HEIGHT * n / top
        bar = {"x": tenth(i * step), "y": tenth(HEIGHT - tall), "width": tenth(step * 0.9), "height": tenth(tall)}
        parts.append(tag("rect", hint, **bar, fill="#4477aa"))
    for i in range(0, len(bins), max(1, len(bins) // 10)):
        parts.append(tag("text", f"{bins[i][0]:g}", x=tenth(i * step), y=HEIGHT + 16, font_size=11))
    return inline(WIDTH, HEIGHT + 24, parts, title)


def draw_points(points: Sequence[Sequence[float]], labels: Sequence[int], title: str) -> str:
    """Points of a plane, in a colour per label."""
    xs, ys = ([p[k] for p in points] for k in (0, 1))
    low, spans = (min(xs), min(ys)), (max(max(xs) - min(xs), 1e-9), max(max(ys) - min(ys), 1e-9))
    side = 460
    parts = []
    for (x, y), label in zip(points, labels, strict=True):
        cx, cy = (8 + (v - low[k]) / spans[k] * (side - 16) for k, v in enumerate((x, y)))
        parts.append(tag("circle", cx=tenth(cx), cy=tenth(cy), r=2, fill=f"hsl({label * 137 % 360} 60% 50%)"))
    return inline(side, side, parts, title)


def draw_estimates(lines: Sequence[tuple[str, Estimate]], low: float, high: float, null: float | None) -> str:
    """Dots with whiskers between `low` and `high`; a line at `null`, where there is no difference."""
    reach, step = 420, 30
    height = step * len(lines) + 30

    def at(value: float) -> str:
        return tenth(LEFT + reach * (min(max(value, low), high) - low) / (high - low))

    parts = []
    for k in range(5):
        value = low + (high - low) * k / 4
        parts.append(tag("line", class_="axis", x1=at(value), x2=at(value), y1=4, y2=height - 24))
        parts.append(tag("text", f"{value:g}", class_="soft", x=at(value), y=height - 6, text_anchor="middle"))
    if null is not None:
        parts.append(tag("line", class_="null", x1=at(null), x2=at(null), y1=4, y2=height - 24))
    for k, (name, e) in enumerate(lines):
        y = 18 + step * k
        parts.append(tag("text", clean(name[:NAME]), x=LEFT - 12, y=y + 4, text_anchor="end"))
        if e.interval:
            ends = {"x1": at(e.interval.low), "x2": at(e.interval.high)}
            parts.append(tag("line", class_="whisker", **ends, y1=y, y2=y))
        parts.append(tag("circle", class_="dot", cx=at(e.value), cy=y, r=5))
    return inline(LEFT + reach + 40, height, parts, "; ".join(f"{name}: {e.value:.2f}" for name, e in lines))


def draw_counts(rows: Mapping[str, Mapping[int, int]], columns: Sequence[int], label: str) -> str:
    """A row of bars per name: how often each of `columns` occurs."""
    cell, step = 84, 34
    parts = []
    for k, (name, counts) in enumerate(rows.items()):
        top, y = max(counts.values(), default=1), 8 + step * k
        parts.append(tag("text", clean(name[:NAME]), x=LEFT - 12, y=y + 18, text_anchor="end"))
        for j, column in enumerate(columns):
            n, x = counts.get(column, 0), LEFT + cell * j
            bar = {"x": x, "y": tenth(y + 26 - 24 * n / top), "width": 40, "height": tenth(24 * n / top)}
            parts.append(tag("rect", class_="fill", **bar))
            parts.append(tag("text", str(n), class_="soft", x=x + 44, y=y + 24))
    y = 8 + step * len(rows) + 16
    for j, column in enumerate(columns):
        parts.append(tag("text", str(column), class_="soft", x=LEFT + cell * j + 20, y=y, text_anchor="middle"))
    return inline(LEFT + cell * len(columns), y + 8, parts, label)


def draw_timeline(runs: Iterable[tuple[float, float]], duration: float, label: str) -> str:
    """Runs (start, length) of a video as marks in a strip that is as wide as its place; none is too thin to see."""
    scale = 1000 / max(duration, 1e-9)
    marks = [tag("rect", x=tenth(a * scale), y=0, width=tenth(max(2.0, n * scale)), height=10) for a, n in runs]
    size = {"viewBox": "0 0 1000 10", "preserveAspectRatio": "none"}
    return tag("svg", "".join(marks), class_="strip", **size, role="img", aria_label=label)
