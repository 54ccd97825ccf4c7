"""Every model of every task on a pretended GPU, in half precision, and resumed: the list is the registry's own."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

from lightning_fabric import Fabric  # noqa: E402
from lightning_fabric.plugins import MixedPrecision  # noqa: E402
from torch.amp import GradScaler  # noqa: E402

from fabula.core.notes import Notes  # noqa: E402
from fabula.learn import checkpoint, models, run, tasks  # noqa: E402
from fabula.learn import train as loop  # noqa: E402
from fabula.learn.options import Run  # noqa: E402
from fabula.learn.retrieval.data import read_moments  # noqa: E402
from fabula.learn.retrieval.simulate import Recipe, simulate_moments  # noqa: E402
from fabula.learn.worlds import films  # noqa: E402
from tests.learn.pretended import DEVICE, MixedDevicesError, PretendedDevice, run_on_device  # noqa: E402
from tests.learn.texts import embed_captions  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true")  # there is no real GPU

PAIRS = [(Task.name, name) for Task in tasks.room.all() for name in Task.models]
SHAPES: Mapping[str, dict[str, Any]] = {  # small ones
    "pdvc": {"frames": 16, "hidden": 16, "heads": 2, "norm_groups": 4, "feedforward": 16, "queries": 8, "rnn": 8,
             "word_dim": 8, "dropout": 0.1, "levels": 2},
    "procnets": {"hidden": 8},
    "micap": {"hidden": 16, "heads": 2, "feedforward": 16, "decoder_layers": 1},
    "fillin": {"hidden": 16, "face_hidden": 16, "rnn": 8, "heads": 2, "feedforward": 16, "decoder_layers": 1},
    "lm": {"hidden": 16, "heads": 2, "feedforward": 16, "decoder_layers": 1, "prefix": 4},
    "xml": {"query_dim": 16, "hidden": 16, "heads": 2, "max_clips": 12, "max_words": 8, "max_length": 5,
            "min_length": 1, "hard_from": 1},
    "hero": {"hidden": 16, "heads": 2, "max_clips": 12, "max_words": 8, "max_length": 5, "min_length": 1,
             "feedforward": 16, "hard_from": 3, "hard_pool": 1, "drop_span": 0.5, "span_from": 2},
    "qd_detr": {"query_dim": 16, "hidden": 16, "heads": 2, "feedforward": 16, "max_clips": 6, "overlap": 3},
    "noise_scorer": {"query_dim": 16, "hidden": 16, "embed": 16, "heads": 2, "max_words": 8},
    "noise_head": {"hidden": 16, "embed": 16},
}  # fmt: skip
SHAPES = {**SHAPES, "reloclnet": SHAPES["xml"]}
FORMS: Mapping[str, list[dict[str, Any]]] = {  # of which each has code of its own
    "pdvc": [{"matcher": m} for m in ("ordered", "soft", "marginal")]
    + [{"captioner": "standard"}, {"outside": "zero", "captioner": "none"}],
    "micap": [{"task": "fitb", "streams": "text"}, {"task": "caption", "encoder": False, "beam": 2}],
    "fillin": [{"label": "both", "pool": "max"}, {"label": "words", "pool": "blank", "streams": "text"}],
    "lm": [{"base": "gpt2", "task": "joint", "streams": "text,face,frame"}],
    "xml": [{"pads": "seen", "rivals": "all", "ranking": "lse"}],
    "hero": [{"negatives": "one", "pads": "seen"}],
    "qd_detr": [{"matcher": "ordered", "compat_mixed_masks": True}, {"matcher": "marginal", "rounding": "published"}],
    "noise_scorer": [{"hard": 0}],
}
VARIANTS = [
    pytest.param(task, name, more, id="-".join(map(str, (name, *more.values()))))
    for task, name in PAIRS
    for more in FORMS.get(name, [])
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
    rng = np.random.default_rng(0)
    texts = str(embed_captions(sorted(data.glob("*.jsonl")), splits, lambda _: rng.standard_normal(8)))
    steps = {"data": small.annotations, "features": small.features}
    moments = {"data": data, "features": (store,)}
    return {
        "pss": World({**steps, "val": small.annotations}, steps, {"batch_size": 2}),
        "vcmr": World(moments, moments, {"batch_size": 4}),
        "noise": World(moments, moments, {"batch_size": 4}),
        "noise_head": World({**moments, "text": texts}, {**moments, "text": texts}, {"batch_size": 4}),
        "micap": World({"data": films_of}, {"data": films_of}, {"batch_size": 1}),
    }


def fit(world: World, task: str, name: str, out: Path, shape: Mapping[str, Any], **more: Any) -> dict[str, float]:
    if name == "lm":
        pytest.importorskip("transformers", reason="T5 and GPT-2 need fabula[lm]")
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
        assert Task().count(run.predict(Task(), out, options))


def fit_in_two(monkeypatch: pytest.MonkeyPatch, *given: Any, **more: Any) -> dict[str, float]:
    """Stopped after step 3, in the midst of the second epoch, and resumed."""
    with monkeypatch.context() as patch:
        patch.setattr(run, "train", lambda *a, **k: loop.train(*a, **k, stop_after=3))
        fit(*given, **more)
    torch.manual_seed(1)  # another process would not stand where this one stood
    return fit(*given, resume=True, **more)


@pytest.fixture(scope="module")
def never_stopped(worlds, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """A run of each model on the CPU: 2 epochs of 2 steps of 2 batches."""

    @cache
    def made(task: str, name: str) -> Path:
        out = tmp_path_factory.mktemp(name) / "run"
        fit(worlds.get(name, worlds[task]), task, name, out, SHAPES[name], device="cpu")
        return out

    return made


def losses(out: Path) -> list[float]:
    with (out / "steps.csv").open(newline="") as stream:
        return [float(row["loss"]) for row in csv.DictReader(stream)]


# ---------------------------------------------------------------------------------------------------------------------
# Resumed


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_stopped_and_resumed_is_the_same_curve(worlds, never_stopped, tmp_path, monkeypatch, task, name):
    """In the midst of an epoch, with two batches a step; what begins at a step (HERO's hard negatives) too."""
    whole = never_stopped(task, name)
    fit_in_two(monkeypatch, worlds.get(name, worlds[task]), task, name, tmp_path / "run", SHAPES[name], device="cpu")
    assert (tmp_path / "run" / "steps.csv").read_text() == (whole / "steps.csv").read_text()
    ours, theirs = (checkpoint.read(r / "last.safetensors")[0] for r in (tmp_path / "run", whole))
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


def test_hard_negatives_begin_at_a_step_of_the_optimiser(worlds, tmp_path, monkeypatch):
    """Whatever a step is made of; 2 epochs of 4 steps of one batch, 2 of 2 batches."""
    from fabula.learn.models import hero

    batches: list[tuple[int, bool]] = []
    loss = hero.Model.loss

    def count(self, batch):
        batches.append((self.step, self.hard))
        return loss(self, batch)

    monkeypatch.setattr(hero.Model, "loss", count)
    for accumulate, steps in ((1, range(8)), (2, [0, 0, 1, 1, 2, 2, 3, 3])):
        fit(worlds["vcmr"], "vcmr", "hero", tmp_path / str(accumulate), SHAPES["hero"], accumulate=accumulate)
        assert batches == [(step, step >= 3) for step in steps]
        batches.clear()


# ---------------------------------------------------------------------------------------------------------------------
# The device


def test_a_pretended_gpu_refuses_what_cuda_refuses():
    with PretendedDevice():
        here, there = torch.arange(3.0), torch.arange(3.0, device=DEVICE)
        assert there.device == DEVICE == (there * 2)[1:].device == there.new_zeros(2).device != here.device
        refused = [
            lambda: here + there, lambda: torch.cat([there, here]), lambda: torch.stack([there.sum(), here.sum()]),
            lambda: there.masked_fill(here > 0, 0.0), lambda: torch.where(there > 0, here, 0.0),
            lambda: here[there.long()], lambda: here[there > 0], lambda: there.gather(0, here.long()),
            lambda: there.numpy(), lambda: np.asarray(there), lambda: there.index_put_((there.long(),), here),
            lambda: torch.nn.functional.cross_entropy(there[None], here[:1].long()),
            lambda: torch.einsum("a,a->", there, here), lambda: torch.nn.Linear(3, 2)(there),
        ]  # fmt: skip
        for mix in refused:
            with pytest.raises(MixedDevicesError):
                mix()


def test_a_pretended_gpu_allows_what_cuda_allows():
    with PretendedDevice():
        here, there = torch.arange(3.0), torch.arange(3.0, device=DEVICE)
        assert (there + here.sum()).device == DEVICE == there[here.long()].device == there[here > 0].device
        assert there.cpu().numpy().tolist() == there.tolist() == [0, 1, 2] and int(there[1]) == 1
        here[1:] = there[1:]
        assert here.copy_(there).device == torch.device("cpu") == there.to("cpu").device
        assert here.to(there.device).device == here.to(there).device == torch.zeros_like(here, device="cuda").device
        line = torch.nn.Linear(3, 2).to(DEVICE)
        line(there).sum().backward()
        assert line.weight.device == line.weight.grad.device == DEVICE
        assert torch.optim.Adam(line.parameters()).step() is None


def test_a_mixture_that_is_planted_is_found(worlds, tmp_path, monkeypatch):
    from fabula.learn.models import xml

    monkeypatch.setattr(xml, "pool_words", lambda words, weight, mask: words.mean(1) * torch.ones(words.shape[-1]))
    with (
        run_on_device(monkeypatch),
        pytest.raises(MixedDevicesError, match=r"Tensor.mul: .* found cuda:0 .* cpu"),
    ):
        fit(worlds["vcmr"], "vcmr", "xml", tmp_path / "run", SHAPES["xml"])


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_on_a_pretended_gpu(worlds, never_stopped, tmp_path, monkeypatch, task, name):
    """Trained, stopped, resumed, validated, asked: nothing mixes devices, and the curve is that of the CPU."""
    with run_on_device(monkeypatch):
        line = fit_in_two(monkeypatch, worlds.get(name, worlds[task]), task, name, tmp_path / "run", SHAPES[name])
        assert any(n.startswith("val_") for n in line)
        ask(worlds.get(name, worlds[task]), task, tmp_path / "run")
    assert losses(tmp_path / "run") == pytest.approx(losses(never_stopped(task, name)), rel=1e-4)


@pytest.mark.slow  # every model in its first form is among the others
@pytest.mark.parametrize(("task", "name", "more"), VARIANTS)
def test_variants_on_a_pretended_gpu(worlds, tmp_path, monkeypatch, task, name, more):
    """A step, a validation, an answer."""
    with run_on_device(monkeypatch):
        fit(worlds.get(name, worlds[task]), task, name, tmp_path / "run", {**SHAPES[name], **more}, steps=1)
        ask(worlds.get(name, worlds[task]), task, tmp_path / "run")


@pytest.mark.parametrize("name", ["xml", "reloclnet", "hero", "qd_detr"])
def test_other_questions_on_a_pretended_gpu(worlds, never_stopped, tmp_path, monkeypatch, name):
    """Part by part, by the published programs' rules, in the whole store: as on the CPU."""
    rules = ["qvhighlights"] if name == "qd_detr" else ["tvr", "reloclnet"]
    forms = [{"work": "work", "part": 2}, {"corpus": "store"}, *({"protocol": rule} for rule in rules)]
    Task, trained = tasks.room.get("vcmr"), never_stopped("vcmr", name)
    for form in forms:
        answers = []
        for device in ("cpu", "gpu"):
            folder = tmp_path / f"{device}-{len(form)}-{next(iter(form.values()))}"
            more = {**form, "work": folder} if "work" in form else form
            options = Task.Predict(**worlds["vcmr"].asked, device="cpu", **more)
            with run_on_device(monkeypatch) if device == "gpu" else nullcontext():
                found = run.predict(Task(), trained, options)
                Task().write(found, tmp_path / f"{device}.json")
            answers.append(round_numbers((tmp_path / f"{device}.json").read_text()))
        assert answers[0] == answers[1]


def round_numbers(text: str) -> str:
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda n: f"{float(n[0]):.3g}", text)


def test_a_finder_on_a_pretended_gpu(worlds, never_stopped):
    """Words by hashing, and as features of the caller's."""
    from fabula.learn.retrieval.finder import Finder

    videos = {name: np.random.default_rng(0).random((15, 8), dtype=np.float32) for name in ("a", "b")}
    run_folder = never_stopped("vcmr", "xml")
    with PretendedDevice():
        finder = Finder(run_folder, device=str(DEVICE))
        corpus = finder.encode_all(videos)
        assert corpus.rows.mask.device == DEVICE and finder.find(corpus, ["a red door", "a person"])
        finder.read, finder.words = (lambda text: np.ones((3, finder.config.query_dim), np.float32)), None
        assert finder.find(corpus, "a red door")


def test_a_model_is_looked_into_on_a_pretended_gpu(worlds, never_stopped, monkeypatch):
    Task, folder = tasks.room.get("micap"), never_stopped("micap", "micap")
    with run_on_device(monkeypatch):
        assert run.analyse(Task(), folder, Task.Analyse(**worlds["micap"].asked)).figures


@pytest.mark.parametrize("compiled", [True, False])
def test_soft_matching_on_a_pretended_gpu(monkeypatch, compiled):
    """What the models' own operator does inside, by the kernel and without it; its second derivative."""
    from fabula.learn import soft

    if not compiled:
        monkeypatch.setattr(soft._kernels, "native", lambda: None)
    with PretendedDevice():
        cost, n, m = torch.rand(2, 4, 3, device=DEVICE), *torch.tensor([[4, 3], [3, 2]], device=DEVICE)
        for gamma, smooth, want in ((0.1, "logsumexp", "gradient"), (0.1, "expectation", "alignment"), (0.0, "", "")):
            value, flow = soft._forward(cost, n, m, gamma, smooth, want)
            assert value.device == flow.device == soft._hessian(cost, n, m, gamma, smooth, cost).device == DEVICE


# ---------------------------------------------------------------------------------------------------------------------
# Half precision


@pytest.mark.parametrize("precision", ["bf16", "16-mixed"])
@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_half_precision(worlds, tmp_path, monkeypatch, task, name, precision):
    """Losses and gradients are finite; the model answers in half precision, too."""
    settings = {"steps": 2, "accumulate": 1, "device": "cpu", "precision": precision}
    if precision == "16-mixed":  # which the command line leaves to GPUs; not scaled, so that gradients must be finite
        plugin = MixedPrecision("16-mixed", "cpu", GradScaler("cpu", 1.0))
        monkeypatch.setattr(loop, "make_fabric", lambda *given, **more: Fabric(accelerator="cpu", plugins=plugin))
    fit(worlds.get(name, worlds[task]), task, name, tmp_path / "run", SHAPES[name], **settings)
    with torch.autocast("cpu", dtype=torch.float16 if precision == "16-mixed" else torch.bfloat16):
        ask(worlds.get(name, worlds[task]), task, tmp_path / "run")
    with (tmp_path / "run" / "steps.csv").open(newline="") as stream:
        assert all(math.isfinite(float(v)) for row in csv.DictReader(stream) for v in row.values())
