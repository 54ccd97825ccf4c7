"""fabula diagnose and fabula stress as a user types them."""

import json

import pytest

SODA = ("--metric", "SODA_c(text=exact,tok=none)")


def test_diagnose_plain(fabula):
    ran = fabula("diagnose", "preds.json", "--refs", "refs.json", *SODA, "--resamples", 50)
    assert ran.code == 0 and ran.err.splitlines() == [
        "fabula: warning: missed: 2 videos are too few, an interval needs 5; no interval"
    ]
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert lines[0] == ["SODA_c(text=exact,tok=none)", "73.33"]  # (2·2/5 + 2·1/3)/2
    assert lines[3][:5] == ["missed", "2", "2", "100.00", "+26.67"]
    assert ["score =", "count ×", "localisation ×", "captions ×", "order"] in lines
    assert ["73.33", "0.7333", "1.0000", "1.0000", "1.0000"] in lines
    assert "|limits:near=0.1,right=0.5,inside=0.75,words=0.2,matching=greedy|ci:none-0.95-50-seed0" in ran.out


def test_diagnose_json(fabula, tmp_path):
    ran = fabula("diagnose", "preds.json", "--refs", "refs.json", *SODA, "--resamples", 50, "--json", "why.json")
    assert ran.code == 0, ran.err
    seen = json.loads((tmp_path / "why.json").read_text())
    assert seen["repairs"][0]["kind"] == "missed" and seen["repairs"][0]["gain"] == pytest.approx(1 - 11 / 15)
    assert seen["factors"]["product"] == pytest.approx(seen["value"])
    assert {s["attribute"] for s in seen["slices"]["events"]} == {"length", "events", "position", "overlap", "words"}
    assert json.loads(fabula("diagnose", "preds.json", "--refs", "refs.json", *SODA, "--json", "-").out)["limits"]


def test_stress_plain_and_json(fabula, tmp_path):
    ask = ("stress", "ROUGE_L", "SODA_d,mIoU", "--ways", "shift,shuffle", "--resamples", 50)
    ran = fabula(*ask, "--json", "left.json")
    assert ran.code == 0 and "too few stories carry the spread" in ran.err, ran.err
    head, shift, shuffle, _, how = ran.out.splitlines()
    assert head == "ŝ/s\tstories\tROUGE_L\tSODA_d\tmIoU"
    assert shift.split("\t")[2:4] == ["1.00 [0.97, 1.00]", "0.60 [0.58, 0.61]"]
    assert shuffle.split("\t")[3].startswith("1.00 [0.9") and how.startswith("stories:129|copies:3|seed:0")
    assert json.loads((tmp_path / "left.json").read_text())["metrics"]["SODA_d"]["ways"]["shift"]["ratio"] < 0.61


def test_stress_on_a_file(fabula):
    ran = fabula("stress", "SODA_d", "--corpus", "refs.json", "--ways", "truncate,add id", "--resamples", 50)
    assert ran.out.splitlines()[1].startswith("truncate\t2\t")
    assert ran.out.splitlines()[2] == "add id\t0\t"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("diagnose", "preds.json", "--refs", "refs.json", "-m", "SODA_x"), "did you mean"),
        (("diagnose", "preds.json", "--refs", "refs.json", "-m", "DenseCap_mAP"), "does not score stories"),
        (("diagnose", "preds.json", "--refs", "refs.json", "--near", "0.9"), "above right"),
        (("diagnose", "preds.json", "--refs", "nothing.json"), "no such file"),
        (("stress", "SODA_x"), "did you mean"),
        (("stress", "SODA_d", "--ways", "shuffel"), "did you mean 'shuffle'"),
        (("stress", "SODA_d", "--corpus", "nothing.json"), "no such file"),
    ],
)
def test_a_mistake_costs_one_line(fabula, arguments, said):
    ran = fabula(*arguments)
    assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err, ran.err


def test_diagnose_moments(fabula, tmp_path):
    from tests.diagnosis.test_retrieval import ANSWERS, QUERIES
    from tests.moment_toys import tvr_predictions, tvr_queries

    files = tvr_predictions(tmp_path / "p.json", VCMR=ANSWERS), tvr_queries(tmp_path / "q.jsonl", QUERIES)
    ask = ("diagnose", files[0].name, "--refs", files[1].name, "--task", "moments", "--resamples", 50)
    lines = fabula(*ask).out.splitlines()
    assert lines[1].startswith("right (R@1, IoU ≥ 0.5)\t1\t16.67\t") and lines[2].startswith("rank wrong\t2\t33.33\t")
    assert json.loads(fabula(*ask, "--json", "-").out)["faults"]["video"]["queries"] == 2
    ran = fabula(*ask, "--metric", "VCMR")
    assert ran.code == 2 and "--k and --iou" in ran.err
