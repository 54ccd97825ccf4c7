"""Feature stores: what goes in comes out, and what cannot be used is named."""

from __future__ import annotations

import multiprocessing
import pickle
import sys

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.media.stores.features import Features, must_match, resize, write_features

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


# ── other people's files ────────────────────────────────────────────────────────────────────────────────────────────


def numbers(*shape: int, at: int = 0) -> np.ndarray:
    return np.arange(at, at + np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("ends", [("_resnet", "_bn"), ("_rgb", "_flow")])
def test_pdvcs_pairs_of_files(tmp_path, ends):
    """TSN as PDVC's users have it: ID_resnet.npy and ID_bn.npy, in this order."""
    for i, end in enumerate(ends):
        np.save(tmp_path / f"v_a{end}.npy", numbers(5, 4, at=100 * i))
        np.save(tmp_path / f"v_b{end}.npy", numbers(7, 4, at=1000 + 100 * i))
    store = Features(tmp_path)
    assert list(store) == ["v_a", "v_b"] and store.dim == 8 and "a" in store
    np.testing.assert_array_equal(store["a"], np.concatenate([numbers(5, 4), numbers(5, 4, at=100)], 1))
    (tmp_path / f"v_b{ends[1]}.npy").unlink()
    with pytest.raises(InputError, match="'v_b': unreadable features"):
        Features(tmp_path)["v_b"]


def test_one_of_several_files_by_its_pattern(tmp_path):
    """BMT's example: three files of a video, of which vggish has another length."""
    for end, frames in {"rgb": 6, "flow": 6, "vggish": 4}.items():
        np.save(tmp_path / f"jump_{end}.npy", numbers(frames, 2))
    with pytest.raises(InputError, match=r"ID_rgb\.npy, ID_flow\.npy, ID_vggish\.npy; say which are meant, as '"):
        Features(tmp_path)
    one = Features(f"{tmp_path}/{{id}}_vggish.npy")
    assert list(one) == ["jump"] and one["jump"].shape == (4, 2)
    both = Features(f"{tmp_path}/{{id}}_rgb.npy,{tmp_path}/{{id}}_vggish.npy")
    assert both["jump"].shape == (6, 4) and both.dim == 4
    with pytest.raises(InputError, match="has no videos"):
        Features(f"{tmp_path}/{{id}}_c3d.npy")


def test_nested_hdf5(tmp_path):
    """ActivityNet's C3D: a group per video, c3d_features in it; others hold rgb and flow."""
    import h5py

    with h5py.File(tmp_path / "c3d.h5", "w") as file:
        file.create_group("v_a")["c3d_features"] = numbers(5, 3)
        file.create_group("v_b")["c3d_features"] = numbers(2, 3)
    store = Features(tmp_path / "c3d.h5")
    assert list(store) == ["v_a", "v_b"] and store.dim == 3
    np.testing.assert_array_equal(store["b"], numbers(2, 3))
    with h5py.File(tmp_path / "two.h5", "w") as file:
        group = file.create_group("v_a")
        group["flow"], group["rgb"] = numbers(5, 3, at=50), numbers(5, 3)
    np.testing.assert_array_equal(Features(tmp_path / "two.h5")["a"][0], [0, 1, 2, 50, 51, 52])
    np.testing.assert_array_equal(Features(f"{tmp_path}/two.h5/{{id}}/flow")["a"], numbers(5, 3, at=50))
    with pytest.raises(InputError, match="it is not there"):
        Features(f"{tmp_path}/two.h5/{{id}}/sound")["a"]


def test_stores_side_by_side(tmp_path):
    write_features(tmp_path / "a.h5", [("v_x", numbers(4, 2)), ("v_y", numbers(3, 2))], {"durations": {"v_x": 8.0}})
    write_features(tmp_path / "b.safetensors", [("x", numbers(2, 3)), ("z", numbers(3, 3))], {"durations": {"x": 7.0}})
    for given in ([tmp_path / "a.h5", tmp_path / "b.safetensors"], f"{tmp_path}/a.h5,{tmp_path}/b.safetensors"):
        store = Features(given)
        assert list(store) == ["v_x"] and store.dim == 5 and store.name == "a.h5,b.safetensors"
        # lengths 4 and 2: the shorter is read at 0, ⅓, ⅔, 1 of its two frames
        np.testing.assert_array_equal(store["x"][:, 2], [0, 0, 3, 3])
        np.testing.assert_array_equal(store["x"][:, 0], [0, 2, 4, 6])
        # PDVC brings each to its own length: 4 → 3 is read at 0, 1.5, 3 (½ down), 2 → 3 at 0, ½, 1
        np.testing.assert_array_equal(store.read("x", 3)[:, [0, 2]], [[0, 0], [2, 0], [6, 3]])
        assert store.metadata["durations"] == {"v_x": 8.0, "x": 7.0}
        with pytest.raises(InputError, match=r"b\.safetensors: video 'v_y': no features of this video"):
            store["v_y"]
        assert "v_y" not in store
    write_features(tmp_path / "c", [("other", numbers(2, 2))], {})
    with pytest.raises(InputError, match="no video in common"):
        Features([tmp_path / "a.h5", tmp_path / "c"])
    write_features(tmp_path / "with,comma", [("x", numbers(2, 2))], {})
    assert list(Features(tmp_path / "with,comma")) == ["x"]


def read_first(store: Features) -> list[float]:
    return store[next(iter(store))][0].tolist()


@pytest.mark.parametrize("name", ["store", "store.h5", "store.safetensors"])
@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork, where there are threads
def test_a_store_travels_to_other_processes(tmp_path, name, start):
    write_features(tmp_path / name, VIDEOS.items(), {})
    store = Features(tmp_path / name)
    first = read_first(store)  # it is open here, while others fork from us
    twin = pickle.loads(pickle.dumps(store))
    assert read_first(twin) == first and len(twin) == 3
    if start == "spawn" and name == "store.h5":
        pytest.skip("one kind of store is enough for a fresh process")
    if sys.platform == "win32" and start == "fork":
        pytest.skip("no fork here")
    with multiprocessing.get_context(start).Pool(2) as pool:
        assert pool.map(read_first, [store] * 4) == [first] * 4
    assert read_first(store) == first


# ── recipes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

RECIPE = {"extractor": "thumbnail", "fps": 1.0, "weights": None}


def test_a_store_of_another_recipe_is_refused(tmp_path):
    write_features(tmp_path / "s", [("a", numbers(2, 2))], {"manifest": 1, "recipe": RECIPE})
    write_features(tmp_path / "plain", [("a", numbers(2, 2))], {})
    store, plain = Features(tmp_path / "s"), Features(tmp_path / "plain")
    assert store.recipe == RECIPE and plain.recipe is None
    must_match(RECIPE, store)
    must_match(None, plain)
    other = {**RECIPE, "fps": 2.0, "weights": "ab"}
    with pytest.raises(InputError, match=r"fps is 1\.0, was 2\.0, weights is None, was 'ab'.*or say --other-features"):
        must_match(other, store)
    with pytest.raises(InputError, match="the run does not say how its features were made"):
        must_match(None, store)
    with pytest.raises(InputError, match="the store does not say"):
        must_match(RECIPE, plain)
    heard: list[str] = []
    must_match(other, store, allowed=True, warn=heard.append)
    assert len(heard) == 1 and "made in another way" in heard[0]
    both = Features([tmp_path / "s", tmp_path / "plain"])
    assert both.recipe == {"parts": [RECIPE, None]}
    must_match(both.recipe, both)
    with pytest.raises(InputError, match="in another way"):
        must_match(RECIPE, both)


def test_simulated_features_are_no_features_of_a_video(tmp_path):
    told = {"simulated": True, "embedder": "hashing", "recipe": {"rate": 1.0}}
    write_features(tmp_path / "s", [("a", numbers(2, 2))], told)
    store = Features(tmp_path / "s")
    assert store.recipe == {"simulated": True, "embedder": "hashing", "rate": 1.0}
    with pytest.raises(InputError, match="in another way"):
        must_match(store.recipe, RECIPE)


def test_what_a_store_says_of_itself(tmp_path):
    write_features(tmp_path / "s", VIDEOS.items(), {"recipe": RECIPE, "durations": {"v_0": 3.0, "v_1": 4.5}})
    told = Features(tmp_path / "s").describe()
    assert (told["videos"], told["channels"], told["seconds"]) == (3, 4, 7.5)
    write_features(tmp_path / "plain", VIDEOS.items(), {})
    assert Features(tmp_path / "plain").describe()["how it was made"] == "not told by the store"
