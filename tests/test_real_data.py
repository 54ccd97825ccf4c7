"""The published evaluators' numbers on real files, where these are at hand (../shared/data)."""

import json

import pytest

import fabula


def soda_d(pred, refs, **options):
    values = fabula.score(pred, refs, protocol="soda-2021", metrics="SODA_d", **options)["SODA_d"].values
    return [values[f] for f in ("precision", "recall", "f1")]


@pytest.fixture(scope="module")
def expected(shared_data):
    """Measured with the original evaluators, × 100."""
    return json.loads((shared_data / "EXPECTED.json").read_text())["soda_official_P_R_F"]


@pytest.fixture(scope="module")
def val_1(shared_data):
    return fabula.read(shared_data / "anet_captions" / "val_1.json")[0]


@pytest.fixture(scope="module")
def val_2(shared_data):
    return fabula.read(shared_data / "anet_captions" / "val_2.json")[0]


def test_one_annotator_against_the_other(val_1, val_2, expected, kernels):
    scored = soda_d(val_2, val_1)
    assert scored[2] == pytest.approx(0.430971, abs=1e-6)
    assert [100 * v for v in scored] == pytest.approx(expected["human val_2 as prediction vs val_1"]["d"], abs=6e-5)


def test_a_video_llm_on_youcook2(shared_data, expected, kernels):
    folder = shared_data / "timechat_yc2_dvc"
    scored = soda_d(folder / "pred_anet_format.json", folder / "gt_anet_format.json")
    assert scored == pytest.approx((0.187412, 0.193269, 0.177411), abs=1e-6)
    measured = expected["timechat_yc2 (gt_anet_format/pred_anet_format)"]["d"]
    assert [100 * v for v in scored] == pytest.approx(measured, abs=6e-5)


def test_the_sample_submission(shared_data, val_1, expected):
    scored = soda_d(shared_data / "anet_captions" / "densevid_tiny_sample.json", val_1)
    assert scored[2] == pytest.approx(0.336656, abs=1e-6)
    assert [100 * v for v in scored] == pytest.approx(expected["densevid_tiny_sample vs val_1"]["d"], abs=6e-5)


def test_all_variants_with_meteor(shared_data, val_1, expected):
    folder = shared_data / "timechat_yc2_dvc"
    runs = {
        "timechat_yc2 (gt_anet_format/pred_anet_format)": (
            folder / "pred_anet_format.json",
            folder / "gt_anet_format.json",
        ),
        "densevid_tiny_sample vs val_1": (shared_data / "anet_captions" / "densevid_tiny_sample.json", val_1),
    }
    for name, (pred, gold) in runs.items():
        result = fabula.score(pred, gold, protocol="soda-2021")
        for variant, measured in expected[name].items():
            values = result[f"SODA_{variant}"].values
            scored = [100 * values[f] for f in ("precision", "recall", "f1")]
            assert scored == pytest.approx(measured, abs=6e-5), (name, variant)


def test_a_set_against_itself_is_perfect(val_1):
    # the default adds no ε to the union: what is right is 1, not just short of it
    result = fabula.score(val_1, val_1, metrics="SODA_d,mIoU,PRF,OrderedPRF")
    assert [score.value for score in result.scores.values()] == [1, 1, 1, 1]
    assert result.warnings == ()


def test_both_annotators_three_rules(val_1, val_2):
    values = {
        rule: fabula.score(val_2, [val_1, val_2], metrics=f"SODA_d(refs={rule})")["SODA_d"].value
        for rule in ("mean", "best", "merged")
    }
    assert values["best"] > values["mean"] > values["merged"]
