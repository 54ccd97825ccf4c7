"""The loop: the same curve after a kill, checkpoints that refuse what they do not fit, two processes."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.data.stories import Corpus  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.config import configure  # noqa: E402
from fabula.learn.loop.loader import batches  # noqa: E402
from fabula.learn.loop.logs import cut, write_line  # noqa: E402
from fabula.learn.loop.schedule import lr_at  # noqa: E402
from fabula.learn.models.pdvc import Config  # noqa: E402
from fabula.learn.options import Run, Settings  # noqa: E402
from fabula.learn.pss import predict_pss, train_pss  # noqa: E402
from fabula.learn.tasks.pss import PredictOptions  # noqa: E402
from fabula.learn.tasks.pss import TrainOptions as Task  # noqa: E402
from fabula.learn.train import TrainingError  # noqa: E402
from fabula.learn.words import words_of  # noqa: E402

SMALL = {"frames": 24, "hidden": 16, "heads": 2, "norm_groups": 4, "feedforward": 16, "queries": 8, "rnn": 8,
         "word_dim": 8, "dropout": 0.1, "levels": 2}  # fmt: skip
FAST = {"epochs": 3, "batch_size": 4, "lr": 1e-3, "threads": 1}


def task_of(small, **changes) -> Task:
    return Task(data=small.annotations, features=small.features, tiny=True, val=small.annotations, **changes)


def train(task, out, config, settings, **more):
    return train_pss(task, Run(out=out, **more), config, settings)


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def run(small, tmp_path_factory) -> Path:
    """A run of 3 epochs × 2 steps, never stopped; the soft matcher draws random queries, so random states matter."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    train(task_of(small), out, {**SMALL, "matcher": "soft"}, FAST)
    return out


def test_a_run_is_a_folder(run):
    assert {f.name for f in run.iterdir()} == {
        "config.json", "steps.csv", "epochs.csv", "last.safetensors", "best.safetensors",
        "best-METEOR+SODA_c.safetensors", "best-SODA_d.safetensors",
    }  # fmt: skip
    steps, epochs = lines(run / "steps.csv"), lines(run / "epochs.csv")
    assert [int(r["step"]) for r in steps] == [1, 2, 3, 4, 5, 6] and len(epochs) == 3
    assert float(epochs[0]["loss"]) == pytest.approx((float(steps[0]["loss"]) + float(steps[1]["loss"])) / 2)
    assert all(0 <= float(r["val_SODA_d"]) <= 1 and r["val_mIoU"] for r in epochs)
    config = json.loads((run / "config.json").read_text())
    assert config["model"] == "pdvc" and config["simulated"] is True and config["config"]["matcher"] == "soft"
    _, header = checkpoint.read(run / "best-SODA_d.safetensors")
    assert header["scores"]["SODA_d"] == pytest.approx(max(float(r["val_SODA_d"]) for r in epochs), abs=1e-9)
    for name in ("best", "best-METEOR+SODA_c"):
        scores = checkpoint.read(run / f"{name}.safetensors")[1]["scores"]
        best = max(float(r["val_METEOR"]) + float(r["val_SODA_c"]) for r in epochs)
        assert scores["METEOR"] + scores["SODA_c"] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_stopped_and_resumed_is_the_same_curve(small, run, tmp_path, monkeypatch, stop):
    """In the middle of an epoch and at its end."""
    from fabula.learn import run as runs
    from fabula.learn.train import train as loop

    monkeypatch.setattr(runs, "train", lambda *a, **k: loop(*a, **k, stop_after=stop))
    config = {**SMALL, "matcher": "soft"}
    train(task_of(small), tmp_path / "run", config, FAST)
    write_line(tmp_path / "run" / "steps.csv", {"step": stop + 1, "loss": 1e9})  # logged, then killed
    monkeypatch.undo()
    torch.manual_seed(123)  # another process would not stand where this one stood
    train(task_of(small), tmp_path / "run", config, FAST, resume=True)
    ours, theirs = lines(tmp_path / "run" / "steps.csv"), lines(run / "steps.csv")
    assert [r["step"] for r in ours] == [r["step"] for r in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert float(a["loss"]) == pytest.approx(float(b["loss"]), abs=1e-6)
    for a, b in zip(lines(tmp_path / "run" / "epochs.csv"), lines(run / "epochs.csv"), strict=True):
        assert {n: a[n] for n in a if n != "seconds"} == {n: b[n] for n in b if n != "seconds"}
    ours, _ = checkpoint.read(tmp_path / "run" / "last.safetensors")
    theirs, _ = checkpoint.read(run / "last.safetensors")
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


@pytest.mark.parametrize("dies_at", [1, 3], ids=["before the first checkpoint", "after an epoch's line"])
def test_no_line_is_told_twice(small, run, tmp_path, monkeypatch, dies_at):
    from fabula.learn.train import Loop

    saves: list[int] = []
    real = Loop.save

    def dies(self):
        saves.append(1)
        if len(saves) == dies_at:
            raise KeyboardInterrupt
        real(self)

    monkeypatch.setattr(Loop, "save", dies)
    config, often = {**SMALL, "matcher": "soft"}, {**FAST, "save_every": 1}
    with pytest.raises(KeyboardInterrupt):
        train(task_of(small), tmp_path / "run", config, often)
    monkeypatch.undo()
    train(task_of(small), tmp_path / "run", config, often, resume=True)
    for name in ("steps.csv", "epochs.csv"):
        ours, theirs = lines(tmp_path / "run" / name), lines(run / name)
        assert [{**r, "seconds": ""} for r in ours] == [{**r, "seconds": ""} for r in theirs]


def command(small, out: Path, *more: str) -> list[str]:
    settings = [f"--set={n}={v}" for n, v in SMALL.items()]
    return ["-m", "fabula", "train", "pss", "--data", str(small.annotations), "--features", str(small.features),
            "--tiny", "--matcher", "soft", "--batch-size", "4", "--lr", "1e-3", "--threads", "1", "--out", str(out),
            *settings, *more]  # fmt: skip


@pytest.mark.slow
def test_killed_and_resumed(small, tmp_path):
    """kill −9 in the middle, then --resume: the final loss is that of a run that was never killed, to 1e-6."""
    more = ("--epochs", "30", "--save-every", "7")
    subprocess.run([sys.executable, *command(small, tmp_path / "whole", *more)], check=True)
    process = subprocess.Popen([sys.executable, *command(small, tmp_path / "killed", *more)])
    deadline = time.monotonic() + 300
    log = tmp_path / "killed" / "steps.csv"
    while time.monotonic() < deadline and process.poll() is None and not (log.exists() and len(lines(log)) > 17):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    subprocess.run([sys.executable, *command(small, tmp_path / "killed", *more, "--resume")], check=True)
    ours, theirs = lines(log), lines(tmp_path / "whole" / "steps.csv")
    assert len(ours) == len(theirs) == 60
    for a, b in zip(ours, theirs, strict=True):
        assert float(a["loss"]) == pytest.approx(float(b["loss"]), abs=1e-6)


@pytest.mark.slow
def test_two_processes(small, tmp_path):
    """torchrun, gloo: both see half the videos, and the weights of one process with twice the batch come out."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two = command(small, tmp_path / "two", "--epochs", "2", "--batch-size", "2", "--matcher", "hungarian",
                  "--set=dropout=0", "--set=caption_dropout=0")  # fmt: skip
    one = command(small, tmp_path / "one", "--epochs", "2", "--batch-size", "4", "--matcher", "hungarian",
                  "--set=dropout=0", "--set=caption_dropout=0", "--captioner", "none")  # fmt: skip
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*launch, *two, "--captioner", "none"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    subprocess.run([sys.executable, *one], env=env, check=True, capture_output=True)
    ours, header = checkpoint.read(tmp_path / "two" / "last.safetensors")
    theirs, _ = checkpoint.read(tmp_path / "one" / "last.safetensors")
    assert {n for n in ours if n.startswith("rng.")} == {"rng.0.cpu", "rng.1.cpu"} and header["place"]["step"] == 4
    for name in (n for n in theirs if n.startswith("model.")):
        both = [weights[name] for weights in (ours, theirs)]
        if name.endswith("in_proj_bias"):  # keys' bias shifts all scores of a softmax: no gradient but rounding, which
            both = [torch.cat([w.chunk(3)[0], w.chunk(3)[2]]) for w in both]  # Adam scales up to whole steps
        torch.testing.assert_close(*both, atol=2e-4, rtol=1e-3, msg=name)
    with pytest.raises(InputError, match="the run used 2 processes, now there are 1"):
        train(
            task_of(small), tmp_path / "two",
            {**SMALL, "matcher": "hungarian", "captioner": "none", "dropout": 0.0, "caption_dropout": 0.0},
            {**FAST, "epochs": 3, "batch_size": 2}, resume=True,
        )  # fmt: skip


def test_nothing_is_overwritten_unless_told(small, run, tmp_path):
    before = {f.name: f.read_bytes() for f in run.iterdir()}
    with pytest.raises(InputError, match="holds a run already"):
        train(task_of(small), run, SMALL, FAST)
    with pytest.raises(InputError, match="no run to resume"):
        train(task_of(small), tmp_path / "new", SMALL, FAST, resume=True)
    with pytest.raises(InputError, match="a run of the model 'pdvc', not 'procnets'"):
        train(task_of(small, model="procnets"), run, {}, FAST, resume=True)
    with pytest.raises(InputError, match=r"lr was 0\.001 and is 0\.5 now"):
        train(task_of(small), run, {**SMALL, "matcher": "soft"}, {**FAST, "lr": 0.5}, resume=True)
    with pytest.raises(InputError, match="matcher was 'soft' and is 'hungarian' now"):
        train(task_of(small), run, SMALL, FAST, resume=True)
    assert {f.name: f.read_bytes() for f in run.iterdir()} == before
    train(task_of(small), tmp_path / "run", {**SMALL, "captioner": "none"}, {**FAST, "epochs": 1})
    line = train(
        task_of(small), tmp_path / "run", {**SMALL, "captioner": "none"}, {**FAST, "epochs": 1}, overwrite=True
    )
    assert line["step"] == 2 and len(lines(tmp_path / "run" / "steps.csv")) == 2


def test_another_vocabulary_is_refused(small, run, tmp_path):
    text = small.annotations.read_text().replace("flour", "sugar")
    (tmp_path / "other.json").write_text(text)
    task = Task(data=tmp_path / "other.json", features=small.features, tiny=True)
    with pytest.raises(InputError, match=r"vocabulary had \d+ entries and has \d+ now; entry \d+ was"):
        train(task, run, {**SMALL, "matcher": "soft"}, FAST, resume=True)


def test_epochs_may_grow(small, tmp_path):
    config = {**SMALL, "captioner": "none"}
    train(task_of(small), tmp_path / "run", config, {**FAST, "epochs": 1})
    train(task_of(small), tmp_path / "run", config, {**FAST, "epochs": 2}, resume=True)
    train(task_of(small), tmp_path / "whole", config, {**FAST, "epochs": 2})
    assert (tmp_path / "run" / "steps.csv").read_text() == (tmp_path / "whole" / "steps.csv").read_text()


# -- checkpoints ------------------------------------------------------------------------------------------------------


def test_checkpoints_predict(small, run):
    told = predict_pss(run, PredictOptions(features=small.features))
    assert set(told) == set(small.corpus)
    assert (
        told.stories
        == predict_pss(
            run / "best.safetensors", PredictOptions(features=small.features, data=small.annotations)
        ).stories
    )


def test_an_answer_does_not_depend_on_its_batch(small, tmp_path):
    """Videos that keep their length are asked one by one, whatever --batch-size says: norms would see the padding."""
    config = {**SMALL, "frames": None, "captioner": "none"}
    train(task_of(small), tmp_path / "run", config, {**FAST, "epochs": 1})
    one, many = (
        predict_pss(tmp_path / "run", PredictOptions(features=small.features, batch_size=size)).stories
        for size in (1, 8)
    )
    assert one == many


def test_checkpoints_that_are_none(small, run, tmp_path):
    from safetensors.torch import save_file

    (tmp_path / "text.safetensors").write_text("no")
    (tmp_path / "half.safetensors").write_bytes((run / "best.safetensors").read_bytes()[:5000])
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    (tmp_path / "empty").mkdir()
    for name, said in [("text", "not a readable"), ("half", "not a readable"), ("other", "no checkpoint of fabula")]:
        with pytest.raises(InputError, match=said):
            checkpoint.load_model(tmp_path / f"{name}.safetensors")
    with pytest.raises(InputError, match="no checkpoint in this folder"):
        checkpoint.load_model(tmp_path / "empty")
    tensors, header = checkpoint.read(run / "best.safetensors")
    checkpoint.write(tmp_path / "new.safetensors", tensors, {**header, "format": 99})
    with pytest.raises(InputError, match="a checkpoint of format 99"):
        checkpoint.load_model(tmp_path / "new.safetensors")
    checkpoint.write(tmp_path / "odd.safetensors", tensors, {**header, "config": {**header["config"], "depth": 3}})
    with pytest.raises(InputError, match="does not know: depth"):
        checkpoint.load_model(tmp_path / "odd.safetensors")
    checkpoint.write(tmp_path / "wide.safetensors", tensors, {**header, "config": {**header["config"], "hidden": 32}})
    with pytest.raises(InputError, match="the weights do not fit"):
        checkpoint.load_model(tmp_path / "wide.safetensors")


def test_a_checkpoint_of_another_model(small, run):
    from fabula.learn.models import procnets

    tensors, header = checkpoint.read(run)
    with pytest.raises(InputError, match="a checkpoint of the model 'pdvc', not 'procnets'"):
        checkpoint.restore(procnets.Model(procnets.Config.tiny()), tensors, header, run)


def test_features_of_another_width(run, tmp_path):
    import numpy as np

    from fabula.media.stores.features import write_features

    write_features(tmp_path / "wide", [("a", np.ones((4, 7)))], {"durations": {"a": 5.0}})
    with pytest.raises(InputError, match="features of 7 channels; the checkpoint takes 128"):
        predict_pss(run, PredictOptions(features=tmp_path / "wide"))


def test_durations_from_a_rate(small, run):
    told = predict_pss(run, PredictOptions(features=small.features, rate=0.5))
    assert told["demo_bread"].duration == 428.0
    with pytest.raises(SpecError, match="must be positive"):
        predict_pss(run, PredictOptions(features=small.features, rate=0.0))


# -- pieces -----------------------------------------------------------------------------------------------------------


def test_learning_rate():
    """PDVC's staircase: 7 milestones in 30 epochs, no eighth at epoch 29."""
    s = Settings(lr=1.0, decay=0.5, decay_from=8, decay_every=3)
    rates = [lr_at(s, 10 * epoch, 10, 300) for epoch in range(30)]
    assert [rates[e] for e in (0, 7, 8, 10, 11, 14)] == [1, 1, 0.5, 0.5, 0.25, 0.125]
    assert rates[26] == rates[29] == 0.5**7 and len(set(rates)) == 8


def test_batches_deal_one_permutation():
    s = Settings(batch_size=2, seed=1)
    alone = batches(7, s, 0)
    assert sorted(chain(*alone)) == list(range(7)) and [len(b) for b in alone] == [2, 2, 2, 1]
    assert batches(7, s, 0) == alone != batches(7, s, 1)
    two = [batches(7, s, 0, rank, 2) for rank in (0, 1)]
    assert [len(b) for b in two[0]] == [len(b) for b in two[1]] == [2, 2]
    assert set(chain(*two[0], *two[1])) == set(range(7))  # one is seen twice
    assert [len(b) for b in batches(1, s, 0, 1, 2)] == [2]


def test_settings_are_checked():
    for wrong in ({"epochs": 0}, {"batch_size": 0}, {"lr": -1.0}, {"lr": float("nan")}):
        with pytest.raises(SpecError, match=r"must be"):
            Settings(**wrong)
    for seed in (-1, 1 << 32, 1 << 70):
        with pytest.raises(SpecError, match=rf"seed {seed}; it is a whole number from 0"):
            Settings(seed=seed)
    assert Settings(seed=(1 << 32) - 1).seed == 4294967295
    with pytest.raises(SpecError, match="batch_size is 0; it must be at least 1"):
        PredictOptions(features="features", batch_size=0)
    with pytest.raises(SpecError, match="no setting is called 'hiden'; did you mean 'hidden'"):
        configure(Config(), {"hiden": 1})
    assert configure(Settings(), {"betas": "0.8,0.9", "clip_norm": "none", "epochs": "3"}) == Settings(
        betas=(0.8, 0.9), clip_norm=None, epochs=3
    )
    with pytest.raises(SpecError, match="epochs is 'many'"):
        configure(Settings(), {"epochs": "many"})


def test_a_loss_that_is_not_finite_stops(small, tmp_path, monkeypatch):
    from fabula.learn.models import procnets

    nan = torch.tensor(float("nan"), requires_grad=True)
    monkeypatch.setattr(
        procnets.Model, "loss", lambda self, batch: {"loss": nan * sum(p.sum() for p in self.parameters())}
    )
    with pytest.raises(TrainingError, match=r"not finite at step 0 on \['demo_"):
        train(task_of(small, model="procnets"), tmp_path / "run", {}, FAST)


def test_half_a_line_is_dropped(tmp_path):
    for step in (1, 2, 3):
        write_line(tmp_path / "x.csv", {"step": step, "loss": 0.5})
    with (tmp_path / "x.csv").open("a") as stream:
        stream.write("1")
    cut(tmp_path / "x.csv", "step", 2)
    assert (tmp_path / "x.csv").read_text() == "step,loss\n1,0.5\n2,0.5\n"
    write_line(tmp_path / "x.csv", {"step": 3, "loss": 0.25, "val": 1.0})  # a new column
    assert (tmp_path / "x.csv").read_text() == "step,loss,val\n1,0.5,\n2,0.5,\n3,0.25,1\n"


def test_tensorboard(small, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    train(task_of(small), tmp_path / "run", {**SMALL, "captioner": "none"}, {**FAST, "epochs": 1}, tensorboard=True)
    assert list((tmp_path / "run" / "tensorboard").glob("events.*"))


# -- procedures -------------------------------------------------------------------------------------------------------


def test_workers_read_every_kind_of_store(small, tmp_path):
    """HDF5 and safetensors, opened by each process for itself; steps are drawn the same by all."""
    pytest.importorskip("h5py", reason="HDF5 needs fabula[learn]")
    from fabula.media.stores.features import Features, write_features

    kept = Features(small.features)
    config, fast = {**SMALL, "captioner": "none"}, {**FAST, "epochs": 2}
    told = []
    for name in ("f.h5", "f.safetensors", "folder"):
        write_features(tmp_path / name, kept.items(), kept.metadata)
        for workers in (0, 2):
            task = Task(data=small.annotations, features=tmp_path / name, tiny=True, max_events=4)
            train(task, tmp_path / f"{name}-{workers}", config, {**fast, "workers": workers})
            told.append((tmp_path / f"{name}-{workers}" / "steps.csv").read_text())
    assert len(set(told)) == 1


def test_presets_of_the_papers(small, tmp_path):
    """ActivityNet's: few queries, words from 4 times on, counted on both splits."""
    task = task_of(small, preset="activitynet")
    tiny = {**SMALL, "queries": 8}
    train(
        task, tmp_path / "run", {n: v for n, v in tiny.items() if n not in ("queries", "frames")}, {**FAST, "epochs": 1}
    )
    kept = json.loads((tmp_path / "run" / "config.json").read_text())["config"]
    assert (kept["queries"], kept["frames"], kept["max_count"]) == (10, 100, 10)
    every = [w for story in small.corpus.values() for c in story.captions for w in words_of(c)] * 2  # train is val here
    assert set(kept["vocabulary"]) == {w for w in every if every.count(w) >= 4} | {"<unk>"}
    with pytest.raises(SpecError, match="--preset youcook2 is for the model pdvc, not procnets"):
        train(task_of(small, preset="youcook2", model="procnets"), tmp_path / "other", {}, FAST)


def test_captions_are_validated_as_pdvc_does(small):
    """METEOR over four overlaps and SODA_c: the numbers of protocol pdvc-2021."""
    import fabula
    from fabula.learn.pss import score_predictions

    moved = Corpus({v: replace(s, events=s.events[:3]) for v, s in small.corpus.items()}, "moved")
    found = score_predictions(moved, small.corpus, captions=True)
    told = fabula.score(moved, small.corpus, protocol="pdvc-2021")
    assert found["METEOR"] == told["METEOR"].value > 0 and found["SODA_c"] == told["SODA_c"].value > 0
    assert found["SODA_d"] == score_predictions(moved, small.corpus)["SODA_d"]


def test_a_run_goes_on_with_the_words_of_another(small, run, tmp_path):
    """--from keeps the vocabulary of the weights; the encoder alone does not need it."""
    text = small.annotations.read_text().replace("flour", "sugar")
    (tmp_path / "other.json").write_text(text)
    task = Task(data=tmp_path / "other.json", features=small.features, from_=run)
    train(task, tmp_path / "more", {}, {**FAST, "epochs": 1})
    kept, first = (json.loads((r / "config.json").read_text())["config"] for r in (tmp_path / "more", run))
    assert kept["vocabulary"] == first["vocabulary"] and kept["matcher"] == "soft" and "sugar" not in kept["vocabulary"]


def test_the_example_of_the_docs(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "training.md"
    if not page.exists():
        pytest.skip("docs/ is not beside the package: not a checkout")
    code = page.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    told: dict[str, object] = {}
    exec(compile(code, str(page), "exec"), told)
    assert list(told["predictions"]) == ["v1"] and "results" in json.loads(Path("submission.json").read_text())


@pytest.mark.experiment
@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_memorisation_by_the_loop(small, tmp_path, precision):
    """8 videos of its own training set in 300 steps: SODA-D F1 above .95, in float32 and in bfloat16."""
    settings = {"steps": 300, "batch_size": 8, "lr": 2e-3, "schedule": "linear", "threads": 1, "validate_steps": 300,
                "precision": precision, "weight_decay": 0.0}  # fmt: skip
    train(task_of(small), tmp_path / "run", {"captioner": "none"}, settings)
    assert float(lines(tmp_path / "run" / "validations.csv")[-1]["val_SODA_d"]) > 0.95
