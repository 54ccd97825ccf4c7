"""Figures as SVG: well-formed, to scale, and harmless whatever a label says."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from fabula.report.analysis import Analysis, analysis_page, as_files
from fabula.report.drawing.elements import list_ticks
from fabula.report.drawing.panels import ROW, STEPS, TOP, Boxes, Curves, Figure, Grid, as_file, as_inline, draw_grid

NASTY = '<script>alert("x")</script> & \'"'
PANELS = (
    Curves(NASTY, "x", "y", {"a": ((0.0, 0.0), (1.0, 2.0)), NASTY: ((0.0, 1.0), (1.0, 1.0))}, marked=True),
    Boxes("boxes", "x", "y", {0.1: (1, 2, 3, 4, 5), 0.2: (0, 0, 0, 0, 0)}),
    Grid("grid", ("r", NASTY), ("0", "1", "1"), ((0.5, 0.25, 0.25), (0.0, 0.0, 0.0)), (("clip 1", 1), ("clip 2", 2))),
)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("panel", PANELS, ids=lambda p: type(p).__name__)
def test_panels_are_xml_and_labels_are_text(panel):
    drawn = as_inline(panel)
    root = ET.fromstring(drawn)
    assert root.tag == "svg" and not list(root.iter("script")) and "<script" not in drawn


def test_a_file_has_all_panels_side_by_side():
    root = ET.fromstring(as_file(Figure("f", NASTY, "words", PANELS)))
    inner = [child for child in root if child.tag == f"{SVG}svg"]
    at = [float(child.get("x", 0)) for child in inner]
    assert at == sorted(at) and at[0] == 0 and len(set(at)) == 3
    assert float(root.get("width", 0)) == pytest.approx(sum(float(c.get("width", 0)) for c in inner))


def test_points_lie_where_their_numbers_say():
    root = ET.fromstring(as_inline(PANELS[0]))
    circles = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter("circle")]
    (x0, y0), (x1, y1) = circles[:2]
    assert x0 == 52 and x1 == 360 - 14 and y0 == 240 - 44 and y1 < y0
    assert circles[2][1] == pytest.approx((y0 + y1) / 2, abs=0.1)


def test_shades_are_shares_of_the_largest():
    root = ET.fromstring(f"<svg>{draw_grid(PANELS[2])[0]}</svg>")
    shades = [float(r.get("fill-opacity")) for r in root.iter("rect") if r.get("fill-opacity")]
    assert shades == [1, 0.5, 0.5, 0, 0, 0]


def test_ticks_are_round():
    assert [round(t, 9) for t in list_ticks(0, 1, 5, STEPS)] == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert list_ticks(0, 87, 4, STEPS) == [0, 50]
    assert [round(t, 9) for t in list_ticks(0.15, 1.05, 5, STEPS)] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert list_ticks(-1.2, 1.2, 5) == [-1, -0.5, 0, 0.5, 1]


def test_a_figure_of_nothing():
    for empty in (Curves("none", "x", "y", {}), Boxes("none", "x", "y", {}), Grid("none", (), (), ())):
        ET.fromstring(as_inline(empty))
    ET.fromstring(as_file(Figure("f", "t", "w", ())))


def test_the_page_runs_nothing():
    analysis = Analysis(NASTY, (Figure("fig", "t", NASTY, PANELS),), {"n": 1}, (NASTY,))
    page = analysis_page(analysis)
    assert "<script" not in page and "default-src 'none'" in page and "script-src" not in page
    assert set(as_files(analysis)) == {"index.html", "fig.svg", "analysis.json"}


def test_names_of_narrow_groups_are_not_printed_over_each_other():
    groups = tuple((f"clip {k + 1}", 1) for k in range(5))
    inner, width, height = draw_grid(Grid("faces", ("blank 1: P1",), tuple("01234"), ((0.2,) * 5,), groups))
    named = [(float(x), float(y)) for x, y in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>clip', inner)]
    assert len(named) == 5 and all(y < height and x + 3 * 6.5 <= width for x, y in named)
    for k, (x, y) in enumerate(named):
        assert all(abs(x - a) >= 6 * 6.5 or y != b for a, b in named[:k])


def test_an_empty_chart_says_so():
    assert "there is nothing to draw" in as_inline(Curves("caption tokens, 0 videosets", "x", "y", {}))


def test_columns_are_named_twelve_pixels_below_the_grid():
    inner, _, _ = draw_grid(Grid("faces", ("one", "two"), ("left", "right"), ((0.2, 0.8),) * 2))
    assert re.findall(r'y="([\d.]+)"[^>]*>(?:left|right)<', inner) == [f"{TOP + 2 * ROW + 12:.1f}"] * 2
