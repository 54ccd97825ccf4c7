"""The parts of the loop: learning rates by pencil, optimisers, random states of any device, trackers, batches."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

from torch import Tensor, nn  # noqa: E402

from fabula.core.errors import MissingExtra, SpecError  # noqa: E402
from fabula.learn import batch  # noqa: E402
from fabula.learn.loop import processes  # noqa: E402
from fabula.learn.loop.loader import seed_of  # noqa: E402
from fabula.learn.loop.logs import check_trackers, open_trackers  # noqa: E402
from fabula.learn.loop.schedule import lr_at, make_optimizer, set_rate  # noqa: E402
from fabula.learn.options import Run, Settings, Share  # noqa: E402
from fabula.learn.train import mean_values  # noqa: E402


def test_schedules_by_pencil():
    def rates(total: int, **given):
        return [lr_at(Settings(lr=1.0, **given), step, 5, total) for step in range(total)]

    assert rates(4, schedule="constant") == [1, 1, 1, 1]
    assert rates(4, schedule="constant", warmup=2) == [0.5, 1, 1, 1]
    assert rates(5, schedule="linear") == pytest.approx([1, 0.8, 0.6, 0.4, 0.2])
    assert rates(10, schedule="linear", warmup=0.2) == pytest.approx(
        [0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 0.5, 3 / 8, 2 / 8, 1 / 8]
    )
    assert rates(4, schedule="cosine") == pytest.approx([1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2])
    assert rates(15, decay_from=1, decay_every=1, epochs=3) == [1] * 5 + [0.5] * 5 + [0.25] * 5
    assert rates(15, decay_from=1, decay_every=1, decay_times=1) == [1] * 5 + [0.5] * 10


def test_what_every_process_has(monkeypatch):
    """Of three processes, of which this is the second; alone there is nobody to ask."""
    assert processes.gather("mine") == ["mine"]

    def fill(every: list[object], mine: object) -> None:
        assert every == [None] * 3
        every[:] = ["first", mine, "third"]

    yes = lambda: True  # noqa: E731
    several = SimpleNamespace(is_available=yes, is_initialized=yes, get_world_size=lambda: 3, all_gather_object=fill)
    monkeypatch.setattr(processes, "dist", several)
    assert processes.gather("mine") == ["first", "mine", "third"]


def test_processes_of_neighbouring_seeds_draw_other_numbers():
    assert processes.seed_of_process(777, 0) == 777  # one process draws what it always drew
    every = [processes.seed_of_process(seed, rank) for seed in range(770, 790) for rank in range(8)]
    assert len(set(every)) == len(every) and all(0 <= s < 1 << 63 for s in every)


class Small(nn.Module):
    name = "small"

    def __init__(self) -> None:
        super().__init__()
        self.line, self.norm = nn.Linear(2, 2), nn.LayerNorm(2)


class Grouped(Small):
    def parameter_groups(self, settings: Settings) -> list[dict[str, object]]:
        return [{"params": [self.line.weight], "lr_scale": 0.1}, {"params": [self.line.bias, *self.norm.parameters()]}]


def test_optimisers():
    assert type(make_optimizer(Small(), Settings())) is torch.optim.Adam
    made = make_optimizer(Small(), Settings(optimizer="adamw", no_decay=True, weight_decay=0.1, eps=1e-6))
    assert type(made) is torch.optim.AdamW and [g["weight_decay"] for g in made.param_groups] == [0.1, 0.0]
    assert [len(g["params"]) for g in made.param_groups] == [1, 3] and made.param_groups[0]["eps"] == 1e-6
    made = make_optimizer(Grouped(), Settings())
    set_rate(made, 0.5)
    assert [g["lr"] for g in made.param_groups] == [0.05, 0.5]
    with pytest.raises(SpecError, match="leave parameters out"):
        model = Grouped()
        model.parameter_groups = lambda settings: [{"params": [model.line.weight]}]
        make_optimizer(model, Settings())


def test_random_states_of_a_device(monkeypatch):
    """A device with a generator of its own, as a GPU has: kept, put back, and left alone by validation."""
    own = torch.Generator().manual_seed(3)
    fake = SimpleNamespace(
        get_rng_state=lambda device: own.get_state(), set_rng_state=lambda state, device: own.set_state(state)
    )
    device = torch.device("meta")
    monkeypatch.setattr(torch, "meta", fake, raising=False)
    torch.manual_seed(1)
    kept = processes.random_states(device)
    assert set(kept) == {"cpu", "meta"}

    def draw() -> tuple[float, float]:
        return float(torch.rand(())), float(torch.rand((), generator=own))

    first = draw()
    processes.restore_random(kept, device)
    assert draw() == first
    processes.restore_random(kept, device)
    with processes.keep_random(device):
        draw()
    assert draw() == first


def test_shares():
    units = list(range(7))
    assert [list(Share(r, 3).of(7)) for r in range(3)] == [[0, 3, 6], [1, 4], [2, 5]]
    assert processes.deal_back([[units[i] for i in Share(r, 3).of(7)] for r in range(3)]) == units
    assert processes.gather("x") == ["x"]
    assert mean_values([{"a": 1.0, "b": 2.0}, {"a": 2.0}]) == {"a": 1.5, "b": 2.0}
    assert len({seed_of(s, e, i) for s in range(3) for e in range(3) for i in range(9)}) == 81


@dataclass
class Nested(batch.Batch):
    one: Tensor
    many: list[Tensor]
    named: dict[str, Tensor]
    words: list[str]


def test_a_batch_moves_what_can_move():
    made = Nested(["a"], torch.ones(1), [torch.ones(1)], {"x": torch.ones(1)}, ["w"]).change(lambda t: t + 1)
    assert [float(t) for t in (made.one, made.many[0], made.named["x"])] == [2, 2, 2] and made.words == ["w"]
    assert made.to("cpu") is not made and replace(made, names=["b"]).names == ["b"]


# -- trackers: stand-ins for the packages, which are not installed here ------------------------------------------------


def test_weights_and_biases(tmp_path, monkeypatch):
    calls: list[object] = []
    run = SimpleNamespace(
        id="x1", log=lambda values, step: calls.append((values, step)), finish=lambda: calls.append("end")
    )
    fake = ModuleType("wandb")
    fake.init = lambda **given: calls.append(given) or run
    monkeypatch.setitem(sys.modules, "wandb", fake)
    (tracker,) = open_trackers(Run(out=tmp_path, wandb="mine"), {"config": {}}, 0)
    tracker.log({"loss": 0.5}, 3)
    tracker.close()
    assert calls[0]["project"] == "mine" and calls[0]["id"] is None and calls[1:] == [({"loss": 0.5}, 3), "end"]
    open_trackers(Run(out=tmp_path, wandb="mine", resume=True), {"config": {}}, 3)
    assert calls[-1]["id"] == "x1" and json.loads((tmp_path / "tracking.json").read_text()) == {"wandb": "x1"}


def test_mlflow(tmp_path, monkeypatch):
    calls: list[object] = []
    fake = ModuleType("mlflow")
    fake.set_experiment = calls.append
    fake.start_run = lambda **given: calls.append(given) or SimpleNamespace(info=SimpleNamespace(run_id="y2"))
    fake.log_params, fake.end_run = calls.append, lambda: calls.append("end")
    fake.log_metrics = lambda values, step: calls.append((values, step))
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    (tmp_path / "run").mkdir()
    (tracker,) = open_trackers(Run(out=tmp_path / "run", mlflow="mine"), {"settings": {"lr": 1}, "config": {}}, 0)
    tracker.log({"R@1": 0.5}, 3)
    tracker.close()
    assert calls == ["mine", {"run_name": "run"}, {"settings.lr": "1"}, ({"R_at_1": 0.5}, 3), "end"]
    open_trackers(Run(out=tmp_path / "run", mlflow="mine", resume=True), {}, 3)
    assert calls[-1] == {"run_id": "y2"}


def test_tensorboard_forgets_what_is_logged_again(tmp_path, monkeypatch):
    """Of a run that is resumed after step 7, values of step 8 and later are of the run that was killed."""
    calls: list[object] = []
    fake = ModuleType("torch.utils.tensorboard.writer")
    writer = SimpleNamespace(add_scalar=lambda *value: calls.append(value), close=lambda: calls.append("end"))
    fake.SummaryWriter = lambda *given, **named: calls.append((*given, named)) or writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", ModuleType("torch.utils.tensorboard"))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", fake)
    (tracker,) = open_trackers(Run(out=tmp_path, tensorboard=True, resume=True), {}, 7)
    tracker.log({"loss": 0.5, "lr": 1e-3}, 8)
    tracker.close()
    folder = str(tmp_path / "tensorboard")
    assert calls == [(folder, {"purge_step": 8}), ("loss", 0.5, 8), ("lr", 1e-3, 8), "end"]


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_trackers_that_are_not_installed(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=rf"--{name} needs .* \[track\]; install it with: pip install '"):
        check_trackers(Run(out=tmp_path, **{name: True if name == "tensorboard" else "x"}))


def test_settings_that_cannot_be():
    for wrong in (
        {"steps": 0},
        {"accumulate": 0},
        {"workers": -1},
        {"patience": 0},
        {"warmup": -1.0},
        {"eps": math.nan},
    ):
        with pytest.raises(SpecError, match="must be at least"):
            Settings(**wrong)


def test_official_weights_of_a_model_that_has_none(tmp_path):
    from fabula.learn import run as runs
    from fabula.learn.models import room
    from fabula.learn.options import TrainOptions

    (tmp_path / "x.pth").write_bytes(b"x")
    with pytest.raises(SpecError, match="no published weights are known for 'procnets'"):
        runs.read_start(TrainOptions(from_=tmp_path / "x.pth"), room.get("procnets"))
