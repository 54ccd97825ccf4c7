"""Stores of words and texts: the numbers are RoBERTa's, keys are ids or texts, words of other captions are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")
tokenizers = pytest.importorskip("tokenizers", reason="encoders of sentences need tokenizers")
safetensors = pytest.importorskip("safetensors.numpy", reason="encoders of sentences need safetensors")
pytest.importorskip("h5py", reason="stores in .h5 need fabula[learn]")

from click.testing import CliRunner  # noqa: E402

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.learn.text_features import TextOptions, text_key, write_text_store  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402
from fabula.verbs.training.commands.features import command  # noqa: E402

LAYERS, HEADS, WIDTH, WORDS = 3, 2, 8, ["<s>", "<pad>", "</s>", "<unk>", "a", "dog", "runs", "cat", "sleeps", "red"]
# transformers 5.23, RobertaModel of `write_roberta`: hidden_states[-2] of "a dog runs", without both ends
TRANSFORMERS = [
    [1.625734, -0.752998, 1.19168, 0.856132, -0.152858, 0.243207, -1.793365, -0.662805],
    [1.632808, -0.748744, 1.186437, 0.855773, -0.144145, 0.244069, -1.800029, -0.686773],
    [1.657206, -0.765731, 1.164312, 0.856105, -0.136844, 0.236013, -1.771196, -0.628192],
]


def write_roberta(folder: Path) -> Path:
    """A folder as hubs lay them out: small random weights, a token a word."""
    folder.mkdir()
    rng = np.random.default_rng(4)

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    w = {
        "embeddings.word_embeddings.weight": draw(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": draw(20, WIDTH),
        "embeddings.token_type_embeddings.weight": draw(1, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for k in range(LAYERS):
        at = f"encoder.layer.{k}"
        for name, sizes in {
            "attention.self.query": (WIDTH, WIDTH), "attention.self.key": (WIDTH, WIDTH),
            "attention.self.value": (WIDTH, WIDTH), "attention.output.dense": (WIDTH, WIDTH),
            "intermediate.dense": (16, WIDTH), "output.dense": (WIDTH, 16),
        }.items():  # fmt: skip
            w[f"{at}.{name}.weight"], w[f"{at}.{name}.bias"] = draw(*sizes), draw(sizes[0])
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
    for name in norms:
        w[f"{name}.weight"], w[f"{name}.bias"] = 1 + draw(WIDTH), draw(WIDTH)
    safetensors.save_file({f"roberta.{name}": value for name, value in w.items()}, folder / "model.safetensors")
    config = {
        "model_type": "roberta", "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_size": WIDTH,
        "intermediate_size": 16, "max_position_embeddings": 20, "vocab_size": len(WORDS), "pad_token_id": 1,
        "type_vocab_size": 1, "layer_norm_eps": 1e-5,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({x: i for i, x in enumerate(WORDS)}, "<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    ends = [("<s>", 0), ("</s>", 2)]
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing("<s> $A </s>", special_tokens=ends)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def twin(folder: Path, ids: list[int], layers: int) -> np.ndarray:
    """RoBERTa by torch's own layers, for a sentence alone. [L, C]"""
    stored = safetensors.load_file(folder / "model.safetensors")
    w = {name.removeprefix("roberta."): torch.from_numpy(value) for name, value in stored.items()}
    at = torch.arange(len(ids)) + 2
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][at]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    norm = torch.nn.functional.layer_norm
    x = norm(x, (WIDTH,), w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], 1e-5)[None]
    for k in range(layers):
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 16, 0.0, "gelu", 1e-5, batch_first=True)
        own, name = layer.state_dict(), f"encoder.layer.{k}"
        for kind in ("weight", "bias"):
            parts = [w[f"{name}.attention.self.{p}.{kind}"] for p in ("query", "key", "value")]
            own[f"self_attn.in_proj_{kind}"] = torch.cat(parts)
            own[f"self_attn.out_proj.{kind}"] = w[f"{name}.attention.output.dense.{kind}"]
            own[f"linear1.{kind}"] = w[f"{name}.intermediate.dense.{kind}"]
            own[f"linear2.{kind}"] = w[f"{name}.output.dense.{kind}"]
            own[f"norm1.{kind}"] = w[f"{name}.attention.output.LayerNorm.{kind}"]
            own[f"norm2.{kind}"] = w[f"{name}.output.LayerNorm.{kind}"]
        layer.load_state_dict(own)
        with torch.no_grad():
            x = layer.train()(x)  # not the fused form of eval
    return np.asarray(x[0].numpy())


def row(id: int, fine: str, coarse: str = "a dog", video: str = "v0") -> dict[str, Any]:
    times = {"duration": 20.0, "time": [float(id % 4), float(id % 4 + 6)]}
    return {"desc_id": id, "video": video, **times, "cog_desc": coarse, "fig_desc": fine}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    write_roberta(folder / "roberta")
    rows = [row(1, "a dog runs"), row(2, "a red cat sleeps", "a cat"), row(3, "red dog", video="v1"), row(4, "a cat")]
    (folder / "q.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    rng = np.random.default_rng(0)
    write_features(folder / "clips.safetensors", [(v, rng.random((20, 4), np.float32)) for v in ("v0", "v1")], {})
    return folder


def make(folder: Path, out: Path, **given: Any) -> Features:
    write_text_store([folder / "q.jsonl"], TextOptions(model=str(folder / "roberta"), out=out, **given), Notes())
    return Features(out)


def test_words_are_those_of_roberta(folder: Path, tmp_path: Path) -> None:
    store = make(folder, tmp_path / "words.h5")
    assert list(store) == ["1", "2", "3", "4"] and store.dim == WIDTH
    for key, ids in {"1": [0, 4, 5, 6, 2], "2": [0, 4, 9, 7, 8, 2], "3": [0, 9, 5, 2]}.items():
        assert np.abs(store[key] - twin(folder / "roberta", ids, LAYERS - 1)[1:-1]).max() < 1e-5  # second to last
    assert np.abs(store["1"] - np.array(TRANSFORMERS)).max() < 1e-5
    last = make(folder, tmp_path / "last.h5", layer=LAYERS)
    assert np.abs(last["3"] - twin(folder / "roberta", [0, 9, 5, 2], LAYERS)[1:-1]).max() < 1e-5
    assert store.recipe == {"encoder": "roberta", "weights": store.recipe["weights"], "layer": 2, "each": "words"}
    with pytest.raises(SpecError, match="layer 9; this encoder has 1 to 3"):
        make(folder, tmp_path / "none.h5", layer=9)


def test_a_store_by_text_serves_both_captions(folder: Path, tmp_path: Path) -> None:
    store = make(folder, tmp_path / "words.h5", by="text", granularity="both", disturbed=2)
    coarse = make(folder, tmp_path / "cog.h5", granularity="cog")
    assert np.abs(store[text_key("a cat")] - coarse["2"]).max() < 1e-6  # batched otherwise
    assert len(store) > 5  # disturbed ones too
    whole = make(folder, tmp_path / "texts.h5", by="text", each="text")
    mean = twin(folder / "roberta", [0, 9, 5, 2], LAYERS).mean(0)
    assert whole[text_key("red dog")].shape == (1, WIDTH)
    assert np.abs(whole[text_key("red dog")][0] - mean / np.linalg.norm(mean)).max() < 1e-5


def test_one_id_with_two_texts_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text(json.dumps(row(1, "a cat runs")) + "\n")
    options = TextOptions(model=str(folder / "roberta"), out=tmp_path / "w.h5")
    with pytest.raises(InputError, match=r"another file has this id with another text.*--by text"):
        write_text_store([folder / "q.jsonl", tmp_path / "more.jsonl"], options, Notes())
    assert not (tmp_path / "w.h5").exists()
    with pytest.raises(SpecError, match="add --by text"):
        TextOptions(model="m", out=tmp_path / "w.h5", granularity="both")


def test_words_of_other_captions_are_refused(folder: Path, tmp_path: Path) -> None:
    """A run trained on coarse captions with the words of fine ones would learn the wrong texts in silence."""
    make(folder, tmp_path / "fine.h5")
    make(folder, tmp_path / "both.h5", by="text", granularity="both")
    small = {"hidden": 8, "heads": 2, "max_clips": 24, "max_words": 8, "max_length": 8, "min_length": 1}
    asked: dict[str, Any] = {
        "data": folder / "q.jsonl", "features": (str(folder / "clips.safetensors"),), "device": "cpu", "tiny": True,
        "set_": small, "steps": 1, "threads": 1, "batch_size": 4,
    }  # fmt: skip
    with pytest.raises(InputError, match="words of another text than 'a dog': the store has those of fine captions"):
        fabula.train("vcmr", **asked, words=tmp_path / "fine.h5", train="cog", test="cog", out=tmp_path / "bad")
    assert not (tmp_path / "bad").exists()
    fabula.train("vcmr", **asked, words=tmp_path / "both.h5", train="cog", test="fig", out=tmp_path / "run")
    read = {k: asked[k] for k in ("data", "features", "device")}
    found = fabula.predict("vcmr", tmp_path / "run", **read, words=tmp_path / "fine.h5")
    again = fabula.predict("vcmr", tmp_path / "run", **read, words=tmp_path / "both.h5")
    assert found.scores() == again.scores() and len(found.answers) == 4


def test_the_command(folder: Path, tmp_path: Path) -> None:
    words = ["text", str(folder / "q.jsonl"), "--model", str(folder / "roberta"), "-o", str(tmp_path / "w.h5")]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0 and "4 texts" in done.output
    assert Features(tmp_path / "w.h5")["1"].shape == (3, WIDTH)
