"""Uniform segmentation: equal parts, and the table of Batra et al. (BMVC 2022)."""

import itertools
import math

import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Corpus
from tests.toys import corpus

REFS = corpus({"a": [(0, 5, "x"), (6, 9, "y")], "b": []}, duration=9.5)


def spans(story):
    return [(e.segment.start, e.segment.end) for e in story.events]


def test_a_count():
    cut = fabula.uniform(REFS, count=4)
    assert list(cut) == ["a", "b"]
    assert spans(cut["a"]) == [(0, 2.5), (2.5, 5), (5, 7.5), (7.5, 10)]  # D = ⌈9.5⌉
    assert spans(cut["b"]) == spans(cut["a"])
    assert spans(fabula.uniform(REFS, count=2, whole=False)["a"]) == [(0, 4.75), (4.75, 9.5)]


def test_a_duration():
    assert spans(fabula.uniform(REFS, duration=4)["a"]) == [
        (0, pytest.approx(10 / 3)),
        (pytest.approx(10 / 3), pytest.approx(20 / 3)),
        (pytest.approx(20 / 3), 10),
    ]  # ⌈10/4⌉ = 3 equal parts
    assert spans(fabula.uniform(REFS, duration=100)["a"]) == [(0, 10)]


def test_the_reference_count():
    cut = fabula.uniform(REFS, reference_count=True)
    assert spans(cut["a"]) == [(0, 5), (5, 10)]
    assert spans(cut["b"]) == []


def test_parts_touch_and_end_at_the_end():
    for n in (1, 3, 7, 49):
        parts = spans(fabula.uniform(REFS, count=n)["a"])
        assert parts[0][0] == 0
        assert parts[-1][1] == math.ceil(9.5)
        assert all(a[1] == b[0] for a, b in itertools.pairwise(parts))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "exactly one of"),
        ({"count": 3, "duration": 2.0}, "exactly one of"),
        ({"count": 3, "reference_count": True}, "exactly one of"),
        ({"count": 0}, "at least 1"),
        ({"duration": 0.0}, "positive number"),
        ({"duration": float("nan")}, "positive number"),
        ({"duration": float("inf")}, "positive number"),
    ],
)
def test_refused(options, said):
    with pytest.raises(SpecError, match=said):
        fabula.uniform(REFS, **options)


def test_no_duration():
    with pytest.raises(InputError, match="video 'a': no duration"):
        fabula.uniform(corpus({"a": [(0, 1)]}), count=3)


PAPER = {  # YouCook2 test, P R F × 100
    "8 segments": ({"count": 8}, (29.01, 31.67, 29.46)),
    "mean duration": ({"duration": 19.6257}, (22.50, 43.77, 28.53)),
    "reference count": ({"reference_count": True}, (30.47, 30.47, 30.47)),
}


@pytest.mark.parametrize(("options", "paper"), PAPER.values(), ids=PAPER.keys())
def test_table_of_the_paper(options, paper, shared_data, kernels):
    refs, _ = fabula.read(shared_data / "youcook2_pss" / "yc2_my_test.json")
    assert len(refs) == 180
    scored = fabula.score(fabula.uniform(refs, **options), refs, protocol="pss-2022")["SODA_d"].values
    assert [100 * scored[f] for f in ("precision", "recall", "f1")] == pytest.approx(paper, abs=0.015)


MEASURED = {  # not the paper's: its table used another grid (the formula agrees with the authors' own code)
    "8 segments": ({"count": 8}, 36.93, 42.53),
    "mean duration": ({"duration": 19.6257}, 45.81, 63.95),
    "reference count": ({"reference_count": True}, 35.90, 40.00),
}


@pytest.mark.parametrize(("options", "miou", "mjaccard"), MEASURED.values(), ids=MEASURED.keys())
def test_miou_and_mjaccard(options, miou, mjaccard, shared_data):
    refs, _ = fabula.read(shared_data / "youcook2_pss" / "yc2_my_test.json")
    result = fabula.score(fabula.uniform(refs, **options), refs, protocol="pss-2022")
    assert 100 * result["mIoU"].value == pytest.approx(miou, abs=0.006)
    assert 100 * result["mJaccard"].value == pytest.approx(mjaccard, abs=0.006)


TASTY = {  # P R F × 100, validation and test together
    "10 segments": ({"count": 10}, (35.11, 42.47, 36.82)),
    "6 seconds": ({"duration": 6.0}, (37.83, 44.71, 39.88)),
    "reference count": ({"reference_count": True}, (43.35, 43.35, 43.35)),
}


@pytest.mark.parametrize(("options", "paper"), TASTY.values(), ids=TASTY.keys())
def test_tastys_rows_are_those_of_validation_and_test(options, paper, shared_data):
    files = [shared_data / "tasty" / f"tasty_{split}_anet_format_v2.json" for split in ("val", "test")]
    refs = Corpus({v: story for file in files for v, story in fabula.read(file)[0].items()})
    assert len(refs) == 800
    metric = "SODA_d(refs=single,missing=drop,order=predictions,segments=raw,eps=1e-8)"
    scored = fabula.score(fabula.uniform(refs, **options), refs, metrics=metric, task="procedure")["SODA_d"].values
    assert [100 * scored[f] for f in ("precision", "recall", "f1")] == pytest.approx(paper, abs=0.0075)


def test_averages_of_a_file(tmp_path):
    lengths = {"a": [(0, 4), (5, 7), (8, 9)], "b": [(0, 6), (6, 7)]}
    fabula.write(corpus(lengths, duration=10.0), tmp_path / "train.json", "activitynet")
    fabula.write(corpus({"c": [(0, 1)]}, duration=28.0), tmp_path / "test.json", "activitynet")
    asked = {"kind": "uniform", "refs": tmp_path / "test.json"}
    trained = {**asked, "train": tmp_path / "train.json"}
    assert len(fabula.baseline(**trained, average="count")["c"]) == 3  # 2.5, to the nearest whole
    assert len(fabula.baseline(**trained, average="duration")["c"]) == 10  # ⌈28 / 2.8⌉
    assert len(fabula.baseline(**asked, average="count")["c"]) == 1  # of the references themselves
    with pytest.raises(SpecError, match="--train has no effect without --average"):
        fabula.baseline(**trained, count=3)
    with pytest.raises(SpecError, match="exactly one of"):
        fabula.baseline(**asked, average="count", count=3)
    fabula.write(corpus({"c": []}, duration=28.0), tmp_path / "none.json", "activitynet")
    with pytest.raises(InputError, match="no segments to take the average of"):
        fabula.baseline("uniform", tmp_path / "none.json", average="duration")
