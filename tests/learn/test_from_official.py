"""fabula train pss --from model-best.pth: official weights, whole with their words, or what reads the video alone."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")
pytest.importorskip("fabula.learn.official", reason="this version reads no official weights")

import fabula  # noqa: E402
from fabula.core.errors import InputError  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.models.pdvc import Config, Model  # noqa: E402
from tests.learn.test_official import official_state  # noqa: E402

WORDS = ("stir", "flour", "the", "<unk>")
SMALL = {"heads": 2, "norm_groups": 4, "frames": 24, "max_words": 6}  # what shapes do not tell


@pytest.fixture
def official(small, tmp_path):
    """A model of our own under official names, as PDVC saves it, with its words."""
    torch.manual_seed(0)
    config = Config.tiny(feature_dim=128, hidden=16, feedforward=16, queries=7, levels=2, rnn=8, word_dim=8,
                         vocabulary=WORDS, captioner="standard", **SMALL)  # fmt: skip
    model = Model(config)
    torch.save({"epoch": 3, "model": official_state(model), "optimizer": {}}, tmp_path / "model-best.pth")
    words = {"ix_to_word": {str(i): w for i, w in enumerate(WORDS, 1)}}
    (tmp_path / "words.json").write_text(json.dumps(words))
    return model


def train(small, tmp_path, name: str, **given):
    out = tmp_path / name
    fabula.train("pss", data=small.annotations, features=small.features, out=out, tiny=True, set_=SMALL, epochs=1,
                 lr=1e-12, batch_size=8, threads=1, from_=tmp_path / "model-best.pth", **given)  # fmt: skip
    return checkpoint.read(out, weights_only=True)[0], json.loads((out / "config.json").read_text())["config"]


def test_whole(small, official, tmp_path):
    weights, config = train(small, tmp_path, "run", from_words=tmp_path / "words.json")
    assert tuple(config["vocabulary"]) == WORDS and config["queries"] == 7 and config["outside"] == "zero"
    for name, t in official.state_dict().items():
        torch.testing.assert_close(weights[f"model.{name}"], t, atol=1e-8, rtol=0)
    with pytest.raises(InputError, match="weights for 4 words; the vocabulary has"):  # of the data
        train(small, tmp_path, "other")


def test_encoder_alone(small, official, tmp_path):
    weights, config = train(small, tmp_path, "run", from_part="encoder")
    assert len(config["vocabulary"]) > len(WORDS)
    own = official.state_dict()
    assert torch.allclose(weights["model.encoder.0.ffn.up.weight"], own["encoder.0.ffn.up.weight"], atol=1e-8)
    assert not torch.allclose(weights["model.decoder.0.ffn.up.weight"], own["decoder.0.ffn.up.weight"], atol=1e-3)
    first = checkpoint.read(tmp_path / "run")[0]  # and a run of ours, by the same name of the part
    out = tmp_path / "more"
    fabula.train("pss", data=small.annotations, features=small.features, out=out, epochs=1, lr=1e-12, batch_size=8,
                 threads=1, seed=5, from_=tmp_path / "run", from_part="encoder")  # fmt: skip
    more = checkpoint.read(out)[0]
    assert torch.allclose(more["model.pyramid.level"], first["model.pyramid.level"], atol=1e-8)
    assert not torch.allclose(more["model.queries.weight"], first["model.queries.weight"], atol=1e-3)


def test_a_file_that_would_do_something(small, tmp_path):
    import os

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "done"),)

    torch.save({"model": Evil()}, tmp_path / "model-best.pth")
    with pytest.raises(InputError):
        train(small, tmp_path, "run")
    assert not (tmp_path / "done").exists() and not (tmp_path / "run").exists()
