"""Metrics against people: intervals cover in simulation, the tests keep their level, systems and ties by pencil."""

from __future__ import annotations

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.report import meta as report
from fabula.stats.bootstrap import Interval
from fabula.stats.meta import STATISTICS, Agreed, Contest, Meta, People, Statistic, weigh
from fabula.stats.resampling import PairedTest


def world(rng, clusters, noise=1.0, other=1.0):
    """Images with five captions each: quality, what people say of it on 1–4, two metrics that see some of it."""
    image = np.repeat(np.arange(clusters), 5)
    quality = rng.normal(0, 0.7, clusters)[image] + rng.normal(0, 0.7, len(image))
    people = np.clip(np.round(2.5 + quality + rng.normal(0, 0.5, len(image))), 1, 4)
    seen = quality + rng.normal(0, 0.4, clusters)[image]
    return image, people, seen + rng.normal(0, noise, len(image)), seen + rng.normal(0, other, len(image))


def lay_out(image, y):
    return People.of(y.tolist(), list(range(len(y))), image.tolist(), [""] * len(y))


@pytest.mark.slow
def test_intervals_cover():
    """95 % intervals over 40 images hold the value of a very large world in 90 to 99 of a hundred samples."""
    rng = np.random.default_rng(2)
    image, y, x, _ = world(rng, 8_000)
    how = PairedTest(resamples=150, test="bootstrap")
    large = weigh({"m": x}, lay_out(image, y), PairedTest(resamples=1, test="bootstrap")).lines[0].segment
    hits = dict.fromkeys(STATISTICS, 0)
    for _ in range(150):
        image, y, x, _ = world(rng, 40)
        for statistic, found in weigh({"m": x}, lay_out(image, y), how).lines[0].segment.items():
            hits[statistic] += found.interval.low <= large[statistic].value <= found.interval.high
    assert all(0.9 <= n / 150 <= 0.99 for n in hits.values()), hits


@pytest.mark.slow
@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_equal_metrics_are_seldom_told_apart_and_unequal_ones_are(test):
    rng = np.random.default_rng(3)
    how = PairedTest(resamples=100, test=test)
    false = true = 0
    for _ in range(40):
        image, y, a, b = world(rng, 30)
        false += weigh({"a": a, "b": b}, lay_out(image, y), how).contests[0].p < 0.05
        image, y, a, b = world(rng, 30, 2.0, 0.3)
        true += weigh({"a": a, "b": b}, lay_out(image, y), how).contests[0].p < 0.05
    assert false <= 6 and true >= 34, (false, true)


def test_systems_by_pencil():
    """Three systems whose means people order 1 < 2 < 3; the metric takes the first two for each other: 2 of 3 pairs
    right, τ = 1/3, ρ = ½."""
    items, systems = [0, 0, 0, 1, 1, 1], ["p", "q", "r"] * 2
    y = [1, 2, 4, 1, 3, 4]
    x = [0.3, 0.2, 0.9, 0.3, 0.1, 0.8]
    people = People.of(y, items, items, systems)
    line = weigh({"m": x}, people, PairedTest(resamples=20, test="bootstrap")).lines[0]
    assert line.system["accuracy"].value == pytest.approx(2 / 3)
    assert line.system["tau_b"].value == pytest.approx(1 / 3)
    assert line.system["spearman"].value == pytest.approx(0.5)
    assert line.system["pearson"].value == pytest.approx(np.corrcoef([0.3, 0.15, 0.85], [1, 2.5, 4])[0, 1])
    assert line.segment["accuracy"].value == pytest.approx(4 / 6)  # the same within items


def test_ties_are_rewarded_within_items():
    """People tie two of three pairs; a metric that differs there by .1 or less, and by .5 where they do not, gets one,
    and all of them if it ties up to .1."""
    people = People.of([2, 2, 2, 2, 1, 3], [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], ["a", "b"] * 3)
    line = weigh({"m": [0.5, 0.6, 0.7, 0.65, 0.1, 0.6]}, people, PairedTest(resamples=10, test="bootstrap")).lines[0]
    assert line.segment["accuracy"].value == pytest.approx(1 / 3)
    assert line.calibrated == 1 and line.epsilon == pytest.approx(0.1)
    always = weigh({"m": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]}, people, PairedTest(resamples=10, test="bootstrap")).lines[0]
    assert always.segment["accuracy"].value == always.calibrated == pytest.approx(2 / 3)  # ties only


def test_a_judge_beside_people():
    people = People.of([1, 0, 1, 1, 0, 0, 1, 0] * 2, list(range(16)), list(range(16)), [""] * 16)
    verdicts = {"judge": [1, 0, 1, 0, 0, 1, 1, 0] * 2, "score": [0.5, 0.1, 0.9, 0.2, 0.3, 0.4, 0.8, 0.0] * 2}
    judge, score = weigh(verdicts, people, PairedTest(resamples=50, test="bootstrap")).lines
    assert judge.kappa["none"].value == pytest.approx(0.5) and set(judge.kappa) == {"none"}
    assert judge.kappa["none"].interval.low < 0.5 < judge.kappa["none"].interval.high
    assert score.kappa == {}


def test_what_cannot_be_weighed():
    people = People.of([1, 2, 3], [0, 1, 2], [0, 0, 0], [""] * 3)
    found = weigh({"m": [1, 2, 3]}, people, PairedTest(resamples=10))
    assert (
        found.lines[0].segment["tau_b"].interval is None
        and "1 item is too few" in found.notes[0]
        and not found.contests
    )
    with pytest.raises(SpecError, match="no statistic is called 'tau'"):
        weigh({"m": [1, 2, 3]}, people, PairedTest(resamples=10), "tau")
    with pytest.raises(SpecError, match="gave the same value to everything"):
        weigh({"m": [1, 2]}, People.of([1, 1], [0, 1], [0, 1], ["", ""]), PairedTest(resamples=10))


def test_few_items_have_no_interval_and_the_reason():
    rng = np.random.default_rng(9)
    how = PairedTest(resamples=50, test="bootstrap")
    for n, exists in ((2, False), (9, False), (10, True)):
        image, y, a, b = world(rng, n)
        found = weigh({"a": a, "b": b}, lay_out(image, y), how)
        assert all((s.interval is not None) == exists for line in found.lines for s in line.segment.values())
        assert (found.contests[0].interval is not None) == exists
        told = [f"{n} items are too few for intervals, which need 10; none are given"]
        assert list(found.notes) == ([] if exists else told)
        assert report.as_json(found)["differences"][0]["ci"] == (list(found.contests[0].interval) if exists else None)
        assert "nan" not in "\n".join(report.plain(found))


def contest(p_holm):
    return Contest("old", "new", 0.1, None, p_holm / 2, p_holm)


def test_a_star_marks_what_is_significant_and_intervals_are_shown_where_there_are_some():
    tau = {s: Statistic(0.5, Interval(0.4, 0.6) if s == "tau_b" else None) for s in STATISTICS}
    line = Agreed("new", tau, {}, None, None, {})
    how = PairedTest(alpha=0.05)
    found = Meta("tau_b", (line,), (contest(0.01), contest(0.05), contest(0.2)), 9, 9, 3, 1, how)
    lines = list(report.plain(found))
    assert [text.rpartition("\t")[2] for text in lines if "−" in text] == ["*", "", ""]
    cells = lines[1].split("\t")
    assert len(cells) == len(lines[0].split("\t")) and cells[-2:] == ["–", "–"]  # no ties were looked for
    assert cells[1] == "50.00 [40.00, 60.00]" and set(cells[2 : 1 + len(STATISTICS)]) == {"50.00"}
    assert report.cell(None) == report.cell(Statistic(float("nan"), None)) == "–"


def test_latex_has_a_cell_for_every_statistic():
    tau = {s: Statistic(0.5, Interval(0.4, 0.6) if s == "tau_b" else None) for s in STATISTICS}
    none = {s: Statistic(float("nan") if s == "pearson" else 0.25, None) for s in STATISTICS}
    lines = (Agreed("a_b", none, {}, None, None, {}), Agreed("new", tau, {}, None, None, {}))
    table = list(report.latex(Meta("tau_b", lines, (), 9, 9, 3, 1, PairedTest(alpha=0.05))))
    rows = [line.removesuffix(r" \\").split(" & ") for line in table if " & " in line]
    assert rows[0] == ["Metric", r"$\tau_b$", r"$\tau_c$", r"$\rho$", "$r$", "Acc."]
    assert rows[1] == ["new", r"50.0 {\scriptsize [40.0, 60.0]}", "50.0", "50.0", "50.0", "50.0"]  # the best first
    assert rows[2][1:] == ["25.0", "25.0", "25.0", "--", "25.0"] and len(rows) == 3


def test_a_judge_s_agreement_is_a_table_of_its_own():
    tau = {s: Statistic(0.5, None) for s in STATISTICS}
    kappa = {"none": Statistic(0.25, Interval(0.1, 0.4)), "quadratic": Statistic(0.75, None)}
    lines = (Agreed("judge", tau, {}, None, None, kappa), Agreed("score", tau, {}, None, None, {}))
    text = list(report.plain(Meta("tau_b", lines, (), 9, 9, 3, 1, PairedTest())))
    at = text.index("judge and people\tκ\tκ quadratic")
    assert text[at + 1 : at + 3] == ["judge\t25.00 [10.00, 40.00]\t75.00", ""]
