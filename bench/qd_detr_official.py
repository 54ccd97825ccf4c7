"""QD-DETR at published size: a training step and inference of the official program and ours, same inputs and weights.

    python bench/qd_detr_official.py --official QD-DETR/       # a checkout of github.com/wjun0830/QD-DETR
    python bench/qd_detr_official.py                           # ours alone

A batch of 32 queries with videos of 75 clips (SlowFast, CLIP and the two ends: 2,818 numbers), words of CLIP, one to
five windows each; features and weights are random, the same for both. A step is forward, loss, backward, clipping and
AdamW with the published dropout; inference ends with windows in seconds, rounded as published. The loss (without
dropout) and the windows of both are compared. One thread each, a process each; seconds are of one step or one batch.
Ours repeats what the published code does (`compat_mixed_masks`, `rivals="all"`), so that the numbers are the same.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

B, L, W, C, E, PAIRS = 32, 75, 32, 2818, 512, 2
REPEATS = 3
CONFIG: dict[str, Any] = {
    "feature_dim": C, "ends": False, "query_dim": E, "compat_mixed_masks": True, "rivals": "all",
    "compat_duration": True, "rounding": "published",
}  # fmt: skip


def make_files(folder: Path) -> None:
    """Inputs, weights under our names, and the table of names: what both sides read."""
    import torch

    from fabula.learn.models.qd_detr import OFFICIAL, Config, Model

    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    unit = torch.nn.functional.normalize
    counts = torch.randint(1, 6, (B,)).tolist()
    spans = [torch.rand(n, 2).sort(-1).values * 0.9 + torch.tensor([0.0, 0.1]) for n in counts]
    spans = [s[s.mean(-1).argsort()] for s in spans]  # in order of centre
    inputs = {
        "words": unit(torch.randn(B, W, E), dim=-1),
        "word_mask": (torch.arange(W) < torch.randint(5, W + 1, (B, 1))).float(),
        "features": unit(torch.randn(B, L, C), dim=-1),
        "mask": torch.ones(B, L),
        "spans": spans,
        "marks": torch.randint(0, 13, (B, L)).float(),
        "good": torch.randint(0, L, (B, PAIRS)),
        "bad": torch.randint(0, L, (B, PAIRS)),
    }
    torch.save(inputs, folder / "inputs.pt")
    model = Model(Config(**CONFIG))
    with torch.no_grad():
        for p in model.parameters():
            p += 0.02 * torch.randn_like(p)
    torch.save(model.state_dict(), folder / "weights.pt")
    (folder / "names.json").write_text(json.dumps(OFFICIAL))


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    import torch

    torch.set_num_threads(1)
    inputs, weights = (torch.load(folder / f"{name}.pt", weights_only=True) for name in ("inputs", "weights"))
    return inputs, weights


def timed(work: Callable[[], Any]) -> dict[str, float]:
    """Seconds of one call, after one that warms up."""
    work()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(REPEATS):
        work()
    return {"seconds": (time.perf_counter() - wall) / REPEATS, "cpu": (time.process_time() - cpu) / REPEATS}


def learn(model: Any, loss: Callable[[], Any]) -> Callable[[], None]:
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=1e-4)

    def step() -> None:
        total = loss()
        optimizer.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()

    return step


def flat(windows: list[list[list[float]]]) -> dict[str, float]:
    """Start, end and confidence of each window of each query."""
    names = ("start", "end", "score")
    return {
        f"query {q}, window {k}, {name}": float(value)
        for q, rows in enumerate(windows)
        for k, row in enumerate(rows)
        for name, value in zip(names, row, strict=True)
    }


def run_fabula(what: str, folder: Path) -> dict[str, Any]:
    import numpy as np
    import torch

    from fabula.learn.models.qd_detr import Config, HighlightBatch, Model

    inputs, weights = read(folder)
    K = max(map(len, inputs["spans"]))
    windows, there = torch.zeros(B, K, 2), torch.zeros(B, K, dtype=torch.bool)
    for b, one in enumerate(inputs["spans"]):
        windows[b, : len(one)], there[b, : len(one)] = one, True
    batch = HighlightBatch(
        list(range(B)), inputs["features"], inputs["mask"].bool(), inputs["words"], inputs["word_mask"].bool(),
        torch.full((B,), 150.0), windows, there, inputs["marks"], inputs["good"], inputs["bad"],
    )  # fmt: skip
    model = Model(Config(**CONFIG))
    model.load_state_dict(weights)
    model.eval()
    if what == "step":
        scores = {"loss": model.loss(batch)["loss"].item()}
        model.train()
        return {**timed(learn(model, lambda: model.loss(batch)["loss"])), "scores": scores}
    found = model.predict(batch)
    rows = [np.column_stack([r.spans, r.scores]).tolist() for r in found]
    return {**timed(lambda: model.predict(batch)), "scores": flat(rows)}


def run_official(what: str, folder: Path, repository: Path) -> dict[str, Any]:
    import logging

    import torch

    logging.disable(logging.CRITICAL)
    setattr(torch.Tensor, "cuda", lambda tensor, *_, **__: tensor)  # noqa: B010  (called whatever the device)
    sys.path.insert(0, str(repository))
    from qd_detr.config import BaseOptions
    from qd_detr.inference import compute_mr_results
    from qd_detr.model import build_model

    inputs, weights = read(folder)
    options = BaseOptions()
    options.initialize()
    asked = ["--dset_name", "hl", "--v_feat_dim", str(C), "--t_feat_dim", str(E)]
    opt = options.parser.parse_args(asked)
    opt.device, opt.pin_memory = torch.device("cpu"), False
    model, criterion = build_model(opt)
    table = json.loads((folder / "names.json").read_text())

    def ours(name: str) -> str | None:
        found = (m.expand(to) for pattern, to in table if (m := re.fullmatch(pattern, name)))
        return next(found, None)

    state = model.state_dict()
    model.load_state_dict({n: weights[own] if (own := ours(n)) in weights else t for n, t in state.items()})
    boxes = [torch.stack([s.mean(-1), s[:, 1] - s[:, 0]], -1) for s in inputs["spans"]]
    given = {
        "query_feat": (inputs["words"], inputs["word_mask"]), "video_feat": (inputs["features"], inputs["mask"]),
    }  # fmt: skip
    fed = {"src_txt": inputs["words"], "src_txt_mask": inputs["word_mask"],
           "src_vid": inputs["features"], "src_vid_mask": inputs["mask"]}  # fmt: skip
    targets = {"span_labels": [{"spans": box} for box in boxes], "saliency_pos_labels": inputs["good"],
               "saliency_neg_labels": inputs["bad"], "saliency_all_labels": inputs["marks"]}  # fmt: skip

    def loss() -> Any:
        losses, weight = criterion(model(**fed), targets), criterion.weight_dict
        return sum(losses[k] * weight[k] for k in losses if k in weight)

    if what == "step":
        model.eval()
        scores = {"loss": loss().item()}
        model.train()
        criterion.train()
        return {**timed(learn(model, loss)), "scores": scores}
    loader = [([{"qid": b, "query": "", "vid": "", "duration": 150.0} for b in range(B)], given)]
    rows, _ = compute_mr_results(model, loader, opt)
    scores = flat([row["pred_relevant_windows"] for row in rows])
    return {**timed(lambda: compute_mr_results(model, loader, opt)), "scores": scores}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--official", type=Path, help="a checkout of github.com/wjun0830/QD-DETR")
    parser.add_argument("--one", nargs="+", help="one process, for the script itself")
    args = parser.parse_args()
    if args.one:
        how, *rest = args.one
        if how == "files":
            make_files(Path(rest[0]))
        elif how == "official":
            print(json.dumps(run_official(rest[0], Path(rest[1]), Path(rest[2]))))
        else:
            print(json.dumps(run_fabula(rest[0], Path(rest[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder))
        for what in ("step", "inference"):
            sides = {"Fabula": ("fabula", what, folder)}
            if args.official:
                sides["official"] = ("official", what, folder, str(args.official.resolve()))
            for name, words in sides.items():
                done = subprocess.run([sys.executable, __file__, "--one", *words], capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(done.stderr[-2000:])
                found = json.loads(done.stdout.splitlines()[-1])
                print(f"{what:10} {name:9} {found['seconds']:.3f} s, {found['cpu']:.3f} s of processor")


if __name__ == "__main__":
    main()
