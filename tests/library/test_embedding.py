"""Embedders, small pictures, previews and exports: options on both sides of their bounds, sizes to the pixel."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fabula.core.errors import InputError, SpecError
from fabula.library import pictures
from fabula.library.embedders import base, embedder, onnx_clip, openclip
from fabula.library.embedders.colours import ANCHORS, NAMES
from fabula.library.embedders.colours import Embedder as Colours
from fabula.library.page import export, previews

# what embedders are given


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"size": 0}, "colours: size=0 and resize=32; the square fits into the resized picture, of at most"),
        ({"size": 33}, "size=33 and resize=32"),
        ({"resize": base.LARGEST + 1}, "resize="),
        ({"batch": 0}, "colours: batch=0; it lies between 1 and"),
        ({"threads": 0}, "colours: threads=0"),
        ({"batch": base.LARGEST + 1}, "batch="),
    ],
)
def test_options_that_cannot_be(wrong, told):
    with pytest.raises(SpecError, match=told):
        Colours(**wrong)


def test_options_at_their_ends():
    assert (
        Colours(size=1, resize=1, batch=1).size == 1
        and Colours(resize=base.LARGEST, batch=base.LARGEST).batch == base.LARGEST
    )
    one = Colours()
    assert (one.resize, one.size, one.weights, one.device, one.batch, one.threads, one.dims) == (
        32,
        32,
        None,
        "cpu",
        16,
        1,
        11,
    )
    clip = openclip.Embedder(weights="x")
    assert (clip.resize, clip.size, clip.act) == (224, 224, "gelu") and onnx_clip.Embedder(weights="x").resize == 224
    assert one.recipe() == {
        **{"embedder": "colours", "dims": 11, "weights": {}, "text": "the colour words themselves"},
        **{"rules": [base.RULES, base.DECODING], "resize": 32, "size": 32},
    }
    assert isinstance(embedder("colours(size=16)"), Colours) and embedder("colours(size=16)").size == 16


def test_weights_that_are_not_there(tmp_path):
    with pytest.raises(SpecError, match="openclip needs weights; say --with openclip:PATH"):
        openclip.Embedder().files()
    with pytest.raises(InputError, match="no such file of weights; check the path"):
        openclip.Embedder(weights=str(tmp_path / "x")).files()
    (tmp_path / "w.bin").write_bytes(b"x")
    with pytest.raises(InputError, match=r"the model's tokenizer.json lies beside its weights"):
        openclip.Embedder(weights=str(tmp_path / "w.bin")).files()
    (tmp_path / "tokenizer.json").write_text("{}")
    assert [p.name for p in openclip.Embedder(weights=str(tmp_path / "w.bin")).files()] == ["w.bin", "tokenizer.json"]
    with pytest.raises(SpecError, match="onnx-clip needs a folder; say --with onnx-clip:FOLDER"):
        onnx_clip.Embedder().files()
    with pytest.raises(InputError, match=r"no such folder; it holds visual.onnx, textual.onnx, tokenizer.json"):
        onnx_clip.Embedder(weights=str(tmp_path / "none")).files()
    with pytest.raises(
        InputError, match=r"has no visual.onnx; one of: visual.onnx, vision_model.onnx, image_encoder.onnx"
    ):
        onnx_clip.Embedder(weights=str(tmp_path)).files()
    for name in ("vision_model.onnx", "text_encoder.onnx"):
        (tmp_path / name).write_bytes(b"x")
    found = onnx_clip.Embedder(weights=str(tmp_path)).files()
    assert [p.name for p in found] == ["vision_model.onnx", "text_encoder.onnx", "tokenizer.json"]


def test_tokens_of_a_network():
    session = lambda *shape: SimpleNamespace(get_inputs=lambda: [SimpleNamespace(shape=shape)])  # noqa: E731
    assert onnx_clip.context_of(session(1, 32)) == 32 and onnx_clip.context_of(session("n", "t")) == onnx_clip.CONTEXT
    assert onnx_clip.context_of(session(1, 2)) == onnx_clip.CONTEXT and onnx_clip.context_of(session(1, 3)) == 3
    assert onnx_clip.context_of(session(1, 32, 4)) == onnx_clip.CONTEXT
    ids = np.array([[5, 9, 0], [5, 1, 9]])
    wanted = SimpleNamespace(name="attention_mask", type="tensor(int32)")
    found = onnx_clip.prepare(wanted, ids)
    assert found.tolist() == [[1, 1, 0], [1, 1, 1]] and found.dtype == np.int32
    plain = onnx_clip.prepare(SimpleNamespace(name="ids", type="tensor(int64)"), ids)
    assert plain.tolist() == ids.tolist() and plain.dtype == np.int64


def test_pictures_by_their_colours():
    one = Colours()
    for name, points in ANCHORS.items():
        for point in points:
            square = np.full((1, 4, 4, 3), point, np.uint8)
            assert NAMES[int(one.embed(square)[0].argmax())] == name
    half = np.zeros((1, 2, 2, 3), np.uint8)
    half[:, 0] = (255, 0, 0)
    found = one.embed(half)[0]
    assert found[NAMES.index("red")] == 0.5 == found[NAMES.index("black")] and found.sum() == 1
    assert one.frames([]).shape == (0, 11) == one.texts([]).shape
    many = Colours(batch=2).frames([np.full((40, 50, 3), 255, np.uint8)] * 5)
    assert many.shape == (5, 11) and many[:, NAMES.index("white")].tolist() == [1.0] * 5


def test_words_of_colours():
    found = Colours().embed_texts(["a RED red gray dog", "golden navy dark", "a dog"])
    assert found[0][NAMES.index("red")] == 2 and found[0][NAMES.index("grey")] == 1
    assert [NAMES[i] for i in np.flatnonzero(found[1])] == ["black", "yellow", "blue"] and not found[2].any()


# small pictures


def gradient(height: int, width: int) -> np.ndarray:
    x = np.linspace(0, 255, width)[None, :, None] + np.zeros((height, 1, 3))
    return x.astype(np.uint8)


def test_the_middle_square_of_a_picture():
    square = pictures.cut_square(gradient(10, 20), 10, 6)
    assert square.shape == (6, 6, 3) and square.tolist() == gradient(10, 20)[2:8, 7:13].tolist()
    assert (
        pictures.cut_square(gradient(20, 40), 10, 10).shape
        == (10, 10, 3)
        == pictures.cut_square(gradient(41, 20), 10, 10).shape
    )
    same = gradient(8, 8)
    assert pictures.scale(same, 8, 8) is same and pictures.scale(same, 4, 6).shape == (6, 4, 3)


@pytest.mark.parametrize(
    ("height", "width", "shape"),
    [
        (480, 640, (120, 160, 3)),
        (640, 480, (160, 120, 3)),
        (48, 64, (48, 64, 3)),
        (1, 400, (2, 160, 3)),
        (90, 161, (90, 160, 3)),
    ],
)
def test_sizes_of_small_pictures(height, width, shape):
    raw = pictures.make_jpeg(gradient(height, width))
    found = pictures.read_image(raw)
    assert raw.startswith(b"\xff\xd8\xff") and found.shape == shape
    assert abs(float(found.mean()) - 127) < 6


def test_images_that_cannot_be_read(monkeypatch):
    with pytest.raises(InputError, match=r"no image that can be read .*; JPEG, PNG, WebP"):
        pictures.read_image(b"no picture", "x.jpg")
    monkeypatch.setattr(pictures, "LARGEST", 1 << 20)
    with pytest.raises(InputError, match="an image of 1 MB; at most 1 MB"):
        pictures.read_image(bytes((1 << 20) + 1))
    with pytest.raises(InputError, match="no image that can be read"):
        pictures.read_image(bytes(1 << 20))


def test_pictures_held_sideways():
    frame = lambda rotation: SimpleNamespace(rotation=rotation, to_ndarray=lambda format: gradient(2, 3))  # noqa: E731
    assert pictures.turned(frame(None)).shape == (2, 3, 3) == pictures.turned(frame(180)).shape
    assert pictures.turned(frame(90)).shape == (3, 2, 3) == pictures.turned(frame(-90)).shape
    assert pictures.turned(frame(90)).tolist() == np.rot90(gradient(2, 3), 1).tolist()


# previews and exports


def test_previews_are_made_once_and_the_oldest_go(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        previews, "cut", lambda path, start, end, out: made.append((start, end)) or out.write_bytes(b"x")
    )
    monkeypatch.setattr(previews, "MOST_FILES", 2)
    film = tmp_path / "a.avi"
    film.write_bytes(b"x")
    some = previews.Previews()
    first = some.get(film, 0.0, 100.0)
    assert made == [(0.0, 60.0)] and some.get(film, 0.001, 60.0) == first and len(made) == 1
    second = some.get(film, 5.0, 6.0)
    assert some.get(film, 0.0, 60.0) == first
    third = some.get(film, 7.0, 8.0)
    assert (
        not second.exists()
        and first.exists()
        and third.exists()
        and [p.name for p in (first, second, third)] == ["1.mp4", "2.mp4", "3.mp4"]
    )

    def fail(path, start, end, out):
        out.write_bytes(b"half")
        raise ValueError

    monkeypatch.setattr(previews, "cut", fail)
    with pytest.raises(ValueError):
        some.get(film, 1.0, 2.0)
    assert not (Path(some.folder.name) / "4.mp4").exists() and len(some.files) == 2
    some.folder.cleanup()


def listed(**change) -> dict:
    return {"query": "dog", "video": "key", "start": 1.0, "end": 2.0, "score": 0.5} | change


FILM = SimpleNamespace(video="a/b c.mp4", duration=10.0)
CATALOGUE = SimpleNamespace(find=lambda key: FILM if key == "key" else None, path=lambda video: None)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (3, "moment 1 is 3, no moment"),
        (listed(query=""), "moment 1 has no query of at most 500 characters"),
        (listed(query="x" * 501), "moment 1 has no query"),
        (listed(query=True), "moment 1 has no query"),
        (listed(query=None), "moment 1 has no query"),
        (listed(video="other"), "moment 1 is of a video that the store no longer has; take it off the list"),
        (listed(video=3), "moment 1 is of a video"),
        (listed(start=2.0), "moment 1 lasts from 2.0 to 2.0, which is no stretch of"),
        (listed(start=-0.1), "moment 1 lasts from -0.1"),
        (listed(end=10.51), "moment 1 lasts from 1.0 to 10.51"),
        (listed(end="2"), "moment 1 lasts from 1.0 to '2'"),
        (listed(start=float("nan")), "moment 1 lasts from"),
        (listed(end=True), "moment 1 lasts from"),
    ],
)
def test_moments_that_are_none(row, told):
    with pytest.raises(SpecError, match=told):
        export.read_moments({"moments": [row]}, CATALOGUE)


def test_lists_of_moments():
    (found,) = export.read_moments({"moments": [listed(query=7, start=0, end=10.5, score=None)]}, CATALOGUE)
    assert (found.query, found.video, found.start, found.end, found.score) == (7, FILM, 0.0, 10.5, None)
    for wrong in ([], {}, {"moments": []}, {"moments": "x"}):
        with pytest.raises(SpecError, match="the list is empty; keep a moment first"):
            export.read_moments(wrong, CATALOGUE)
    with pytest.raises(SpecError, match="201 moments; at most 200 are exported at once"):
        export.read_moments({"moments": [listed()] * 201}, CATALOGUE)
    assert len(export.read_moments({"moments": [listed(query="x" * 500)] * 200}, CATALOGUE)) == 200
    with pytest.raises(SpecError, match=r"'a/b c.mp4' is no longer where it was indexed"):
        export.cut_one(found, CATALOGUE, Path("x"))


@pytest.mark.parametrize(
    ("video", "name"),
    [
        ("a/b c.mp4", "b_c"),
        ("été.mp4", "t"),
        ("...mp4", "video"),
        ("x" * 80 + ".mp4", "x" * 60),
        ("a.b-c_d.mkv", "a.b-c_d"),
        ("///", "video"),
    ],
)
def test_names_that_no_system_stumbles_over(video, name):
    assert export.tidy(video) == name


def test_a_submission():
    rows = export.read_moments({"moments": [listed(), listed(start=3.0, end=4.0), listed(query="cat")]}, CATALOGUE)
    lines = [json.loads(line) for line in export.write_submission(rows).splitlines()]
    assert [line["id"] for line in lines] == ["dog", "cat"] and len(lines[0]["windows"]) == 2
