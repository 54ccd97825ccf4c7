"""SODA a–d by hand.

Two references, two predictions; of `share` (words of the candidate that the reference has) both directions:

    g1 [ 0,10] a b c d      p1 [ 0,10] a b      IoU 1     share(p1, g1) = 2/2    share(g1, p1) = 2/4
    g2 [10,20] e f          p2 [10,30] e f      IoU 1/2   share(p2, g2) = 2/2    share(g2, p2) = 2/2
"""

import numpy as np
import pytest

from fabula.metrics import metric
from tests.toys import FIG3, GOLD_STORIES, PREDICTED_STORIES, corpus, fold, one, share, story  # noqa: F401

pytestmark = pytest.mark.usefixtures("kernels")

REF = story((0, 10, "a b c d"), (10, 20, "e f"))
PRED = story((0, 10, "a b"), (10, 30, "e f"))
SHARE, SWAPPED = "text=share,tok=none", "text=share,tok=none,roles=gold-as-hypothesis"
EXACT = "text=exact,tok=none"


def prf(row):
    return row["precision"], row["recall"], row["f1"]


def test_d():
    row = one("SODA_d", REF, PRED)
    assert row == {"precision": 3 / 4, "recall": 3 / 4, "f1": 3 / 4, "S": 1 + 1 / 2, "n_ref": 2, "n_pred": 2}


@pytest.mark.usefixtures("share")
def test_c_in_both_directions():
    assert one(f"SODA_c({SHARE})", REF, PRED)["S"] == 1 * 1 + 1 / 2 * 1
    assert one(f"SODA_c({SWAPPED})", REF, PRED)["S"] == 1 * 2 / 4 + 1 / 2 * 1


@pytest.mark.usefixtures("share")
def test_b_in_both_directions():
    assert one(f"SODA_b({SHARE})", REF, PRED)["S"] == 1 + 1
    assert one(f"SODA_b({SWAPPED})", REF, PRED)["S"] == 2 / 4 + 1


@pytest.mark.usefixtures("share")
def test_a_is_a_mean_over_thresholds():
    # the second pair, IoU 1/2, is there at τ = .3 and .5 (≥ keeps it) and gone at .7 and .9
    row = one(f"SODA_a({SWAPPED})", REF, PRED)
    at = [1.5 / 2, 1.5 / 2, 0.5 / 2, 0.5 / 2]
    assert [row[f"f1@{tau}"] for tau in ("0.3", "0.5", "0.7", "0.9")] == at
    assert prf(row) == pytest.approx((sum(at) / 4,) * 3)
    assert one(f"SODA_a({SWAPPED})@0.5", REF, PRED)["f1"] == 1.5 / 2
    assert one(f"SODA_a({SWAPPED})@0.6/0.5", REF, PRED)["f1"] == pytest.approx((0.5 / 2 + 1.5 / 2) / 2)


def test_more_predictions_than_references():
    row = one("SODA_d", REF, story((0, 10), (10, 30), (40, 50)))
    P, R = 1.5 / 3, 1.5 / 2
    assert prf(row) == pytest.approx((P, R, 2 * P * R / (P + R)))
    assert (row["n_ref"], row["n_pred"]) == (2, 3)


def test_corpus_f1_is_the_mean_of_the_videos_not_the_f1_of_the_means():
    refs = corpus({"v1": [(0, 10), (20, 30)], "v2": [(0, 10)]})
    pred = corpus({"v1": [(0, 10)], "v2": [(0, 10), (20, 30)]})
    # v1: P 1, R 1/2, F 2/3 · v2: P 1/2, R 1, F 2/3
    assert fold("SODA_d", refs, pred) == pytest.approx({"precision": 3 / 4, "recall": 3 / 4, "f1": 2 / 3})


def test_order_is_asked_for():
    # told the wrong way round only one of the two can be matched
    assert one("SODA_d(order=file)", REF, story((10, 20), (0, 10)))["S"] == 1
    assert one("SODA_d", REF, story((10, 20), (0, 10)))["S"] == 2


# C = [[0, 1], [.5, 0]] (V1): the best path takes (0, 1), whose captions agree; the marks take (1, 0), whose do not.
V1_REF = story((10, 20, "x"), (0, 10, "y"))
V1_PRED = story((0, 5, "z"), (10, 20, "x"))


@pytest.mark.parametrize("name", ["SODA_a", "SODA_b"])
def test_backtrack_changes_a_and_b(name):
    at = "@0.3" if name == "SODA_a" else ""
    assert one(f"{name}({EXACT},order=file){at}", V1_REF, V1_PRED)["S"] == 1
    assert one(f"{name}({EXACT},order=file,backtrack=marked){at}", V1_REF, V1_PRED)["S"] == 0


def test_marked_credits_a_pair_that_does_not_overlap():
    ref, pred = story((0, 10, "x")), story((20, 30, "x"))
    for name in ("SODA_a", "SODA_b"):
        assert one(f"{name}({EXACT})", ref, pred)["f1"] == 0
        assert one(f"{name}({EXACT},backtrack=marked)", ref, pred)["f1"] == 1


def test_backtrack_is_not_a_parameter_of_c_and_d():
    for name in ("SODA_c", "SODA_d"):
        assert "backtrack" not in metric(name).full()


def test_v4_fig_3(monkeypatch):
    monkeypatch.setattr("fabula.metrics.stories.base.overlap", lambda *_, **__: FIG3)
    monkeypatch.setattr("fabula.pair.grid.overlap", lambda *_, **__: FIG3.ravel())
    row = one("SODA_d", story(*[(0, 1)] * 3), story(*[(0, 1)] * 4))
    assert prf(row) == pytest.approx((1.5 / 4, 1.5 / 3, 3 / 7))


def test_v9_c_without_meteor():
    m = metric(f"SODA_c({EXACT})")
    assert prf(m.prf([(REF, PRED)], np.array([0.5 * 0.4 + 0.8 * 0.2]))) == pytest.approx((0.18, 0.18, 0.18))


def test_v10_d_end_to_end():
    """Measured with the published evaluator: v_c has no prediction and is dropped."""
    refs, pred = corpus(GOLD_STORIES), corpus(PREDICTED_STORIES)
    official = "SODA_d(refs=merged,missing=drop,segments=raw,eps=1e-8)"
    a = one(official, refs["v_a"], pred["v_a"])
    assert a["S"] == pytest.approx(9 / 11 + 18 / 22 + 18 / 25, abs=1e-7)
    assert prf(a) == pytest.approx((0.5890909, 0.7854545, 0.6732468), abs=1e-7)
    assert prf(one(official, refs["v_b"], pred["v_b"])) == pytest.approx((0.4859649,) * 3, abs=1e-7)
    assert fold(official, refs, pred) == pytest.approx(
        {"precision": 0.537528, "recall": 0.635710, "f1": 0.579606}, abs=1e-6
    )


def test_a_prediction_without_events_scores_0():
    for name in (f"SODA_a({EXACT})", f"SODA_b({EXACT},backtrack=marked)", f"SODA_c({EXACT})", "SODA_d"):
        assert prf(one(name, REF, story())) == (0, 0, 0)


def test_nonascii():
    ref, pred = story((0, 1, "a café")), story((0, 1, "a caf "))
    assert one(f"SODA_c({EXACT})", ref, pred)["f1"] == 0
    assert one(f"SODA_c({EXACT},nonascii=blank)", ref, pred)["f1"] == 1


def test_a_takes_the_best_set_for_each_threshold():
    # first set: S = 1 at every τ, P 1, R 1/2, F 2/3 · second set: IoU 1/2, P = R = F = 1 up to τ = .5, then 0
    pred = corpus({"v": [(0, 10, "x")]})
    sets = [corpus({"v": [(0, 10, "x"), (50, 60, "y")]}), corpus({"v": [(0, 20, "x")]})]
    expected = {"precision": 1, "recall": (1 + 1 + 1 / 2 + 1 / 2) / 4, "f1": (1 + 1 + 2 / 3 + 2 / 3) / 4}
    assert fold(f"SODA_a({EXACT},refs=best)", sets, pred) == pytest.approx(expected)
