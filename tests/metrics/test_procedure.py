"""mIoU, mJaccard, PRF and OrderedPRF by hand."""

import pytest

from fabula.core.errors import SpecError
from fabula.metrics import metric
from tests.toys import FIG3, corpus, fold, one, story

# g1 [0,10] g2 [20,30]; p1 [0,5] IoU 1/2 with g1; p2 [0,30] IoU 1/3 with both
REF = story((0, 10), (20, 30))
PRED = story((0, 5), (0, 30))


@pytest.fixture
def fig3(monkeypatch):
    """The toy of Batra et al.: 3 references, 4 proposals, IoUs as in the figure."""
    monkeypatch.setattr("fabula.metrics.stories.base.overlap", lambda *_, **__: FIG3)
    monkeypatch.setattr("fabula.pair.grid.overlap", lambda *_, **__: FIG3.ravel())
    return story(*[(0, 1)] * 3), story(*[(0, 1)] * 4)


def test_fig_3(fig3, kernels):
    assert one("mIoU", *fig3)["value"] == pytest.approx((0.32 + 0.49 + 0.75) / 3)
    loose = one("PRF@0.3", *fig3)
    assert (loose["precision"], loose["recall"]) == (2 / 4, 3 / 3)
    strict = one("OrderedPRF@0.3", *fig3)
    assert (strict["precision"], strict["recall"]) == (2 / 4, 2 / 3)  # p2 serves g1 or g2, not both
    assert strict["f1"] == pytest.approx(2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3))


def test_miou():
    assert one("mIoU", REF, PRED)["value"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert one("mIoU", REF, story((0, 30)))["value"] == pytest.approx(1 / 3)  # one prediction may serve many
    assert one("mIoU", REF, story())["value"] == 0


def test_mjaccard_divides_by_the_prediction():
    # g1: p1 lies inside it, 5/5; g2: p2, 10/30
    assert one("mJaccard", REF, PRED)["value"] == pytest.approx((1 + 10 / 30) / 2)
    assert one("mJaccard", REF, story((2, 3)))["value"] == pytest.approx((1 + 0) / 2)  # short is rewarded
    assert one("mJaccard", REF, story())["value"] == 0
    assert one("mJaccard(eps=5)", story((0, 10)), story((0, 5)))["value"] == pytest.approx(5 / (5 + 5))


def test_mjaccard_maximum_is_its_own():
    # by IoU the long one is better (10/12 over 2/10), by Jaccard the short one (2/2 over 10/12)
    assert one("mJaccard", story((0, 10)), story((0, 12), (4, 6)))["value"] == 1
    assert one("mIoU", story((0, 10)), story((0, 12), (4, 6)))["value"] == pytest.approx(10 / 12)


@pytest.mark.parametrize("name", ["PRF", "OrderedPRF"])
def test_cmp(name):
    ref, pred = story((0, 10)), story((0, 5))  # IoU exactly 1/2
    assert one(f"{name}@0.5", ref, pred)["f1"] == 0
    assert one(f"{name}(cmp=>=)@0.5", ref, pred)["f1"] == 1
    assert one(f"{name}@0.49", ref, pred)["f1"] == 1


def test_prf_covers_many_with_one():
    row = one("PRF@0.3", REF, story((0, 30), (50, 60)))
    assert (row["precision"], row["recall"]) == (1 / 2, 2 / 2)
    strict = one("OrderedPRF@0.3", REF, story((0, 30), (50, 60)))
    assert (strict["precision"], strict["recall"]) == (1 / 2, 1 / 2)


def test_top_counts_in_file_order():
    ref, pred = story((0, 10)), story((50, 60), (0, 10))
    assert one("PRF", ref, pred)["precision"] == 1 / 2
    assert one("PRF(top=1)", ref, pred)["precision"] == 0
    assert one("PRF(top=1)", ref, story((0, 10), (50, 60)))["precision"] == 1
    assert one("PRF(top=15)", ref, pred) == one("PRF", ref, pred)


@pytest.mark.parametrize("top", [0, -1])
def test_top_is_a_count(top):
    with pytest.raises(SpecError, match=f"top={top}; it must be at least 1"):
        metric(f"PRF(top={top})")


def test_two_rules_for_f1():
    refs = corpus({"v1": [(0, 10), (20, 30)], "v2": [(0, 10)]})
    pred = corpus({"v1": [(0, 10)], "v2": [(0, 10), (20, 30)]})
    # v1: P 1, R 1/2 · v2: P 1/2, R 1 · each F 2/3; of the means, P = R = F = 3/4
    assert fold("PRF", refs, pred)["f1"] == pytest.approx(2 / 3)
    assert fold("PRF(f1=means)", refs, pred)["f1"] == pytest.approx(3 / 4)


def test_best_by():
    pred = corpus({"v": [(0, 10), (20, 30)]})
    sets = [corpus({"v": [(0, 10), (20, 30), (40, 50), (60, 70)]}), corpus({"v": [(0, 10)]})]
    # first set: P 1, R 1/2 · second: P 1/2, R 1 · F 2/3 both, and the first wins a tie
    assert fold("PRF(refs=best)", sets, pred) == pytest.approx({"precision": 1, "recall": 1 / 2, "f1": 2 / 3})
    assert fold("PRF(refs=best)", sets[::-1], pred) == pytest.approx({"precision": 1 / 2, "recall": 1, "f1": 2 / 3})
    assert fold("PRF(refs=best,best_by=each)", sets, pred) == {"precision": 1, "recall": 1, "f1": 1}


@pytest.mark.parametrize("name", ["mIoU", "mJaccard"])
def test_mean_over_videos_not_over_events(name):
    refs = corpus({"v1": [(0, 10)], "v2": [(0, 10), (20, 30), (40, 50)]})
    pred = corpus({"v1": [(0, 10)], "v2": [(80, 90)]})
    assert fold(name, refs, pred)["value"] == 1 / 2
