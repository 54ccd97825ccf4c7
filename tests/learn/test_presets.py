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
