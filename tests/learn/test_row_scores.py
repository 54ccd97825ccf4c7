"""Regions and identities in training code: the digits of `fabula score`, whatever the batches and the processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError, SpecError

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchmetrics", reason="torchmetrics is not installed: pip install 'fabula[torchmetrics]'")
from fabula.learn.metrics import Fitb, Ispice, RegionScore, RowScore  # noqa: E402

RNG = np.random.default_rng(3)
WORDS = ["a red kite", "a man on a bench", "the green tree", "a dog that runs", "blue sky"]
IMAGES = 12


def draw_boxes(n: int) -> list[list[float]]:
    return np.column_stack([RNG.uniform(0, 60, (n, 2)), RNG.uniform(20, 60, (n, 2))]).tolist()


def draw_words(n: int) -> list[str]:
    return [WORDS[i] for i in RNG.integers(0, len(WORDS), n)]


COUNTS = [int(n) for n in RNG.integers(0, 6, IMAGES)]  # some images have no detection
TRUE: list[dict[str, Any]] = [{"boxes": draw_boxes(4), "captions": draw_words(4)} for _ in range(IMAGES)]
FOUND: list[dict[str, Any]] = [
    {"boxes": draw_boxes(n), "captions": draw_words(n), "scores": RNG.uniform(size=n).round(1).tolist()} for n in COUNTS
]
PEOPLE = ["P1", "P2", "P3"]


def draw_set() -> dict[str, Any]:
    blanks = [[PEOPLE[i] for i in RNG.integers(0, 3, 2)] for _ in range(3)]
    return {"captions": [f"{a} smiles at {b}." for a, b in blanks], "blanks": blanks}


SETS, FILLED = ([draw_set() for _ in range(9)] for _ in range(2))


def numbered(entries: list[dict[str, Any]], id: str) -> list[dict[str, Any]]:
    return [{id: f"x{i}", **entry} for i, entry in enumerate(entries)]


def values(score: RowScore) -> dict[str, float]:
    return {name: float(value) for name, value in score.compute().items()}


def expected(spec: str) -> dict[str, float]:
    regions = spec.startswith("DenseCap")
    id, task, pair = ("image_id", "regions", (FOUND, TRUE)) if regions else ("id", "identity", (FILLED, SETS))
    result = fabula.score(*(numbered(side, id) for side in pair), task=task, metrics=spec)
    return dict(result.scores.popitem()[1].values)


def make(spec: str) -> tuple[RowScore, list[dict[str, Any]], list[dict[str, Any]]]:
    if spec.startswith("DenseCap"):
        return RegionScore(spec), FOUND, TRUE
    return (Fitb(spec) if spec.startswith("FITB") else Ispice(spec)), FILLED, SETS


SPECS = (
    "DenseCap_mAP", "DenseCap_mAP(missing=drop,ties=file,pixel=1,stray=last)", "DenseCap_AP(claim=threshold)", "FITB",
    "iSPICE", "iSPICE(skip_empty=yes,boundary=blank)",
)  # fmt: skip


@pytest.mark.parametrize("size", [1, 5, 12])
@pytest.mark.parametrize("spec", SPECS)
def test_batches_change_no_digit(spec: str, size: int) -> None:
    score, preds, refs = make(spec)
    for at in range(0, len(preds), size):
        score.update(preds[at : at + size], refs[at : at + size])
    assert values(score) == expected(spec)
    score.reset()
    with pytest.warns(UserWarning, match="before the ``update``"):
        assert all(np.isnan(value) for value in values(score).values())


def test_on_paper() -> None:
    score = RegionScore(form="xyxy")
    kite = {"boxes": torch.tensor([[0.0, 0, 10, 10]]), "captions": ["a red kite"]}
    score.update([{**kite, "scores": np.array([0.9])}], [kite])
    assert values(score) == {"map": 1.0, "detmap": 1.0}
    assert score.compute()["map"].dtype == torch.float64
    score.update([{"boxes": [], "captions": [], "scores": []}], [kite])  # half of the references are missed
    assert values(score)["map"] == pytest.approx(0.51, abs=0.011)
    who = Fitb()
    who.update([{"blanks": ["P5", "P5", "P2"]}], [{"blanks": ["P1", "P1", "P2"]}])
    assert values(who) == {"instance": 1.0, "same": 1.0, "different": 1.0, "class": 1.0}
    said = Ispice()
    said.update([["P1 runs.", "P2 sits."]], ["P3 runs. P4 sits."])
    assert values(said)["value"] == 1.0


def test_what_is_refused() -> None:
    with pytest.raises(SpecError, match="not a metric of regions"):
        RegionScore("SODA_c")
    with pytest.raises(SpecError, match="no metric of who is who"):
        Fitb("METEOR")
    with pytest.raises(InputError, match=r"boxes\[0\].*four"):
        RegionScore().update([{"boxes": [[1, 2, 3]], "captions": ["a"], "scores": [1]}], [TRUE[0]])
    with pytest.raises(InputError, match="no scores"):
        RegionScore().update([TRUE[0]], [TRUE[0]])
    with pytest.raises(InputError, match="1 candidates for 2"):
        Fitb().update(FILLED[:1], SETS[:2])
    with pytest.raises(InputError, match="item 0: no blanks are filled in"):
        Fitb().update(["Somebody runs."], [{"blanks": ["P1", "P2"]}])


PROCESS = """
import json, sys
import torch.distributed as dist
from tests.learn.test_row_scores import SPECS, make, values

rank, file = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
mine = slice(0, 5) if rank == 0 else slice(5, 12)  # shares of unequal size
for spec in SPECS:
    score, preds, refs = make(spec)
    score.update(preds[mine], refs[mine])
    print(json.dumps(values(score)))
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_give_the_same_digits(tmp_path: Path) -> None:
    env = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", PROCESS]
    both = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "meet")], env=env, stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    texts = [process.communicate(timeout=180)[0] for process in both]
    for text in texts:
        assert [json.loads(line) for line in text.splitlines()] == [expected(spec) for spec in SPECS]
