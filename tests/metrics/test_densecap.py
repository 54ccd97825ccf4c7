"""DenseCap mAP on images whose value can be redone on paper. Captions here are the METEOR they would get."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fabula import benchmarks, metrics
from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.data.regions import Picture
from fabula.metrics.regions import Pictures

LEFT, RIGHT, FAR = [0, 0, 99, 99], [200, 200, 299, 299], [400, 400, 450, 450]


def refs(*boxes, id="i"):
    return Picture(
        id, np.array(boxes, dtype=float).reshape(-1, 4), tuple(f"r{i}" for i in range(len(boxes))), None, "xyxy"
    )


def dets(*detections, id="i"):
    """(confidence, box, METEOR)"""
    boxes = np.array([box for _, box, _ in detections], dtype=float).reshape(-1, 4)
    words = tuple(str(meteor) for _, _, meteor in detections)
    return Picture(id, boxes, words, np.array([c for c, _, _ in detections], dtype=float), "xyxy")


def judge(candidates, references):
    return [float(c) for c in candidates]


def rows(spec, told, said):
    metric = metrics.metric(spec) if isinstance(spec, str) else spec
    told, said = (p if isinstance(p, list) else [p] for p in (told, said))
    return metric, metric.table(Pictures({p.id: p for p in told}, said, judge))


def fold(spec, told, said):
    metric, table = rows(spec, told, said)
    return metric.fold(table)


def ok(spec, told, said):
    return rows(spec, told, said)[1]["ok"][0].tolist()


A = dets((3, LEFT, 0.3), (2, LEFT, 0.3), (1, RIGHT, 0.12))
B = dets((3, FAR, 0), (2, LEFT, 0.3), (1, RIGHT, 0.3))
TWO = refs(LEFT, RIGHT)


def test_a_second_detection_of_a_box_is_wrong():
    """Hits at places 1 and 3: 51 levels at precision 1, 49 at 2/3; from METEOR .15 on only the first is one."""
    both, first = (51 + 49 * 2 / 3) / 100, 51 / 100
    assert ok("DenseCap_mAP", TWO, A) == [1, 0, 1]
    assert fold("DenseCap_mAP", TWO, A) == pytest.approx({"map": (3 * both + 3 * first) / 6, "detmap": both})
    assert fold("DenseCap_mAP", TWO, A) == pytest.approx({"map": 0.673333, "detmap": 0.836667}, abs=1e-6)
    each = fold("DenseCap_AP", TWO, A)
    assert each["iou0.7_meteor0.1"] == pytest.approx(both) and each["iou0.3_meteor0.15"] == pytest.approx(first)
    assert len(each) == 35 and tuple(each) == metrics.metric("DenseCap_AP").fields


def test_a_stray_box_takes_nothing_and_in_lua_the_last_reference():
    assert ok("DenseCap_mAP", TWO, B) == [0, 1, 1]
    assert fold("DenseCap_mAP", TWO, B) == pytest.approx({"map": 2 / 3, "detmap": 2 / 3})
    assert ok("DenseCap_mAP(stray=last)", TWO, B) == [1, 1, 0]
    assert fold("DenseCap_mAP(stray=last)", TWO, B) == pytest.approx({"map": 0.255, "detmap": 0.255})


@pytest.mark.parametrize(
    ("options", "expected"),
    [("", 0.51), ("levels=101", 51 / 101), ("grid=accumulated", 0.5), ("grid=float32", 0.51), ("grid=arange", 0.51)],
)
def test_half_found_under_each_grid(options, expected):
    found = fold(f"DenseCap_mAP({options})", TWO, dets((1, LEFT, 1)))
    assert found == pytest.approx({"map": expected, "detmap": expected})


@pytest.mark.parametrize(("meteor", "expected"), [(1, 1), (0, 0), (0.05, 1 / 6), (0.25, 5 / 6), (0.26, 1)])
def test_a_caption_must_be_above_a_threshold(meteor, expected):
    found = fold("DenseCap_mAP", refs(LEFT), dets((1, LEFT, meteor)))
    assert found == pytest.approx({"map": expected, "detmap": 1})


def test_a_wrong_caption_does_not_free_the_reference():
    assert fold("DenseCap_mAP", refs(LEFT), dets((2, LEFT, 0), (1, LEFT, 1))) == pytest.approx({"map": 0, "detmap": 1})


def test_a_little_overlap_claims_for_every_threshold_unless_claims_are_judged():
    """The surer box overlaps by 20/180; the other is exact and comes too late, or second of two."""
    said = dets((2, [80, 0, 179, 99], 1), (1, LEFT, 1))
    assert fold("DenseCap_mAP", refs(LEFT), said) == {"map": 0, "detmap": 0}
    assert fold("DenseCap_mAP(claim=threshold)", refs(LEFT), said) == pytest.approx({"map": 1 / 2, "detmap": 1 / 2})


def test_claims_are_judged_threshold_by_threshold():
    """The surer box has IoU 1/2: it is the one at .3, .4, .5; at .6 and .7 the exact one is, at place 2."""
    said = dets((2, [0, 0, 99, 49], 1), (1, LEFT, 1))
    each = fold("DenseCap_AP(claim=threshold,pixel=1)", refs(LEFT), said)
    assert [each[f"iou{o}"] for o in (0.3, 0.4, 0.5, 0.6, 0.7)] == pytest.approx([1, 1, 1, 1 / 2, 1 / 2])


def test_merged_references_count_once_and_take_the_mean_box():
    told = refs(LEFT, [0, 0, 99, 94], RIGHT)
    _, table = rows("DenseCap_mAP(pixel=1)", told, dets((1, [0, 0, 99, 96.5], 1)))
    assert table["references"].tolist() == [2] and table["iou"].tolist() == [[1]]


def test_meteor_is_asked_with_all_captions_of_a_merged_box():
    asked = []

    def listen(candidates, references):
        asked.extend(zip(candidates, references, strict=True))
        return [1.0] * len(candidates)

    metric = metrics.metric("DenseCap_mAP")
    told = refs(LEFT, RIGHT, [0, 0, 99, 94])
    metric.table(Pictures({"i": told}, [dets((3, LEFT, "x"), (2, LEFT, "y"), (1, FAR, "z"))], listen))
    assert asked == [("x", ("r2", "r0"))]  # by their boxes; y comes too late, z is nowhere: no caption can help them
    piped = replace(told, captions=("a ||| b", "c", "d"))
    metrics.metric("DenseCap_mAP(passing=pipe,ties=file)").table(
        Pictures({"i": piped}, [dets((3, LEFT, "x|||  y"))], listen)
    )
    assert asked[1] == ("x y", ("a ", " b", "d"))


def test_images_without_references_or_detections():
    told = [refs(LEFT, id="1"), refs(id="2"), refs(RIGHT, id="3")]
    said = [dets((1, LEFT, 1), id="1"), dets((2, LEFT, 1), id="2")]
    # one of two references found, at place 2: precision 1/2 up to recall .50
    assert fold("DenseCap_mAP", told, said)["map"] == pytest.approx(51 / 100 / 2)
    # without the image that has no detection, one of one
    assert fold("DenseCap_mAP(missing=drop)", told, said)["map"] == pytest.approx(1 / 2)
    assert fold("DenseCap_mAP", told, []) == {"map": 0, "detmap": 0}


def test_equal_scores_count_at_once_or_keep_the_order_of_the_references_file():
    told = [refs(LEFT, id="1"), refs(LEFT, id="2")]
    said = [dets((1, LEFT, 1), id="1"), dets((1, FAR, 1), id="2")]
    for turned in (told, told[::-1]):  # one of two is right, whichever comes first
        assert fold("DenseCap_mAP", turned, said)["map"] == pytest.approx(51 / 100 / 2)
    filed = "DenseCap_mAP(ties=file)"
    assert fold(filed, told, said) == fold(filed, told, said[::-1])
    assert fold(filed, told, said)["map"] == pytest.approx(51 / 100)
    assert fold(filed, told[::-1], said)["map"] == pytest.approx(51 / 100 / 2)


def test_rows_fold_in_shards_and_are_finite():
    told = [refs(LEFT, RIGHT, id=str(i)) for i in range(4)]
    said = [dets(*[(k + i / 9, LEFT if k % 2 else RIGHT, 0.2) for k in range(i)], id=str(i)) for i in range(4)]
    metric, table = rows("DenseCap_mAP", told, said)
    assert table.unit == "image" and table.keys == ("0", "1", "2", "3") and table["score"].shape == (4, 3)
    assert all(np.isfinite(column).all() for column in table.columns.values())
    joined = Rows.of((r for shard in ([2, 0], [3], [1]) for r in table.take(shard).dicts()), unit="image")
    assert metric.fold(joined) == pytest.approx(metric.fold(table))
    assert metric.fold(table.take([0, 1, 2, 3] * 2))["map"] == pytest.approx(metric.fold(table)["map"], abs=0.02)


def test_the_published_evaluators():
    lua, port = (benchmarks.protocol(name).metric("DenseCap_mAP") for name in ("densecap", "densecap-pytorch"))
    assert fold(lua, TWO, B)["map"] == pytest.approx(0.25)  # recall .5 does not reach the level .5000000000000002
    assert fold(port, TWO, B)["map"] == pytest.approx(2 / 3)
    assert fold(port, [TWO, refs(LEFT, id="j")], B)["map"] == pytest.approx(2 / 3)
    one_pixel = refs([5, 5, 5, 5]), dets((1, [5, 5, 5, 5], 1))
    assert fold(lua, *one_pixel)["map"] == 1 and fold(port, *one_pixel)["map"] == 0


def test_options_are_checked():
    for wrong in ("merge=0", "levels=99", "pixel=2", "claim=all"):
        with pytest.raises(SpecError):
            metrics.metric(f"DenseCap_mAP({wrong})")


@pytest.fixture(scope="module")
def plain():
    """The plain evaluator that the benchmark measures against."""
    path = Path(__file__).parents[2] / "bench" / "_plain_densecap.py"
    if not path.exists():
        pytest.skip("bench/ is not here")
    spec = importlib.util.spec_from_file_location("plain_densecap", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Plain


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("pixel", "stray"), [(0, "nothing"), (1, "last")])
def test_random_images_agree_with_the_plain_evaluator(plain, seed, pixel, stray):
    rng = np.random.default_rng(seed)
    told, said = [], []
    theirs = plain(pixel, negative_index=stray == "last", vectorised=bool(seed % 2))
    for i in range(6):
        boxes = rng.integers(0, 40, (int(rng.integers(0, 9)), 4)) + np.array([0, 0, 30, 30])
        near = np.concatenate([boxes + rng.integers(-9, 9, boxes.shape), rng.integers(0, 120, (6, 4))])
        told.append(refs(*boxes.tolist(), id=str(i)))
        said.append(dets(*[(rng.normal(), b, round(rng.random() * 0.4, 2)) for b in near.tolist()], id=str(i)))
        gt, texts = told[-1].boxes.tolist(), told[-1].captions
        theirs.add(said[-1].boxes.tolist(), said[-1].scores.tolist(), said[-1].captions, gt, texts)
    ours = fold(f"DenseCap_mAP(pixel={pixel},stray={stray},ties=file)", told, said)
    assert ours == pytest.approx(theirs.evaluate(judge), abs=1e-12)
    assert 0 < ours["map"] < 1
