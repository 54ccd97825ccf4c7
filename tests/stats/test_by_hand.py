"""Resampling redone on paper: few videos, draws that can be listed, ties, and both ends of an interval."""

import importlib
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.stats import (
    Duel,
    Interval,
    Line,
    Mean,
    Resampling,
    Sample,
    bca,
    bootstrap,
    compare,
    difference,
    holm,
    interval,
    paired_bootstrap,
    percentile,
    randomisation,
    resampling,
    samples,
)
from fabula.stats.bootstrap import draws, intervals, jackknife
from fabula.stats.choose import choose_intervals
from fabula.stats.few import widen_level
from fabula.stats.paired import (
    bootstrap_p,
    count_reached,
    exchange_totals,
    exchanges,
    exchanges_all,
    randomisations,
)
from fabula.stats.sample import alike, in_order
from tests.stats.made import skewed, table

bootstrap_room = importlib.import_module("fabula.stats.bootstrap")  # its name is also a function's


def column(*values: float) -> Rows:
    return table(np.array(values)[:, None])


def pair(a, b, plain=False):
    return samples([(column(*a), Mean(plain=plain)), (column(*b), Mean(plain=plain))])


# ── intervals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_percentile_ends_are_linear_between_order_statistics():
    theta = np.array([4.0, 0.0, 3.0, 1.0, 2.0])  # sorted 0 … 4: the q-quantile is 4q
    assert percentile(theta, 0.8) == pytest.approx((0.4, 3.6))
    assert percentile(theta, 0.5) == pytest.approx((1.0, 3.0))
    assert percentile(theta) == pytest.approx((0.1, 3.9))


def test_bca_moves_both_ends_by_the_share_below_and_by_the_skew():
    """20 of 100 draws below the value, 10 on it: z₀ = Φ⁻¹(.25); d = 1, 0, −1 has no skew, so a = 0."""
    theta = np.r_[np.linspace(0, 0.9, 20), np.full(10, 1.0), np.linspace(1.1, 3, 70)]
    N = NormalDist()
    z0, z = N.inv_cdf(0.25), N.inv_cdf(0.975)
    low, high = (np.quantile(theta, N.cdf(2 * z0 + s * z)) for s in (-1, 1))
    assert bca(theta, 1.0, np.array([0.0, 1.0, 2.0])) == pytest.approx((low, high))
    # without one: 0, 0, 3 · d = 1, 1, −2 · Σd³ = −6, Σd² = 6 · a = −6/(6·6^1.5)
    a = -6 / (6 * 6**1.5)
    ends = [z0 + (z0 + s * N.inv_cdf(0.95)) / (1 - a * (z0 + s * N.inv_cdf(0.95))) for s in (-1, 1)]
    expected = [np.quantile(theta, N.cdf(q)) for q in ends]
    assert bca(theta, 1.0, np.array([0.0, 0.0, 3.0]), 0.9) == pytest.approx(expected)


def test_bca_where_all_draws_lie_on_one_side():
    """A share of 0 or 1 has no z₀: 1/(B + 1) and B/(B + 1) stand for them."""
    theta, N = np.linspace(1, 2, 9), NormalDist()
    for value, share in ((5.0, 9 / 10), (0.0, 1 / 10)):
        z0 = N.inv_cdf(share)
        expected = [np.quantile(theta, N.cdf(2 * z0 + s * N.inv_cdf(0.75))) for s in (-1, 1)]
        assert bca(theta, value, np.zeros(3), 0.5) == pytest.approx(expected)


def test_sums_in_another_order_are_ties():
    theta = np.array([0.1 + 0.2] * 4 + [1.0] * 4)
    assert bca(theta, 0.3, np.zeros(2)) == pytest.approx(bca(np.array([0.3] * 4 + [1.0] * 4), 0.3, np.zeros(2)))
    assert count_reached(np.array([0.3, -0.3, 0.29, 0.31]), 0.1 + 0.2) == 3


def test_draws_have_as_many_videos_as_there_are():
    for videos, resamples in ((1, 3), (5, 7)):
        W = np.concatenate(list(draws(videos, resamples, 0)))
        assert W.shape == (resamples, videos) and (W.sum(axis=1) == videos).all()


def test_blocks_of_draws_are_one_stream(monkeypatch):
    monkeypatch.setattr(bootstrap_room, "CELLS", 10)
    assert [len(block) for block in draws(4, 7, 0)] == [2, 2, 2, 1]
    assert [len(block) for block in draws(40, 2, 0)] == [1, 1]


def test_the_jackknife_of_a_fold_leaves_out_groups(monkeypatch):
    values = [1.0, 2.0, 4.0, 9.0]
    expected = [(sum(values) - v) / 3 for v in values]
    for plain in (False, True):
        assert jackknife(Sample.of(column(*values), Mean(plain=plain))) == pytest.approx(expected)
    monkeypatch.setattr(bootstrap_room, "LEFT_OUT", 2)  # videos 0 and 2, then 1 and 3
    assert jackknife(Sample.of(column(*values), Mean(plain=True))) == pytest.approx([(2 + 9) / 2, (1 + 4) / 2])


def test_intervals_share_their_draws_and_follow_their_options():
    a, b = pair([1, 2, 3, 4, 9], [2, 2, 2, 2, 2])
    how = {"level": 0.8, "method": "percentile", "resamples": 200, "seed": 3}
    theta = bootstrap([a, b], 200, 3)
    assert intervals([a, b], **how) == [percentile(t, 0.8) for t in theta]
    assert interval(a, **how) == percentile(theta[0], 0.8)
    assert interval(a, **how | {"method": "bca"}) == bca(theta[0], a.value, jackknife(a), 0.8)
    numbers = np.random.default_rng(1).random(300)
    many, other = Sample.of(column(*numbers), Mean()), Sample.of(column(*numbers[:250]), Mean())
    found = choose_intervals({"a": many, "o": other, "b": many}, Resampling(**how))
    assert found["a"].interval == interval(many, **how) == found["b"].interval
    assert found["o"].interval == interval(other, **how)
    assert interval(a) == interval(a, level=0.95, method="bca", resamples=10_000, seed=0)


# ── samples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_videos_stand_in_an_order_of_their_own():
    assert in_order(["b", "a", "b", 10, 9]) == ("a", "b", 10, 9)  # as Python writes them: 'a' 'b' 10 9
    some = [Rows.of([{"video": v, "value": x} for v, x in lines]) for lines in ([("b", 1), ("a", 2)], [("c", 3)])]
    one, two = samples([(rows, Mean()) for rows in some])
    assert one.videos == two.videos == ("a", "b", "c")
    assert one.rows.keys == ("a", "b") and one.at.tolist() == [0, 1] and two.at.tolist() == [2]
    assert one.value == 1.5 and two.under(np.array([[1.0, 1.0, 2.0]])).tolist() == [3]
    for plain in (False, True):  # nothing of it was drawn
        (_, two) = samples([(rows, Mean(plain=plain)) for rows in some])
        assert two.under(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])).tolist() == [0, 3]


def test_metrics_over_the_same_videos_go_together():
    a, b = pair([1, 2], [3, 4])
    c = Sample.of(column(1, 2, 3), Mean())
    assert alike({"x": [a], "y": [c], "z": [b]}) == [["x", "z"], ["y"]]


# ── paired tests ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("plain", [False, True])
def test_exact_randomisation_by_listing_all_signs(plain):
    d = [1.0, -2.0, 3.0, 0.5]
    delta = abs(sum(d))
    share = np.mean(
        [abs(sum(s * x for s, x in zip(signs, d, strict=True))) >= delta for signs in product((1, -1), repeat=4)]
    )
    a, b = pair([0] * 4, d, plain)
    assert randomisation(a, b) == randomisation(b, a) == share
    assert randomisation(a, b, trials=16) == share  # all 16 are no more than 16
    assert randomisation(a, b, trials=15) * 16 == pytest.approx(round(randomisation(a, b, trials=15) * 16))


def test_sixteen_trials_are_all_of_them_and_fifteen_are_not():
    a, b = pair([0] * 4, [1, 1, 1, 1])
    assert randomisation(a, b, trials=16) == 2 / 16
    c = sum(count_reached(exchange_totals(a, b, M), 1.0) for M in exchanges(4, 15, 0))
    assert randomisation(a, b, trials=15) == (c + 1) / 16


def test_all_exchanges_once(monkeypatch):
    monkeypatch.setattr("fabula.stats.paired.CELLS", 9)
    found = np.concatenate(list(exchanges_all(3)))
    assert sorted(map(tuple, found.tolist())) == sorted(product((0.0, 1.0), repeat=3))
    tried = np.concatenate(list(exchanges(3, 10, 1)))
    assert tried.shape == (10, 3) and set(np.unique(tried)) == {0, 1}
    monkeypatch.undo()
    assert np.concatenate(list(exchanges(20, 400, 1))).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("plain", [False, True])
def test_exchanged_rows(plain):
    a, b = pair([0, 10], [4, 2], plain)
    M = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    # means: b − a = 3 − 5; videos exchanged: (0 + 2)/2 − (4 + 10)/2, (4 + 10)/2 − (0 + 2)/2, 5 − 3
    assert exchange_totals(a, b, M) == pytest.approx([-2, -6, 6, 2])


def test_paired_bootstrap_counts_draws_around_the_difference():
    # δ̂ = 2; |δ* − 2| ≥ 2 for 0, 4 and 5: (3 + 1)/(5 + 1)
    assert bootstrap_p(np.array([0.0, 1.0, 3.0, 4.0, 5.0]), 2.0) == pytest.approx(4 / 6)
    a, b = pair([0, 0, 0, 0], [1, 2, 3, 10])
    first, second = bootstrap([a, b], 50, 7)
    assert paired_bootstrap(a, b, resamples=50, seed=7) == bootstrap_p(second - first, 4.0)
    assert difference(a, b, resamples=50, seed=7, method="percentile", level=0.5) == (
        4.0,
        percentile(second - first, 0.5),
    )
    by_bca = difference(a, b, resamples=50, seed=7, method="bca", level=0.5)
    assert by_bca == (4.0, bca(second - first, 4.0, jackknife(b) - jackknife(a), 0.5))
    assert difference(a, b) == difference(a, b, level=0.95, method="bca", resamples=10_000, seed=0)


def test_many_duels_share_their_exchanges():
    a, b = pair([0, 1, 2, 3, 4, 5], [1, 1, 4, 3, 9, 5])
    c, d = pair([0, 0, 0, 0, 0, 0], [1, -1, 1, -1, 1, 1])
    both = randomisations([(a, b), (c, d)], trials=20, seed=5)
    assert both == [randomisation(a, b, trials=20, seed=5), randomisation(c, d, trials=20, seed=5)]


def test_holm_with_ties():
    assert holm([0.02, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.01, 0.01, 0.01]) == pytest.approx([0.03, 0.03, 0.03])
    assert holm([0.3, 0.001]) == pytest.approx([0.3, 0.002])


# ── several systems ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_who_is_beaten():
    """α itself is not below α; a difference of nothing beats nobody."""

    def duel(a, b, delta, p):
        return Duel(a, b, delta, Interval(0, 0), p, p)

    line = Line("M", 100, {}, {}, (duel("a", "b", 1, 0.01), duel("a", "c", -1, 0.01), duel("b", "c", 0, 0.01)))
    assert (line.beaten("a", 0.05), line.beaten("b", 0.05), line.beaten("c", 0.05)) == (["c"], ["a"], [])
    assert line.beaten("b", 0.01) == line.beaten("a", 0.01) == []


def test_a_comparison_says_how_it_was_made():
    rng = np.random.default_rng(0)
    small, large = skewed(rng, 60), skewed(rng, 80)
    tables = {"L": {n: (table(large**i), Mean()) for i, n in ((1, "a"), (2, "b"))}}
    tables = {"S": {n: (table(small**i), Mean()) for i, n in ((1, "a"), (2, "b"))}} | tables
    how = resampling.PairedTest(resamples=300, seed=2, level=0.9, method="percentile", test="bootstrap", alpha=0.01)
    seen = compare(tables, how=how, scales={"S": 1.0}, signatures={"S": "x"})
    assert seen.how == "paired bootstrap|resamples:300|seed:2|ci:percentile-0.9|correction:holm|alpha:0.01|videos:80"
    assert list(seen.lines) == ["S", "L"] and (seen["S"].scale, seen["L"].scale) == (1, 100)
    assert seen.signatures == {"S": "x"} and seen.systems == ("a", "b") and seen.testing == how
    (duel,) = seen["S"].duels
    first, second = samples(list(tables["S"].values()))
    assert duel.delta == pytest.approx((small**2 - small).mean())
    assert seen["S"].values == {
        "a": first.value,
        "b": second.value,
    }
    drawn = bootstrap([first, second], 300, 2)
    wide = widen_level(0.9, 60)
    assert seen["S"].intervals == {n: percentile(t, wide) for n, t in zip("ab", drawn, strict=True)}
    assert duel.interval == percentile(drawn[1] - drawn[0], wide)
    assert duel.p == paired_bootstrap(first, second, resamples=300, seed=2)
    few = {"S": {n: (table(small[:5] / (i + 1)), Mean()) for i, n in enumerate("ab")}}
    plain = compare(few)
    assert plain.how.startswith("approximate randomisation|resamples:10000|seed:0|ci:bounded-0.95|")
    assert plain["S"].duels[0].p == randomisation(*samples(list(few["S"].values()))) == 2 / 2**5


def test_options_that_no_test_can_use():
    for wrong, said in [
        ({"level": 0.0}, "level 0"),
        ({"level": 1.0}, "level 1"),
        ({"seed": -1}, "seed -1"),
        ({"resamples": 0}, "0 resamples"),
        ({"method": "normal"}, "no interval is called 'normal'"),
    ]:
        with pytest.raises(SpecError, match=said):
            Resampling(**wrong)
    for alpha in (0.0, 1.0):
        with pytest.raises(SpecError, match="alpha"):
            resampling.PairedTest(alpha=alpha)
    with pytest.raises(SpecError, match="seed -1"):
        resampling.PairedTest(seed=-1)
    assert str(resampling.PairedTest()) == "bca-0.95-10000-seed0" and (
        resampling.PairedTest().test,
        resampling.PairedTest().alpha,
    ) == ("randomisation", 0.05)
    assert Resampling(resamples=1, seed=0).resamples == 1


def test_systems_whose_totals_do_not_fit_are_folded():
    """One has totals and the other none; or one has rows of a second reference set and the other has not."""
    M = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    a, b = samples([(column(0, 10), Mean()), (column(4, 2), Mean(plain=True))])
    assert exchange_totals(a, b, M) == pytest.approx([-2, -6, 6, 2])
    assert exchange_totals(b, a, M) == pytest.approx([2, 6, -6, -2])
    two = Rows.of([{"video": v, "refset": k, "value": x} for v, k, x in (("v0", 0, 4), ("v0", 1, 8), ("v1", 0, 2))])
    a, b = samples([(column(0, 10), Mean()), (two, Mean())])
    # b: sets (4 + 2)/2 and 8, mean 5.5 · a: 5 · v0 exchanged: b (0 + 2)/2, a sets (4 + 10)/2 and 8
    assert exchange_totals(a, b, M)[:2] == pytest.approx([5.5 - 5, 1 - 7.5])
    assert exchange_totals(a, b, M)[3] == pytest.approx(5 - 5.5)


def test_ten_thousand_unless_told():
    rng = np.random.default_rng(1)
    a, b = samples([(table(skewed(rng, 40)), Mean()), (table(skewed(rng, 40)), Mean())])
    assert paired_bootstrap(a, b) == paired_bootstrap(a, b, resamples=10_000, seed=0)
    assert randomisation(a, b) == randomisation(a, b, trials=10_000, seed=0) == randomisations([(a, b)])[0]
    assert (randomisation(a, b) * 10_001) % 1 == pytest.approx(0, abs=1e-6)
    assert bootstrap([a]).shape == (1, 10_000) and (bootstrap([a]) == bootstrap([a], 10_000, 0)).all()


def test_the_interval_of_a_difference_is_checked_too():
    a, b = pair([1, 2, 3], [2, 3, 5])
    for wrong in ({"level": 95}, {"level": 0}, {"method": "normal"}):
        with pytest.raises(SpecError, match=r"between 0 and 1|no interval is called"):
            difference(a, b, resamples=10, **wrong)
