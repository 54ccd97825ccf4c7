"""fabula.score: what it chooses, counts, warns of, repairs and refuses."""

import json
import re

import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.metrics import metric
from tests.toys import corpus

REFS = corpus({"v1": [(0, 10, "a"), (20, 30, "b")], "v2": [(0, 10, "c")]}, name="refs.json")
PRED = corpus({"v1": [(0, 10, "a")], "v2": [(0, 10, "x")]}, name="pred.json")


def score(pred=PRED, refs=REFS, metrics="SODA_d", **options):
    return fabula.score(pred, refs, metrics=metrics, **options)


# What is chosen -----------------------------------------------------------------------------------------------------


def test_without_captions_the_task_is_procedure_and_every_metric_of_it_is_shown():
    result = fabula.score(corpus({"v1": [(0, 10)]}), REFS)
    assert result.task == "procedure"
    assert result.protocol == "default"
    assert set(result.scores) >= {"SODA_d", "mIoU", "mJaccard", "PRF", "OrderedPRF"}
    assert not any(name in result.scores for name in ("SODA_a", "SODA_b", "SODA_c"))


def test_with_captions_the_task_is_dense():
    assert score().task == "dense"
    assert score(task="procedure").task == "procedure"


def test_metrics_by_text_list_and_value():
    for asked in ("SODA_d,mIoU(refs=best)", ["SODA_d", "mIoU(refs=best)"], [metric("SODA_d"), "miou(refs=best)"]):
        assert list(score(metrics=asked).scores) == ["SODA_d", "mIoU"]


@pytest.mark.parametrize("asked", ["mIoU,mIoU(refs=best)", "mIoU(refs=best),mIoU"])
def test_two_settings_of_one_metric_go_by_their_specs(asked):
    assert set(score(metrics=asked).scores) == {"mIoU", "mIoU(refs=best)"}
    assert set(score(metrics="PRF@0.3,PRF@0.5").scores) == {"PRF@0.3", "PRF@0.5"}


REFUSED = {
    "the same twice": ({"metrics": "mIoU,miou"}, "the metric mIoU is asked for twice"),
    "no metric": ({"metrics": []}, "no metric is named"),
    "an unknown metric": ({"metrics": "SODA"}, "no metric is called 'SODA'"),
    "an unknown task": ({"task": "sing"}, "no task is called 'sing'"),
    "an unknown protocol": ({"protocol": "soda"}, "no protocol is called 'soda'"),
    "a task that is not the protocol's": (
        {"protocol": "pss-2022", "task": "dense"},
        "is for the task procedure, not dense",
    ),
    "not the protocol's metric": ({"protocol": "pss-2022", "metrics": "PRF"}, "pss-2022 has no metric 'PRF'"),
    "no references": ({"refs": []}, "no references"),
    "an unknown repair": ({"repair": ["glue"]}, "no repair is called 'glue'; there are: swap, clip, drop, keep"),
    "one set wanted, two given": ({"refs": [REFS, REFS], "metrics": "mIoU(refs=single)"}, "takes one reference set, 2"),
}


@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(options, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        score(**options)


# What is counted and warned of --------------------------------------------------------------------------------------


def test_counts():
    refs = [REFS, corpus({"v3": [(0, 1, "z")], "empty": []})]
    pred = corpus({"v1": [(0, 10, "a"), (1, 2, "b")], "stray": [(0, 1, "q")]})
    result = score(pred, refs)
    assert result.counts == {
        "videos": 3,
        "missing": 2,
        "unparsed": 0,
        "unknown": 1,
        "references": 4,
        "predictions": 2,
    }
    assert sorted(result.warnings) == [
        "1 predicted videos are not in the references and are not scored: 'stray'",
        "1 reference videos have no events and are left out: 'empty'",
        "2 reference videos have no prediction (see missing=… in each signature): 'v2', 'v3'",
    ]


def test_a_clean_run_warns_of_nothing():
    result = score()
    assert result.warnings == ()
    assert result["SODA_d"].signature == (
        f"SODA_d(refs=mean,missing=zero,order=time,segments=checked,eps=0)|videos:2|sets:1|missing:0|fabula:{fabula.__version__}"
    )


def test_the_result_is_json():
    document = json.loads(json.dumps(score(metrics="SODA_d,mIoU").to_dict(), allow_nan=False))
    assert document["scores"]["SODA_d"]["f1"] == pytest.approx((2 / 3 + 1) / 2)
    assert document["fabula"] == fabula.__version__


def test_rows_fold_to_the_score():
    result = score(metrics="SODA_d,mIoU")
    for name, rows in result.rows.items():
        assert metric(name).fold(rows) == result[name].values


def test_prefixes_are_reconciled_and_counted():
    pred = corpus({"v_v1": [(0, 10, "a")], "v_v2": [(0, 10, "x")]}, name="pred.json")
    result = score(pred)
    assert result["SODA_d"].value == score()["SODA_d"].value
    assert result.counts["missing"] == result.counts["unknown"] == 0
    assert result.warnings == (
        "2 video ids of pred.json were matched with or without the prefix 'v_' or an ending such as .mp4: "
        "'v_v1', 'v_v2'",
    )


def test_prefixes_the_other_way_and_between_reference_sets():
    prefixed = corpus({"v_v1": [(0, 10, "a"), (20, 30, "b")], "v_v2": [(0, 10, "c")]}, name="v.json")
    result = score(PRED, [prefixed, REFS])
    assert result["SODA_d"].value == score()["SODA_d"].value
    assert result.counts["videos"] == 2
    assert [w[:30] for w in result.warnings] == ["2 video ids of refs.json were ", "2 video ids of pred.json were "]


def test_an_id_that_fits_stays():
    refs = corpus({"x": [(0, 10)], "v_x": [(0, 10)]})
    result = score(corpus({"x": [(0, 10)]}, name="p"), refs)
    assert result.counts["missing"] == 1
    assert not any("prefix" in w for w in result.warnings)


def test_a_prediction_under_both_ids_keeps_its_own():
    pred = corpus({"v_x": [(50, 60)], "x": [(0, 10)]}, name="p")
    for told in (pred, corpus({"x": [(0, 10)], "v_x": [(50, 60)]}, name="p")):
        result = score(told, corpus({"x": [(0, 10)]}))
        assert result["SODA_d"].value == 1
        assert result.counts["unknown"] == 1


def test_ids_that_never_meet():
    with pytest.raises(InputError, match=r"pred\.json: no predicted video is among the references; compare the ids"):
        score(corpus({"other": [(0, 1)]}, name="pred.json"))


def test_no_prediction_at_all_is_zero():
    result = score(corpus({}))
    assert result["SODA_d"].value == 0
    assert result.counts["missing"] == 2
    with pytest.raises(InputError, match="nothing is left to score"):
        score(corpus({}), metrics="SODA_d(missing=drop)")


def test_references_without_events():
    with pytest.raises(InputError, match=r"r\.json: no reference video has an event"):
        score(PRED, corpus({"v1": []}, name="r.json"))


def test_progress_is_told():
    said = []
    score(metrics="SODA_d,mIoU", progress=lambda *state: said.append(state))
    assert said == [("SODA_d", 0, 2), ("SODA_d", 2, 2), ("mIoU", 0, 2), ("mIoU", 2, 2)]


# Malformed segments -------------------------------------------------------------------------------------------------

ODD = corpus({"v1": [(0, 10, "a"), (9, 3, "b"), (5, 5, "c"), (-2, 4, "d")], "v2": [(0, 10, "x")]}, name="pred.json")


def test_malformed_predictions_cost_precision_and_are_named():
    result = score(ODD)
    # v1: S 1 of 4 predictions and 2 references · v2: S 1 of 1
    assert result["SODA_d"].values["precision"] == pytest.approx((1 / 4 + 1) / 2)
    assert result["SODA_d"].values["recall"] == pytest.approx((1 / 2 + 1) / 2)
    assert result.warnings == (
        "3 predicted events are reversed, zero-length or negative and match nothing: "
        "'v1' event 1, 'v1' event 2, 'v1' event 3",
    )


def test_strict_refuses_them():
    with pytest.raises(InputError, match=r"pred.json: video 'v1': event 1: a reversed segment \[9, 3\]; mend the pred"):
        score(ODD, strict=True)


FAULTS = {"reversed": (30, 20), "zero-length": (20, 20), "negative": (-5, 30)}


@pytest.mark.parametrize(("kind", "span"), FAULTS.items())
def test_malformed_references_are_refused(kind, span):
    refs = corpus({"v1": [(0, 10), span]}, name="refs.json")
    with pytest.raises(InputError, match=f"refs.json: video 'v1': event 1: a {kind} segment .*--repair swap"):
        score(refs=refs)


REPAIRED = {  # way, fault → the two references become …, recall of a prediction [0,10] [20,30]
    ("swap", "reversed"): 2 / 2,  # [20, 30]
    ("clip", "negative"): (1 + 10 / 30) / 2,  # [0, 30] beside [0, 10]
    ("drop", "reversed"): 1 / 1,
    ("drop", "zero-length"): 1 / 1,
    ("drop", "negative"): 1 / 1,
    ("keep", "reversed"): 1 / 2,
    ("keep", "zero-length"): 1 / 2,
    ("keep", "negative"): 1 / 2,
}


@pytest.mark.parametrize(("case", "recall"), REPAIRED.items(), ids=[" ".join(c) for c in REPAIRED])
def test_repairs(case, recall):
    way, kind = case
    refs = corpus({"v1": [(0, 10), FAULTS[kind]]}, name="refs.json")
    pred = corpus({"v1": [(0, 10), (20, 30)]})
    for repair in (way, [way], ("swap", "clip", way)):
        result = score(pred, refs, repair=repair)
        if repair in (way, [way]):
            assert result["SODA_d"].values["recall"] == pytest.approx(recall)
            assert result.warnings[0].startswith(f"1 reference events were repaired ({way}: ")
        assert any("repaired" in w and "'v1' event 1" in w for w in result.warnings)


@pytest.mark.parametrize(("way", "kind"), [("swap", "zero-length"), ("clip", "reversed"), ("swap", "negative")])
def test_a_repair_that_does_not_help_is_no_repair(way, kind):
    with pytest.raises(InputError, match=f"a {kind} segment"):
        score(refs=corpus({"v1": [(0, 10), FAULTS[kind]]}), repair=[way])


def test_repairs_are_tried_in_their_order():
    refs = corpus({"v1": [(0, 10), (30, 20), (5, 5)]})
    pred = corpus({"v1": [(0, 10), (20, 30)]})
    both = score(pred, refs, repair=["swap", "drop"])
    assert both["SODA_d"].value == 1
    assert len(both.warnings) == 2
    assert score(pred, refs, repair=["drop", "swap"])["SODA_d"].values["precision"] == 1 / 2


def test_dropping_every_event_of_a_video_leaves_it_out():
    result = score(PRED, corpus({"v1": [(5, 5)], "v2": [(0, 10)]}), repair=["drop"])
    assert result.counts["videos"] == 1
    assert any("have no events" in w for w in result.warnings)


# Captions -----------------------------------------------------------------------------------------------------------


def test_a_caption_metric_needs_captions():
    with pytest.raises(InputError, match="events have no caption"):
        score(corpus({"v1": [(0, 10)]}), metrics="SODA_c(text=exact,tok=none)")


def test_captions_of_videos_nobody_asked_for_are_not_needed():
    pred = corpus({"v1": [(0, 10, "a")], "stray": [(0, 10)]})
    assert score(pred, metrics="SODA_c(text=exact,tok=none)")["SODA_c"].value == pytest.approx((2 / 3 + 0) / 2)


# Files --------------------------------------------------------------------------------------------------------------


def test_files_and_corpora_score_the_same(tmp_path):
    fabula.write(REFS, tmp_path / "refs.json", "activitynet")
    fabula.write(PRED, tmp_path / "pred.json", "submission")
    from_files = fabula.score(tmp_path / "pred.json", str(tmp_path / "refs.json"), metrics="SODA_d,mIoU")
    assert from_files.scores == score(metrics="SODA_d,mIoU").scores
