"""The matchers of fabula.learn: the paper's vectors, the numpy reference, scipy, finite differences."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the matchers of fabula.learn need torch: pip install 'fabula[learn]'")
linear_sum_assignment = pytest.importorskip("scipy.optimize").linear_sum_assignment

from fabula import _kernels, match  # noqa: E402
from fabula.core.errors import MatrixError, SpecError  # noqa: E402
from fabula.learn import (  # noqa: E402
    HungarianMatcher,
    OrderedMatcher,
    SoftOrderedMatcher,
    expected_alignment,
    soft_ordered,
)
from fabula.learn import soft as soft_module  # noqa: E402

FORMS = ("logsumexp", "expectation")
KERNELS = ("python", *(("native",) if _kernels.NATIVE else ()))
MATCHERS = (HungarianMatcher(), OrderedMatcher(), SoftOrderedMatcher(generator=0))

# spec/pss.md §2, the notebook of the official repository: segments in seconds
GT = [(5, 10), (11, 19), (28, 32)]
PROPOSALS = [(3, 7), (4, 14), (15, 33), (24, 30), (25, 33), (37, 45)]


@pytest.fixture(params=KERNELS, autouse=True)
def kernels(request):
    """Every test runs with the compiled kernels and with their twins."""
    with _kernels.using(request.param):
        yield request.param


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Matrices of the tests are tiny; on a busy machine threads that wait for each other cost minutes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def iou(a, b, generalised=False, eps=1e-5):
    inter = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    union = (a[1] - a[0]) + (b[1] - b[0]) - inter
    hull = max(a[1], b[1]) - min(a[0], b[0])
    return inter / (union + eps) - (generalised * (hull - union) / (hull + eps))


def toy(generalised=True):
    """Cost −GIoU (or −IoU) of the notebook's toy. [1, 3, 6]"""
    rows = [[-iou(g, p, generalised) for p in PROPOSALS] for g in GT]
    return torch.tensor(rows, dtype=torch.float64)[None]


def ragged(rng, B=None, most=9):
    """A padded batch with NaN in the padding, and its lengths."""
    B = B or int(rng.integers(1, 5))
    n, m = rng.integers(0, most, B), rng.integers(0, most, B)
    cost = np.full((B, max(n.max(), 1), max(m.max(), 1)), np.nan)
    for b in range(B):
        cost[b, : n[b], : m[b]] = rng.normal(-0.3, 1, (n[b], m[b]))
    return torch.from_numpy(cost), (torch.from_numpy(n), torch.from_numpy(m))


# The paper's vectors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "smooth", "value"),
    [
        (0, "logsumexp", -1.181817),
        (0, "expectation", -1.181817),
        (0.01, "logsumexp", -1.181817),
        (0.01, "expectation", -1.181817),
        (0.1, "logsumexp", -1.256286),
        (0.1, "expectation", -1.059663),
        (1, "logsumexp", -6.056663),
        (1, "expectation", 0.036935),
    ],
)
def test_values_of_the_notebook_toy(gamma, smooth, value):
    assert soft_ordered(toy(), gamma=gamma, smooth=smooth).item() == pytest.approx(value, abs=1e-6)


def test_the_notebook_prints_its_loss_per_target():
    cost = toy().transpose(1, 2)  # [1, 6 proposals, 3 targets]
    matching = SoftOrderedMatcher(add_missing_targets="no")(cost)
    assert matching.loss.item() == pytest.approx(-0.3939, abs=5e-5)
    assert [x.tolist() for x in matching[0]] == [[1, 2, 4], [0, 1, 2]]


@pytest.mark.parametrize(
    ("generalised", "value", "rows"),
    [
        (
            True,
            -1.256286,
            [
                [0.1820, 0.7892, 0.0002, 0, 0, 0],
                [0.0001, 0.0878, 0.5993, 0.0065, 0.0001, 0],
                [0, 0, 0.0107, 0.0658, 0.8965, 0.0004],
            ],
        ),
        (
            False,
            -1.265395,
            [
                [0.1753, 0.7939, 0.0015, 0.0005, 0, 0],
                [0.0006, 0.0806, 0.5503, 0.0832, 0.0017, 0.0006],
                [0, 0.0001, 0.0098, 0.0601, 0.8953, 0.0071],
            ],
        ),
    ],
)
def test_expected_alignment_of_the_notebook_toy(generalised, value, rows):
    cost = toy(generalised)
    assert soft_ordered(cost, gamma=0.1).item() == pytest.approx(value, abs=2e-6)
    E = expected_alignment(cost, gamma=0.1)[0]
    np.testing.assert_allclose(E, rows, atol=5.1e-5)


def test_fig_3_is_matched_in_order():
    cost = -torch.tensor([[[0.26, 0.32, 0, 0], [0, 0.49, 0, 0], [0, 0, 0, 0.75]]])
    queries, targets = OrderedMatcher()(cost.transpose(1, 2))[0]
    assert (queries.tolist(), targets.tolist()) == ([0, 1, 3], [0, 1, 2])
    assert soft_ordered(cost, gamma=0).item() == pytest.approx(-1.50)


def test_fig_4_hungarian_crosses_where_ordered_does_not():
    cost = -torch.tensor([[[0.1, 0.9], [0.8, 0.2], [0.0, 0.3]]])  # 3 proposals × 2 targets
    assert HungarianMatcher()(cost)[0][1].tolist() == [1, 0]
    assert [x.tolist() for x in OrderedMatcher()(cost)[0]] == [[1, 2], [0, 1]]


# Derivatives ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("smooth", "gamma"), list(product(FORMS, (0.05, 0.3, 1.0))))
def test_gradcheck_and_gradgradcheck(smooth, gamma):
    cost = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 4, 5)))
    cost.requires_grad_()

    def value(c):
        return soft_ordered(c, ([4, 3, 0], [5, 2, 4]), gamma, smooth)

    assert torch.autograd.gradcheck(value, cost)
    assert torch.autograd.gradgradcheck(value, cost)


def test_expected_alignment_is_the_gradient_and_can_be_differentiated():
    cost = torch.from_numpy(np.random.default_rng(1).normal(size=(2, 5, 3))).requires_grad_()
    (gradient,) = torch.autograd.grad(soft_ordered(cost, gamma=0.2).sum(), cost)
    torch.testing.assert_close(expected_alignment(cost, gamma=0.2), gradient)
    assert torch.autograd.gradcheck(lambda c: expected_alignment(c, gamma=0.2), cost)
    assert not expected_alignment(cost, gamma=0.2, smooth="expectation").requires_grad


@pytest.mark.parametrize("gamma", (0.01, 0.1, 1.0))
def test_expected_alignment_by_finite_differences(gamma):
    cost, h = toy(), 1e-5
    E = expected_alignment(cost, gamma=gamma)
    for i, j in product(range(3), range(6)):
        step = torch.zeros_like(cost)
        step[0, i, j] = h
        slope = (soft_ordered(cost + step, gamma=gamma) - soft_ordered(cost - step, gamma=gamma)) / (2 * h)
        assert slope.item() == pytest.approx(E[0, i, j].item(), abs=1e-6)


def test_a_third_derivative_is_refused_not_wrong():
    cost = torch.randn(1, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    (first,) = torch.autograd.grad(soft_ordered(cost, gamma=1).sum(), cost, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), cost, create_graph=True)
    with pytest.raises(RuntimeError, match=r"soft_ordered_hessian|does not require grad"):
        torch.autograd.grad(second.sum(), cost)


def test_the_padding_gets_no_gradient():
    cost, mask = ragged(np.random.default_rng(2), B=6)
    cost.requires_grad_()
    soft_ordered(cost, mask).sum().backward()
    padding = ~torch.isfinite(cost.detach())
    assert torch.isfinite(cost.grad).all() and not cost.grad[padding].any()


# Against the numpy reference ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [120, pytest.param(1000, marks=pytest.mark.slow)])
def test_ragged_batches_equal_the_numpy_reference(count):
    rng = np.random.default_rng(3)
    for k in range(count):
        cost, mask = ragged(rng, most=7)
        gamma, smooth = (0.01, 0.1, 1.0)[k % 3], FORMS[k % 2]
        value = soft_ordered(cost, mask, gamma, smooth)
        E = expected_alignment(cost, mask, gamma, smooth)
        assert (E.sum(1) <= 1 + 1e-12).all() and (E.sum(2) <= 1 + 1e-12).all() and (E >= 0).all()
        for b, (n, m) in enumerate(zip(*(side.tolist() for side in mask), strict=True)):
            expected, alignment = match.soft_ordered(cost[b, :n, :m].numpy(), gamma, smooth)
            assert value[b].item() == pytest.approx(expected, abs=1e-12)
            np.testing.assert_allclose(E[b, :n, :m], alignment, atol=1e-12)
            assert not E[b, n:].any() and not E[b, :, m:].any()


@pytest.mark.skipif(len(KERNELS) < 2, reason="no compiled kernels in this install")
@pytest.mark.parametrize(("shape", "smooth"), list(product([(3, 70, 33), (2, 9, 120), (5, 64, 64), (1, 1, 1)], FORMS)))
def test_kernel_and_wavefront_agree_on_larger_matrices(shape, smooth):
    cost = torch.from_numpy(np.random.default_rng(4).normal(size=shape)).requires_grad_()
    found = []
    for choice in KERNELS:
        with _kernels.using(choice):
            value = soft_ordered(cost, gamma=0.05, smooth=smooth)
            found.append((value, *torch.autograd.grad(value.sum(), cost)))
    torch.testing.assert_close(found[0], found[1], rtol=1e-11, atol=1e-11)


@pytest.mark.skipif(len(KERNELS) < 2, reason="no compiled kernels in this install")
def test_threads_change_nothing(kernels):
    if kernels == "python":
        pytest.skip("torch's own sums may be taken in another order")
    rng = np.random.default_rng(15)
    cost = torch.from_numpy(rng.normal(size=(40, 64, 40))).requires_grad_()
    mask = (rng.integers(0, 65, 40).tolist(), rng.integers(0, 41, 40).tolist())
    found = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        value = soft_ordered(cost, mask, 0.1)
        found.append((value, *torch.autograd.grad(value.sum(), cost), *OrderedMatcher()(cost, mask).flat()))
    torch.set_num_threads(1)
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)


def test_batched_and_masked_equals_one_by_one():
    cost, mask = ragged(np.random.default_rng(5), B=8)
    for smooth in FORMS:
        together = soft_ordered(cost, mask, 0.1, smooth)
        for b, (n, m) in enumerate(zip(*(side.tolist() for side in mask), strict=True)):
            alone = soft_ordered(cost[b, :n, :m], gamma=0.1, smooth=smooth)
            assert alone.shape == () and together[b].item() == pytest.approx(alone.item(), abs=1e-13)
    for matcher in MATCHERS:
        for b, (n, m) in enumerate(zip(*(side.tolist() for side in mask), strict=True)):
            if isinstance(matcher, SoftOrderedMatcher):
                matcher = SoftOrderedMatcher(add_missing_targets="cheapest")
            pair, single = matcher(cost, mask)[b], matcher(cost[b : b + 1, :n, :m])[0]
            assert [x.tolist() for x in pair] == [x.tolist() for x in single]


def test_boolean_masks_say_the_same_as_lengths():
    cost, (n, m) = ragged(np.random.default_rng(6), B=5)
    booleans = (torch.arange(cost.shape[1]) < n[:, None], torch.arange(cost.shape[2]) < m[:, None])
    torch.testing.assert_close(soft_ordered(cost, booleans), soft_ordered(cost, (n.tolist(), m)))


def test_small_gamma_goes_to_the_hard_matching():
    rng = np.random.default_rng(7)
    for _ in range(50):
        cost = torch.from_numpy(rng.normal(size=(2, 6, 5)))
        hard, pairs = soft_ordered(cost, gamma=0), OrderedMatcher()(cost)
        for smooth in FORMS:
            torch.testing.assert_close(soft_ordered(cost, gamma=1e-6, smooth=smooth), hard, atol=1e-4, rtol=0)
            E = expected_alignment(cost, gamma=1e-9, smooth=smooth)
            for b, (queries, targets) in enumerate(pairs):
                assert torch.nonzero(E[b] > 0.5).tolist() == torch.stack([queries, targets], 1).tolist()


def test_gamma_zero_has_the_pairs_as_gradient():
    cost = toy().requires_grad_()
    soft_ordered(cost, gamma=0).sum().backward()
    assert torch.nonzero(cost.grad[0]).tolist() == [[0, 1], [1, 2], [2, 4]]


def test_extreme_costs_stay_finite():
    cost = torch.tensor([[[1e6, -1e6, 3.0], [-1e6, 1e6, -1e6]]], dtype=torch.float64, requires_grad=True)
    for smooth in FORMS:
        value = soft_ordered(cost, gamma=0.01, smooth=smooth)
        (gradient,) = torch.autograd.grad(value.sum(), cost)
        assert value.item() == pytest.approx(-2e6) and torch.isfinite(gradient).all()


# Hard matching --------------------------------------------------------------------------------------------------------


def test_ordered_matcher_equals_match_ordered():
    rng = np.random.default_rng(8)
    for k in range(200):
        cost, mask = ragged(rng)
        if k % 2:
            cost = (cost * 2).round()  # ties
        for b, (queries, targets) in enumerate(OrderedMatcher()(cost, mask)):
            n, m = (int(side[b]) for side in mask)
            expected = match.ordered(-cost[b, :n, :m].numpy())[1]
            assert list(zip(queries.tolist(), targets.tolist(), strict=True)) == expected


def test_hungarian_matcher_equals_scipy():
    rng = np.random.default_rng(9)
    for _ in range(100):
        cost, mask = ragged(rng)
        for b, (queries, targets) in enumerate(HungarianMatcher()(cost, mask)):
            n, m = (int(side[b]) for side in mask)
            rows, columns = linear_sum_assignment(cost[b, :n, :m].numpy())
            assert (queries.tolist(), targets.tolist()) == (rows.tolist(), columns.tolist())


def test_centres_put_the_queries_in_order():
    rng = np.random.default_rng(10)
    cost, centres = torch.from_numpy(rng.normal(size=(3, 7, 4))), torch.from_numpy(rng.random((3, 7)))
    mask = ([7, 5, 0], [4, 3, 4])
    for matcher in (OrderedMatcher(), SoftOrderedMatcher(add_missing_targets="no")):
        matching = matcher(cost, mask, centres)
        for b, (queries, targets) in enumerate(matching):
            order = centres[b, : mask[0][b]].argsort()
            expected = match.ordered(-cost[b, order, : mask[1][b]].numpy())[1]
            pairs = list(zip(queries.tolist(), targets.tolist(), strict=True))
            assert pairs == [(int(order[i]), j) for i, j in expected]
            if matching.value is not None:
                value = soft_ordered(cost[b, order, : mask[1][b]], smooth="expectation")
                assert matching.value[b].item() == pytest.approx(value.item())


def test_the_soft_loss_reaches_the_model_through_the_order():
    cost = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    centres = torch.rand(2, 5, generator=torch.Generator().manual_seed(1))
    matching = SoftOrderedMatcher(gamma=0.5)(cost, centres=centres)
    matching.loss.sum().backward()
    assert (cost.grad != 0).any(2).all()  # every query is told something
    torch.testing.assert_close(matching.loss, matching.value / 3)


# Missing targets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("matcher", (OrderedMatcher, SoftOrderedMatcher))
@pytest.mark.parametrize("policy", ("no", "random", "cheapest"))
def test_missing_targets(matcher, policy):
    cost, mask = ragged(np.random.default_rng(11), B=20)
    matching = matcher(add_missing_targets=policy, generator=4)(cost, mask)
    plain = OrderedMatcher()(cost, mask)
    for b, (queries, targets) in enumerate(matching):
        n, m = (int(side[b]) for side in mask)
        k = len(plain[b][0])
        assert queries[:k].tolist() == plain[b][0].tolist() and targets[:k].tolist() == plain[b][1].tolist()
        assert len(set(queries.tolist())) == len(queries) and len(set(targets.tolist())) == len(targets)
        assert len(queries) == len(targets) == k + matching.added[b] == (k if policy == "no" else min(n, m))
        if policy == "cheapest":
            unused = sorted(set(range(n)) - set(queries[:k].tolist()))
            missing = sorted(set(range(m)) - set(targets[:k].tolist()))
            rows, columns = linear_sum_assignment(cost[b].numpy()[np.ix_(unused, missing)])
            assert queries[k:].tolist() == [unused[i] for i in rows]
            assert targets[k:].tolist() == [missing[j] for j in columns]


def test_random_filling_follows_its_seed():
    cost = torch.ones(1, 50, 10)  # nothing is worth a match: all ten are drawn

    def drawn(generator):
        return OrderedMatcher("random", generator)(cost)[0][0].tolist()

    assert drawn(3) == drawn(3) == drawn(torch.Generator().manual_seed(3)) != drawn(4)
    torch.manual_seed(5)
    first = drawn(None)
    torch.manual_seed(5)
    assert first == drawn(None)
    assert len(OrderedMatcher()(cost)[0][0]) == 0


def test_flat_pairs_index_a_batch():
    cost, mask = ragged(np.random.default_rng(12), B=6)
    matching = HungarianMatcher()(cost, mask)
    item, query, target = matching.flat()
    at = 0
    for b, (queries, targets) in enumerate(matching):
        stop = at + len(queries)
        assert item[at:stop].tolist() == [b] * len(queries)
        torch.testing.assert_close(cost[item, query, target][at:stop], cost[b, queries, targets])
        at = stop
    assert at == len(item)
    assert [len(x) for x in HungarianMatcher()(torch.zeros(0, 3, 2)).flat()] == [0, 0, 0]


# Types, empty items, bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "result", "tolerance"),
    [
        (torch.float64, torch.float64, 1e-12),
        (torch.float32, torch.float32, 1e-5),
        (torch.bfloat16, torch.float32, 1e-5),
        (torch.float16, torch.float32, 1e-5),
    ],
)
def test_dtypes(dtype, result, tolerance):
    cost = torch.from_numpy(np.random.default_rng(13).normal(size=(3, 12, 7))).to(dtype).requires_grad_()
    exact = cost.detach().double().requires_grad_()
    for smooth in FORMS:
        value, reference = (soft_ordered(c, gamma=0.1, smooth=smooth) for c in (cost, exact))
        assert value.dtype == result and cost.dtype == dtype
        torch.testing.assert_close(value.double(), reference, rtol=tolerance, atol=tolerance)
        (gradient,), (expected,) = (torch.autograd.grad(v.sum(), c) for v, c in ((value, cost), (reference, exact)))
        assert gradient.dtype == dtype
        torch.testing.assert_close(gradient, expected.to(dtype), rtol=1e-2, atol=tolerance)
    for matcher in MATCHERS[:2]:
        for pair, expected in zip(matcher(cost), matcher(exact), strict=True):
            assert [x.dtype for x in pair] == [torch.int64] * 2
            assert [x.tolist() for x in pair] == [x.tolist() for x in expected]


@pytest.mark.parametrize("shape", ((0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0), (2, 0, 0)))
def test_empty_batches(shape):
    cost = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    for smooth, gamma in product(FORMS, (0, 0.1)):
        value = soft_ordered(cost, gamma=gamma, smooth=smooth)
        assert value.shape == shape[:1] and not value.any()
        assert torch.autograd.grad(value.sum(), cost)[0].shape == shape
        assert expected_alignment(cost, gamma=gamma, smooth=smooth).shape == shape
    for matcher in MATCHERS:
        matching = matcher(cost)
        assert len(matching) == shape[0] and all(len(q) == len(t) == 0 for q, t in matching)
        assert matching.loss is None or not matching.loss.any()


@pytest.mark.parametrize("call", (*MATCHERS, soft_ordered, expected_alignment))
@pytest.mark.parametrize("bad", (float("nan"), float("inf"), -float("inf")))
def test_a_cost_that_is_not_finite_is_named(call, bad):
    cost = torch.zeros(3, 4, 5)
    cost[2, 1, 3] = bad
    with pytest.raises(MatrixError, match=r"item 2, query 1, target 3 is -?(nan|inf) \(1 of 20 costs"):
        call(cost)
    call(cost, ([4, 4, 4], [5, 5, 3]))  # in the padding it has no say


def test_a_centre_that_is_not_finite_is_named():
    centres = torch.rand(2, 4)
    centres[1, 2] = float("nan")
    with pytest.raises(MatrixError, match="centre of item 1, query 2 is nan"):
        OrderedMatcher()(torch.zeros(2, 4, 3), centres=centres)
    OrderedMatcher()(torch.zeros(2, 4, 3), ([4, 2], None), centres)
    with pytest.raises(MatrixError, match="centres have shape"):
        OrderedMatcher()(torch.zeros(2, 4, 3), centres=centres[:, :3])


@pytest.mark.parametrize(
    ("cost", "mask", "message"),
    [
        (torch.zeros(2, 3, 4), ([3, 4], None), "queries, item 1: length 4, but the costs have 3"),
        (torch.zeros(2, 3, 4), (None, [-2, 4]), "targets, item 0: length -2"),
        (torch.zeros(2, 3, 4), ([3], None), "give 2 whole lengths"),
        (torch.zeros(2, 3, 4), ([3.0, 2.0], None), "give 2 whole lengths"),
        (torch.zeros(2, 3, 4), (torch.ones(2, 4, dtype=torch.bool), None), r"\[B, 3\]"),
        (torch.zeros(1, 3, 4), (torch.tensor([[True, False, True]]), None), "item 0: True after False"),
        (torch.zeros(2, 3, 4), [3, 3], "pair"),
        (torch.zeros(2, 3, 4, dtype=torch.int64), None, "real costs"),
        (torch.zeros(3), None, "real costs"),
    ],
)
def test_what_does_not_fit_is_refused(cost, mask, message):
    for call in (*MATCHERS, soft_ordered):
        with pytest.raises(MatrixError, match=message):
            call(cost, mask)


def test_options_that_do_not_exist_are_refused():
    for wrong in ({"gamma": -1}, {"gamma": float("nan")}, {"gamma": 1e-200}, {"smooth": "max"}):
        with pytest.raises(SpecError):
            soft_ordered(torch.zeros(1, 2, 2), **wrong)
        with pytest.raises(SpecError):
            SoftOrderedMatcher(**wrong)
    with pytest.raises(SpecError, match="no, random or cheapest"):
        OrderedMatcher(add_missing_targets="all")
    with pytest.raises(MatrixError, match="single matrix"):
        soft_ordered(torch.zeros(2, 2), ([1], [1]))


# torch.compile, devices, imports --------------------------------------------------------------------------------------


def test_soft_ordered_compiles_into_one_graph():
    cost = torch.randn(2, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    lengths = torch.tensor([6, 3])

    def loss(c):
        return soft_ordered(c.tanh(), (lengths, None), 0.1).sum()

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(cost), loss(cost))
    torch.testing.assert_close(torch.autograd.grad(compiled(cost), cost), torch.autograd.grad(loss(cost), cost))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # dynamo looks, and hides it
def test_a_matcher_breaks_the_graph_and_nothing_else():
    cost = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    matcher = SoftOrderedMatcher(add_missing_targets="cheapest")

    def step(c):
        c = c.tanh()
        matching = matcher(c)
        item, query, target = matching.flat()
        return c[item, query, target].sum() + matching.loss.sum()

    torch._dynamo.reset()
    compiled = torch.compile(step, backend="aot_eager")
    torch.testing.assert_close(compiled(cost), step(cost))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(step, backend="aot_eager", fullgraph=True)(cost)


def test_the_operator_keeps_torchs_rules():
    cost = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    lengths = (torch.tensor([4, 2]), torch.tensor([3, 3]))
    for want in ("value", "gradient"):
        torch.library.opcheck(
            soft_module._op,
            (cost if want == "gradient" else cost.detach(), *lengths, 0.1, "logsumexp", want),
        )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu():
    cost, mask = ragged(np.random.default_rng(14), B=6)
    there = cost.cuda().requires_grad_()
    value = soft_ordered(there, mask, 0.1)
    torch.testing.assert_close(value.cpu(), soft_ordered(cost, mask, 0.1))
    for pair, expected in zip(OrderedMatcher()(there, mask), OrderedMatcher()(cost, mask), strict=True):
        assert pair[0].is_cuda and [x.tolist() for x in pair] == [x.tolist() for x in expected]


def test_without_torch_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import fabula.learn\n"
        "from fabula.core.errors import MissingExtra\n"
        "try: fabula.learn.soft_ordered\n"
        "except MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fabula.learn" in done.stdout and "[learn]; install it with: pip install '" in done.stdout


def test_importing_the_package_does_not_load_torch():
    code = "import sys, fabula, fabula.learn; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
