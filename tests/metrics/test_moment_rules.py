"""Rules of moment metrics one by one, from blocks made by hand: borders of lengths, places, videos, annotators."""

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.data.moments import Query, Ranking, Saliency, VideoNumbers
from fabula.metrics import metric
from fabula.metrics.moments import Block
from fabula.metrics.moments.base import first_place, places
from fabula.metrics.moments.mr import MeanPrecision, count_queries, of_length

HERE, THERE = "kitchen", "garden"


def block(*given):
    """(windows, rows [video, start, end, score] or None) for each query, all of them in the kitchen."""
    numbers = VideoNumbers({HERE: 0, THERE: 1})
    queries = [Query(i, HERE, tuple(windows)) for i, (windows, _) in enumerate(given)]
    rankings = []
    for i, (_, rows) in enumerate(given):
        table = np.array(rows or [], dtype=float).reshape(-1, 4)
        ranking = Ranking(i, table[:, 1:3], table[:, 3], table[:, 0].astype(np.int64))
        rankings.append(None if rows is None else ranking)
    return Block.of_rankings(queries, rankings, numbers)


def values(text, *given):
    made = metric(text)
    return made.fold(made.rows(block(*given), None))


WHOLE = [(0, 10)]


def test_the_best_score_in_another_video(kernels):
    rows = [[1, 0, 10, 0.9], [0, 0, 10, 0.8]]
    for order in ("file", "score"):
        found = values(f"VCMR(k=1/2,iou=0.5,order={order})", (WHOLE, rows))
        assert found == {"r1@0.5": 0, "r2@0.5": 1}
        assert values(f"SVMR(k=1,iou=0.5,order={order})", (WHOLE, rows)) == {"r1@0.5": 1}
        assert values(f"VR(k=1/2,order={order})", (WHOLE, rows)) == {"r1": 0, "r2": 1}
        assert values(f"Grounding(iou=0.5,order={order})", (WHOLE, rows)) == {"r1@0.5": 0, "miou": 0}
        assert values(f"MR_R1(iou=0.5,lengths=false,order={order})", (WHOLE, rows)) == {"r1@0.5": 0}
        # a hit at place 2 of one reference
        assert values(f"MR_mAP(iou=0.5,lengths=false,order={order})", (WHOLE, rows))["map"] == 1 / 2


def test_order_and_top(kernels):
    rows = [[0, 50, 60, 0.1], [0, 0, 10, 0.9], [0, 0, 9, 0.5]]
    assert values("VCMR(k=1,iou=0.5)", (WHOLE, rows))["r1@0.5"] == 0
    assert values("VCMR(k=1,iou=0.5,order=score)", (WHOLE, rows))["r1@0.5"] == 1
    assert values("VCMR(k=5,iou=0.5,top=1)", (WHOLE, rows))["r5@0.5"] == 0
    assert values("VCMR(k=5,iou=0.5,top=2)", (WHOLE, rows))["r5@0.5"] == 1
    assert values("VCMR(k=5,iou=0.95,top=1,order=score)", (WHOLE, rows))["r5@0.95"] == 1
    assert values("VCMR(k=5,iou=0.5,top=none)", (WHOLE, rows))["r5@0.5"] == 1
    assert values("VR(k=1,top=1,order=score)", (WHOLE, [[1, 0, 0, 0.1], [0, 0, 0, 0.9]])) == {"r1": 1}
    assert values("Grounding(iou=0.5)", (WHOLE, rows)) == {"r1@0.5": 0, "miou": 0}
    assert values("Grounding(iou=0.5,order=score)", (WHOLE, rows)) == {"r1@0.5": 1, "miou": 1}
    assert values("MR_mAP(iou=0.5,lengths=false,top=1)", (WHOLE, rows))["map"] == 1
    assert values("MR_mAP(iou=0.5,lengths=false,top=1,order=file)", (WHOLE, rows))["map"] == 0
    assert values("MR_mAP(iou=0.5,lengths=false,top=2,order=file)", (WHOLE, rows))["map"] == 1  # sorted after the cut


def test_borders_of_overlap(kernels):
    half = [[0, 0, 5, 1]]
    for name in ("VCMR(k=1,iou=0.5{})", "SVMR(k=1,iou=0.5{})", "Grounding(iou=0.5{})"):
        assert values(name.format(""), (WHOLE, half))["r1@0.5"] == 1
        assert values(name.format(",cmp=>"), (WHOLE, half))["r1@0.5"] == 0
    assert values("MR_R1(iou=0.5,lengths=false)", (WHOLE, half)) == {"r1@0.5": 1}
    assert values("MR_mAP(iou=0.5,lengths=false)", (WHOLE, half))["map@0.5"] == 1


def test_annotators_agree_from_so_many_windows_on(kernels):
    three = [(0, 10), (0, 10), (40, 50)]
    one, two = [[0, 40, 50, 1]], [[0, 0, 10, 1]]
    for text, expected in [
        ("VCMR(k=1,iou=0.5)", [1, 1]),  # three windows: any one of them
        ("VCMR(k=1,iou=0.5,agree_from=3)", [0, 1]),
        ("VCMR(k=1,iou=0.5,agree_from=3,agree=3)", [0, 0]),
        ("VCMR(k=1,iou=0.5,agree_from=3,agree=1)", [1, 1]),
    ]:
        assert [values(text, (three, rows))["r1@0.5"] for rows in (one, two)] == expected, text


def test_the_best_of_several_windows():
    found = values("Grounding", ([(0, 10), (20, 40)], [[0, 20, 36, 1]]), (WHOLE, None))
    assert found == {"r1@0.3": 1 / 2, "r1@0.5": 1 / 2, "r1@0.7": 1 / 2, "miou": pytest.approx(16 / 20 / 2)}


def test_what_k_may_be():
    for k in (0, 1.5, -1):
        with pytest.raises(SpecError, match="it is a whole number from 1 on"):
            metric("VR", k=(k,))
    assert metric("VCMR(k=3,iou=0.3)").fields == ("r3@0.3",) and metric("VCMR(k=3,iou=0.3)").primary == "r3@0.3"
    assert metric("VCMR(k=1/3)").primary == "r1@0.5"


def test_suppression_leaves_the_border_and_other_videos():
    """[0, 10] and [0, 5] overlap by half: above .4, not above .5."""
    rows = [[0, 0, 10, 0.9], [0, 0, 5, 0.8], [1, 0, 10, 0.7], [0, 20, 30, 0.6]]
    for nms, place in ((0.4, 3), (0.5, 4)):
        assert metric(f"VCMR(nms={nms},k=1)").rows(block(([(20, 30)], rows)), None)["rank@0.5"].tolist() == [place]
    # by score, whatever the list's order; a query with one answer keeps it
    turned = metric("VCMR(nms=0.4,k=1)").rows(block(([(20, 30)], rows[::-1]), (WHOLE, rows[:1]), (WHOLE, [])), None)
    assert turned["rank@0.5"].tolist() == [3, 1, 0]
    assert metric("SVMR(nms=0.4,k=1)").rows(block(([(20, 30)], rows)), None)["rank@0.5"].tolist() == [2]
    assert metric("VCMR(nms=0.4,k=1,top=2)").rows(block(([(20, 30)], rows)), None)["rank@0.5"].tolist() == [0]


def test_lengths_end_with_their_border():
    """10 s is short and 30 s middle; a window of no length has none of its own."""
    windows = np.array([[(0.0, 10.0), (0.0, 10.1), (0.0, 30.0), (0.0, 30.1), (5.0, 5.0), (0.0, 0.5)]])
    bounds = metric("MR_R1").bounds()
    inside = {b: np.flatnonzero(~np.isnan(of_length(windows, bounds[b])[0, :, 0])).tolist() for b in bounds}
    assert inside == {"full": [0, 1, 2, 3, 4, 5], "short": [0, 5], "middle": [1, 2], "long": [3]}
    ends = metric("MR_R1(long=30,longest=20)").bounds()
    assert ends["long"] == (30, 30) and ends["full"] == (0, 20)
    assert metric("MR_R1(lengths=false)").bounds().keys() == {"full"}
    assert metric("MR_R1(short=5,middle=7,long=9)").bounds()["middle"] == (5, 7)
    nothing = np.full((2, 1, 2), np.nan)
    nothing[1] = (0, 1)
    assert count_queries(nothing).tolist() == [0, 1]


def test_a_length_is_averaged_over_the_queries_that_have_it():
    short, middle = ([(0, 10)], [[0, 0, 10, 1]]), ([(0, 20)], [[0, 50, 60, 1]])
    found = values("MR_R1", short, middle, middle)
    assert (found["r1@0.5"], found["short-r1@0.5"], found["middle-r1@0.5"]) == (pytest.approx(1 / 3), 1, 0)
    found = values("MR_mAP", short, middle, middle)
    assert (found["map"], found["short"], found["middle"], found["long"]) == (pytest.approx(1 / 3), 1, 0, 0)
    assert [MeanPrecision().weight(f) for f in ("short-r1@0.5", "short", "map@0.5", "r1@0.5", "long@0.5")] == [
        "n short",
        "n short",
        "n full",
        "n full",
        "n long",
    ]
    made = metric("MR_mAP")
    rows = made.rows(block(short, middle), None)
    assert np.isnan(made.unit_value(rows.take([0]), "middle")) and made.unit_value(rows.take([1]), "middle") == 0
    assert made.sums(rows).tolist() == [[1, 1], [0, 1]] and made.influencing_columns(rows, "short").tolist() == [
        [1, 1],
        [0, 0],
    ]
    assert metric("VR").influencing_columns(metric("VR").rows(block(short), None), "r1").tolist() == [[1, 1]]


def test_an_empty_list_is_not_a_missing_one():
    given = [(WHOLE, [[0, 0, 10, 1]]), (WHOLE, []), (WHOLE, None)]
    assert values("MR_mAP(iou=0.5,lengths=false)", *given)["map"] == pytest.approx(1 / 3)
    assert values("MR_mAP(iou=0.5,lengths=false,empty=drop)", *given)["map"] == 1 / 2


def test_places():
    of = np.array([0, 0, 2, 2, 2])
    assert places(of, 4).tolist() == [0, 1, 0, 1, 2]
    assert first_place(of, places(of, 4), 4).tolist() == [1, np.inf, 1, np.inf]


@pytest.mark.parametrize("least", [("fair", 2), ("good", 3), ("verygood", 4)])
def test_marks_of_highlights(least):
    """Four clips of 2 s; the best-scored one has a mark just high enough, or one too low."""
    level, mark = least
    for given, expected in ((mark, 1), (mark - 1, 0)):
        query = Query(1, HERE, ((0.0, 4.0),), 8.0, "x", Saliency((2,), ((0, given, 0),)))
        ranking = Ranking(1, np.zeros((0, 2)), None, None, np.array([0.1, 0.2, 0.9, 0.3]))
        made = Block.of_rankings([query], [ranking], VideoNumbers({HERE: 0}))
        assert metric("HL_Hit1").units(made)[level].tolist() == [expected]
        # one of three annotators has one highlight, and it stands first
        assert metric("HL_mAP").units(made)[level] == pytest.approx([expected / 3])
        assert metric("HL_Hit1(clip=4)").clip == 4
    assert metric("HL_Hit1").group_marks(made)[0].marks.shape == (4, 3)
