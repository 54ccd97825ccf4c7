"""Exit code 3, with words, where a score is too low or a system worse; after everything was written."""

import json

import pytest


def test_a_score_that_is_too_low(fabula, tmp_path):
    ran = fabula(
        "score", "preds.json", "-r", "refs.json", "-m", "mIoU", "SODA_d", "--fail-under", "mIoU=.99", "--json", "o.json"
    )
    assert ran.code == 3 and "mIoU\tvalue" in ran.out
    value = json.loads((tmp_path / "o.json").read_text())["scores"]["mIoU"]["value"]
    assert ran.err.endswith(f"fabula: gate: not passed: mIoU is {value:.4f}, below 0.99\n")
    for floors, code in ((["mIoU=.1"], 0), (["mIoU=.1", "SODA_d/recall=1"], 3), (["miou=0.1,SODA_d=.99"], 3)):
        assert (
            fabula("score", "preds.json", "-r", "refs.json", "-m", "mIoU,SODA_d", "--fail-under", *floors).code == code
        )


def test_a_score_that_just_reaches_it_passes(fabula):
    assert fabula("score", "refs.json", "-r", "refs.json", "-m", "mIoU", "--fail-under", "mIoU=1").code == 0


@pytest.mark.parametrize(
    ("floor", "said"),
    [
        ("mIoU", "write METRIC=NUMBER"),
        ("mIoU=x", "write METRIC=NUMBER"),
        ("mIoU=nan", "write METRIC=NUMBER"),
        ("=.5", "write METRIC=NUMBER"),
        ("PRF=.5", "no score is called 'PRF'"),
        ("mIoU/f1=.5", "mIoU has no 'f1'"),
        ("mIoU=27", "scores are fractions, write 0.27"),
    ],
)
def test_a_floor_that_cannot_be_read(fabula, floor, said):
    ran = fabula("score", "preds.json", "-r", "refs.json", "-m", "mIoU", f"--fail-under={floor}")
    assert ran.code == 2 and said in ran.err


def test_a_system_that_is_worse(fabula, tmp_path):
    refs = {f"v{i}": {"timestamps": [[0, 10]], "sentences": ["a"], "duration": 20, "kind": i % 8} for i in range(16)}
    (tmp_path / "many.json").write_text(json.dumps(refs))
    good = {"results": {v: [{"timestamp": [0, 9 + i / 20], "sentence": "a"}] for i, v in enumerate(refs)}}
    poor = {"results": {v: [{"timestamp": [0, 5 + i / 20], "sentence": "a"}] for i, v in enumerate(refs)}}
    for name, document in (("good", good), ("poor", poor)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    words = ("-r", "many.json", "-m", "mIoU", "--fail-if-worse", "--resamples", "2000")
    ran = fabula("compare", "good.json", "poor.json", *words)
    assert ran.code == 3 and "fabula: gate: worse than good (p < 0.05): poor − good = -" in ran.err and ran.out
    assert fabula("compare", "poor.json", "good.json", *words).code == 0
    assert fabula("compare", "poor.json", "good.json", *words, "--cluster", "kind").out.endswith("|clusters:kind:8\n")
    assert fabula("compare", "good.json", "poor.json", "-r", "many.json", "-m", "mIoU", "--resamples", "100").code == 0
    ran = fabula(
        "power", "good.json", "poor.json", "-r", "many.json", "-m", "mIoU", "--difference", ".01", "--json", "-"
    )
    assert json.loads(ran.out)["metrics"]["mIoU"]["videos"] == 16
    assert "videos needed" in fabula("power", "good.json", "poor.json", "-r", "many.json", "-m", "mIoU").out


def test_options_without_effect(fabula):
    ran = fabula("score", "preds.json", "-r", "refs.json", "--cluster", "kind")
    assert ran.code == 2 and "--cluster only applies with --ci" in ran.err


def test_a_floor_in_points_is_refused_before_anything_is_scored(fabula):
    for floor, write in (("SODA_c=27", "0.27"), ("METEOR=8.5", "0.085"), ("CIDEr=59.9", "0.599")):
        ran = fabula("score", "nothing.json", "-r", "refs.json", f"--fail-under={floor}")
        assert ran.code == 2 and f"scores are fractions, write {write}" in ran.err
    assert "no such file" in fabula("score", "nothing.json", "-r", "refs.json", "--fail-under", "CIDEr=2.5").err


def test_a_difference_in_points_is_refused(fabula):
    words = ("power", "preds.json", "refs.json", "-r", "refs.json", "-m", "mIoU", "--difference")
    ran = fabula(*words, "1")
    assert ran.code == 2 and "--difference 1: mIoU is a fraction" in ran.err and "write 0.01 for 1 point of" in ran.err
    assert fabula(*words, ".01").code == 0
