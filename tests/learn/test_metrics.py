"""SODA in training code: the number of `fabula score`, whatever the batches and the processes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from tests.toys import corpus

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchmetrics", reason="torchmetrics is not installed: pip install 'fabula[torchmetrics]'")
from fabula.learn.metrics import SodaC, StoryScore  # noqa: E402

EXACT = "SODA_c(text=exact,tok=none)"
RNG = np.random.default_rng(11)


def told(n: int, events: int) -> list[list[tuple[float, float, str]]]:
    return [[(float(s), float(s + 9), str(s % 3)) for s in RNG.integers(0, 60, events)] for _ in range(n)]


REFS, PREDS = told(40, 4), told(40, 3)


def expected(spec: str) -> dict[str, float]:
    stories = [corpus({f"v{i}": s for i, s in enumerate(side)}) for side in (PREDS, REFS)]
    return dict(fabula.score(*stories, metrics=spec, task="dense").scores.popitem()[1].values)


def numbers(made: StoryScore) -> dict[str, float]:
    return {k: float(v) for k, v in made.compute().items()}


@pytest.mark.parametrize("size", [1, 7, 40])
@pytest.mark.parametrize("spec", [EXACT, "SODA_d", "mIoU"])
def test_batches_change_nothing(spec, size):
    made = StoryScore(spec)
    for at in range(0, 40, size):
        made.update(PREDS[at : at + size], REFS[at : at + size])
    assert numbers(made) == pytest.approx(expected(spec), rel=1e-14)


def test_on_paper():
    made = SodaC(EXACT)
    made.update([[(0, 10, "a")]], [[(0, 10, "a"), (20, 30, "b")]])
    assert numbers(made) == {"precision": 1, "recall": 0.5, "f1": pytest.approx(2 / 3)}
    made.update([[]], [[(0, 10, "a")]])
    assert numbers(made) == {"precision": 0.5, "recall": 0.25, "f1": pytest.approx(1 / 3)}


def test_reset_and_forward():
    made = SodaC(EXACT)
    assert float(made(PREDS[:5], REFS[:5])["f1"]) == pytest.approx(numbers(made)["f1"])  # the batch alone
    made.reset()
    made.update(PREDS, REFS)
    assert numbers(made) == pytest.approx(expected(EXACT), rel=1e-14)
    made.reset()
    assert float(made.n) == 0


def test_several_references():
    made = SodaC(EXACT)
    made.update([[(0, 10, "a")]], [[[(0, 10, "a")], [(0, 10, "b")]]])
    assert numbers(made)["f1"] == 0.5
    best = SodaC("SODA_c(text=exact,tok=none,refs=best)")
    best.update([[(0, 10, "a")]], [[[(0, 10, "a")], [(0, 10, "b")]]])
    assert numbers(best)["f1"] == 1


def test_sums_stay_double():
    made = torch.nn.Sequential(SodaC(EXACT)).half().to(torch.float16)[0].set_dtype(torch.float16)
    made.update(PREDS, REFS)
    assert made.compute()["f1"].dtype == torch.float64


def test_what_cannot_be_a_sum():
    for spec in ("DVC_CIDEr(tok=none)", "PRF(f1=means)"):
        with pytest.raises(SpecError, match="is no mean over videos"):
            StoryScore(spec)
    with pytest.raises(SpecError, match="is not a metric of stories"):
        StoryScore("Para_METEOR")
    with pytest.raises(InputError, match="1 candidates for 2 references"):
        SodaC(EXACT).update(PREDS[:1], REFS[:2])
    with pytest.raises(InputError, match=r"item 0: the reference is .*it needs an event"):
        SodaC(EXACT).update(PREDS[:1], [[]])


PROCESS = """
import os, sys
import torch.distributed as dist
from fabula.learn.metrics import SodaC
from tests.learn.test_metrics import EXACT, PREDS, REFS

rank, file = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
made = SodaC(EXACT)
mine = slice(0, 9) if rank == 0 else slice(9, 40)  # shares of unequal size
made.update(PREDS[mine], REFS[mine])
print({k: float(v) for k, v in made.compute().items()})
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_add_up(tmp_path):
    env = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(Path(__file__).parents[2])}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(rank), str(tmp_path / "meet")],
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    said = [p.communicate(timeout=180)[0].strip().splitlines()[-1] for p in both]
    assert said[0] == said[1]
    assert eval(said[0]) == pytest.approx(expected(EXACT), rel=1e-12)
