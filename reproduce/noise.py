"""The noise evaluator of VERIFIED (Chen et al., NeurIPS 2024), with and without hard negatives, on SIMULATED clips.

    python reproduce/noise.py --data ../shared/data/verified_fig

Takes some videos of Charades-FIG, simulates their clips from both captions of every moment, trains the evaluator with
and without disturbed captions as negatives with each seed, fits a calibration on videos held back for that, scores the
true and the disturbed captions of test videos, and writes what came out into its part of docs/reproduction.md, with the
reliability diagram beside it. Runs that are finished are not repeated; one that was killed goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

import fabula
from fabula.core.notes import Notes
from fabula.documents.files import read_lines
from fabula.learn.noise.calibrate import BINNING, CaptionCalibration, fit
from fabula.learn.options import Run
from fabula.learn.retrieval.data import read_moments
from fabula.learn.retrieval.simulate import Captions, Recipe, simulate_moments
from fabula.learn.run import fit as train
from fabula.learn.run import predict
from fabula.learn.tasks.noise import PredictOptions, Task, TrainOptions
from fabula.report.drawing.charts import draw_reliability
from fabula.stats.calibration import expected_calibration_error

HERE = Path(__file__).resolve().parent.parent
VARIANTS = {"hard": {"hard": 1}, "plain": {"hard": 0}}
NAMES = {"hard": "with hard negatives", "plain": "without (in-batch alone)"}
RECIPE = Recipe(noise=0.5)
LOOP = {"batch_size": 32, "steps": None, "lr": 2e-3, "warmup": 0.1, "threads": 1, "validate_every": 100}
COLUMNS = ("static", "dynamic", "all")
PICTURE = "noise-calibration.svg"
RESAMPLES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with charades_fig_{train,test}.jsonl")
    parser.add_argument("--out", type=Path, default=HERE / "build" / "reproduce-noise")
    parser.add_argument("--doc", type=Path, default=HERE / "docs" / "reproduction.md")
    parser.add_argument("--videos", type=int, default=1200, help="training videos, of 5,338")
    parser.add_argument("--held-videos", type=int, default=200, help="for the calibration, of the same file")
    parser.add_argument("--test-videos", type=int, default=500, help="of the 1,334 of the test file, from the 201st")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--one", nargs=2, metavar=("VARIANT", "SEED"), help="one run, for the script itself")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.one:
        train_one(args, args.one[0], int(args.one[1]))
        return
    prepare(args)
    jobs = [(variant, seed) for seed in range(args.seeds) for variant in VARIANTS]
    with ThreadPoolExecutor(args.processes) as pool:
        list(pool.map(lambda job: launch(args, *job), jobs))
    write(args)


def prepare(args: argparse.Namespace) -> None:
    """Three splits of whole videos and their simulated clips, once."""
    folder, store = args.out / "data", args.out / "clips.safetensors"
    if store.exists():
        return
    folder.mkdir(exist_ok=True)
    learnt, tested = (rows_of(args.data / f"charades_fig_{split}.jsonl") for split in ("train", "test"))
    parts = {
        "train": take(learnt, 0, args.videos),
        "held": take(learnt, args.videos, args.videos + args.held_videos),
        "test": take(tested, 200, 200 + args.test_videos),  # reproduce/vcmr.py looks at the first 200
    }
    every = []
    for split, rows in parts.items():
        (folder / f"charades_fig_{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        every += rows
    whole = args.out / "all.jsonl"
    whole.write_text("".join(json.dumps({**row, "desc_id": i}) + "\n" for i, row in enumerate(every)))
    count = simulate_moments(read_moments(whole, Notes()), read_moments(whole, Notes(), "cog"), store, RECIPE)
    print(f"simulated clips of {count} videos", {s: len(rows) for s, rows in parts.items()}, flush=True)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for _, line in read_lines(path)]


def take(rows: list[dict[str, Any]], start: int, end: int) -> list[dict[str, Any]]:
    """The rows of some videos, in order of first sight."""
    videos = set(list(dict.fromkeys(row["video"] for row in rows))[start:end])
    return [row for row in rows if row["video"] in videos]


def launch(args: argparse.Namespace, variant: str, seed: int) -> None:
    if (args.out / f"{variant}-{seed}" / "test.json").exists():
        return
    command = [sys.executable, __file__, "--data", args.data, "--out", args.out]
    command += ["--epochs", args.epochs, "--one", variant, seed]
    subprocess.run([str(word) for word in command], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def train_one(args: argparse.Namespace, variant: str, seed: int) -> None:
    """Train, calibrate on the held videos, score the test videos: with their own clips, and with other ones."""
    began = time.process_time()
    run, task, store = args.out / f"{variant}-{seed}", Task(), (str(args.out / "clips.safetensors"),)
    data = args.out / "data"
    options = TrainOptions(data=data / "charades_fig_train.jsonl", features=store, tiny=True)
    again = Run(out=run, resume=(run / "config.json").exists())
    train(task, options, again, VARIANTS[variant], {**LOOP, "epochs": args.epochs, "seed": 777 + seed})

    def judge(file: Path) -> Any:
        return predict(task, run, PredictOptions(data=file, features=store, disturbed=3, batch_size=64))

    held, test = judge(data / "charades_fig_held.jsonl"), judge(data / "charades_fig_test.jsonl")
    other = judge(exchange(data / "charades_fig_test.jsonl", args.out / f"exchanged-{variant}-{seed}.jsonl"))
    kinds: dict[str, Any] = {kind: vars_of(fit(*held.pairs(), kind)) for kind in ("temperature", "platt")}
    rules = defaultdict(list)
    for r in test.rows:
        for w, score in zip(r.wrong, r.wrong_scores, strict=True):
            rules[f"{w.kind}: {w.rule}"].append(float(r.scores[0] > score))
    scores, true = test.pairs()
    result = {
        "rows": [{"video": r.query.video, **row} for r, row in zip(test.rows, test.ranks(), strict=True)],
        "other clips": other.summary()["true above disturbed"],
        "held": held.summary()["true above disturbed"],
        "scores": scores,
        "true": true,
        "calibrations": kinds,
        "rules": rules,
        "cpu_seconds": time.process_time() - began,
    }
    (run / "test.json").write_text(json.dumps(result))
    print(variant, seed, test.summary()["true above disturbed"], f"{result['cpu_seconds']:.0f} s", flush=True)


def vars_of(made: CaptionCalibration) -> dict[str, Any]:
    return {"kind": made.kind, "a": made.a, "b": made.b, "captions": made.captions}


def exchange(source: Path, target: Path) -> Path:
    """The same captions, each with another moment's video and times: what the words alone give away."""
    rows = rows_of(source)
    shifted = rows[len(rows) // 2 :] + rows[: len(rows) // 2]
    keys = ("video", "time", "duration")
    made = [{**row, **{key: other[key] for key in keys}} for row, other in zip(rows, shifted, strict=True)]
    target.write_text("".join(json.dumps(row) + "\n" for row in made))
    return target


def ceiling(args: argparse.Namespace) -> dict[str, float]:
    """The same comparison by the vectors that the clips were made of: the mean clip's cosine with a caption's words."""
    from fabula.learn.models.noise_scorer import Config
    from fabula.learn.noise.data import Shown
    from fabula.learn.noise.ranks import fold, rank_row
    from fabula.learn.noise.texts import make_texts
    from fabula.learn.retrieval.data import Clips
    from fabula.media.stores.features import Features

    shown = Shown(Clips([Features(args.out / "clips.safetensors")], Config.tiny(feature_dim=RECIPE.dim)))
    captions = Captions(RECIPE.dim)
    rows = []
    for query in read_moments(args.out / "data" / "charades_fig_test.jsonl", Notes()).values():
        seen = shown.show(query).mean(0).numpy()
        wrong = make_texts(query.text or "").wrong
        said = [float(captions(text, query.id) @ seen) for text in (query.text, *(w.text for w in wrong))]
        rows.append(rank_row(said[0], said[1:], wrong))
    return fold(rows)


# ── what came out ──────────────────────────────────────────────────────────────────────────────────────────────────


def interval(runs: list[dict[str, Any]], name: str, less: list[dict[str, Any]] | None = None) -> tuple[float, ...]:
    """Mean and 95 % of a bootstrap over videos and, inside each draw, over seeds; of a difference where `less` is."""
    videos = list(dict.fromkeys(row["video"] for row in runs[0]["rows"]))
    number = {video: i for i, video in enumerate(videos)}

    def sums(run: dict[str, Any]) -> np.ndarray[Any, Any]:
        out = np.zeros((2, len(videos)))
        for row in run["rows"]:
            if name in row:
                out[:, number[row["video"]]] += row[name], 1
        return out

    tables = np.stack([sums(run) for run in runs])  # [seeds, 2, videos]
    others = np.stack([sums(run) for run in less]) if less else None

    def value(x: Any) -> Any:
        return x[..., 0, :].sum(-1) / x[..., 1, :].sum(-1)

    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        at, of = rng.integers(len(videos), size=len(videos)), rng.integers(len(runs), size=len(runs))
        theta = value(tables[of][:, :, at]).mean()
        drawn.append(theta - (value(others[of][:, :, at]).mean() if others is not None else 0.0))
    middle = value(tables).mean() - (value(others).mean() if others is not None else 0.0)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return 100 * float(middle), 100 * float(low), 100 * float(high)


def told(found: tuple[float, ...], sign: str = "") -> str:
    return f"{found[0]:{sign}.1f} ({found[1]:{sign}.1f} to {found[2]:{sign}.1f})"


def write(args: argparse.Namespace) -> None:
    """docs/reproduction.md, and the diagram beside it."""
    runs = {
        v: [json.loads((args.out / f"{v}-{s}" / "test.json").read_text()) for s in range(args.seeds)] for v in VARIANTS
    }
    lines = ["| | static | dynamic | above all six |", "|---|---|---|---|"]
    for variant in VARIANTS:
        cells = [told(interval(runs[variant], name)) for name in COLUMNS]
        lines.append(f"| {NAMES[variant]} | {' | '.join(cells)} |")
    gaps = [told(interval(runs["hard"], name, runs["plain"]), "+") for name in COLUMNS]
    lines.append(f"| difference | {' | '.join(gaps)} |")
    for variant in VARIANTS:
        other = [f"{100 * mean(r['other clips'][name] for r in runs[variant]):.1f}" for name in COLUMNS]
        lines.append(f"| {NAMES[variant]}, shown another moment | {' | '.join(other)} |")
    top = ceiling(args)
    lines.append(f"| the vectors that the clips were made of | {' | '.join(f'{100 * top[n]:.1f}' for n in COLUMNS)} |")
    rules = ["| rule | captions | with | without |", "|---|---|---|---|"]
    every = {v: gather_rules(runs[v]) for v in VARIANTS}
    for rule, found in sorted(every["hard"].items(), key=lambda item: -len(item[1])):
        share = [f"{100 * mean(every[v][rule]):.1f}" for v in VARIANTS]
        rules.append(f"| {rule} | {len(found) // args.seeds:,} | {' | '.join(share)} |")
    errors, curves = calibrate(runs["hard"])
    title = "Probability that a caption is true (simulated clips)"
    (args.doc.parent / PICTURE).write_text(draw_reliability(curves, title, str(BINNING), "captions"))
    splits = {s: rows_of(args.out / "data" / f"charades_fig_{s}.jsonl") for s in ("train", "held", "test")}
    flags = {"videos": 1200, "held_videos": 200, "test_videos": 500, "epochs": 4, "seeds": 5, "processes": 2}
    changed = [f" --{o.replace('_', '-')} {getattr(args, o)}" for o, d in flags.items() if getattr(args, o) != d]
    text = TEMPLATE.format(
        command=f"python reproduce/noise.py --data ../shared/data/{args.data.name}" + "".join(changed),
        table="\n".join(lines),
        rules="\n".join(rules),
        errors="\n".join(f"| {name} | {value} |" for name, value in errors.items()),
        picture=PICTURE,
        sizes=", ".join(
            f"{s} {len(r):,} moments of {len({x['video'] for x in r}):,} videos" for s, r in splits.items()
        ),
        epochs=args.epochs,
        seeds=args.seeds,
        loop=", ".join(f"{k} {v}" for k, v in LOOP.items() if k not in ("threads", "steps", "validate_every")),
        recipe=", ".join(f"{k} {v}" for k, v in vars(RECIPE).items()),
        cpu=math.ceil(sum(r["cpu_seconds"] for some in runs.values() for r in some) / 60),
        versions=f"Python {platform.python_version()}, torch {torch.__version__}, fabula {fabula.__version__}",
    )
    page = args.doc.read_text() if args.doc.exists() else ""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    args.doc.write_text(f"{before.rstrip()}\n\n{BEGIN}\n{text}{END}\n{after.lstrip()}".lstrip())
    print("\n".join([*lines, "", *rules, "", str(errors), f"→ {args.doc}, {args.doc.parent / PICTURE}"]))


def gather_rules(runs: list[dict[str, Any]]) -> dict[str, list[float]]:
    out = defaultdict(list)
    for run in runs:
        for rule, found in run["rules"].items():
            out[rule] += found
    return out


def calibrate(runs: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, Any]]:
    """ECE on the test videos of each calibration, mean and range over seeds; the curves of the first seed."""
    errors, curves = {}, {}
    for kind in ("none", "temperature", "platt"):
        found = []
        for run in runs:
            made = CaptionCalibration(**run["calibrations"][kind]) if kind != "none" else CaptionCalibration()
            bins = BINNING.split(made(run["scores"]), run["true"])
            found.append(expected_calibration_error(bins))
            curves.setdefault({"none": "σ(c)"}.get(kind, kind), bins)
        errors[{"none": "σ(c)", "temperature": "σ(c/T)", "platt": "σ(a c + b)"}[kind]] = (
            f"{mean(found):.3f} ({min(found):.3f} to {max(found):.3f})"
        )
    return errors, curves


BEGIN, END = "<!-- reproduce/noise.py writes this section -->", "<!-- end of reproduce/noise.py -->"
TEMPLATE = """## The noise evaluator, on simulated clips

Written by `reproduce/noise.py`. VERIFIED's evaluator is a fine-tuned UMT that is not public, and the videos of Charades
are not at hand, so nothing here is a reproduction of its numbers. It is its training (Chen et al., NeurIPS 2024:
contrastive and matching losses with disturbed captions as hard negatives; `learn/models/noise_scorer.py`) with
Charades-FIG's own captions and times and **simulated clips**, which carry the words of both captions of a moment
(`fabula.learn.retrieval.simulate`). No video was seen: that a word can be seen in the clips at all is what the
simulation assumes, of every word alike.

    {command}

How often the confidence c of the true fine caption is above that of its disturbed ones (at most three static and three
dynamic by rule, `annotation/disturb.py`); per cent, chance is 50 in the first two columns:

{table}

In brackets 95 % of a bootstrap over test videos and seeds ({seeds} seeds). *Shown another moment*: the same captions
and models with the clips of another moment, so what the words alone give away; only what stands above it was seen in
the clips. *The vectors that the clips were made of*: the cosine of the mean clip with the mean of a caption's word
vectors, which a model has to find out: about what can be had from these clips.

By rule (`A then B` and `from left to right` turned round have the same words, and these clips do not know their order):

{rules}

Calibration of the evaluator with hard negatives, fitted on the held videos, measured on the test videos (one true
caption to at most six disturbed ones in both; another share of wrong captions needs another fit), mean and range over
seeds:

| p = | ECE (15 equal-mass bins) |
|---|---|
{errors}

![Reliability diagram of the first seed]({picture})

- **Reduced**: {sizes}; {epochs} epochs, `Config.tiny()`, {loop}; words are hashed.
- **What was in sight**: model, learning rate, size and noise were chosen on training and held videos alone. The test
  videos are the 201st and following of the test file; this table is the first look at them.
- **Clips**: {recipe}.
- **Cost**: {cpu} minutes of processor time for all runs, one thread each. {versions}.
"""

if __name__ == "__main__":
    main()
