"""A task and a model of another package, found by entry points; and what the loop promises, shown on them."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import FabulaError, InputError, SpecError  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.train import TrainingError  # noqa: E402
from fabula.verbs.command_line import fabula as command  # noqa: E402

NUMBERS = [0.5, -1.0, 2.0, 1.5, -0.5, 0.25, -2.0, 1.0, 0.75, -1.25]
POINTS = "[fabula.tasks]\nguess = fabula_toy.task:Task\n[fabula.models]\nguesser = fabula_toy.model:Model\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with the package as pip would install it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(__file__).parent / "fabula_toy", folder / "fabula_toy", ignore=lambda *_: ["__pycache__"])
    (folder / "fabula_toy-1.0.dist-info").mkdir()
    (folder / "fabula_toy-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: fabula-toy\nVersion: 1.0\n"
    )
    (folder / "fabula_toy-1.0.dist-info" / "entry_points.txt").write_text(POINTS)
    (folder / "numbers.json").write_text(json.dumps(NUMBERS))
    return folder


@pytest.fixture(autouse=True)
def installed(site, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(site))


@pytest.fixture
def train(site, tmp_path):
    """fabula.train of the toy into a folder of that name; its steps."""

    def run(name: str, **given):
        line = fabula.train(
            "guess", **{"numbers": site / "numbers.json", "out": tmp_path / name, "threads": 1, **given}
        )
        return line, tmp_path / name

    return run


def invoke(*args: object):
    done = CliRunner().invoke(command, list(map(str, args)))
    if isinstance(done.exception, FabulaError):
        raise done.exception
    return done


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def same_curve(ours: Path, theirs: Path, within: float = 1e-6) -> None:
    """Every number of every step and epoch, and the weights."""
    for name in ("steps.csv", "epochs.csv"):
        a, b = lines(ours / name), lines(theirs / name)
        assert len(a) == len(b) and a[0].keys() == b[0].keys()
        for x, y in zip(a, b, strict=True):
            for column in x.keys() - {"seconds"}:
                assert float(x[column]) == pytest.approx(float(y[column]), abs=within), (name, x["step"], column)
    a, b = (checkpoint.read(run / "last.safetensors")[0] for run in (ours, theirs))
    for tensor in a:
        if tensor.startswith("model."):
            torch.testing.assert_close(a[tensor], b[tensor], atol=within, rtol=0)


# -- from outside -----------------------------------------------------------------------------------------------------


def test_a_task_of_another_package_is_a_command(site, tmp_path):
    told = invoke("train", "guess", "--help").output
    assert "--noise FLOAT" in told and "--two" in told and "loud: much noise" in told and "--accumulate" in told
    assert "guess" in invoke("train", "--help").output and "pss" in invoke("predict", "--help").output
    done = invoke(
        "train", "guess", "--numbers", site / "numbers.json", "-o", tmp_path / "run", "--lr", 0.05, "--threads", 1
    )
    assert done.exit_code == 0 and "these are toy numbers" in done.stderr and "epoch 3/3" in done.stderr
    kept = json.loads((tmp_path / "run" / "config.json").read_text())
    assert kept["task"] == "guess" and kept["config"]["width"] == 4 and kept["settings"]["lr"] == 0.05
    done = invoke("predict", "guess", tmp_path / "run", site / "numbers.json", "-o", tmp_path / "told.jsonl")
    assert done.exit_code == 0 and "10 answers" in done.stderr
    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert told == fabula.predict("guess", tmp_path / "run", numbers=site / "numbers.json") and len(told) == 10
    with pytest.raises(InputError, match="a model of the task 'guess', not 'pss'"):
        fabula.predict("pss", tmp_path / "run", features=tmp_path)


def test_help_of_a_task_needs_no_torch(site):
    code = "import sys; sys.modules['torch'] = None; sys.argv = ['fabula', 'train', 'guess', '--help']; "
    code += "from fabula.verbs.command_line import main; main()"
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--noise" in done.stdout, done.stderr


def test_an_entry_point_that_leads_nowhere(site, tmp_path, monkeypatch):
    broken = tmp_path / "site" / "broken-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[fabula.tasks]\nbroken = no_such_module:Task\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(
        SpecError,
        match=r"broken 1\.0: the entry point 'broken' of fabula\.tasks \(no_such_module:Task\) cannot be loaded",
    ):
        fabula.train("broken")
    with pytest.raises(SpecError, match="no task is called 'gues'; did you mean 'guess'"):
        fabula.train("gues")
    told = invoke("train", "--help")  # the others are still there
    assert told.exit_code == 0 and "guess" in told.stdout and "pss" in told.stdout and "broken 1.0" in told.stderr


# -- the same curve ---------------------------------------------------------------------------------------------------

ALL = {"two": True, "accumulate": 2, "epochs": 4, "batch_size": 2}


@pytest.fixture(scope="module")
def whole(site, tmp_path_factory) -> Path:
    """Two passes, accumulation, dropout, noise; read by the process itself, never stopped. 4 epochs × 3 steps."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    before = list(sys.path)
    sys.path.insert(0, str(site))
    try:
        fabula.train("guess", numbers=site / "numbers.json", out=out, threads=1, **ALL)
    finally:
        sys.path[:] = before
    return out


def test_workers_change_nothing(train, whole):
    _, run = train("workers", workers=2, **ALL)
    assert (run / "steps.csv").read_text() == (whole / "steps.csv").read_text()
    same_curve(run, whole, within=0)


@pytest.mark.parametrize(("stop", "workers"), [(1, 0), (3, 2), (5, 2)])
def test_stopped_and_resumed(train, whole, monkeypatch, stop, workers):
    """In an epoch and at its end, in the midst of accumulated batches read by workers."""
    from fabula.learn import run as runs

    real = runs.train
    monkeypatch.setattr(runs, "train", lambda *a, **k: real(*a, **k, stop_after=stop))
    train("run", workers=workers, **ALL)
    monkeypatch.setattr(runs, "train", real)
    torch.manual_seed(5)  # another process would not stand where this one stood
    _, run = train("run", workers=workers, resume=True, **ALL)
    same_curve(run, whole)


def test_looking_seldom_changes_nothing(train, whole):
    _, run = train("seldom", log_every=5, save_minutes=0.0, **ALL)
    assert (run / "steps.csv").read_text() == (whole / "steps.csv").read_text()


def command_of(site: Path, out: Path, *more: str) -> list[str]:
    return ["-m", "fabula", "train", "guess", "--numbers", str(site / "numbers.json"), "--out", str(out), "--two",
            "--threads", "1", "--accumulate", "2", "--epochs", "4", "--batch-size", "1", "--workers", "1",
            "--save-every", "2", *more]  # fmt: skip


def launch(site: Path, *words: str, dies: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(site), "TOY_DIES": dies}
    two = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run([*two, *words], env=env, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
def test_two_processes_killed_and_resumed(site, tmp_path):
    """One of two is killed in the midst of a step; resumed, the curve is that of a run that was never stopped."""
    done = launch(site, *command_of(site, tmp_path / "whole"))
    assert done.returncode == 0, done.stderr[-3000:]
    done = launch(site, *command_of(site, tmp_path / "killed"), dies="1:22")  # 4 losses a step
    assert done.returncode != 0 and len(lines(tmp_path / "killed" / "steps.csv")) < 12
    done = launch(site, *command_of(site, tmp_path / "killed", "--resume"))
    assert done.returncode == 0, done.stderr[-3000:]
    same_curve(tmp_path / "killed", tmp_path / "whole")
    # both processes answered in validation: its scores are those of all numbers in their order
    told = fabula.predict("guess", tmp_path / "whole" / "last.safetensors", numbers=site / "numbers.json")
    last = lines(tmp_path / "whole" / "epochs.csv")[-1]
    assert float(last["val_first"]) == pytest.approx(told[0], abs=1e-6)
    assert float(last["val_near"]) == pytest.approx(-sum(abs(a - b) for a, b in zip(told, NUMBERS, strict=True)) / 10)


@pytest.mark.slow
def test_one_line_ends_all_processes(site, tmp_path):
    """A number that is not finite reaches one process of two: both end, one speaks."""
    (tmp_path / "numbers.json").write_text(json.dumps([*NUMBERS[:9], float("nan")]))
    words = command_of(site, tmp_path / "run")
    words[words.index("--numbers") + 1] = str(tmp_path / "numbers.json")
    done = launch(site, *words)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if "fabula: error" in line]
    assert len(said) == 1 and "the loss is not finite at step" in said[0] and "number 9" in said[0], done.stderr[-2000:]


# -- the loop ---------------------------------------------------------------------------------------------------------


def test_steps_instead_of_epochs(train, whole):
    """7 steps are 2 epochs and a third; 12 after that are the whole run, with a constant learning rate."""
    plain = {**ALL, "schedule": "constant"}
    line, run = train("short", steps=7, **plain)
    assert line["step"] == 7 and [r["epoch"] for r in lines(run / "epochs.csv")] == ["0", "1", "2"]
    assert train("short", steps=7, resume=True, **plain)[0] == line  # nothing to do
    assert len(lines(run / "epochs.csv")) == 3
    line, run = train("short", steps=12, resume=True, **plain)
    assert line["step"] == 12
    _, straight = train("straight", **plain)
    same_curve(run, straight)


def test_a_schedule_that_knows_its_end_cannot_grow(train):
    train("run", epochs=2)
    with pytest.raises(InputError, match=r"the learning rate of step \d+ was .* and would be .* with so many epochs"):
        train("run", epochs=3, resume=True)


def test_validation_by_steps_and_patience(train):
    _, run = train("run", validate_steps=2, epochs=4)
    told = lines(run / "validations.csv")
    assert [int(r["step"]) for r in told] == list(range(2, 21, 2)) and "val_near" not in lines(run / "epochs.csv")[0]
    scores = [float(r["val_near"]) for r in told]
    _, header = checkpoint.read(run / "best.safetensors")
    assert header["scores"]["near"] == pytest.approx(max(scores)) and header["step"] == 2 * (
        1 + scores.index(max(scores))
    )
    # a score that never grows: the first validation is the best, two more and it ends
    line, run = train("patient", validate_steps=2, epochs=4, patience=2, best_by="first", lr=1e-12)
    assert line["step"] == 6 and len(lines(run / "validations.csv")) == 3
    assert train("patient", validate_steps=2, epochs=4, patience=2, best_by="first", lr=1e-12, resume=True)[0] == line


def test_trackers_get_every_validation(train, monkeypatch):
    logged = []

    class Recorder:
        def log(self, values, step):
            logged.append((step, dict(values)))

        def close(self):
            pass

    monkeypatch.setattr("fabula.learn.train.open_trackers", lambda *_: [Recorder()])
    _, run = train("run", validate_steps=2, epochs=2)
    rows = lines(run / "validations.csv")
    sent = [(step, values) for step, values in logged if "val_near" in values]
    assert [step for step, _ in sent] == [int(r["step"]) for r in rows] == [2, 4, 6, 8, 10]
    assert [v["val_near"] for _, v in sent] == pytest.approx([float(r["val_near"]) for r in rows])
    assert all(set(v) == {"val_near", "val_far", "val_first"} for _, v in sent)


def test_several_bests(train):
    _, run = train("run", epochs=4)
    assert {f.name for f in run.glob("best*")} == {
        "best.safetensors", "best-near.safetensors", "best-near+far.safetensors"
    }  # fmt: skip
    both = [float(r["val_near"]) + float(r["val_far"]) for r in lines(run / "epochs.csv")]
    scores = checkpoint.read(run / "best-near+far.safetensors")[1]["scores"]
    assert scores["near"] + scores["far"] == pytest.approx(max(both))
    with pytest.raises(SpecError, match="no score is called 'nearr' to choose a checkpoint by; did you mean 'near'"):
        train("other", best_by="nearr")


def test_passes_and_names(train, whole):
    first = lines(whole / "steps.csv")[0]
    assert list(first) == ["step", "epoch", "lr", "loss", "number/scaled_1", "sign/wrong", "grad_norm"]
    assert float(first["loss"]) == pytest.approx(
        2.718281828 * float(first["number/scaled_1"]) + float(first["sign/wrong"])
    )
    still = {**ALL, "set_": {"dropout": 0.0}, "epochs": 1}
    (_, each), (_, one) = train("each", **still), train("together", pass_steps="together", **still)
    each, one = lines(each / "steps.csv"), lines(one / "steps.csv")
    assert each[0]["number/scaled_1"] == one[0]["number/scaled_1"]  # before the first step nothing differs …
    assert each[0]["sign/wrong"] != one[0]["sign/wrong"]  # … the second pass comes after it, or not


def test_accumulation_is_a_larger_batch(train):
    still = {"set_": {"dropout": 0.0}, "noise": 0.0, "epochs": 2}
    _, one = train("one", batch_size=10, **still)
    _, many = train("many", batch_size=2, accumulate=5, **still)
    same_curve(one, many)


def test_a_model_is_told_where_it_stands(site, tmp_path, monkeypatch):
    from fabula_toy.model import Config, Model, Numbers

    from fabula.learn.options import Run, Settings
    from fabula.learn.train import train as loop

    data, settings = Numbers(NUMBERS, 0.1), Settings(epochs=3, batch_size=2, save_every=1)
    model = Model(Config(width=4))
    loop(model, data, settings, Run(out=tmp_path / "run"), stop_after=7)
    assert model.began == [(step // 5, step) for step in range(7)]
    model = Model(Config(width=4))
    loop(model, data, settings, Run(out=tmp_path / "run", resume=True))
    assert model.began == [(step // 5, step) for step in range(7, 15)]


def test_gradients_that_are_not_finite(train):
    with pytest.raises(TrainingError, match=r"the gradient is not finite at step 0 on \['number .*lower --lr"):
        train("run", set_={"bad_gradient": True})


def test_what_a_worker_cannot_read(site, train, tmp_path):
    (tmp_path / "bad.json").write_text(json.dumps([*NUMBERS, 999]))
    for workers in (0, 1):
        with pytest.raises(InputError, match=r"^video 'number 10': nobody can read this; leave it out$"):
            train(f"run{workers}", numbers=tmp_path / "bad.json", workers=workers)


def test_nothing_to_train_on(train, tmp_path):
    from fabula_toy.model import Config, Model, Numbers

    from fabula.learn.options import Run, Settings
    from fabula.learn.train import train as loop

    with pytest.raises(SpecError, match="nothing to train on"):
        loop(Model(Config(width=4)), Numbers([], 0.1), Settings(), Run(out=tmp_path / "run"))


def test_bf16(train, whole):
    """Coarser steps of the same way: losses near those of float32, weights still float32."""
    _, run = train("bf16", precision="bf16", **ALL)
    for a, b in zip(lines(run / "steps.csv"), lines(whole / "steps.csv"), strict=True):
        assert float(a["loss"]) == pytest.approx(float(b["loss"]), rel=0.05) and a["loss"] != b["loss"]
    assert checkpoint.read(run)[0]["model.number.weight"].dtype == torch.float32
    with pytest.raises(SpecError, match="16-mixed needs a GPU"):
        train("half", precision="16-mixed", device="cpu")


def test_devices_that_are_not_there(train):
    for name in ("cuda:7", "nowhere", "meta"):
        with pytest.raises(SpecError, match=f"device.*{name}.*there are: cpu"):
            train("run", device=name)


# -- settings of papers and files -------------------------------------------------------------------------------------


def test_presets(train):
    _, run = train("run", preset="loud", epochs=1)
    assert json.loads((run / "config.json").read_text())["settings"]["lr"] == 0.02
    _, quiet = train("quiet", epochs=1, lr=0.02)
    assert lines(run / "steps.csv")[0]["loss"] != lines(quiet / "steps.csv")[0]["loss"]  # the noise was filled in
    _, said = train("said", preset="loud", epochs=1, noise=0.1)
    assert lines(said / "steps.csv")[0]["loss"] == lines(quiet / "steps.csv")[0]["loss"]  # and what is said goes first
    with pytest.raises(SpecError, match="no preset is called 'lout'; did you mean 'loud'"):
        train("other", preset="lout")


def test_a_config_given_back(train, whole, tmp_path):
    _, run = train("again", config=whole / "config.json")
    same_curve(run, whole, within=0)
    (tmp_path / "mine.toml").write_text(
        'task = "guess"\nmodel = "guesser"\n[config]\ntwo = true\n[settings]\naccumulate = 2\nepochs = 4\n'
        "betas = [0.9, 0.999]\n[options]\nnoise = 0.1\n"
    )
    _, run = train("toml", config=tmp_path / "mine.toml")
    same_curve(run, whole, within=0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[settings]\nlearning_rate = 1", "no setting is called 'learning_rate'"),
        ("[settings]\nepochs = 'many'", "epochs is 'many'; it should look like 3"),
        ("[settings]\nepochs = 2.5", "epochs is 2.5; it should look like 3"),
        ("[settings]\nschedule = 'cosin'", "schedule is 'cosin'; it may be staircase, constant, linear, cosine"),
        ("[settings]\nlr = -1", "a learning rate of -1"),
        ("[config]\ntwo = 3", "two is 3; it should look like False"),
        ("[config]\nhiden = 3", "no setting is called 'hiden'; did you mean 'hidden'"),
        ("[options]\nnoize = 3", "no option is called 'noize'; did you mean 'noise'"),
        ("[options]\nnoise = 'x'", "noise is 'x'"),
        ("settings = 3", "settings is 3; expected a table"),
        ("model = 3", "model is 3; expected a name"),
        ("task = 'pss'", "of the task 'pss', not 'guess'"),
        ("tune = 3", "an unknown key 'tune'"),
        ("= 3", "not TOML"),
    ],
)
def test_config_files_that_are_none(site, tmp_path, text, said):
    (tmp_path / "x.toml").write_text(text)
    words = [sys.executable, "-m", "fabula", "train", "guess", "--numbers", site / "numbers.json"]
    with pytest.raises(InputError) as error:
        invoke(*words[3:], "-o", tmp_path / "run", "--config", tmp_path / "x.toml")
    assert str(tmp_path / "x.toml") in str(error.value) and said in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_bad_input_costs_one_line_and_2(site, tmp_path, monkeypatch, capsys):
    from fabula.verbs.command_line import run

    (tmp_path / "x.toml").write_text("[settings]\nepochs = 'many'")
    words = [
        "train",
        "guess",
        "--numbers",
        site / "numbers.json",
        "-o",
        tmp_path / "run",
        "--config",
        tmp_path / "x.toml",
    ]
    monkeypatch.setattr(sys, "argv", ["fabula", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        run()
    said = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert end.value.code == 2 and len(said) == 1 and "x.toml: epochs is 'many'" in said[0]
    assert not (tmp_path / "run").exists()


def test_what_the_data_decide_cannot_be_set(train):
    with pytest.raises(SpecError, match="width comes from the data"):
        train("run", set_={"width": 3})


# -- beginning from weights -------------------------------------------------------------------------------------------


def test_beginning_from_a_run(train, tmp_path):
    _, first = train("first", set_={"hidden": 12})
    _, run = train("more", from_=first, epochs=1, lr=1e-12)
    began, ended = checkpoint.read(first, weights_only=True)[0], checkpoint.read(run, weights_only=True)[0]
    assert all(torch.allclose(began[n], ended[n], atol=1e-9) for n in began)  # hidden 12 came with it
    _, part = train("part", from_=first, from_part="encoder", epochs=1, lr=1e-12)
    ended = checkpoint.read(part, weights_only=True)[0]
    assert torch.allclose(began["model.body.0.weight"], ended["model.body.0.weight"], atol=1e-9)
    assert not torch.allclose(began["model.number.weight"], ended["model.number.weight"], atol=1e-3)


def test_weights_that_do_not_fit(train, tmp_path):
    _, first = train("first", epochs=1)
    with pytest.raises(InputError, match=r"the weights do not fit: 'body\.0\.bias' is"):
        train("run", from_=first, set_={"hidden": 5})
    with pytest.raises(InputError, match=r"the weights do not fit: 'body\.0\.bias' is"):
        train("run", from_=first, from_part="encoder", set_={"hidden": 5})
    with pytest.raises(SpecError, match="has no such part; there are: whole, encoder"):
        train("run", from_=first, from_part="decoder")
    with pytest.raises(SpecError, match="--from-part has no effect without --from"):
        train("run", from_part="encoder")
    with pytest.raises(InputError, match="no such run or checkpoint"):
        train("run", from_=tmp_path / "nowhere")
    with pytest.raises(SpecError, match="--from-words has no effect without --from"):
        train("run", from_words=tmp_path / "words.json")
