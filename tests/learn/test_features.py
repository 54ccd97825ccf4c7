"""Feature stores: what goes in comes out, and what cannot be used is named."""

from __future__ import annotations

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.learn.features import Features, resize, write_features

pytest.importorskip("safetensors", reason="feature stores need fabula[learn]")
pytest.importorskip("h5py", reason="feature stores need fabula[learn]")

RNG = np.random.default_rng(0)
VIDEOS = {f"v_{i}": RNG.standard_normal((5 + i, 4)).astype(np.float32) for i in range(3)}


@pytest.mark.parametrize("name", ["store", "store.h5", "store.safetensors"])
def test_round_trip(tmp_path, name):
    assert write_features(tmp_path / name, VIDEOS.items(), {"simulated": True, "durations": {"v_0": 3.5}}) == 3
    store = Features(tmp_path / name)
    assert sorted(store) == sorted(VIDEOS) and len(store) == 3 and store.dim == 4
    for video, array in VIDEOS.items():
        np.testing.assert_array_equal(store[video], array)
        assert store[video].dtype == np.float32
    assert store.metadata == {"simulated": True, "durations": {"v_0": 3.5}}


@pytest.mark.parametrize("name", ["store", "store.h5", "store.safetensors"])
def test_half_floats_are_read_as_single(tmp_path, name):
    write_features(tmp_path / name, [("a", VIDEOS["v_0"].astype(np.float16))], {})
    assert Features(tmp_path / name)["a"].dtype == np.float32


def test_ids_with_and_without_prefix(tmp_path):
    write_features(tmp_path / "store", [("v_a", VIDEOS["v_0"]), ("b", VIDEOS["v_1"])], {})
    store = Features(tmp_path / "store")
    assert "a" in store and "v_b" in store and "c" not in store
    np.testing.assert_array_equal(store["a"], VIDEOS["v_0"])
    np.testing.assert_array_equal(store["v_b"], VIDEOS["v_1"])


def test_nothing_is_overwritten_unless_told(tmp_path):
    for name in ("store", "store.h5", "store.safetensors"):
        write_features(tmp_path / name, VIDEOS.items(), {})
        with pytest.raises(InputError, match="exists already"):
            write_features(tmp_path / name, VIDEOS.items(), {})
        write_features(tmp_path / name, list(VIDEOS.items())[:1], {}, overwrite=True)
        assert "v_0" in Features(tmp_path / name)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((0, 4), np.float32), "length 0"),
        (np.array([[1.0, np.nan]], np.float32), r"nan at frame 0, channel 1 \(1 of 2"),
        (np.array([[np.inf, 1.0]], np.float32), "inf at frame 0, channel 0"),
        (np.zeros(4, np.float32), r"shape \(4,\)"),
        (np.array([["a"]]), "type <U1"),
    ],
)
def test_unusable_features_name_the_video(tmp_path, array, said):
    (tmp_path / "store").mkdir()
    np.save(tmp_path / "store" / "kitchen.npy", array)
    with pytest.raises(InputError, match=said) as error:
        Features(tmp_path / "store")["kitchen"]
    assert "'kitchen'" in str(error.value)


def test_a_missing_video_is_named(tmp_path):
    write_features(tmp_path / "store", VIDEOS.items(), {})
    with pytest.raises(InputError, match="'nowhere': no features of this video"):
        Features(tmp_path / "store")["nowhere"]


def test_channels_must_agree(tmp_path):
    write_features(tmp_path / "store", [("a", np.ones((2, 4))), ("b", np.ones((2, 3)))], {})
    store = Features(tmp_path / "store")
    assert store.dim == 4
    with pytest.raises(InputError, match="'b': features have 3 channels"):
        store["b"]


def test_what_is_no_store(tmp_path):
    with pytest.raises(InputError, match="no such feature store"):
        Features(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no videos"):
        Features(tmp_path / "empty")
    for name, said in [
        ("x.safetensors", "not a safetensors file"),
        ("x.h5", "not an HDF5 file"),
        ("x.txt", "not a fe"),
    ]:
        (tmp_path / name).write_text("no")
        with pytest.raises(InputError, match=said):
            Features(tmp_path / name)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.npy").write_bytes(b"no")
    with pytest.raises(InputError, match="'a': unreadable"):
        Features(tmp_path / "bad")["a"]


def test_resize_by_hand():
    x = np.arange(5, dtype=np.float32)[:, None]
    # 5 → 3: read at 0, 2, 4.   5 → 9: at 0, ½, 1, …: halves go down.   1 → 4: the one frame.
    assert resize(x, 3)[:, 0].tolist() == [0, 2, 4]
    assert resize(x, 9)[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert resize(x[:1], 4)[:, 0].tolist() == [0, 0, 0, 0]
    assert resize(x, 5)[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert resize(x, 1)[:, 0].tolist() == [0]
    with pytest.raises(InputError, match="0 frames"):
        resize(x, 0)


def test_resize_is_scipys_nearest():
    interpolate = pytest.importorskip("scipy.interpolate", reason="the published loader interpolates with scipy")
    for T, frames in [(7, 200), (333, 200), (200, 150), (2, 3)]:
        x = np.arange(T, dtype=np.float32)[:, None]
        at = [i * float(T - 1) / (frames - 1) for i in range(frames)]
        np.testing.assert_array_equal(resize(x, frames), interpolate.interp1d(np.arange(T), x, "nearest", axis=0)(at))
