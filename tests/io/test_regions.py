"""Readers of regions: what they keep, what they refuse by name, and what they say about boxes in the wrong form."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.core.notes import Notes
from fabula.io.regions import Predictions, read_references
from tests.io.test_fuzz import broken, changed, odd, places

VG = [
    {"id": 1, "regions": [{"region_id": 7, "x": 1, "y": 2, "width": 30, "height": 40, "phrase": "a dog"}]},
    {"id": 2, "width": 100, "height": 80, "regions": []},
]
DENSECAP = {
    "opt": {"max_images": 2},
    "results": [{"img_name": "1.jpg", "boxes": [[1, 2, 30, 40]], "scores": [2.5], "captions": ["a dog"]}],
}
RESULTS = [
    {"image_id": 1, "bbox": [1, 2, 30, 40], "caption": "a dog", "score": 0.5},
    {"image_id": 2, "bbox": [5, 6, 7, 8], "caption": "a cat", "score": 0.25},
    {"image_id": 1, "bbox": [0, 0, 10, 10], "caption": "", "score": 0.75},
]
ANNOTATIONS = {
    "info": {"year": 2026},
    "annotations": [{"image_id": 1, "id": 9, "bbox": [1, 2, 30, 40], "caption": "a dog"}],
    "images": [{"id": 1, "width": 100, "height": 80}, {"id": 2, "width": 50, "height": 50}],
}
LINE = {"image_id": "x", "boxes": [[1, 2, 30, 40]], "captions": ["a dog"], "scores": [1]}


@pytest.fixture
def file(tmp_path):
    def write(document, name="x.json"):
        text = json.dumps(document) if not name.endswith("l") else "".join(json.dumps(d) + "\n" for d in document)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def told(path, notes=None, **options):
    return read_references([path], notes or Notes(), **options)[0]


def said(path, notes=None, format=None):
    return list(Predictions(path, format, notes or Notes()))


def test_visual_genome(file):
    found = told(file(VG))
    assert list(found) == ["1", "2"] and found["1"].captions == ("a dog",)
    assert found["1"].corners().tolist() == [[1, 2, 31, 42]] and found["1"].scores is None
    assert found["2"].size == (100, 80) and len(found["2"]) == 0
    assert list(told(file(VG[0]))) == ["1"]
    assert list(told(file([{**VG[0], "image_id": 5}]))) == ["5"]


def test_densecap_results(file):
    (picture,) = said(file(DENSECAP))
    assert picture.id == "1.jpg" and picture.scores.tolist() == [2.5] and picture.corners().tolist() == [[1, 2, 31, 42]]
    (picture,) = said(file(DENSECAP), format="densecap:xcycwh")
    assert picture.corners().tolist() == [[-14, -18, 16, 22]]


def test_coco_boxes(file):
    one, two = said(file(RESULTS))
    assert one.id == "1" and one.captions == ("a dog", "") and one.scores.tolist() == [0.5, 0.75]
    assert two.boxes.tolist() == [[5, 6, 7, 8]]
    found = told(file(ANNOTATIONS))
    assert found["1"].size == (100, 80) and found["1"].captions == ("a dog",) and len(found["2"]) == 0
    for format in ("coco:xyxy", "xyxy"):
        assert said(file(RESULTS[:1]), format=format)[0].corners().tolist() == [[1, 2, 30, 40]]


def test_lines_are_either(file):
    path = file([LINE, {**LINE, "image_id": "y", "width": 9, "height": 9}], "x.jsonl")
    assert [p.id for p in said(path)] == ["x", "y"] and told(path)["y"].size == (9, 9)


def test_predictions_are_read_anew_and_remarked_on_once(file):
    notes = Notes()
    predictions = Predictions(file([{**RESULTS[0], "bbox": [30, 2, 1, 40]}]), "xyxy", notes)
    assert len(list(predictions)) == len(list(predictions)) == 1
    assert notes.lines() == [
        "1 predicted boxes, as xyxy, are turned round or have no size and overlap nothing; are they xywh?: '1' box 0"
    ]


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ([{**RESULTS[0], "bbox": [1, 2, 3]}], ["image '1'", "entry 0 bbox", "saw 3"]),
        ([{**RESULTS[0], "bbox": [1, 2, 3, "4"]}], ["entry 0 bbox[3]", "the string '4'"]),
        ([{**RESULTS[0], "bbox": [1, 2, 3, True]}], ["entry 0 bbox[3]", "true"]),
        ([{**RESULTS[0], "bbox": [1, 2, 3, float("nan")]}], ["bbox[3]", "finite"]),
        ([{**RESULTS[0], "bbox": [1, 2, 3, 10**400]}], ["bbox[3]", "finite"]),
        ([{**RESULTS[0], "bbox": None}], ["entry 0 bbox", "null"]),
        ([{**RESULTS[0], "score": None}], ["entry 0 score", "null"]),
        ([{k: v for k, v in RESULTS[0].items() if k != "score"}], ["entry 0", "'score' is missing"]),
        ([{**RESULTS[0], "caption": 3}], ["entry 0 caption", "the number 3"]),
        ([{**RESULTS[0], "image_id": 1.5}], ["entry 0 image_id", "an id"]),
        ([RESULTS[0], 3], ["entry 1", "an object"]),
        ({"results": [{**DENSECAP["results"][0], "scores": []}]}, ["image '1.jpg'", "1 boxes, but 0 scores"]),
        ({"results": [{**DENSECAP["results"][0], "captions": "x"}]}, ["captions", "expected a list"]),
        ({"results": [{**DENSECAP["results"][0], "boxes": [[1, 2, 3, float("inf")]]}]}, ["boxes[0][3]", "finite"]),
        ({"results": DENSECAP["results"] * 2}, ["image '1.jpg'", "stands twice"]),
        ({"results": [{"boxes": []}]}, ["results[0]", "'img_name' is missing"]),
    ],
)
def test_bad_predictions_are_named(file, document, parts):
    with pytest.raises(InputError) as caught:
        said(file(document))
    for part in ("x.json", *parts):
        assert part in str(caught.value)


def test_scores_are_wanted_in_predictions(file):
    bare = {k: v for k, v in LINE.items() if k != "scores"}
    with pytest.raises(InputError, match="image 'x': scores: no scores"):
        said(file([bare], "x.jsonl"))
    with pytest.raises(SpecError, match="holds references"):
        said(file(VG))


@pytest.mark.parametrize(
    ("format", "said_of_it"),
    [("coco:", "nothing follows"), ("vg:xyxy", "xywh, not 'xyxy'"), ("coko", "did you mean"), ("coco:yxyx", "yxyx")],
)
def test_wrong_forms(file, format, said_of_it):
    with pytest.raises(SpecError, match=said_of_it):
        said(file(RESULTS), format=format)


def test_unknown_shapes(file):
    with pytest.raises(InputError, match="an object with 'a': no known format of regions"):
        told(file({"a": 1}))
    with pytest.raises(InputError, match="no known format of regions"):
        told(file([{"image_id": 1, "caption": "a"}]))


@pytest.mark.parametrize(
    ("repair", "boxes"),
    [("drop", [[0, 0, 5, 5]]), ("keep", [[9, 0, 1, 4], [0, 0, 5, 5]]), ("swap", [[1, 0, 9, 4], [0, 0, 5, 5]])],
)
def test_reference_boxes_without_size_need_a_repair(file, repair, boxes):
    path = file([{"image_id": 1, "boxes": [[9, 0, 1, 4], [0, 0, 5, 5]], "captions": ["a", "b"]}], "x.jsonl")
    with pytest.raises(InputError, match=r"image '1': region 0: \[9, 0, 1, 4\] as xyxy is turned round.*--repair"):
        told(path, format="xyxy")
    notes = Notes()
    assert told(path, notes, format="xyxy", repair=[repair])["1"].boxes.tolist() == boxes
    assert notes.lines() == [f"1 reference boxes without size: {repair}: '1' region 0"]
    with pytest.raises(SpecError, match="no repair of boxes"):
        told(path, repair=["clip"])


def boxes_of(form, n=50):
    rng = np.random.default_rng(0)
    x, y, w, h = rng.uniform(0, 400, n), rng.uniform(0, 300, n), rng.uniform(5, 200, n), rng.uniform(5, 150, n)
    made = {"xywh": (x, y, w, h), "xyxy": (x, y, x + w, y + h), "xcycwh": (x + w / 2, y + h / 2, w, h)}[form]
    return np.stack(made, axis=1).tolist()


@pytest.mark.parametrize("size", [{}, {"width": 600, "height": 450}])
@pytest.mark.parametrize("really", ["xywh", "xyxy", "xcycwh"])
def test_the_right_form_is_not_remarked_on(file, really, size):
    entry = {"image_id": 1, "boxes": boxes_of(really), "captions": [""] * 50, "scores": [0] * 50, **size}
    notes = Notes()
    said(file([entry], "x.jsonl"), notes, really)
    assert notes.lines() == []


@pytest.mark.parametrize(
    ("really", "declared", "size", "remark"),
    [
        ("xyxy", "xywh", {}, "as in xyxy; they were read as xywh"),
        ("xywh", "xyxy", {}, "turned round or have no size and overlap nothing; are they xywh?"),
        ("xywh", "xcycwh", {}, "are they xywh?"),
        (
            "xyxy",
            "xywh",
            {"width": 600, "height": 450},
            "reach out of their image or are turned round; as xyxy, 0 would",
        ),
        ("xcycwh", "xywh", {"width": 600, "height": 450}, "reach out of their image"),
    ],
)
def test_numbers_that_speak_against_the_form_are_remarked_on(file, really, declared, size, remark):
    entry = {"image_id": 1, "boxes": boxes_of(really), "captions": [""] * 50, "scores": [0] * 50, **size}
    notes = Notes()
    said(file([entry], "x.jsonl"), notes, declared)
    assert any(remark in line for line in notes.lines()), notes.lines()


DOCUMENTS = {"vg": VG, "densecap": DENSECAP, "results": RESULTS, "annotations": ANNOTATIONS}


def read_all(path):
    for read in (told, said):
        try:
            read(path)
        except FabulaError as error:
            assert "\n" not in str(error)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(sorted(DOCUMENTS)))
def test_mangled_documents_raise_nothing_else(tmp_path, data, name):
    document = DOCUMENTS[name]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(document)))
        document = changed(document, path, data.draw(st.sampled_from(["replace", "remove", "rename"])), data.draw(odd))
    (tmp_path / "x.json").write_text(json.dumps(document))
    read_all(tmp_path / "x.json")


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(sorted(DOCUMENTS)))
def test_broken_bytes_raise_nothing_else(tmp_path, data, name):
    (tmp_path / "x.json").write_bytes(data.draw(broken(json.dumps(DOCUMENTS[name]).encode())))
    read_all(tmp_path / "x.json")


def test_an_empty_file_is_called_empty(tmp_path):
    (tmp_path / "boxes.jsonl").write_text("\n")
    with pytest.raises(InputError, match="the file is empty"):
        read_references([tmp_path / "boxes.jsonl"], Notes())
