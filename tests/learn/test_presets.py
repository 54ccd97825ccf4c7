"""Presets of papers: every model that one names can be built with it, another is refused; tables that may grow."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.learn import models, official, run, tasks  # noqa: E402
from fabula.learn.config import configure  # noqa: E402
from fabula.learn.models import hero  # noqa: E402
from fabula.learn.options import Run  # noqa: E402
from fabula.learn.retrieval.contract import Batch  # noqa: E402
from fabula.learn.tasks.vcmr import Task, TrainOptions  # noqa: E402
from fabula.media.stores.features import write_features  # noqa: E402

PRESETS = [
    (T, name, model) for T in tasks.room.all() for name, p in T.presets.items() for model in p.models or T.models
]


@pytest.mark.parametrize(("task", "preset", "model"), PRESETS, ids=[f"{n}-{m}" for _, n, m in PRESETS])
def test_every_model_of_a_preset_is_built(task, preset, model):
    if model == "lm":
        pytest.importorskip("transformers", reason="T5 and GPT-2 need fabula[lm]")
    Model = models.room.get(model)
    known = {"vocabulary": ("a", "dog", "runs", "<unk>"), "words": 4}
    words = {name: value for name, value in known.items() if hasattr(Model.config_class(), name)}
    for config in (Model.config_class(**words), Model.config_class.tiny(**words)):
        with torch.device("meta"):
            Model(configure(config, task.presets[preset].config_of(model)))


SIZES = {  # VERIFIED, B.1
    "charades-fig": {"clip": 1.0, "max_length": 12, "min_length": 2, "max_clips": 48, "nms": 0.6},
    "didemo-fig": {"clip": 1.0, "max_length": 30, "min_length": 5, "max_clips": 30, "nms": 0.6},
    "activitynet-fig": {"clip": 1.0, "max_length": 180, "min_length": 1, "max_clips": 240, "nms": 0.5},
}
RULES = {  # of the published programs
    "xml": {"labels": "ceil", "end": "inside", "pads": "seen", "rivals": "all", "long": "cut", "alpha": 20.0},
    "reloclnet": {"labels": "ceil", "end": "past", "pads": "seen", "rivals": "all", "long": "mean", "alpha": 30.0},
    "hero": {"labels": "hero", "end": "inside", "pads": "seen", "rivals": "all", "long": "cut", "alpha": 20.0,
             "weight_span": 0.01, "weight_videos": 10.0, "weight_queries": 10.0, "hard_pool": 80},
}  # fmt: skip


@pytest.mark.parametrize("preset", SIZES)
@pytest.mark.parametrize("model", RULES)
def test_presets_of_verified_carry_the_published_rules(preset, model):
    config = configure(models.room.get(model).config_class(), Task.presets[preset].config_of(model))
    expected = SIZES[preset] | RULES[model]
    assert {name: getattr(config, name) for name in expected} == expected
    if model == "hero":
        assert config.frame_positions == max(100, config.max_clips)


def test_hero_of_tvr_has_the_weights_of_tvr():
    config = configure(hero.Config(), Task.presets["tvr"].config_of("hero"))
    assert (config.weight_videos, config.weight_queries, config.hard_pool) == (8.0, 8.0, 20)


@pytest.mark.parametrize("model", RULES)
def test_240_clips_are_learnt(model):
    """A step forward and back at the full context of ActivityNet-FIG: every position gets a gradient."""
    Model = models.room.get(model)
    small = {"hidden": 8, "heads": 2, "feature_dim": 4} | ({"vocab_size": 20} if model == "hero" else {"query_dim": 4})
    net = Model(configure(Model.config_class.tiny(**small), Task.presets["activitynet-fig"].config_of(model)))
    torch.manual_seed(0)
    query = torch.randint(2, 20, (2, 5)) if model == "hero" else torch.randn(2, 5, 4)
    seen = torch.ones(2, 240, dtype=torch.bool)
    batch = Batch(
        ["a", "b"], query, torch.ones(2, 5, dtype=torch.bool), torch.randn(2, 240, 4), seen,
        torch.full((2,), 240.0), torch.tensor([[3, 9], [200, 239]]), videos=["v", "w"],
    )  # fmt: skip
    loss = net.loss(batch)["loss"]
    loss.backward()
    table = "cross.frame_positions.table.weight" if model == "hero" else "video_positions.table.weight"
    gradient = dict(net.named_parameters())[table].grad
    assert torch.isfinite(loss) and gradient.shape == (240, 8) and (gradient.abs().sum(1) > 0).all()


def test_a_preset_of_other_models_is_refused(tmp_path: Path):
    options = TrainOptions(data=tmp_path, features=(str(tmp_path),), model="qd_detr", preset="charades-fig")
    with pytest.raises(SpecError, match=r"^--preset charades-fig is for the models xml, reloclnet, hero, not qd_detr$"):
        run.fit(Task(), options, Run(out=tmp_path / "run"))
    options = TrainOptions(data=tmp_path, features=(str(tmp_path),), model="xml", preset="qvhighlights")
    with pytest.raises(SpecError, match=r"^--preset qvhighlights is for the model qd_detr, not xml$"):
        run.fit(Task(), options, Run(out=tmp_path / "run"))


def test_hero_reads_long_videos_with_weights_of_short_ones(tmp_path: Path):
    """Places of frames that the weights lack start at random, and that is said."""
    small = {"hidden": 8, "heads": 2, "feature_dim": 4, "vocab_size": 20}
    short, long = (hero.Model(hero.Config.tiny(**small, max_clips=n, frame_positions=n)) for n in (10, 30))
    table, notes = "cross.frame_positions.table.weight", Notes()
    before, weights = long.state_dict()[table].clone(), short.state_dict()
    run.take_weights(long, weights, SimpleNamespace(from_part="whole", from_=tmp_path), notes)
    after = long.state_dict()[table]
    assert torch.equal(after[:10], weights[table]) and torch.equal(after[10:], before[10:])
    assert notes.lines() == [f"{table}: the weights have 10 rows; 11 to 30 start at random"]
    with pytest.raises(InputError, match=r"frame_positions.*\(30, 8\) in the file, \(10, 8\) in the model"):
        run.take_weights(short, long.state_dict(), SimpleNamespace(from_part="whole", from_=tmp_path), notes)


def test_published_weights_of_hero_fit_the_preset_of_activitynet(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(official, "rename", lambda state, table, path: (state, []))  # under our names already
    monkeypatch.setattr(official, "translate", lambda name, table: name)
    small = {"hidden": 8, "heads": 2, "feature_dim": 4, "vocab_size": 20}
    torch.save(hero.Model(hero.Config.tiny(**small)).state_dict(), tmp_path / "hero.pth")
    config = configure(hero.Config.tiny(**small), Task.presets["activitynet-fig"].config_of("hero"))
    weights, _ = official.load_official(tmp_path / "hero.pth", config, model="hero")
    assert len(weights["cross.frame_positions.table.weight"]) == 100 and config.frame_positions == 240
    notes = Notes()
    run.take_weights(hero.Model(config), weights, SimpleNamespace(from_part="whole", from_=tmp_path), notes)
    assert "the weights have 100 rows; 101 to 240 start at random" in notes.lines()[0]


def test_hero_is_trained_with_the_preset_of_activitynet(tmp_path: Path):
    rows = [{"desc_id": i, "video": "v", "duration": 150.0, "time": [120.0, 130.0], "fig_desc": f"a dog runs {i}",
             "cog_desc": "a dog", "fig_desc_score": 0.0} for i in range(2)]  # fmt: skip
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_features(tmp_path / "f.safetensors", [("v", np.random.default_rng(0).random((150, 4)))], {"rate": 1.0})
    options = TrainOptions(data=tmp_path / "train.jsonl", features=(str(tmp_path / "f.safetensors"),), model="hero",
                           tiny=True, preset="activitynet-fig")  # fmt: skip
    small, fast = {"hidden": 8, "heads": 2, "feedforward": 8}, {"steps": 1, "device": "cpu", "threads": 1}
    line = run.fit(Task(), options, Run(out=tmp_path / "run"), small, fast)
    assert line["step"] == 1
    assert json.loads((tmp_path / "run" / "config.json").read_text())["config"]["frame_positions"] == 240
