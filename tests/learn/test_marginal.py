"""Complete ordered matching and its free energy: against all matchings of small matrices, written out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula.core.errors import MatrixError, SpecError  # noqa: E402
from fabula.learn._batch import to_host  # noqa: E402
from fabula.learn.matchers import (  # noqa: E402
    MarginalMatcher,
    OrderedMatcher,
    SoftOrderedMatcher,
    expected_alignment,
    marginal_ordered,
)

SIZES = [(1, 1), (4, 2), (5, 5), (6, 3), (3, 6), (2, 5)]


def complete_matchings(n: int, m: int) -> list[list[tuple[int, int]]]:
    """Every ordered matching of min(n, m) pairs."""
    k = min(n, m)
    return [list(zip(i, j, strict=True)) for i in combinations(range(n), k) for j in combinations(range(m), k)]


def energies(cost: torch.Tensor) -> torch.Tensor:
    return torch.stack([sum(cost[i, j] for i, j in pairs) for pairs in complete_matchings(*cost.shape)])


@pytest.mark.parametrize("gamma", [0.02, 0.3, 2.0])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_free_energy_and_gradient_of_all_matchings(n, m, gamma, kernels):
    cost = torch.randn(n, m, dtype=torch.float64, generator=torch.Generator().manual_seed(n * 10 + m)) * 3
    cost.requires_grad_()
    expected = -gamma * torch.logsumexp(-energies(cost) / gamma, 0)
    got = marginal_ordered(cost, gamma=gamma)
    torch.testing.assert_close(got, expected, atol=1e-9, rtol=1e-9)
    (want,), (have,) = torch.autograd.grad(expected, cost), torch.autograd.grad(got, cost)
    torch.testing.assert_close(have, want, atol=1e-8, rtol=1e-7)
    assert have.sum(0 if m <= n else 1).tolist() == pytest.approx([1.0] * min(n, m))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_complete_pairs_are_the_cheapest_of_all(n, m, kernels):
    for seed in range(10):
        cost = (
            torch.randn(n, m, generator=torch.Generator().manual_seed(seed)) + seed - 5
        )  # all negative … all positive
        i, j = OrderedMatcher(complete=True)(cost[None])[0]
        assert len(i) == min(n, m) and (i.diff() > 0).all() and (j.diff() > 0).all()
        assert cost[i, j].sum().item() == pytest.approx(energies(cost).min().item(), abs=1e-5)
        assert marginal_ordered(cost, gamma=0.0).item() == pytest.approx(energies(cost).min().item(), abs=1e-5)
        assert marginal_ordered(cost, gamma=1e-4).item() == pytest.approx(energies(cost).min().item(), abs=1e-3)


def test_gradcheck():
    cost = torch.randn(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    mask = ([5, 4], [3, 2])
    assert torch.autograd.gradcheck(lambda c: marginal_ordered(c, mask, 0.5), (cost,))
    assert torch.autograd.gradgradcheck(lambda c: marginal_ordered(c, mask, 0.5), (cost,))


def test_it_is_bounded_where_the_soft_value_is_not_complete():
    """At most the cheapest complete matching, at least that less γ log of how many there are; costs > 0 are taken."""
    cost = torch.full((6, 3), 4.0, dtype=torch.float64)
    assert marginal_ordered(cost, gamma=0.1).item() == pytest.approx(12 - 0.1 * np.log(20))
    assert expected_alignment(cost, gamma=0.1).sum() < 0.1  # SoftSODA leaves them


def test_padding_and_empty_items():
    cost = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
    wild = cost.clone()
    wild[0, 5:], wild[1, :, 2:], wild[2] = torch.nan, torch.inf, torch.nan
    mask = ([5, 6, 6], [4, 2, 0])
    for some in (cost, wild):
        found = MarginalMatcher(0.1)(some, mask)
        assert [len(i) for i, _ in found] == [4, 2, 0]
        torch.testing.assert_close(found.value[0], marginal_ordered(cost[0, :5], gamma=0.1))
        torch.testing.assert_close(found.value[1], marginal_ordered(cost[1, :, :2], gamma=0.1))
        assert found.value[2] == 0 and found.loss[0] == found.value[0] / 4
    with pytest.raises(MatrixError, match="not finite"):
        MarginalMatcher()(wild)


def test_centres_order_the_queries():
    cost = torch.randn(1, 6, 3, generator=torch.Generator().manual_seed(2))
    centres = torch.rand(1, 6, generator=torch.Generator().manual_seed(3))
    order = centres[0].argsort()
    for matcher in (MarginalMatcher(0.2), OrderedMatcher(complete=True)):
        found, sorted_ = matcher(cost, centres=centres), matcher(cost[:, order])
        assert found[0][0].tolist() == order[sorted_[0][0]].tolist()
        if found.value is not None:
            torch.testing.assert_close(found.value, sorted_.value)


def test_float32_costs_of_any_size():
    """The shift that makes matchings complete is taken in float64: it costs no digit."""
    cost = torch.rand(1, 100, 20, generator=torch.Generator().manual_seed(4)) * 8 - 4
    exact = marginal_ordered(cost.double(), gamma=0.02)
    assert marginal_ordered(cost, gamma=0.02).dtype == torch.float32
    torch.testing.assert_close(marginal_ordered(cost, gamma=0.02).double(), exact, atol=1e-5, rtol=1e-6)
    assert marginal_ordered(cost.bfloat16(), gamma=0.02).dtype == torch.float32


@pytest.mark.parametrize("matcher", [OrderedMatcher, SoftOrderedMatcher])
@pytest.mark.parametrize("missing", ["no", "random"])
def test_an_empty_matching_begins_on_the_diagonal(matcher, missing):
    """Both items have only positive costs but for one of the second's: that one is matched and filled as asked."""
    cost = torch.rand(2, 5, 3, generator=torch.Generator().manual_seed(5)) + 0.1
    cost[1, 4, 2] = -1.0
    found = matcher(add_missing_targets=missing, empty="diagonal", generator=0)(cost, (None, [2, 3]))
    assert (found[0][0].tolist(), found[0][1].tolist()) == ([0, 1], [0, 1])
    assert found[1][0].tolist()[:1] == [4] and found[1][1].tolist()[:1] == [2]
    assert len(found[1][0]) == (3 if missing == "random" else 1) and found.added == [2, 2 if missing == "random" else 0]
    with pytest.raises(SpecError, match="it may be no or diagonal"):
        matcher(empty="none")


def test_costs_come_to_the_host_in_one_piece(monkeypatch):
    """No device but the CPU is at hand: what would be sent is packed and unpacked here."""
    cost, n, m = torch.randn(3, 4, 2), torch.tensor([4, 3, 0]), torch.tensor([2, 0, 1])

    class Elsewhere(torch.Tensor):
        device = type("Device", (), {"type": "cuda"})()

    c, rows, columns = to_host(cost.as_subclass(Elsewhere), n, m)
    assert torch.equal(c.as_subclass(torch.Tensor), cost)
    assert rows.tolist() == n.tolist() and columns.tolist() == m.tolist() and rows.dtype == torch.int64
