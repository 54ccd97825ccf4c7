"""The rules in which published evaluators differ: reference sets, missing videos, order, malformed segments."""

import pytest

from fabula.core.errors import SpecError
from fabula.metrics import metric
from tests.toys import corpus, fold, one, rows, story

# v1 stands in both sets, v2 in the first alone, v3 in the second alone
FIRST = corpus({"v1": [(0, 10)], "v2": [(0, 10)]})
SECOND = corpus({"v1": [(0, 20)], "v3": [(0, 10)]})
PRED = corpus({"v1": [(0, 10)], "v2": [(0, 5)], "v3": [(0, 2)]})


def test_refs_mean():
    first, second = (1 + 1 / 2) / 2, (1 / 2 + 2 / 10) / 2
    assert fold("mIoU", [FIRST, SECOND], PRED)["value"] == pytest.approx((first + second) / 2)
    assert [(r["video"], r["refset"]) for r in rows("mIoU", [FIRST, SECOND], PRED).dicts()] == [
        ("v1", 0),
        ("v1", 1),
        ("v2", 0),
        ("v3", 1),
    ]


def test_refs_mean_weighs_sets_not_videos():
    # the first set has three videos at 1, the second one at 0: half, not three quarters
    sets = [corpus({v: [(0, 10)] for v in ("v1", "v2", "v3")}), corpus({"v4": [(0, 10)]})]
    assert fold("mIoU", sets, corpus({v: [(0, 10)] for v in ("v1", "v2", "v3")}))["value"] == 1 / 2


def test_refs_best():
    assert fold("mIoU(refs=best)", [FIRST, SECOND], PRED)["value"] == pytest.approx((1 + 1 / 2 + 2 / 10) / 3)
    assert fold("mIoU(refs=best)", [SECOND, FIRST], PRED)["value"] == pytest.approx((1 + 1 / 2 + 2 / 10) / 3)


def test_refs_merged():
    v1 = (1 + 1 / 2) / 2
    assert fold("mIoU(refs=merged)", [FIRST, SECOND], PRED)["value"] == pytest.approx((v1 + 1 / 2 + 2 / 10) / 3)
    # merged, a perfect story of the first annotator still misses the second's events
    both = [corpus({"v": [(0, 10)]}), corpus({"v": [(30, 40), (20, 30)]})]
    row = fold("SODA_d(refs=merged)", both, corpus({"v": [(0, 10), (20, 30), (30, 40)]}))
    assert row == {"precision": 1, "recall": 1, "f1": 1}  # pooled and sorted
    assert fold("SODA_d(refs=merged)", both, corpus({"v": [(0, 10)]}))["recall"] == pytest.approx(1 / 3)


def test_refs_single():
    assert fold("mIoU(refs=single)", FIRST, PRED) == fold("mIoU", FIRST, PRED)


def test_a_set_in_which_a_video_has_no_events_does_not_count_for_it():
    sets = [corpus({"v": [(0, 10)]}), corpus({"v": []})]
    assert fold("mIoU", sets, corpus({"v": [(0, 10)]}))["value"] == 1
    assert len(rows("mIoU", corpus({"v": []}), corpus({"v": [(0, 10)]}))) == 0


def test_missing():
    refs = corpus({"v1": [(0, 10)], "v2": [(0, 10)]})
    assert fold("mIoU", refs, corpus({"v1": [(0, 10)]}))["value"] == 1 / 2
    assert fold("mIoU(missing=drop)", refs, corpus({"v1": [(0, 10)]}))["value"] == 1
    # a video that is predicted to be empty is not missing
    assert fold("mIoU(missing=drop)", refs, corpus({"v1": [(0, 10)], "v2": []}))["value"] == 1 / 2


def test_predicted_videos_that_nobody_asked_for_do_not_count():
    refs = corpus({"v1": [(0, 10)]})
    assert fold("mIoU", refs, corpus({"v1": [(0, 10)], "x": [(0, 1)]}))["value"] == 1


ORDERS = {  # references, predictions, S under start, predictions, file
    "both told backwards": ([(10, 20), (0, 10)], [(10, 20), (0, 10)], 2, 1, 2),
    "predictions told backwards": ([(0, 10), (10, 20)], [(10, 20), (0, 10)], 2, 2, 1),
    "references told backwards": ([(10, 20), (0, 10)], [(0, 10), (10, 20)], 2, 1, 1),
    "both in order": ([(0, 10), (10, 20)], [(0, 10), (10, 20)], 2, 2, 2),
}


@pytest.mark.parametrize(("ref", "pred", "start", "predictions", "file"), ORDERS.values(), ids=ORDERS.keys())
def test_order(ref, pred, start, predictions, file):
    for rule, S in (("start", start), ("predictions", predictions), ("file", file)):
        assert one(f"SODA_d(order={rule})", story(*ref), story(*pred))["S"] == S, rule


MALFORMED = [(15, 12), (5, 5), (-1, 20)]


def test_malformed_predictions_match_nothing_and_cost_precision():
    ref, pred = story((0, 10), (10, 20)), story((0, 10), *MALFORMED)
    assert one("SODA_d", ref, pred)["precision"] == 1 / 4
    assert one("SODA_d", ref, pred)["recall"] == 1 / 2
    assert one("PRF@0.3", ref, pred)["precision"] == 1 / 4
    assert one("OrderedPRF@0.3", ref, pred)["precision"] == 1 / 4
    assert one("StartPRF", ref, pred)["precision"] == 1 / 4
    assert one("StartPRF(segments=raw)", ref, pred)["precision"] == 2 / 4  # [-1, 20] starts near [0, 10]
    assert one("mIoU", ref, pred)["value"] == 1 / 2
    assert one("mJaccard", ref, pred)["value"] == 1 / 2


def test_raw_takes_them_as_they_come():
    ref, pred = story((0, 10)), story((-10, 10))
    assert one("SODA_d", ref, pred)["S"] == 0
    assert one("SODA_d(segments=raw)", ref, pred)["S"] == 10 / 20


def test_eps():
    assert one("SODA_d(eps=1e-8)", story((0, 10)), story((0, 10)))["S"] == 10 / (10 + 1e-8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mIoU(refs=median)", "refs='median'; refs may be mean, best, merged, single"),
        ("mIoU(missing=skip)", "missing='skip'; missing may be zero, drop"),
        ("SODA_c(roles=swapped)", "roles may be prediction-as-hypothesis, gold-as-hypothesis"),
        ("SODA_x", "no metric is called 'SODA_x'"),
        ("mIoU(tau=0.5)", "mIoU has no parameter 'tau'"),
        ("mIoU@0.5", "mIoU takes no '@'"),
    ],
)
def test_wrong_specs(text, said):
    with pytest.raises(SpecError, match=said):
        metric(text)


def test_by_name_and_keyword():
    assert metric("PRF", tau=0.3, top=15) == metric("PRF(top=15)@0.3")
    assert metric("PRF(top=15)", tau=0.3) == metric("PRF(top=15)@0.3")
    with pytest.raises(SpecError, match="refs='median'"):
        metric("mIoU", refs="median")
