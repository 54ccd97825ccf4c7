"""Moments by a trained model: within the videos that the vector stage found, from the store's own vectors."""

import pytest

torch = pytest.importorskip("torch")

from fabula.core.errors import InputError  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.models import xml  # noqa: E402
from fabula.library.find import Searcher  # noqa: E402
from fabula.library.spans import Model  # noqa: E402
from tests.library.made import WORDS, Axes, make_store  # noqa: E402


def write_model(path, dims):
    """An untrained one: what it says is fixed, and that it is asked is what is tested."""
    torch.manual_seed(0)
    sizes = {"feature_dim": dims, "hidden": 16, "heads": 2, "max_words": 8, "query_dim": 16}
    model = xml.Model(xml.Config.tiny(**sizes, max_clips=12, words="hashing", clip=2.0))
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    checkpoint.write(path, weights, checkpoint.header_of(model, about={"task": "vcmr"}))
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    videos = {"a.mp4": ["tree"] * 4 + ["dog"] * 3 + ["tree"] * 3, "b.mp4": ["car"] * 8}
    return make_store(tmp_path_factory.mktemp("m") / "store", videos)


def test_the_models_moments_in_the_order_of_videos(store, tmp_path):
    model = Model(str(write_model(tmp_path / "xml.safetensors", len(WORDS))))
    found = Searcher(store, Axes(), model=model).find("dog")
    mine = [m for m in found.moments if m.video == "a.mp4"]
    assert found.moments[0].video == "a.mp4" and mine
    alone = model.finder.find(model.encoded["a.mp4"], "dog", top=5)
    asked = {(round(m.start, 3), round(m.end, 3)) for m in alone}
    assert {(round(m.start, 3), round(m.end, 3)) for m in mine} <= asked
    assert all(m.clips and 0 <= m.start < m.end <= 20 for m in mine)


def test_a_model_of_other_features_needs_an_extractor(store, tmp_path):
    model = Model(str(write_model(tmp_path / "xml.safetensors", 5)))
    with pytest.raises(InputError, match="features of 5 numbers, and the store's vectors have 8"):
        Searcher(store, Axes(), model=model).find("dog")


def test_queries_of_several_parts_are_not_for_the_model(store, tmp_path):
    model = Model(str(write_model(tmp_path / "xml.safetensors", 5)))
    assert Searcher(store, Axes(), model=model).find("dog + tree").moments  # smoothed
