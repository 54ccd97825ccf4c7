"""Every drawing, byte for byte, as tests/report/drawn has it: numbers, marks, dashes and words stand where they stood.

A drawing that changes is to be looked at. `python -m tests.report.test_drawings` writes the files anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabula.report.drawing import charts, panels, plots
from fabula.report.drawing import elements as svg
from fabula.report.drawing.plots import Interval, Intervals, Scatter, ThresholdCurves
from fabula.stats.calibration import Bin
from fabula.stats.twoway import Estimate
from fabula.stats.twoway import Interval as Range

FOLDER = Path(__file__).parent / "drawn"
LONG = "a system whose name has more than thirty-six letters"


def some_bins(shift: float) -> list[Bin]:
    return [Bin(0.1 + shift, 0.05, 1200), Bin(0.45, 0.5 - shift, 30), Bin(0.9, 1.0, 4)]


def some_curves(n: int, points: int = 3) -> dict[str, list[tuple[float, float]]]:
    return {f"line {k} of them": [(0.1 * (i + 3), 50.0 - 5 * k - 7 * i) for i in range(points)] for k in range(n)}


def some_intervals() -> Intervals:
    one = [Interval("good", 27.44, 25.4, 28.6), Interval(LONG, 3.0)]
    return Intervals({"SODA_c": one, "mIoU": [Interval("other", 78.0, 75.5, 79.5), Interval("good", 80.0, 79.0, 81.0)]})


LINES = {"a": ((0.0, 0.0), (1.0, 2.0), (2.0, 1.5)), "b & c": ((0.0, 1.0), (2.0, 1.0)), "d": ((1.0, 3.0),)}
FIVE = {0.1: (1, 2, 3, 4, 5), 0.2: (0, 0, 0, 0, 0), 0.5: (2, 2.5, 2.75, 3, 9)}
SHADES = ((0.5, 0.25, 0.25), (0.0, 0.125, 0.0))
ENDS = {"static": (0.25, Range(0.125, 1.5)), LONG: (-3.0, None), "c": (0.5, None)}
ESTIMATES = [(name, Estimate(value, 0.1, 9.0, ends, 12, 3, 4)) for name, (value, ends) in ENDS.items()]

DRAWINGS: dict[str, Callable[[], str]] = {
    "reliability": lambda: charts.draw_reliability(
        {"plain": some_bins(0), "cut < once": some_bins(0.02)}, "How far to trust", "equal width", "moments"
    ),
    "histogram": lambda: charts.draw_histogram([(0.0, 3), (2.5, 12), (5.0, 0), (7.5, 1)], "lengths"),
    "histogram-of-one": lambda: charts.draw_histogram([(4.0, 3)], "one"),
    "histogram-of-many": lambda: charts.draw_histogram([(float(k), k % 4) for k in range(25)], "many"),
    "points": lambda: charts.draw_points([(0, 0), (2, 1), (1, -1), (0.5, 0.25)], [0, 1, 2, 5], "texts"),
    "points-on-a-line": lambda: charts.draw_points([(3, 1), (3, 1)], [0, 3], "one place"),
    "estimates": lambda: charts.draw_estimates(ESTIMATES, -1.0, 1.0, 0.0),
    "estimates-without-null": lambda: charts.draw_estimates(ESTIMATES[:1], 1.0, 5.0, None),
    "counts": lambda: charts.draw_counts({"fine": {1: 3, 2: 0, 5: 12}, LONG: {}}, [1, 2, 5], "ratings"),
    "timeline": lambda: charts.draw_timeline([(0.0, 5.0), (20.0, 0.001), (30.0, 10.0)], 40.0, "where it moves"),
    "scatter": lambda: plots.draw_scatter(
        Scatter("m", ("a", LONG), [(10, 20), (30, 5), (7, 7)], 1, 1, 1, "query"), 238
    ),
    "scatter-below-zero": lambda: plots.draw_scatter(Scatter("m", ("a", "b"), [(-1, 2), (3, 5)], 2, 0, 0), 500),
    "scatter-of-399": lambda: plots.draw_scatter(Scatter("m", ("a", "b"), [(1, 2)] * 399, 399, 0, 0), 238)[-400:],
    "scatter-of-400": lambda: plots.draw_scatter(Scatter("m", ("a", "b"), [(1, 2)] * 400, 400, 0, 0), 238)[-400:],
    "thresholds": lambda: plots.draw_curves(ThresholdCurves("METEOR", some_curves(3)), svg.COLUMN),
    "thresholds-of-eight": lambda: plots.draw_curves(ThresholdCurves("m", some_curves(8, 7), "tIoU"), svg.PAGE),
    "thresholds-many": lambda: plots.draw_curves(ThresholdCurves("m", some_curves(1, 8)), svg.COLUMN),
    "thresholds-below-zero": lambda: plots.draw_curves(
        ThresholdCurves("m", {"a": [(1.0, -2.0), (2.0, 0.0)], "b": [(1.0, 3.0), (2.0, 1.0)]}), 300.0
    ),
    "intervals-column": lambda: plots.draw_intervals(some_intervals(), svg.COLUMN),
    "intervals-page": lambda: plots.draw_intervals(some_intervals(), svg.PAGE),
    "intervals-whole": lambda: plots.draw_intervals(Intervals({"m": [Interval("a", 1.0, 0.5, 2.0)]}), svg.COLUMN),
    "figure": lambda: panels.as_file(
        panels.Figure(
            "fig",
            "three <panels>",
            "words",
            (
                panels.Curves("curves", "x", "y", LINES, marked=True),
                panels.Boxes("boxes", "x", "y", FIVE),
                panels.Grid("grid", ("r", "row & two"), ("0", "1", "2"), SHADES, (("clip 1", 1), ("clip 2", 2))),
            ),
        )
    ),
    "curves": lambda: panels.as_inline(panels.Curves("one", "x", "y", {"a": LINES["a"]})),
    "curves-of-zeros": lambda: panels.as_inline(panels.Curves("zeros", "x", "y", {"a": ((3.0, 0.0),)})),
    "curves-of-eight": lambda: panels.as_inline(
        panels.Curves("eight", "x", "y", dict.fromkeys("abcdefgh", LINES["d"]))
    ),
    "curves-of-nothing": lambda: panels.as_inline(panels.Curves("none", "x", "y", {})),
    "boxes-many": lambda: panels.as_inline(
        panels.Boxes("many", "x", "y", {float(k): (0, 1, 2, 3, k) for k in range(12)})
    ),
    "boxes-of-nothing": lambda: panels.as_inline(panels.Boxes("none", "x", "y", {})),
    "grid-of-forty": lambda: panels.as_inline(
        panels.Grid("grid", ("r",), tuple(map(str, range(40))), ((0.5,) * 40,), (("a long name", 1), ("b", 39)))
    ),
    "grid-of-forty-one": lambda: panels.as_inline(
        panels.Grid("grid", ("r",), tuple(map(str, range(41))), ((0.5,) * 41,), (("a", 40), ("a long name", 1)))
    ),
    "grid-of-many": lambda: panels.as_inline(panels.Grid("g", ("r",), ("",) * 400, ((0.5,) * 400,)))[:400],
    "grid-of-nothing": lambda: panels.as_inline(panels.Grid("nothing at all", (), (), ())),
    "marks": lambda: "\n".join(svg.mark(k, 10, 20, fill="#123456") for k in range(6)),
    "frame": lambda: "\n".join(
        svg.Frame(svg.Scale(0, 10, 40, 200), svg.Scale(-1, 1, 120, 10)).draw("x", "", grid=False, at_x=(1, 5))
    ),
    "frame-with-grid": lambda: "\n".join(
        svg.Frame(svg.Scale(0, 10, 40, 200), svg.Scale(-1, 1, 120, 10)).draw("across", "up")
    ),
    "document": lambda: svg.document(100, 50.25, [svg.text("a < b", 1, 2.345, font_weight="bold")], "T & U"),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_drawing_is_as_it_was(name):
    assert DRAWINGS[name]() + "\n" == (FOLDER / f"{name}.svg").read_text("utf-8")


def test_no_drawing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(DRAWINGS)


def test_numbers_and_words_of_elements():
    assert svg.tag("a", b_c=1, d_=None, e=True, f=2.0, g=1 / 3) == '<a b-c="1" e="True" f="2" g="0.33"/>'
    assert svg.tag("a", "x", "<b/>", class_="q\"'") == '<a class="q&quot;&#x27;">x<b/></a>'
    assert [svg.write(v) for v in (1.0, 10.0, 0.125, float("inf"), float("nan"), "\0<", 7)] == [
        *("1", "10", "0.12", "0", "0", "\ufffd&lt;", "7")
    ]
    assert svg.line([(0, 1), (2.5, 3)], stroke="x") == '<path d="M0,1L2.5,3" fill="none" stroke="x"/>'
    assert svg.width_of("abcd") == pytest.approx(19.2) and svg.width_of("abcd", 10) == 24
    assert (pytest.approx(237.6), pytest.approx(496.8)) == (svg.COLUMN, svg.PAGE)


@pytest.mark.parametrize(
    ("words", "most", "short"),
    [
        ("abcdefgh", 8, "abcdefgh"),
        ("abcdefghi", 8, "abc…fghi"),
        ("abcdefghij", 7, "ab…ghij"),
        ("", 4, ""),
    ],
)
def test_the_middle_of_a_long_name_is_left_out(words, most, short):
    assert svg.cut(words, most) == short and len(short) <= most


@pytest.mark.parametrize(
    ("values", "room", "ends"),
    [
        ([1, 3], 0.05, (0.9, 3.1)),
        ([0, 10], 0.5, (-5, 15)),
        ([4, 4], 0.05, (3.8, 4.2)),
        ([0, 0], 0.05, (-1, 1)),
        ([], 0.1, (-0.1, 1.1)),
        ([float("nan"), 2, 3, float("inf")], 0.0, (1.0, 4.0)),
    ],
)
def test_margins(values, room, ends):
    low, high = svg.widen(values, room)
    if room:
        assert (low, high) == pytest.approx(ends)
    assert svg.widen([1, 3]) == pytest.approx((0.9, 3.1))


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (0, 1, 6, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 1, 2, [0, 0.5, 1.0]),
        (0, 10, 4, [0, 2.5, 5, 7.5, 10]),
        (-3, 55, 6, [0, 10, 20, 30, 40, 50]),
        (0.11, 0.89, 6, [0.2, 0.4, 0.6, 0.8]),
        (7, 7, 6, [7]),
        (3, 2, 6, [3]),
        (0, float("inf"), 6, [0]),
    ],
)
def test_ticks(low, high, most, ticks):
    assert svg.list_ticks(low, high, most) == pytest.approx(ticks) == svg.Scale(low, high, 0, 1).ticks(most)


def test_a_scale_maps_ends_to_ends_and_a_range_of_nothing_to_the_middle():
    scale = svg.Scale(10, 20, 100, 50)
    assert [scale(v) for v in (10, 20, 15, 30)] == [100, 50, 75, 0] and svg.Scale(3, 3, 0, 10)(99) == 5
    assert svg.Scale(0, 1, 0, 1).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw() + "\n", "utf-8")
