"""VCMR, SVMR, VR: the vector of the VERIFIED spec, borders, annotators, cuts, suppression."""

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError
from tests.moment_toys import VIDEOS, plain_recalls, random_corpus, tvr_predictions, tvr_queries

SPEC = [[1, 10, 20], [0, 12, 20], [0, 10, 20]]  # the wrong video; IoU 8/10; all of it


def scored(tmp_path, queries, videos=VIDEOS, **options):
    lists = {k: options.pop(k) for k in ("VCMR", "SVMR", "VR") if k in options}
    gt = tvr_queries(tmp_path / "gt.jsonl", queries)
    pred = tvr_predictions(tmp_path / "p.json", videos, **lists)
    if not {"protocol", "metrics"} & set(options):
        options["task"] = "moments"
    return fabula.score(pred, gt, **options)


@pytest.mark.parametrize("options", [{}, {"protocol": "tvr"}], ids=["default", "tvr"])
def test_the_vector_of_the_spec(tmp_path, options, kernels):
    queries = {1: ("kitchen", [10, 20])}
    result = scored(tmp_path, queries, VCMR={1: SPEC}, SVMR={1: SPEC}, VR={1: SPEC}, **options)
    vcmr, svmr, vr = (result[m].values for m in ("VCMR", "SVMR", "VR"))
    assert (vcmr["r1@0.5"], vcmr["r5@0.5"], vcmr["r5@0.7"]) == (0, 1, 1)
    assert svmr["r1@0.7"] == 1
    assert (vr["r1"], vr["r5"]) == (0, 1)
    assert result.counts["queries"] == 1


def test_the_border_counts_and_cmp_can_say_otherwise(tmp_path):
    queries, rows = {1: ("kitchen", [0, 10])}, {1: [[0, 0, 5, 1]]}  # IoU exactly 1/2
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR")["VCMR"].value == 1
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR(cmp=>)")["VCMR"].value == 0


def test_float32_moves_the_border(tmp_path):
    # 10.1 s of 20.2 s from 30.3 s on: in double precision just under half, in single precision half.
    queries, rows = {1: ("kitchen", [30.3, 50.5])}, {1: [[0, 30.3, 40.4, 1]]}
    p, g = np.array([30.3, 40.4]), np.array([30.3, 50.5])
    double = bool((p[1] - p[0]) / (g[1] - g[0]) >= 0.5)
    p, g = p.astype(np.float32), g.astype(np.float32)
    single = bool((p[1] - p[0]) / (g[1] - g[0]) >= np.float32(0.5))
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR")["VCMR"].value == double
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR", protocol="tvr")["VCMR"].value == single
    assert double != single


@pytest.mark.parametrize("seed", range(4))
def test_against_the_plain_evaluator(tmp_path, seed, kernels):
    queries, lists, videos = random_corpus(seed)
    result = scored(tmp_path, queries, videos, **lists, protocol="tvr")
    assert {n: dict(s.values) for n, s in result.scores.items()} == plain_recalls(queries, lists, videos)
    double = scored(tmp_path, queries, videos, **lists, metrics="VCMR,SVMR,VR(repeats=count)")
    assert {n: dict(s.values) for n, s in double.scores.items()} == plain_recalls(queries, lists, videos, float)


def test_two_annotators_must_agree(tmp_path):
    four = [[0, 10], [0, 10], [20, 30], [40, 50]]
    queries = {1: ("kitchen", four), 2: ("kitchen", four), 3: ("kitchen", four[1:])}
    rows = {1: [[0, 0, 10, 1]], 2: [[0, 20, 30, 1]], 3: [[0, 20, 30, 1]]}  # two agree; one of four; any of three
    result = scored(tmp_path, queries, VCMR=rows, metrics="VCMR")
    assert result.rows["VCMR"].by_key("r1@0.5") == {1: 1, 2: 0, 3: 1}
    lone = scored(tmp_path, queries, VCMR=rows, metrics="VCMR(agree=1)")
    assert lone["VCMR"].value == 1


def test_svmr_cuts_before_it_takes_other_videos_out(tmp_path):
    queries = {1: ("kitchen", [0, 10])}
    rows = {1: [[1, 0, 10, 1]] * 3 + [[0, 50, 60, 1], [0, 0, 10, 1]]}
    result = scored(tmp_path, queries, SVMR=rows, metrics="SVMR(k=1/2)")
    assert result["SVMR"].values == {"r1@0.5": 0, "r2@0.5": 1, "r1@0.7": 0, "r2@0.7": 1}
    assert scored(tmp_path, queries, SVMR=rows, metrics="SVMR(k=1/2,top=4)")["SVMR"].values["r2@0.5"] == 0
    assert result.rows["SVMR"]["rank@0.5"].tolist() == [2]


def test_order_by_score(tmp_path):
    queries, rows = {1: ("kitchen", [0, 10])}, {1: [[1, 0, 10, 0.1], [0, 0, 10, 0.9]]}
    result = scored(tmp_path, queries, VCMR=rows, metrics="VCMR")
    assert result["VCMR"].value == 0
    assert any("in another order than their scores" in w for w in result.warnings)
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR(order=score)")["VCMR"].value == 1


def test_vr_counts_a_video_once(tmp_path):
    queries, rows = {1: ("kitchen", [0, 10])}, {1: [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]}
    assert scored(tmp_path, queries, VR=rows, metrics="VR(k=2)")["VR"].values == {"r2": 1}
    assert scored(tmp_path, queries, VR=rows, metrics="VR(k=2,repeats=count)")["VR"].values == {"r2": 0}
    assert scored(tmp_path, queries, VR=rows, metrics="VR(k=2,top=1)")["VR"].values == {"r2": 0}


def test_suppression_makes_room(tmp_path):
    queries = {1: ("kitchen", [20, 30])}
    rows = {1: [[0, 0, 10, 0.9], [0, 0, 9, 0.8], [1, 0, 10, 0.7], [0, 20, 30, 0.6]]}
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR(k=3)")["VCMR"].value == 0
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR(k=3,nms=0.5)")["VCMR"].value == 1
    with pytest.raises(InputError, match="query 1: nms needs scores"):
        scored(tmp_path, queries, VCMR={1: [[0, 0, 1], [0, 0, 2]]}, metrics="VCMR(nms=0.5)")


def test_reloclnets_suppression(tmp_path):
    queries = {1: ("kitchen", [1, 11])}
    rows = {1: [[0, 1, 11, 0.9], [0, 10, 12, 0.8], [0, 9, 20, 0.7]]}
    right = scored(tmp_path, queries, SVMR=rows, metrics="SVMR(nms=0.5)")
    slip = scored(tmp_path, queries, SVMR=rows, protocol="reloclnet", metrics="SVMR(nms=0.5)")
    assert (right["SVMR"].value, slip["SVMR"].value) == (1, 0)  # the slip puts [9, 20] first
    assert "r5@0.5" not in slip["SVMR"].values


@pytest.mark.parametrize(("number", "found"), [(0, 0), (8, 1)])
def test_reloclnets_suppression_computes_with_the_files_numbers(tmp_path, number, found):
    # By end [9, 30] comes first; [0, 9] and [0, 10] overlap by .9, [8, 9] and [8, 10] by .5.
    rows = {1: [[number, 10, 20, 0.9], [number, 9, 30, 0.8]]}
    options = {"videos": {"garden": number}, "protocol": "reloclnet", "metrics": "SVMR(nms=0.5)"}
    assert scored(tmp_path, {1: ("garden", [10, 20])}, SVMR=rows, **options)["SVMR"].values["r10@0.7"] == found


def test_missing_queries(tmp_path):
    queries = {1: ("kitchen", [0, 10]), 2: ("kitchen", [0, 10])}
    rows = {1: [[0, 0, 10, 1]]}
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR")["VCMR"].value == 1 / 2
    assert scored(tmp_path, queries, VCMR=rows, metrics="VCMR(missing=drop)")["VCMR"].value == 1
    with pytest.raises(InputError, match=r"query 2: .*1 of 2 queries have no answer; .*VCMR\(missing=zero\)"):
        scored(tmp_path, queries, VCMR=rows, protocol="tvr")
    allowed = scored(tmp_path, queries, VCMR=rows, protocol="tvr", metrics="VCMR(missing=zero)")
    assert allowed["VCMR"].value == 1 / 2
    assert allowed.counts["missing"] == 1


def test_empty_lists_are_misses(tmp_path):
    queries = {1: ("kitchen", [0, 10]), 2: ("kitchen", [0, 10])}
    lists = {n: {1: [[0, 0, 10, 1]], 2: []} for n in ("VCMR", "SVMR", "VR")}
    result = scored(tmp_path, queries, **lists, protocol="tvr")
    assert [s.value for s in result.scores.values()] == [1 / 2] * 3
    nothing = scored(tmp_path, queries, VCMR={1: [], 2: []}, metrics="VCMR")
    assert set(nothing["VCMR"].values.values()) == {0}


def test_faulty_windows_match_nothing_and_are_named(tmp_path):
    queries = {1: ("kitchen", [0, 10])}
    rows = {1: [[0, 10, 0, 1], [0, 5, 5, 0.9]]}
    result = scored(tmp_path, queries, VCMR=rows, metrics="VCMR")
    assert result["VCMR"].values["r100@0.5"] == 0
    assert any(w.startswith("2 predicted windows are reversed, zero-length or negative") for w in result.warnings)
    with pytest.raises(InputError, match=r"query 1: window 0: a window that is reversed.*\[10, 0\]"):
        scored(tmp_path, queries, VCMR=rows, metrics="VCMR", strict=True)


def test_only_the_lists_that_there_are(tmp_path):
    queries, rows = {1: ("kitchen", [0, 10])}, {1: [[0, 0, 10, 1]]}
    result = scored(tmp_path, queries, VCMR=rows, protocol="tvr")
    assert list(result.scores) == ["VCMR"]
    assert "SVMR is left out: the predictions have no list SVMR" in result.warnings
    with pytest.raises(InputError, match="SVMR: the predictions have no list SVMR; leave the metric out"):
        scored(tmp_path, queries, VCMR=rows, metrics="SVMR")
