"""Plots for papers: well-formed SVG whose marks stand where the numbers say, with text as text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import fabula
from fabula import demo
from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.documents.rows import write_rows
from fabula.report.drawing import elements as svg
from fabula.report.drawing.plots import Interval, Intervals, Scatter, draw_intervals, draw_scatter

NS = "{http://www.w3.org/2000/svg}"
EVIL = "</text><script>alert(1)</script> \"&' \x00\ud800"
REFS = list(demo.REFERENCES.values())


@pytest.fixture(scope="module")
def results():
    names = ("good", "over_segmenting")
    return {n: fabula.score(demo.SYSTEMS[n], REFS, metrics="SODA_c,METEOR,mIoU", ci=True) for n in names}


@pytest.fixture(scope="module")
def files(results, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, result in results.items():
        (folder / f"{name}.json").write_text(json.dumps(result.to_dict()))
        for ending in ("jsonl", "jsonl.gz", "parquet"):
            write_rows(result.rows, folder / f"{name}.{ending}")
    return folder


def drawn(text: str) -> ET.Element:
    root = ET.fromstring(text)
    assert root.tag == f"{NS}svg" and root.find(f"{NS}title") is not None
    assert {node.tag.removeprefix(NS) for node in root.iter()} <= {
        *("svg", "title", "desc", "g", "rect", "circle", "path", "polygon", "text")
    }
    return root


def words(root: ET.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{NS}text")]


def test_scatter_has_a_point_per_video_and_counts_both_sides(results):
    root = drawn(fabula.plot("scatter", results["good"], results["over_segmenting"], names=("A", "B")))
    dots = list(root.iter(f"{NS}circle"))
    assert len(dots) == 15
    a, b = (results[n].rows["SODA_c"].by_key("f1") for n in ("good", "over_segmenting"))
    above, below = sum(b[v] > a[v] for v in a), sum(b[v] < a[v] for v in a)
    assert f"{above} above, {below} below" in words(root)
    assert {"SODA_c.f1 of A", "SODA_c.f1 of B"} <= set(words(root))
    xs = [float(d.get("cx", "")) for d in dots]
    assert sorted(range(15), key=xs.__getitem__) == sorted(range(15), key=list(a.values()).__getitem__)


def test_a_point_on_the_diagonal_is_on_the_line():
    root = drawn(draw_scatter(Scatter("m", ("a", "b"), [(10, 10), (20, 20), (0, 0)], 0, 0, 3), svg.COLUMN))
    assert "0 above, 0 below, 3 on the line" in words(root)
    diagonal = next(p.get("d", "") for p in root.iter(f"{NS}path") if p.get("stroke-dasharray"))
    x0, y0, x1, y1 = map(float, re.findall(r"[\d.]+", diagonal))
    for dot in root.iter(f"{NS}circle"):
        share = (float(dot.get("cx", "")) - x0) / (x1 - x0)
        assert float(dot.get("cy", "")) == pytest.approx(y0 + share * (y1 - y0), abs=0.02)


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet"])
def test_files_of_rows_draw_what_results_draw(results, files, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pip install 'fabula[parquet]'")
    two = [files / f"{name}.{ending}" for name in results]
    assert fabula.plot("scatter", *two, metrics="mIoU") == fabula.plot(
        "scatter", *results.values(), metrics="mIoU", names=tuple(results)
    )


def test_rows_of_a_spreadsheet(tmp_path):
    (tmp_path / "a.csv").write_text("video,refset,mIoU,words\nv1,0,0.5,x\nv1,1,0.7,x\nv2,0,0.1,y\n")
    (tmp_path / "b.csv").write_text("video,refset,mIoU\nv1,0,0.9\nv2,0,0.1\nv3,0,1\n")
    root = drawn(fabula.plot("scatter", tmp_path / "a.csv", tmp_path / "b.csv"))
    assert len(list(root.iter(f"{NS}circle"))) == 2 and "1 above, 0 below, 1 on the line" in words(root)


def test_thresholds_are_those_of_the_metric(results, files):
    root = drawn(fabula.plot("thresholds", *(files / f"{n}.json" for n in results), metrics="METEOR"))
    ticks = {t for t in words(root) if re.fullmatch(r"0\.\d+", t)}
    assert ticks == set(results["good"]["METEOR"].by_threshold) and {"good", "over_segmenting", "METEOR"} <= set(
        words(root)
    )
    lines = [p for p in root.iter(f"{NS}path") if p.get("stroke-width") == "1.2"]
    first = re.findall(r"[\d.]+,([\d.]+)", lines[0].get("d", ""))
    values = [v["value"] for v in results["good"]["METEOR"].by_threshold.values()]
    assert [float(y) for y in first] == sorted(map(float, first))  # it falls: further down the paper
    assert values == sorted(values, reverse=True)
    dashes = {p.get("stroke-dasharray") for p in lines}
    assert len(dashes) == 2  # told apart without colour too


def test_thresholds_in_the_names_of_moments(tmp_path):
    from tests.moment_toys import tvr_predictions, tvr_queries

    queries = tvr_queries(tmp_path / "q.jsonl", {k: ("kitchen", [0, 10]) for k in range(4)})
    preds = tvr_predictions(tmp_path / "p.json", SVMR={k: [[0, 0, 10 + 3 * k, 1.0]] for k in range(4)})
    result = fabula.score(preds, queries, task="moments", metrics="SVMR(iou=0.3/0.5/0.7/0.9)")
    root = drawn(fabula.plot("thresholds", result))
    assert {"0.3", "0.5", "0.7", "0.9"} <= set(words(root))
    assert len(list(root.iter(f"{NS}circle"))) == 4


def test_intervals_show_every_end(results, files):
    root = drawn(fabula.plot("intervals", *(files / f"{n}.json" for n in results), metrics="SODA_c,mIoU", width="page"))
    assert float(root.get("width", "").removesuffix("pt")) == pytest.approx(6.9 * 72, abs=0.1)
    told = words(root)
    for name, result in results.items():
        assert told.count(name) == 2
        assert f"{result['SODA_c'].value * 100:.1f}" in told
    bars = [p for p in root.iter(f"{NS}path") if p.get("stroke-width") == "1.2"]
    assert len(bars) == 3 * 4  # a bar and two ends each


def test_a_number_without_an_interval_is_a_point_and_said():
    root = drawn(draw_intervals(Intervals({"m": [Interval("a", 3.0), Interval("b", 4.0, 3.5, 4.5)]}), svg.COLUMN))
    assert "--ci" in (root.findtext(f"{NS}desc") or "")
    assert len([p for p in root.iter(f"{NS}path") if p.get("stroke-width") == "1.2"]) == 3


def test_one_column_is_three_point_three_inches(results):
    for kind in ("thresholds", "intervals"):
        root = drawn(fabula.plot(kind, *results.values(), metrics="METEOR"))
        assert float(root.get("width", "").removesuffix("pt")) == pytest.approx(3.3 * 72, abs=0.1)


def test_strings_of_users_stay_text(results):
    for kind in ("scatter", "thresholds", "intervals"):
        text = fabula.plot(
            kind, *results.values(), metrics="METEOR" if kind != "scatter" else "mIoU", names=(EVIL, "b")
        )
        drawn(text).findall(".")
        assert "<script" not in text
        text.encode()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("scatter", "good"), "compares two systems, 1 are named"),
        (("intervals",), "at least one result"),
        (("pie", "good"), "no plot is called 'pie'"),
    ],
)
def test_wrong_calls(results, given, told):
    kind, *names = given
    with pytest.raises(SpecError, match=told):
        fabula.plot(kind, *(results[n] for n in names))


def test_wrong_files(results, files, tmp_path):
    rows, other = files / "good.jsonl", tmp_path / "other.jsonl"
    other.write_text('{"video": "nobody", "refset": 0, "SODA_c.f1": 1}\n')
    cases = [
        ("scatter", (rows, files / "good.json"), {}, "rows are .jsonl"),
        ("scatter", (rows, other), {}, "no video in common"),
        ("scatter", (rows, rows), {"metrics": "SODAc"}, "did you mean 'SODA_c'"),
        ("scatter", (rows, rows), {"metrics": "SODA_c,mIoU"}, "one metric"),
        ("scatter", (rows, tmp_path / "none.jsonl"), {}, "no such file"),
        ("thresholds", (rows,), {}, "no result of fabula score"),
        ("thresholds", (files / "good.json",), {"metrics": "mIoU"}, "no numbers at several thresholds"),
        ("intervals", (files / "good.json",), {"metrics": "CIDEr"}, "good has no 'CIDEr'"),
        ("intervals", (files / "good.json",), {"names": ("a", "b")}, "2 names for 1 systems"),
    ]
    for kind, given, options, told in cases:
        with pytest.raises(FabulaError, match=re.escape(told)):
            fabula.plot(kind, *given, **options)
    for text in ("[1]\n", '{"a": 1}\n', "{", ""):
        other.write_text(text)
        with pytest.raises(InputError):
            fabula.plot("scatter", other, rows)


def test_ticks_are_round_and_few():
    for low, high in [(0, 1), (0, 0.0123), (-3, 55), (99.97, 100.01), (1e-9, 3e-9), (0, 1e9)]:
        ticks = svg.list_ticks(low, high)
        assert 2 <= len(ticks) <= 7 and all(low - 1e-9 * abs(low) <= t <= high + 1e-6 * abs(high) for t in ticks)
    assert svg.list_ticks(5, 5) == [5]
