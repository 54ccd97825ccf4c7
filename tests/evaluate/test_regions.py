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


# Boxes of resized images: an image of 1440 × 960 whose longer side became 720, so that its boxes are half as large.
SIZES = [{"image_id": 1, "width": 1440, "height": 960, "url": "x"}, {"image_id": 2, "width": 300, "height": 360}]
HALF = [{**RIGHT[0], "bbox": [0, 0, 50, 50]}, {**RIGHT[1], "bbox": [400, 400, 200, 200]}]  # ÷ 2 and × 2


def test_boxes_are_brought_back_from_a_resized_image(score, tmp_path):
    (tmp_path / "image_data.json").write_text(json.dumps(SIZES))
    assert score(HALF, meteor=1.0)["DenseCap_mAP"].value < 0.5
    options = {"scale": 720, "image_sizes": tmp_path / "image_data.json"}
    result = score(HALF, meteor=1.0, **options)
    assert result["DenseCap_mAP"].values == pytest.approx({"map": 1, "detmap": 1})
    assert "|boxes:xywh|refs_boxes:xywh|scale:720|missing:0" in result["DenseCap_mAP"].signature
    centred = [{**box, "bbox": [x + w / 2, y + h / 2, w, h]} for box in HALF for x, y, w, h in [box["bbox"]]]
    assert score(centred, meteor=1.0, format="coco:xcycwh", **options)["DenseCap_mAP"].value == 1
    cornered = [{**box, "bbox": [x, y, x + w, y + h]} for box in HALF for x, y, w, h in [box["bbox"]]]
    assert score(cornered, meteor=1.0, format="xyxy", protocol="densecap", **options)["DenseCap_mAP"].value == 1
    images = [{"id": s["image_id"], "width": s["width"], "height": s["height"]} for s in SIZES]
    boxes = [{k: v for k, v in box.items() if k != "score"} for box in RIGHT]
    own = score(HALF, {"images": images, "annotations": boxes}, meteor=1.0, scale=720)  # the references know the sizes
    assert own["DenseCap_mAP"].value == 1


def test_grit(score, tmp_path):
    (tmp_path / "image_data.json").write_text(json.dumps({"images": [{**s, "id": s["image_id"]} for s in SIZES]}))
    found = [
        {"category_id": 0, "object_descriptions": box["caption"], "logit": 0.5}
        | {k: v for k, v in box.items() if k != "caption"}
        for box in HALF
    ]
    result = score(found, scale=720, image_sizes=tmp_path / "image_data.json", metrics="DenseCap_mAP", format=None)
    assert result["DenseCap_mAP"].value == 1
    assert fabula.lint(tmp_path / "preds.json").format == "grit:xywh"
    with pytest.raises(InputError, match=r"entry 1 object_descriptions"):
        score([found[0], {**found[1], "object_descriptions": 7}])


def test_scales_that_are_refused(score, tmp_path):
    with pytest.raises(InputError, match=r"image '1': nothing says how large this image is; .*--image-sizes"):
        score(HALF, scale=720)
    with pytest.raises(SpecError, match="--scale 0; it is a number of pixels"):
        score(HALF, scale=0)
    with pytest.raises(SpecError, match="--image-sizes only applies with --scale"):
        score(HALF, image_sizes=tmp_path / "x.json")
    with pytest.raises(SpecError, match="--scale has no effect for task captions"):
        fabula.score(["a dog"], [["a dog"]], task="captions", scale=720)
    sizes = tmp_path / "sizes.json"
    for content, match in (
        ([{"image_id": 1, "width": 3}], "no width and height above 0"),
        ([{"image_id": 1, "width": 3, "height": 0}], "no width and height above 0"),
        ([{"image_id": 1, "width": 3, "height": 4}, {"image_id": 1, "width": 9, "height": 4}], "two sizes"),
        ([], "no image"),
        ([7], "expected an object"),
    ):
        sizes.write_text(json.dumps(content))
        with pytest.raises(InputError, match=match):
            score(HALF, scale=720, image_sizes=sizes)
