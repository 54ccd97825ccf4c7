"""Numbers at the ends of what doubles hold: measured right or refused, and numpy warns of nothing."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fabula
from fabula.core.errors import InputError
from fabula.data.regions import FORMS, corners
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.match.boxes import merge_boxes
from fabula.match.nms import nms
from fabula.metrics import metric
from fabula.metrics.stories import Stories
from fabula.pair.box_iou import box_iou, scaled_iou
from fabula.pair.tiou import area_iou, hull_iou, tiou

MAX = float(np.finfo(np.float64).max)
EXTREMES = [0.0, 5e-324, 1e-308, 1e-200, 1e-155, 1e-8, 1.0, 3.0, 1e8, 1e150, 1e155, 1e200, 1e308, MAX]
NUMBER = st.sampled_from([*EXTREMES, *(-x for x in EXTREMES)])
SPANS = st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=5)
BOXES = st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER), min_size=1, max_size=5)
STORIES = ["SODA_a", "SODA_b", "SODA_c", "SODA_d", "OrderedPRF", "PRF", "StartPRF", "mIoU", "mJaccard", "DVC_ROUGE_L"]


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        yield


def told(spans) -> Story:
    return Story("v", tuple(Event(Segment(*span), "a dog") for span in spans))


@settings(max_examples=25)
@given(SPANS, SPANS)
def test_no_story_metric_warns(g, p):
    data = Stories([Corpus({"v": told(g)})], Corpus({"v": told(p)}))
    for name in STORIES:
        for segments in ("checked", "raw", "swap"):
            rows = metric(f"{name}(segments={segments})").table(data)
            assert all(np.isfinite(column).all() for column in rows.columns.values()), (name, segments)


@pytest.mark.parametrize("real", [np.float64, np.float32])
@given(SPANS, SPANS)
def test_no_overlap_of_times_warns(real, g, p):
    with np.errstate(over="ignore"):
        G, P = np.array(g).astype(real), np.array(p).astype(real)
    for measure in (hull_iou, area_iou):
        measure(G[:, None], P[None])
    nms(p, np.arange(len(p)), 0.5)
    iou = tiou(np.array(g), np.array(p))
    assert ((iou >= 0) & (iou <= 1)).all()


@pytest.mark.parametrize("end", [x for x in EXTREMES if x > 0])
def test_a_span_overlaps_itself_whole(end):
    span = np.array([[0.0, end]])
    assert tiou(span, span).tolist() == [[1.0]]


@pytest.mark.parametrize("wide", [x for x in EXTREMES if x > 0])
@pytest.mark.parametrize("high", [x for x in EXTREMES if x > 0])
def test_a_box_overlaps_itself_whole(wide, high):
    box = np.array([[-wide, 0, wide, high]])
    assert box_iou(box, box).tolist() == [[1.0]]
    half = np.array([[-wide, 0, 0, high]])
    assert box_iou(box, half).tolist() == box_iou(half, box).tolist() == [[pytest.approx(0.5)]]
    if wide > 1e-300 and high > 1e-300:
        assert box_iou(box, np.array([[-wide, high / 2, wide, high]])).tolist() == [[pytest.approx(0.5)]]


@given(BOXES, BOXES, st.sampled_from([0, 1]))
def test_no_overlap_of_boxes_warns_or_leaves_its_range(g, p, pixel):
    iou = box_iou(np.array(g), np.array(p), pixel)
    assert ((iou >= 0) & (iou <= 1)).all()
    whole = box_iou(np.array(g), np.array(g), pixel)
    groups = merge_boxes(whole.__getitem__, len(g), 0.7, len(g))
    assert sorted(i for group in groups for i in group) == list(range(len(g)))
    for form in FORMS:
        corners(np.array(g), form, pixel)


def test_scaling_changes_no_digit_of_ordinary_boxes():
    rng = np.random.default_rng(4)
    for pixel in (0, 1):
        g, p = (np.sort(rng.random((40, 2, 2)) * 700, axis=1).reshape(40, 4) for _ in range(2))
        assert scaled_iou(g, p, pixel).tolist() == box_iou(g, p, pixel).tolist()


def test_a_box_beyond_all_pixels_is_named(tmp_path):
    for name, box in (("refs", [1, 1, 5, 5]), ("preds", [0, 0, 1e308, 1e308])):
        line = {"image_id": "i", "boxes": [box], "captions": ["a dog"], "scores": [0.5]}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(InputError, match=r"'i': box 0: \[0, 0, 1e\+308, 1e\+308\] has a number beyond 1e\+100; boxes"):
        fabula.score(tmp_path / "preds.jsonl", tmp_path / "refs.jsonl", task="regions")
