"""fabula score for dense image captions, from files."""

import json

import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.metrics.regions import base as engine

VG = [
    {"id": 1, "regions": [{"x": 0, "y": 0, "width": 100, "height": 100, "phrase": "a brown dog"}]},
    {"id": 2, "regions": [{"x": 200, "y": 200, "width": 100, "height": 100, "phrase": "a red car"}]},
]
RIGHT = [
    {"image_id": 1, "bbox": [0, 0, 100, 100], "caption": "a brown dog", "score": 0.9},
    {"image_id": 2, "bbox": [200, 200, 100, 100], "caption": "a red car", "score": 0.8},
]


@pytest.fixture
def score(tmp_path, monkeypatch):
    def run(predictions, refs=VG, meteor=None, **options):
        if meteor is not None:
            monkeypatch.setattr(engine, "meteors", lambda candidates, references: [meteor] * len(candidates))
        for name, document in {"preds.json": predictions, "refs.json": refs}.items():
            (tmp_path / name).write_text(json.dumps(document))
        options = {"task": "regions", **options} if "protocol" not in options else options
        return fabula.score(tmp_path / "preds.json", tmp_path / "refs.json", **options)

    return run


@pytest.mark.parametrize("options", [{}, {"protocol": "densecap"}, {"protocol": "densecap-pytorch"}])
def test_a_perfect_answer(score, options):
    result = score(RIGHT, meteor=1.0, **options)
    assert result["DenseCap_mAP"].values == pytest.approx({"map": 1, "detmap": 1})
    assert result.counts == {
        "images": 2, "missing": 0, "unparsed": 0, "unknown": 0, "references": 2, "predictions": 2,
    }  # fmt: skip
    assert result.warnings == () and "images:2|boxes:xywh|refs_boxes:xywh|missing:0" in result["DenseCap_mAP"].signature


def test_with_the_real_meteor(score):
    """The words of the second box have nothing in common with the reference: one hit of two."""
    half = [RIGHT[0], {**RIGHT[1], "caption": "quiet"}]
    assert score(half)["DenseCap_mAP"].values == pytest.approx({"map": 0.51, "detmap": 1})


def test_ids_meet_without_folder_and_ending(score):
    results = [
        {"img_name": f"images/{p['image_id']}.jpg", "boxes": [p["bbox"]], "scores": [1], "captions": ["x"]}
        for p in RIGHT
    ]
    result = score({"results": results}, meteor=1.0)
    assert result["DenseCap_mAP"].value == pytest.approx(1) and "2 images were met by file name" in result.warnings[0]
    results.append({**results[0], "img_name": "1"})
    with pytest.raises(InputError, match=r"'images/1\.jpg' and '1' both mean the reference image '1'"):
        score({"results": results}, meteor=1.0)


def test_missing_and_unknown_images_are_counted(score):
    result = score([RIGHT[0], {**RIGHT[1], "image_id": 7}], meteor=1.0)
    assert result["DenseCap_mAP"].value == pytest.approx(51 / 100)
    assert (result.counts["missing"], result.counts["unknown"], result.counts["predictions"]) == (1, 1, 1)
    assert len(result.warnings) == 2
    port = score([RIGHT[0]], meteor=1.0, protocol="densecap-pytorch")
    assert port["DenseCap_mAP"].value == 1 and "missing:1" in port["DenseCap_mAP"].signature
    with pytest.raises(InputError, match="compare the ids: predictions have '7', references '1'"):
        score([{**RIGHT[1], "image_id": 7}])


def test_nothing_predicted_is_0(score):
    assert score({"results": []})["DenseCap_mAP"].values == {"map": 0, "detmap": 0}


def test_several_metrics_share_their_records(score, monkeypatch):
    passes = []
    monkeypatch.setattr(engine, "meteors", lambda candidates, references: passes.append(1) or [0.07] * len(candidates))
    result = score(RIGHT, metrics="DenseCap_mAP,DenseCap_AP,DenseCap_mAP(levels=101)")
    assert len(passes) == 1 and len(result.scores) == 3
    assert (
        result["DenseCap_AP"].values["iou0.5_meteor0.05"] == 1 and result["DenseCap_AP"].values["iou0.5_meteor0.1"] == 0
    )
    assert result["DenseCap_mAP"].value == pytest.approx(2 / 6)


def test_a_form_that_is_declared(score):
    corners = [
        {**p, "bbox": [*p["bbox"][:2], *(a + b for a, b in zip(p["bbox"], p["bbox"][2:], strict=False))]} for p in RIGHT
    ]
    assert score(corners, meteor=1.0, format="coco:xyxy")["DenseCap_mAP"].value == pytest.approx(1)
    assert "boxes:xyxy|refs_boxes:xywh" in score(corners, meteor=1.0, format="xyxy")["DenseCap_mAP"].signature


def test_what_cannot_be_scored_is_said(score, tmp_path):
    with pytest.raises(InputError, match=r"refs\.json: no reference image has a box"):
        score(RIGHT, refs=[{"id": 1, "regions": []}])
    with pytest.raises(SpecError, match="not a metric of the task regions"):
        score(RIGHT, metrics="CIDEr")
    with pytest.raises(SpecError, match="no references"):
        fabula.score(tmp_path / "preds.json", task="regions")


def test_visual_genome_against_itself(shared_data, tmp_path, monkeypatch):
    """15 images; every reference predicted with its own box. Merged ones are found once, the rest come too late."""
    monkeypatch.setattr(
        engine,
        "meteors",
        lambda candidates, references: [float(c in r) for c, r in zip(candidates, references, strict=True)],
    )
    path = shared_data / "vg_regions" / "region_graphs.json"
    sides = ("x", "y", "width", "height")
    said = [
        {"image_id": image["image_id"], "bbox": [r[s] for s in sides], "caption": r["phrase"], "score": -r["region_id"]}
        for image in json.loads(path.read_text())
        for r in image["regions"]
    ]
    (tmp_path / "preds.json").write_text(json.dumps(said))
    result = fabula.score(tmp_path / "preds.json", path, task="regions", repair=["drop"])
    rows = result.rows["DenseCap_mAP"]
    assert result.counts["images"] == 15 and rows["references"].sum() < rows["detections"].sum()
    assert 0.5 < result["DenseCap_mAP"].values["map"] <= result["DenseCap_mAP"].values["detmap"] < 1


def test_a_real_densecap_file_is_read(shared_data):
    from fabula.core.notes import Notes
    from fabula.io.regions import Predictions

    notes = Notes()
    pictures = list(Predictions(shared_data / "vg_regions" / "densecap_torch_example_output.json", None, notes))
    assert len(pictures) == 34 and pictures[0].id == "imageMS_298.jpg" and len(pictures[0]) == 85
    assert notes.lines() == []
