"""fabula train micap --from joint.pth: weights of the published program under our names; no file does anything."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.learn import checkpoint, official  # noqa: E402
from fabula.learn.identity.clips import read_sets_of, texts_of  # noqa: E402
from fabula.learn.identity.wordpiece import train_pieces  # noqa: E402
from fabula.learn.models import micap  # noqa: E402
from fabula.learn.worlds.films import Recipe, write_world  # noqa: E402

RECIPE = Recipe(train_films=1, val_films=1, test_films=1, clips=6, face_dim=16, action_dim=8, frame_dim=8)
THEIRS = {  # our name → the published program's
    **{ours: theirs for theirs, ours in micap.PLACES.items() if theirs != "dense"},
    "attention.qkv.": "self_attn.in_proj_", "attention.out.": "self_attn.out_proj.", "own.qkv.": "self_attn.in_proj_",
    "own.out.": "self_attn.out_proj.", "cross.qkv.": "multihead_attn.in_proj_",
    "cross.out.": "multihead_attn.out_proj.", "ffn.up.": "linear1.", "ffn.down.": "linear2.", "norm_own.": "norm1.",
    "norm_cross.": "norm2.",
}  # fmt: skip
STACKS = {"encoder": ("encoder.transformer_encoder.layers", {"norm.": "norm1.", "ffn.norm.": "norm2."}),
          "decoder": ("transformer_decoder.layers", {"ffn.norm.": "norm3."})}  # fmt: skip


def theirs(name: str, task: str) -> str:
    """By hand, not by the table that is tested."""
    stack, _, rest = name.partition(".")
    if stack in STACKS:
        begin, own = STACKS[stack]
        layer, _, part = rest.partition(".")
        module, dot, leaf = part.rpartition(".")
        return f"{begin}.{layer}.{ {**THEIRS, **own}[module + dot] }{leaf}"
    module, _, leaf = name.rpartition(".")
    return f"{'dense' if module == 'head' and task == 'fitb' else THEIRS[module]}.{leaf}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, RECIPE)
    words = train_pieces(texts_of(read_sets_of(folder, "train", Notes())), min_count=1)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    return folder


def publish(world: Path, path: Path, task: str = "joint") -> Any:
    """A model of our own as the published program would save it, with what it never reads."""
    torch.manual_seed(3)
    pieces = len((world / "vocab.txt").read_text().splitlines())
    config = micap.Config(task=task, hidden=16, heads=8, feedforward=24, words=pieces, sep=3, text_dim=256, face_dim=16,
                          action_dim=8, frame_dim=8, clusters=30, compat_low_rows=task == "fitb")  # fmt: skip
    model = micap.Model(config)
    state = {theirs(name, task): t.clone() for name, t in model.state_dict().items()}
    state.setdefault("bert_encode.weight", torch.zeros(16, 256))  # also where captions alone were trained
    state.setdefault("bert_encode.bias", torch.zeros(16))
    state |= {"logits.weight": torch.ones(3, 3), "decoder_layer.linear1.weight": torch.ones(2, 2),
              "encoder.spcl_embed.weight": torch.ones(5, 16)}  # fmt: skip
    torch.save({"epoch": 7, "model": state}, path)
    return model


def train(world: Path, tmp_path: Path, **given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    out = tmp_path / "run"
    fabula.train("micap", data=world, features=world, out=out, epochs=1, lr=1e-12, batch_size=2, threads=1,
                 overwrite=True, from_=tmp_path / "theirs.pth", **given)  # fmt: skip
    return checkpoint.read(out, weights_only=True)[0], json.loads((out / "config.json").read_text())["config"]


@pytest.mark.parametrize("task", ["joint", "fitb", "caption"])
def test_whole(world: Path, tmp_path: Path, task: str) -> None:
    model = publish(world, tmp_path / "theirs.pth", task)
    weights, config = train(world, tmp_path, wordpiece=world / "vocab.txt")
    assert config["task"] == task and config["hidden"] == 16 and config["compat_low_rows"] == (task == "fitb")
    assert {name.removeprefix("model.") for name in weights} == set(model.state_dict())
    for name, t in model.state_dict().items():
        torch.testing.assert_close(weights[f"model.{name}"], t, atol=1e-8, rtol=0)


def test_words_are_theirs(world: Path, tmp_path: Path) -> None:
    publish(world, tmp_path / "theirs.pth")
    _, config = train(world, tmp_path, from_words=world / "vocab.txt")
    assert tuple(config["vocabulary"]) == tuple((world / "vocab.txt").read_text().splitlines())
    with pytest.raises(InputError, match=r"weights for \d+ word pieces; the vocabulary has 38"):
        train(world, tmp_path, pieces=20)


def test_what_reads_the_clips_alone(world: Path, tmp_path: Path) -> None:
    own = publish(world, tmp_path / "theirs.pth").state_dict()
    weights, _ = train(world, tmp_path, from_part="encoder", pieces=60)
    for name in ("encoder.0.ffn.up.weight", "inputs.face.weight", "cluster.weight"):
        torch.testing.assert_close(weights[f"model.{name}"], own[name], atol=1e-8, rtol=0)
    assert not torch.allclose(weights["model.decoder.0.ffn.up.weight"], own["decoder.0.ffn.up.weight"], atol=1e-3)


def test_streams_that_are_not_seen_have_no_place(world: Path, tmp_path: Path) -> None:
    publish(world, tmp_path / "theirs.pth")
    weights, _ = train(world, tmp_path, wordpiece=world / "vocab.txt", streams="text,frame")
    assert not any(".face." in name or ".cluster." in name for name in weights)


def test_a_file_that_would_do_something(world: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "done"),)

    torch.save({"model": {"caption_embedding.weight": Evil()}}, tmp_path / "theirs.pth")
    with pytest.raises(InputError, match="more than tensors"):
        train(world, tmp_path, wordpiece=world / "vocab.txt")
    assert not (tmp_path / "done").exists() and not (tmp_path / "run").exists()


def test_weights_of_something_else(world: Path, tmp_path: Path) -> None:
    torch.save({"backbone.conv1.weight": torch.zeros(2, 2)}, tmp_path / "theirs.pth")
    with pytest.raises(InputError, match="no weight of the published model"):
        official.read_sizes(tmp_path / "theirs.pth", "micap")
