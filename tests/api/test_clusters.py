"""Groups of videos that are drawn together, wherever the groups are named; power from predictions and from rows."""

import json
import math

import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from tests.golden.test_golden import DEMO, found

GOOD, POOR, TRUTH = DEMO / "good.json", DEMO / "over_segmenting.json", DEMO / "annotator_1.json"
CI = {"metrics": "mIoU", "ci": True}


@pytest.fixture
def groups():
    ids = list(json.loads(TRUTH.read_text()))
    return {id: f"film {i // 3}" for i, id in enumerate(ids)}


@pytest.fixture
def truth(tmp_path, groups):
    document = json.loads(TRUTH.read_text())
    for id, entry in document.items():
        entry["film"] = groups[id]
    (tmp_path / "truth.json").write_text(json.dumps(document))
    return tmp_path / "truth.json"


def test_a_field_a_file_a_mapping_and_a_pattern_say_the_same(tmp_path, truth, groups):
    a = fabula.score(GOOD, truth, cluster="film", **CI)
    assert a["mIoU"].signature.endswith("|clusters:film:5") and a["mIoU"].short.endswith("|clusters:film:5")
    (tmp_path / "g.json").write_text(json.dumps(groups))
    (tmp_path / "g.csv").write_text("".join(f"{id},{group}\n" for id, group in groups.items()))
    (tmp_path / "g.tsv").write_text("".join(f"{id}\t{group}\n" for id, group in groups.items()))
    for by in (groups, tmp_path / "g.json", tmp_path / "g.csv", str(tmp_path / "g.tsv")):
        assert fabula.score(GOOD, TRUTH, cluster=by, **CI)["mIoU"].ci == a["mIoU"].ci
    assert fabula.score(json.loads(GOOD.read_text()), json.loads(truth.read_text()), cluster="film", **CI)[
        "mIoU"
    ].ci == (a["mIoU"].ci)
    assert any("5 groups are too few for a bootstrap" in line for line in a.warnings)
    letters = {id: id.removeprefix("demo_")[0] for id in groups}
    one, two = (fabula.score(GOOD, TRUTH, cluster=by, **CI) for by in ("/^demo_(.)/", letters))
    assert one["mIoU"].ci == two["mIoU"].ci


def test_numbers_do_not_move_and_groups_of_one_are_videos(groups):
    a, b = fabula.score(GOOD, TRUTH, **CI), fabula.score(GOOD, TRUTH, cluster=groups, **CI)
    assert a["mIoU"].value == b["mIoU"].value and a["mIoU"].ci != b["mIoU"].ci
    alone = fabula.score(GOOD, TRUTH, cluster={id: id for id in groups}, **CI)["mIoU"].ci["value"]
    own = a["mIoU"].ci["value"]
    assert alone[0] <= own[0] and own[1] <= alone[1]  # 15 units: wider, by Student's t


def test_lines_and_coco(tmp_path):
    lines = [json.loads(x) for x in found("inputs/highlights/qvh-all.ref.jsonl").read_text().splitlines()]
    for i, line in enumerate(lines):
        line["channel"] = i % 2
    options = {"metrics": "MR_mAP", "ci": True, "task": "highlights"}
    result = fabula.score(found("inputs/highlights/qvh-all.jsonl"), lines, cluster="channel", **options)
    assert result["MR_mAP"].signature.endswith("clusters:channel:2")
    refs = json.loads(found("inputs/captions/coco-many.ref.json").read_text())
    for entry in refs["annotations"]:
        entry["source"] = entry["image_id"] % 4
    made = fabula.score(found("inputs/captions/coco-many.json"), refs, metrics="BLEU_1", ci=True, cluster="source")
    assert made["BLEU_1"].signature.endswith("clusters:source:4")


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("film", "no entry of the references has such a field"),
        ("/x(/", "is no pattern"),
        ("/nobody/", "no group"),
        ("/demo/", "all videos are in one group"),
        ({}, "no group"),
        ({"demo_bread": {1}}, "a group that is"),
    ],
)
def test_groups_that_cannot_be(by, said):
    with pytest.raises((SpecError, InputError), match=said):
        fabula.score(GOOD, TRUTH, cluster=by, **CI)


def test_an_entry_without_a_group_is_named(truth):
    document = json.loads(truth.read_text())
    del document["demo_bread"]["film"]
    with pytest.raises(InputError, match=r"'demo_bread': no group \(its entry has no field 'film'\)"):
        fabula.score(GOOD, document, cluster="film", **CI)
    with pytest.raises(SpecError, match="--cluster only applies with --ci"):
        fabula.score(GOOD, truth, cluster="film")


def test_compare_draws_and_exchanges_groups(groups):
    both = {"good": GOOD, "poor": POOR}
    a = fabula.compare(both, TRUTH, metrics="SODA_d", cluster=groups, resamples=500)
    assert a.how.endswith("|clusters:given:5") and a.testing.level == 0.95
    duel = a["SODA_d"].duels[0]
    assert duel.p == 2 / 2**5, "all 32 exchanges of 5 groups, exactly"
    assert duel.delta == fabula.compare(both, TRUTH, metrics="SODA_d", resamples=500)["SODA_d"].duels[0].delta


def test_power_from_predictions_from_rows_and_from_a_pilot(tmp_path, groups):
    from fabula.documents.rows import write_rows

    a = fabula.power([GOOD, POOR], TRUTH, metrics="mIoU", difference=0.01)
    files = []
    for name, path in (("a", GOOD), ("b", POOR)):
        result = fabula.score(path, TRUTH, metrics="mIoU")
        for ending in ("jsonl", "csv"):
            write_rows(result.rows, tmp_path / f"{name}.{ending}")
        files.append(tmp_path / f"{name}.jsonl")
    for some in (files, [f.with_suffix(".csv") for f in files]):
        b = fabula.power(some, metrics="mIoU", difference=0.01)
        assert b["mIoU"].sigma == pytest.approx(a["mIoU"].sigma) and b["mIoU"].needed(0.01) == a["mIoU"].needed(0.01)
    assert a["mIoU"].videos == 15 and a.to_dict()["metrics"]["mIoU"]["needed"] == a["mIoU"].needed(0.01)
    observed = fabula.power([GOOD, POOR], TRUTH, metrics="mIoU")
    assert observed.difference(observed["mIoU"]) == pytest.approx(a["mIoU"].observed)
    alone = fabula.power(GOOD, TRUTH, metrics="mIoU", difference=0.01, correlation=0.5)
    spread = fabula.score(GOOD, TRUTH, metrics="mIoU").to_pandas(rows=True)["mIoU"].std()
    assert alone["mIoU"].sigma == pytest.approx(spread * math.sqrt(2 * 0.5))
    grouped = fabula.power([GOOD, POOR], TRUTH, metrics="mIoU", difference=0.01, cluster=groups)
    assert grouped.unit == "groups" and grouped["mIoU"].videos == 5


@pytest.mark.parametrize(
    ("systems", "options", "said"),
    [
        ([GOOD], {"difference": 0.1}, "add --correlation"),
        ([GOOD], {"correlation": 0.5}, "say which: --difference"),
        ([GOOD, POOR], {"correlation": 0.5}, "--correlation applies to one system"),
        ([GOOD] * 3, {}, "3 systems"),
        ([GOOD, POOR], {"power": 1.0}, "--power 1"),
        ([GOOD], {"difference": 0.1, "correlation": 1.0}, "--correlation 1"),
    ],
)
def test_power_that_cannot_be_said(systems, options, said):
    with pytest.raises(SpecError, match=said):
        fabula.power(systems, TRUTH, metrics="mIoU", **options)
