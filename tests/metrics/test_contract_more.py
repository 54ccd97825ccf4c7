"""What every metric owes: a unit alone is what it is among others, wrong choices are refused, telling columns tell."""

import typing

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.core.spec import choices, hints
from fabula.data.stories import Event, Segment, Story
from fabula.metrics import metric, room
from fabula.metrics.precision import average_precision, best_from_here, precision_of_windows, thresholds
from fabula.metrics.stories import Stories, StoryMetric
from fabula.metrics.stories.base import TOP_RULE
from tests.metrics.test_densecap import FAR, LEFT, RIGHT, TWO, dets
from tests.metrics.test_densecap import rows as densecap_rows
from tests.toys import corpus, fold, one, rows, story

ALL = list(room.all())
each = pytest.mark.parametrize("cls", ALL, ids=[cls.name for cls in ALL])


@each
def test_a_choice_that_there_is_not(cls):
    for field, hint in hints(cls).items():
        if (
            field in cls.defaults() and choices(hint) and not (field == "tok" and cls().uses_llm)
        ):  # a judge reads as written
            with pytest.raises(SpecError, match=f"{field}='nothing of the kind'"):
                cls(**{field: "nothing of the kind"})
            for choice in choices(hint):
                assert getattr(cls(**{field: choice}), field) == choice


@each
def test_overlaps_lie_between_0_and_1(cls):
    for field in {"tau", "tiou", "iou"} & cls.defaults().keys():
        for wrong in (-0.1, 1.1):
            with pytest.raises(SpecError, match="an overlap lies between 0 and 1"):
                cls(**{field: wrong})
        several = typing.get_origin(hints(cls)[field]) is tuple
        for border in (0.0, 1.0):
            assert getattr(cls(**{field: border}), field) == ((border,) if several else border)
    if "top" in cls.defaults():
        with pytest.raises(SpecError, match="it must be at least 1"):
            cls(top=0)
        assert cls(top=1).top == 1
    if "eps" in cls.defaults():
        with pytest.raises(SpecError, match="0 or more"):
            cls(eps=-1e-9)


REF = corpus({"v": [(0, 10, "P1 rides a horse."), (10, 20, "A dog runs")], "w": [(0, 9, "P2 sings a song.")]})
PRED = corpus({"v": [(0, 8, "P1 rides a cow."), (11, 20, "a dog runs off")], "w": [(1, 9, "P4 sings a song.")]})
STORIES = [cls for cls in ALL if issubclass(cls, StoryMetric) and not cls().uses_llm]


@pytest.mark.parametrize("cls", STORIES, ids=[cls.name for cls in STORIES])
def test_a_video_alone_is_what_it_is_among_others(cls):
    made = cls()
    together = list(made.table(Stories([REF], PRED)).dicts())
    for row, video in zip(together, ("v", "w"), strict=True):
        ctx = made.prepare(Stories([REF], PRED))
        alone = made.many([(REF[video].in_order(), PRED[video].in_order())], ctx)
        assert {"video": video, "refset": 0} | {n: c[0] for n, c in alone.items()} == pytest.approx(row)


@pytest.mark.parametrize("name", ["mIoU", "mJaccard", "PRF@0.4", "SODA_d", "OrderedPRF@0.4"])
def test_negative_starts_count_where_nothing_is_judged(name):
    ref, pred = story((0, 10)), story((-10, 10))
    field = metric(name).primary
    assert one(name, ref, pred)[field] == 0
    raw = name.replace("@", "(segments=raw)@") if "@" in name else f"{name}(segments=raw)"
    assert one(raw, ref, pred)[field] == (1 if "@" in name else 1 / 2)


def test_no_videos_make_no_blocks():
    nothing = Stories([corpus({})], corpus({}))
    assert list(nothing.blocks(whole=True)) == list(nothing.blocks(whole=False)) == [] and len(nothing) == 0


def test_blocks_are_cut(monkeypatch):
    monkeypatch.setattr("fabula.metrics.stories.base.BLOCK", 2)
    data = Stories([corpus({v: [(0, 1)] for v in "abc"}), corpus({v: [(0, 1)] for v in "cd"})], corpus({"b": [(0, 1)]}))
    assert [[v for v, _, _ in block] for block in data.blocks(whole=False)] == [["a", "b"], ["c", "d"]]
    assert [[v for v, _, _ in block] for block in data.blocks(whole=True)] == [["a", "b", "c", "d"]]
    (a, b), (c, d) = data.blocks(whole=False)
    assert (a[2], b[2].id) == (None, "b")
    assert [[r is not None for r in refs] for _, refs, _ in (a, c, d)] == [[True, False], [True, True], [False, True]]


def test_stories_that_are_compared():
    data = Stories([corpus({"a": [(0, 1)]}), corpus({"b": [(0, 1)]})], corpus({"b": [(2, 3)], "x": [(4, 5)]}))
    assert [s.events[0].segment.start for s in data.scored()] == [0, 0, 2]


def test_numbers_of_two_sets_of_different_size():
    ref = [corpus({v: [(0, 10)] for v in "abc"}), corpus({"a": [(0, 20)]})]
    pred = corpus({"a": [(0, 10)], "b": [(0, 5)]})
    # (1 + 1/2 + 0)/3 and 1/2
    assert fold("mIoU", ref, pred)["value"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    table = rows("mIoU", ref, pred)
    assert table.by_key("value") == {"a": 3 / 4, "b": 1 / 2, "c": 0}


def test_what_of_a_row_can_move_a_number():
    table = Rows.of([{"video": "a", "f1": 0.5, "precision": 1.0, "recall": 1 / 3, "S": 1.0}])
    assert metric("SODA_d").influencing_columns(table, "recall").tolist() == [[1 / 3]]
    made = metric("PRF(f1=means)")
    columns = {"precision": 0.5, "recall": 0.25, "f1": 0.3, "precision@0.5": 0.5, "recall@0.5": 0.25}
    table = Rows.of([{"video": "a", **columns}])
    assert made.influencing_columns(table, "f1").tolist() == [[0.5, 0.25, 1.0]]  # the totals of its primary number
    assert made.influencing_columns(table, "precision").tolist() == [[0.5, 0.25, 0.3, 0.5, 0.25]]  # everything there is


def test_a_metric_says_what_its_rules_do():
    assert metric("PRF(top=15)").explain("top") == TOP_RULE.format(15)
    assert metric("PRF").explain("top") == "all predictions count"
    assert metric("PRF").explain("refs") == "each reference set counts on its own and the sets are averaged"
    assert metric("SODA_d(eps=0.5)").explain("eps") == "0.5 is added to every union"
    assert metric("Grounding").explain("iou") == "iou is 0.3/0.5/0.7"
    assert metric("SODA_d").param("top") is None and metric("SODA_d").param("top", 3) == 3
    assert metric("PRF(top=2)").param("top", 3) == 2
    assert metric("DVC_METEOR").title == "METEOR" and metric("mIoU").title == "mIoU"
    assert metric("mIoU").signature({"videos": 2}) == metric("mIoU").full() + "|videos:2"


def test_what_a_row_alone_gives():
    table = Rows.of([{"video": "a", "refset": k, "value": x} for k, x in ((0, 1.0), (1, 0.5))])
    assert metric("mIoU").unit_value(table, "value") == 3 / 4


# ── boxes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

NEAR = [0, 0, 99, 50]  # 50/99 of LEFT
SAID = dets((3, LEFT, 0.12), (2, NEAR, 0.3), (1, FAR, 0.2))


def test_what_of_an_image_can_move_densecaps_number():
    """Thresholds of IoU and of METEOR that each hit passes: .3 … .7 are five, METEOR .12 exceeds 0, .05, .1."""
    made, table = densecap_rows("DenseCap_mAP", TWO, SAID)
    found = made.influencing_columns(table, "map")
    assert found.tolist() == [[2, 5, 0, 0, 0, 0, 0, 3, 0, 0]]  # references · overlaps · taken before · words
    assert made.influencing_columns(table, "detmap").tolist() == [[2, 5, 0, 0, 0, 0, 0]]
    made, table = densecap_rows("DenseCap_mAP(claim=threshold)", TWO, dets((3, NEAR, 0.12), (2, LEFT, 0.3)))
    # the first reaches .3, .4 and .5 of LEFT; the second all five, of which three are taken
    assert made.influencing_columns(table, "map").tolist() == [[2, 3, 5, 0, 3, 3, 6]]
    assert made.influencing_columns(table, "detmap").tolist() == [[2, 3, 5, 0, 3]]


def test_words_that_exceed_nothing_move_only_the_place():
    made, table = densecap_rows("DenseCap_mAP", TWO, dets((3, LEFT, 0.0), (2, RIGHT, 0.01)))
    assert made.influencing_columns(table, "map").tolist() == [[2, 0, 5, 0, 0, 0, 1]]
    assert made.influencing_columns(table, "detmap").tolist() == [[2, 5, 5, 0, 0]]


# ── average precision ───────────────────────────────────────────────────────────────────────────────────────────────


def test_average_precision_at_levels():
    # two references, hits at places 1 and 4: precision 1 up to recall .5, then 1/2
    assert average_precision(np.array([1, 4]), 2) == pytest.approx((51 * 1 + 49 / 2) / 100)
    assert average_precision(np.array([1, 4]), 2, 101) == pytest.approx((51 * 1 + 50 / 2) / 101)
    assert average_precision(np.array([1, 4]), 2, grid="accumulated") == pytest.approx((50 * 1 + 50 / 2) / 100)
    assert average_precision(np.array([2]), 2) == pytest.approx(51 / 2 / 100)  # recall .5 is all there is
    assert average_precision(np.array([], dtype=int), 3) == average_precision(np.array([1]), 0) == 0


def test_levels_of_recall():
    assert thresholds(100, "float32").tolist() == (np.arange(100) / 100).tolist()
    assert thresholds(101, "exact")[-1] == pytest.approx(1) and thresholds(101, "exact")[-1] < 1
    added = thresholds(100, "accumulated")
    assert added[0] == 0 and added[50] > 0.5 and added[50] == pytest.approx(0.5)


def test_the_best_from_here():
    assert best_from_here(np.array([0.2, 0.5, 0.1, 0.3]), 0).tolist() == [0.5, 0.5, 0.3, 0.3]


def test_windows_take_what_is_free():
    """Two references. The first window fits both, .9 and .8; the second only the first, .6."""
    iou, all_ = np.array([[[0.9, 0.8], [0.6, 0.0]]]), np.ones((1, 2), bool)
    ap = precision_of_windows(iou, all_, all_, (0.5, 0.85))
    assert ap.tolist() == [[1 / 2, 1 / 2]]  # the second finds its own taken
    turned = precision_of_windows(iou[:, ::-1], all_, all_, (0.5, 0.85))
    assert turned.tolist() == [[1, 1 / 4]]  # in turn: .6 takes the first, .8 the second · only .9, at place 2 of 2
    given = np.array([[True, False]])
    assert precision_of_windows(np.array([[[0.9, 0.8], [-1, -1]]]), given, all_, (0.5,)).tolist() == [[1 / 2]]
    assert precision_of_windows(iou, all_, np.array([[True, False]]), (0.5,)).tolist() == [[1]]


def test_top_takes_the_most_confident_where_the_file_says_how_confident_it_is():
    ref = story((0, 10, "a"), (20, 30, "b"), (40, 50, "c"))
    segments = [e.segment for e in ref.events]

    def recall(name: str, *scores: float | None) -> float:
        pred = Story("v", tuple(Event(s, "a", score) for s, score in zip(segments, scores, strict=True)))
        row = one(name, ref, pred)
        return row.get("recall", row.get("value", 0.0))

    wrong = Segment(60.0, 70.0)
    for name in ("PRF(top=1)", "mIoU(top=1)", "mJaccard(top=1)"):
        assert recall(name, 0.1, 0.9, 0.5) == pytest.approx(1 / 3)
    segments = [wrong, *segments[:2]]
    for name, first in (
        ("PRF(top=1)", 1),
        ("PRF(top=1,order=file)", 0),
        ("PRF(top=1,order=start)", 0),
        ("mIoU(top=1)", 1),
        ("mJaccard(top=1)", 1),
    ):
        assert recall(name, 0.1, 0.9, 0.5) == pytest.approx(first / 3)
        assert recall(name, None, None, None) == 0  # no confidences: the first of the file
        assert recall(name, None, -0.5, -0.25) == pytest.approx(first / 3)  # those without one come last
        assert recall(name, 0.5, 0.5, 0.5) == 0  # the first of equals
