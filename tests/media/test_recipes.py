"""Recipes of papers around networks of known answers: which frames, how many, what numbers a network is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fabula.core.errors import InputError, SpecError
from fabula.media import extract_one, extractor, rebuild
from fabula.media.stores.features import Features
from tests.media.conftest import grey, write_video

torch = pytest.importorskip("torch", reason="needs fabula[learn]")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.jit


class Ends(torch.nn.Module):
    """Of a clip [N, 3, T, H, W] its mean and, at the corner, its first and last frame."""

    def forward(self, x):
        ends = torch.stack([x[:, :, 0, 0, 0], x[:, :, -1, 0, 0]], 2).flatten(1)
        return {"video_embedding": x.mean([2, 3, 4]), "mixed_5c": ends}


class Clip(torch.nn.Module):
    def forward(self, x):
        return torch.stack([x[:, :, 0, 0, 0], x[:, :, -1, 0, 0]], 2).flatten(1)


class Picture(torch.nn.Module):
    """[N, 3, H, W] → [N, 3, 2, 2]: the mean over space is the recipe's."""

    def forward(self, x):
        return torch.nn.functional.adaptive_avg_pool2d(x, [2, 2])


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder, found = tmp_path_factory.mktemp("networks"), {}
    for net in (Ends(), Clip(), Picture()):
        found[type(net).__name__] = folder / f"{type(net).__name__}.pt"
        torch.jit.script(net).save(str(found[type(net).__name__]))
    return found


def film(path: Path, count: int, fps: int) -> Path:
    """Picture i is grey i."""
    return write_video(path, [grey(i) for i in range(count)], fps=fps)


def test_s3d_sees_sixteen_frames_a_second(files, tmp_path):
    video = film(tmp_path / "v.mkv", 170, 48)  # 3.54 s: the frames at (i + ½)/16 s are pictures 3i + 1, i below 57
    features, duration = extract_one(video, f"s3d:{files['Ends']}")
    assert duration == pytest.approx(170 / 48, abs=1e-3) and features.shape == (4, 3)  # ⌈57/16 − ½⌉
    middle = [3 * np.arange(16 * k, 16 * k + 16).clip(max=56).mean() + 1 for k in range(4)]  # the last frame repeats
    np.testing.assert_allclose(features, np.repeat(np.array(middle)[:, None], 3, 1) / 255, atol=1e-6)
    ends, _ = extract_one(video, f"s3d(output=mixed_5c):{files['Ends']}")
    np.testing.assert_allclose(ends[:, :2] * 255, [[1, 46], [49, 94], [97, 142], [145, 169]], atol=1e-4)
    short, _ = extract_one(film(tmp_path / "w.mkv", 168, 48), f"s3d:{files['Ends']}")
    assert len(short) == 3  # 56 frames: half a clip that is left over counts no more
    with pytest.raises(SpecError, match=r"Ends\.pt has no output 'y'; there are: video_embedding, mixed_5c"):
        extractor(f"s3d(output=y):{files['Ends']}").recipe()


def test_r3d_takes_kinetics_mean_from_pixels(files, tmp_path):
    features, _ = extract_one(film(tmp_path / "v.mkv", 32, 16), f"r3d:{files['Clip']}")
    mean = np.array([114.7748, 107.7354, 99.4750])
    np.testing.assert_allclose(features[:, ::2], [0 - mean, 16 - mean], atol=1e-4)  # the first frames of two clips
    np.testing.assert_allclose(features[:, 1::2], [15 - mean, 31 - mean], atol=1e-4)


def test_tsn_sees_blue_first_every_half_second(files, tmp_path):
    picture = np.full((48, 64, 3), (10, 20, 30), np.uint8)
    pictures = [picture + 40 * i for i in range(4)]  # half a second each
    features, _ = extract_one(write_video(tmp_path / "v.mkv", pictures, fps=2), f"tsn:{files['Picture']}")
    expected = [[30 + 40 * i - 104, 20 + 40 * i - 117, 10 + 40 * i - 123] for i in range(4)]
    np.testing.assert_allclose(features, expected, atol=1e-4)


def test_tsn_flow_sees_six_frames_in_a_row(files, tmp_path):
    features, _ = extract_one(film(tmp_path / "v.mkv", 60, 30), f"tsn_flow:{files['Clip']}")
    firsts = np.array([5, 20, 35, 50])  # in the middle of every 15 frames
    np.testing.assert_allclose(features[:, :2] * 255, np.stack([firsts, firsts + 5], 1), atol=1e-4)


def test_resnet152_keeps_the_greatest_of_every_second(files, tmp_path):
    pictures = [np.full((48, 64, 3), (20 + i, 100, 200 - i), np.uint8) for i in range(12)]  # red grows, blue falls
    video = write_video(tmp_path / "v.mkv", pictures, fps=4)
    features, _ = extract_one(video, f"resnet152:{files['Picture']}")
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    by_hand = [(np.array([23 + 4 * k, 100, 200 - 4 * k]) / 255 - mean) / std for k in range(3)]
    np.testing.assert_allclose(features, by_hand, atol=1e-3)  # a step of grey is .017
    means, _ = extract_one(video, f"resnet152(frames=mean):{files['Picture']}")
    by_hand = [(np.array([21.5 + 4 * k, 100, 198.5 - 4 * k]) / 255 - mean) / std for k in range(3)]
    np.testing.assert_allclose(means, by_hand, atol=1e-3)


def test_recipes_take_onnx_files_too(tmp_path):
    pytest.importorskip("onnxruntime", reason="needs fabula[features]")
    from tests.media.test_extractors import onnx_file

    weight = np.eye(3, dtype=np.float32)
    net = onnx_file(tmp_path / "net.onnx", axes=[None, 3, 224, 224], weight=weight)
    video = film(tmp_path / "v.mkv", 8, 4)
    features, _ = extract_one(video, f"resnet152(mean=0,std=1):{net}")
    np.testing.assert_allclose(features * 255, [[3, 3, 3], [7, 7, 7]], atol=1e-3)
    clips = onnx_file(tmp_path / "clips.onnx", axes=[None, 3, 16, 224, 224], weight=weight)
    with pytest.raises(SpecError, match="has no output 'video_embedding'; there are: y"):
        extractor(f"s3d:{clips}").recipe()
    one = extractor(f"s3d(output=y):{clips}")
    assert one.dim == 3 and one.library == "onnx" and extractor("s3d:net.pt").library == "torch"


def test_a_store_says_by_which_recipe_it_was_made(files, tmp_path):
    from fabula.media.extract import Plan, extract

    folder = tmp_path / "films"
    folder.mkdir()
    film(folder / "v.mkv", 32, 16)
    extract([folder], f"s3d:{files['Ends']}", Plan(out=tmp_path / "s3d.safetensors"))
    store = Features(tmp_path / "s3d.safetensors")
    recipe = dict(store.recipe)
    settings = ("extractor", "fps", "clip", "stride", "resize", "size", "frames", "colours", "output")
    assert [recipe[n] for n in settings] == ["s3d", 16, 16, 16, 224, 224, "clip", "RGB", "video_embedding"]
    again = rebuild(recipe, weights=str(files["Ends"]))
    np.testing.assert_array_equal(extract_one(folder / "v.mkv", again)[0], store["v"])
    with pytest.raises(InputError, match="other weights than the recipe's"):
        rebuild({**recipe, "dim": 6, "output": ""}, weights=str(files["Clip"]))


def test_clip_of_micap_is_openclip_at_five_frames_a_second():
    one, other = extractor("clip_vit_b32:x.bin"), extractor("openclip(fps=5,act=quickgelu):x.bin")
    assert {n: getattr(one, n) for n in one.defaults()} == {n: getattr(other, n) for n in other.defaults()}
