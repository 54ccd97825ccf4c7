"""Captions and moments in training code: the numbers of `fabula score`, whatever the batches and the processes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError, SpecError

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchmetrics", reason="torchmetrics is not installed: pip install 'fabula[torchmetrics]'")
from fabula.learn.metrics import CaptionScore, Cider, Meteor, MomentScore, Spice  # noqa: E402

RNG = np.random.default_rng(5)
WORDS = ["a", "the", "dog", "man", "runs", "plays", "piano", "in", "park", "red", "ball", "café", "with"]


def say() -> str:
    return " ".join(RNG.choice(WORDS, int(RNG.integers(3, 9))))


SAID = [say() for _ in range(30)]
TRUE = [[say() for _ in range(int(RNG.integers(1, 4)))] for _ in range(30)]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    lines = [{"id": i, "cand": c, "refs": r} for i, (c, r) in enumerate(zip(SAID, TRUE, strict=True))]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.mark.parametrize("size", [7, 30])
@pytest.mark.parametrize(
    ("cls", "spec"),
    [
        (Meteor, "METEOR"),
        (CaptionScore, "METEOR(agg=mean)"),
        (Cider, "CIDEr"),
        (CaptionScore, "BLEU_4"),
        (CaptionScore, "ROUGE_L"),
        (Spice, "SPICE"),
    ],
)
def test_batches_change_nothing(pairs, cls, spec, size):
    made = cls(spec)
    for at in range(0, 30, size):
        made.update(SAID[at : at + size], TRUE[at : at + size])
    ours = made.compute()["value"]
    assert ours.dtype == torch.float64
    assert float(ours) == pytest.approx(
        fabula.score(pairs, task="captions", metrics=spec)[spec.partition("(")[0]].value
    )
    made.reset()
    with pytest.warns(UserWarning, match="before the ``update``"):
        assert math.isnan(float(made.compute()["value"]))


def test_cider_by_a_file_keeps_sums(pairs, tmp_path):
    from fabula.text import tokenize_all
    from fabula.text.cider import Idf

    Idf.from_references([tokenize_all(refs, "ptb") for refs in TRUE]).save(tmp_path / "idf.json")
    by_file, own = Cider(f"CIDEr(idf=file:{tmp_path / 'idf.json'})"), Cider()
    for made in (by_file, own):
        made.update(SAID[:20], TRUE[:20])
        made.update(SAID[20:], TRUE[20:])
    assert own.gathers and not by_file.gathers and not Meteor().gathers
    assert float(by_file.compute()["value"]) == pytest.approx(float(own.compute()["value"]))


def test_forward_is_the_batch_alone():
    made = Meteor()
    made.update(SAID[:10], TRUE[:10])
    alone = Meteor()
    alone.update(SAID[10:], TRUE[10:])
    assert float(made(SAID[10:], TRUE[10:])["value"]) == pytest.approx(float(alone.compute()["value"]))
    gathered = Cider()
    gathered.update(SAID[:10], TRUE[:10])
    gathered(SAID[10:], TRUE[10:])
    whole = Cider()
    whole.update(SAID, TRUE)
    assert float(gathered.compute()["value"]) == pytest.approx(float(whole.compute()["value"]))


def test_moments_on_paper():
    made = MomentScore()
    made.update([[(0, 10), (90, 99)], (0, 5), []], [[(0, 10)], [(0, 10), (50, 60)], (3, 4)])  # IoU 1, .5, none
    assert {k: float(v) for k, v in made.compute().items()} == pytest.approx(
        {"r1@0.3": 2 / 3, "r1@0.5": 2 / 3, "r1@0.7": 1 / 3, "miou": 0.5}
    )
    made.update([[(0, 10)]], [[(0, 10)]])
    assert float(made.compute()["miou"]) == pytest.approx(2.5 / 4)


def test_what_is_refused():
    with pytest.raises(SpecError, match="not a metric of captions"):
        CaptionScore("SODA_c")
    with pytest.raises(SpecError, match="no mean over windows"):
        MomentScore("VCMR")
    with pytest.raises(InputError, match="item 1"):
        Meteor().update(["a", 3], [["a"], ["b"]])
    with pytest.raises(InputError, match="item 0"):
        Meteor().update(["a"], [[]])
    with pytest.raises(InputError, match="item 0: expected windows"):
        MomentScore().update([[(0, 1)]], [[]])
    with pytest.raises(InputError, match="1 candidates for 2"):
        Meteor().update(["a"], ["b", "c"])


PROCESS = """
import sys
import torch.distributed as dist
from fabula.learn.metrics import Cider, Meteor
from tests.learn.test_caption_scores import SAID, TRUE

rank, file = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
mine = slice(0, 9) if rank == 0 else slice(9, 30)  # shares of unequal size
for cls in (Meteor, Cider):
    made = cls()
    made.update(SAID[mine], TRUE[mine])
    print(float(made.compute()["value"]))
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_add_up(tmp_path):
    env = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", PROCESS]
    both = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "meet")], env=env, stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    said = [p.communicate(timeout=180)[0].split() for p in both]
    assert said[0] == said[1]
    for cls, found in zip((Meteor, Cider), said[0], strict=True):
        whole = cls()
        whole.update(SAID, TRUE)
        assert float(found) == pytest.approx(float(whole.compute()["value"]), rel=1e-12)
