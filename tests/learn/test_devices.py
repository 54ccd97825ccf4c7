"""Every model of every task on a pretended GPU, in half precision, and resumed: the list is the registry's own."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

from fabula.core.notes import Notes  # noqa: E402
from fabula.learn import models, run, tasks  # noqa: E402
from fabula.learn import train as loop  # noqa: E402
from fabula.learn.options import Run  # noqa: E402
from fabula.learn.retrieval.data import read_moments  # noqa: E402
from fabula.learn.retrieval.simulate import Recipe, simulate_moments  # noqa: E402
from fabula.learn.worlds import films  # noqa: E402
from tests.learn.pretended import DEVICE, MixedDevices, PretendedDevice, run_on_device  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true")  # there is no real GPU

PAIRS = [(Task.name, name) for Task in tasks.room.all() for name in Task.models]
SHAPES: Mapping[str, dict[str, Any]] = {  # small ones
    "pdvc": {"frames": 16, "hidden": 16, "heads": 2, "norm_groups": 4, "feedforward": 16, "queries": 8, "rnn": 8,
             "word_dim": 8, "dropout": 0.1, "levels": 2},
    "procnets": {"hidden": 8},
    "micap": {"hidden": 16, "heads": 2, "feedforward": 16, "decoder_layers": 1},
    "xml": {"query_dim": 16, "hidden": 16, "heads": 2, "max_clips": 12, "max_words": 8, "max_length": 5,
            "min_length": 1, "hard_from": 1},
    "hero": {"hidden": 16, "heads": 2, "max_clips": 12, "max_words": 8, "max_length": 5, "min_length": 1,
             "feedforward": 16, "hard_from": 3, "hard_pool": 1, "drop_span": 0.5, "span_from": 2},
    "qd_detr": {"query_dim": 16, "hidden": 16, "heads": 2, "feedforward": 16, "max_clips": 6, "overlap": 3},
    "noise_scorer": {"query_dim": 16, "hidden": 16, "embed": 16, "heads": 2, "max_words": 8},
}  # fmt: skip
SHAPES = {**SHAPES, "reloclnet": SHAPES["xml"]}
FORMS: Mapping[str, list[dict[str, Any]]] = {  # of which each has code of its own
    "pdvc": [{"matcher": m} for m in ("ordered", "soft", "marginal")]
    + [{"captioner": "standard"}, {"outside": "zero", "captioner": "none"}],
    "micap": [{"task": "fitb", "streams": "text"}, {"task": "caption", "encoder": False, "beam": 2}],
    "xml": [{"pads": "seen", "rivals": "all", "ranking": "lse"}],
    "hero": [{"negatives": "one", "pads": "seen"}],
    "qd_detr": [{"matcher": "ordered", "compat_mixed_masks": True}, {"matcher": "marginal", "rounding": "published"}],
    "noise_scorer": [{"hard": 0}],
}
VARIANTS = [
    pytest.param(t, m, more, id=f"{m}-{'-'.join(map(str, more.values()))}") for t, m in PAIRS for more in FORMS.get(m, [])
]


def test_every_model_is_here():
    """A new one needs a small shape above, and a small world below if its task is new."""
    assert {Model.name for Model in models.room.all()} == {name for _, name in PAIRS} == set(SHAPES)


# ---------------------------------------------------------------------------------------------------------------------
# Small worlds


@dataclass(frozen=True)
class World:
    """What a task is trained on and asked."""

    learnt: dict[str, Any]
    asked: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)


def moments_of(folder: Path) -> tuple[Path, str]:
    """Moments of videos of 9 and of 20 seconds, so that some have several windows; their features."""
    (folder / "splits").mkdir()
    every = []
    for split, first, count in (("train", 0, 16), ("val", 100, 6), ("test", 200, 4)):
        rows = []
        for i in range(first, first + count):
            seconds, start = (20.0, 11.0) if i % 4 < 2 else (9.0, 2.0)
            told = {"cog_desc": f"a person opens it {i}", "fig_desc": f"a person opens the red door {i}"}
            place = {"video": f"v{i // 2}", "duration": seconds, "time": [start + i % 2, start + 4.0]}
            rows.append({"desc_id": i, **place, **told, "fig_desc_score": 0.0})
        (folder / "splits" / f"fig_{split}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        every += rows
    (folder / "all.jsonl").write_text("".join(json.dumps(r) + "\n" for r in every))
    fine, coarse = (read_moments(folder / "all.jsonl", Notes(), g) for g in ("fig", "cog"))
    simulate_moments(fine, coarse, folder / "clips.safetensors", Recipe(dim=8, noise=0.2))
    return folder / "splits", str(folder / "clips.safetensors")


@pytest.fixture(scope="module")
def worlds(small, tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    films_of, splits = tmp_path_factory.mktemp("films"), tmp_path_factory.mktemp("moments")
    films.write_world(
        films_of,
        films.Recipe(train_films=1, val_films=1, test_films=1, clips=8, face_dim=8, action_dim=8, frame_dim=8),
    )
    data, store = moments_of(splits)
    steps = {"data": small.annotations, "features": small.features}
    moments = {"data": data, "features": (store,)}
    return {
        "pss": World({**steps, "val": small.annotations}, steps, {"batch_size": 2}),
        "vcmr": World(moments, moments, {"batch_size": 4}),
        "noise": World(moments, moments, {"batch_size": 4}),
        "micap": World({"data": films_of}, {"data": films_of}, {"batch_size": 1}),
    }


def fit(world: World, task: str, name: str, out: Path, shape: Mapping[str, Any], **more: Any) -> dict[str, float]:
    Task = tasks.room.get(task)
    options = Task.Train(model=name, tiny=True, **world.learnt)
    settings = {"epochs": 2, "accumulate": 2, "lr": 1e-3, "threads": 1, **world.settings}
    return run.fit(Task(), options, Run(out=out, resume=more.pop("resume", False)), shape, {**settings, **more})


def ask(world: World, task: str, out: Path) -> None:
    """All that the model can be asked, with an answer each."""
    Task = tasks.room.get(task)
    kinds = json.loads((out / "config.json").read_text())["config"].get("task", "")
    for kind in {"": ("",), "joint": ("fitb", "caption")}.get(kinds, (kinds,)):
        options = Task.Predict(**world.asked, **({"task": kind} if kind else {}))
        assert Task().count(run.ask(Task(), out, options))


def losses(out: Path) -> list[float]:
    with (out / "steps.csv").open(newline="") as stream:
        return [float(row["loss"]) for row in csv.DictReader(stream)]


# ---------------------------------------------------------------------------------------------------------------------
# The device


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_on_a_pretended_gpu(worlds, tmp_path, monkeypatch, task, name):
    """Trained, stopped in the midst of an epoch, resumed, validated, asked: nothing mixes devices, and the curve is
    that of the CPU, never stopped."""
    shape = SHAPES[name]
    fit(worlds[task], task, name, tmp_path / "cpu", shape, device="cpu")
    with run_on_device(monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(run, "train", lambda *a, **k: loop.train(*a, **k, stop_after=3))
            fit(worlds[task], task, name, tmp_path / "gpu", shape)
        line = fit(worlds[task], task, name, tmp_path / "gpu", shape, resume=True)
        assert any(n.startswith("val_") for n in line)
        ask(worlds[task], task, tmp_path / "gpu")
    assert losses(tmp_path / "gpu") == pytest.approx(losses(tmp_path / "cpu"), rel=1e-4)


@pytest.mark.parametrize(("task", "name", "more"), VARIANTS)
def test_variants_on_a_pretended_gpu(worlds, tmp_path, monkeypatch, task, name, more):
    """A step, a validation, an answer."""
    with run_on_device(monkeypatch):
        fit(worlds[task], task, name, tmp_path / "run", {**SHAPES[name], **more}, steps=1)
        ask(worlds[task], task, tmp_path / "run")
