"""MICap's comparisons (Raajesh et al., CVPR 2024, Tables 1, 2, 4, 5, Fig. 4), reduced, in a SIMULATED world.

    python reproduce/micap.py

Makes simulated films (fabula.learn.worlds.films), trains each configuration with each seed, chooses the epoch on the
validation films, scores the test films, which no setting was chosen by, and writes what came out into its part of
docs/reproduction.md. Runs that are finished are not repeated; a run that was killed goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

import fabula
from fabula.core.notes import Notes
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.diagnosis.stress import stress as stress_metrics
from fabula.learn import checkpoint
from fabula.learn.identity.attention import share_streams
from fabula.learn.identity.clips import Streams, Videosets, read_sets_of
from fabula.learn.identity.windows import answer_sets
from fabula.learn.identity.wordpiece import mask_people
from fabula.learn.tasks.micap import SetAnswer, overwrite_people, rename, score_blanks, score_captions
from fabula.learn.worlds.films import Recipe, write_world

HERE = Path(__file__).resolve().parent.parent
MARK = "<!-- reproduce/micap.py {} -->"
VARIANTS = {  # name → changes of the model's settings
    "joint": {"task": "joint"},
    "FITB only": {"task": "fitb"},
    "FITB only, text only": {"task": "fitb", "streams": "text"},
    "FITB only, clusters per clip": {"task": "fitb", "face_clusters": "clip"},
    "captions only": {"task": "caption"},
}
REDUCED = {"hidden": 64, "heads": 4, "feedforward": 128, "encoder_layers": 1, "decoder_layers": 2, "segments": 1,
           "frames": 2, "faces": 60, "clusters": 61, "dropout": 0.0}  # fmt: skip
WORLD = 1  # settings were chosen on the validation films of world 0
LOOP = {"batch_size": 16, "lr": 1.5e-3, "validate_every": 2, "threads": 1, "save_minutes": 2.0}
TRIVIAL = {"same": "one id in every blank", "different": "a new id in every blank"}
BLANKS = ("class", "same", "different", "instance")
WORDS = ("METEOR", "CIDEr", "SPICE", "iSPICE")
METRICS = ("METEOR", "CIDEr", "SPICE(tok=none)", "iSPICE")
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # Student's t, two-sided, by number of seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=HERE / "build" / "reproduce-micap")
    parser.add_argument("--doc", type=Path, default=HERE / "docs" / "reproduction.md")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--films", type=int, default=60, help="training films")
    parser.add_argument("--only", type=int, help="train this seed alone and write no page: for several processes")
    args = parser.parse_args()
    torch.set_num_threads(1)
    world = args.out / "world"
    if not (world / "test.jsonl").exists():
        write_world(world, Recipe(seed=WORLD, train_films=args.films), overwrite=True)
    found: dict[str, list[dict[str, float]]] = {}
    for seed in range(args.seeds) if args.only is None else [args.only]:
        for name, changes in VARIANTS.items():
            found.setdefault(name, []).append(measure(args, world, name, changes, seed))
            print(name, seed, {k: round(v, 4) for k, v in found[name][-1].items()}, flush=True)
    if args.only is None:
        write_doc(args, found, stress(world))


def measure(args: argparse.Namespace, world: Path, name: str, changes: dict[str, str], seed: int) -> dict[str, float]:
    """One run, trained if it is not there, and its scores on the test films."""
    out = args.out / f"{name.replace(' ', '-').replace(',', '')}-{seed}"
    if (out / "test.json").exists():
        found: dict[str, float] = json.loads((out / "test.json").read_text())
        return found
    before, begun = time.process_time(), (out / "last.safetensors").exists()
    settings = {**LOOP, "epochs": args.epochs, "seed": seed}
    fabula.train("micap", data=world, features=world, set_={**REDUCED, **changes}, min_count=1, settings=settings,
                 out=out, resume=begun, overwrite=out.exists() and not begun)  # fmt: skip
    seconds = time.process_time() - before
    scores = test(out, world, changes["task"])
    (out / "test.json").write_text(json.dumps({**scores, "cpu_seconds": seconds}))
    return {**scores, "cpu_seconds": seconds}


def load(path: Path) -> Any:
    return checkpoint.load_model(path)[0]


def test(out: Path, world: Path, task: str) -> dict[str, float]:
    truth = read_sets_of(world, "test", Notes())
    scores: dict[str, float] = {}
    if task != "caption":
        model: Any = load(out / ("best-class.safetensors" if task == "joint" else "best.safetensors"))
        data = Videosets(truth, Streams(world), model.config, "fitb")
        filled = [SetAnswer(*one) for one in answer_sets(model, data, range(len(data)), 40)]
        scores |= score_blanks(filled, truth)
    if task != "fitb":
        model = load(out / "best-CIDEr.safetensors")
        data = Videosets(truth, Streams(world), model.config, "caption")
        told = {name: captions or () for name, _, captions in answer_sets(model, data, range(len(data)), 40)}
        for people, sign in (("model", ""), ("same", "same id "), ("different", "all different ids ")):
            made = {name: overwrite_people(captions, people) for name, captions in told.items()}
            scores |= {f"{sign}{k}": v for k, v in score_captions(made, truth, METRICS).items()}
        shares = share_streams(model, data, range(len(data)), 40)
        for kind, rows in (("people", shares.people), ("words", shares.others)):
            if not len(rows):
                continue
            scores |= {f"look {kind} {s}": float(x) for s, x in zip(shares.streams, rows.mean(0), strict=True)}
    return scores


def trivial(world: Path) -> dict[str, dict[str, float]]:
    """FITB of one person everywhere, and of a new one in every blank."""
    truth = read_sets_of(world, "test", Notes())
    blanks = {name: tuple("P1" for row in mask_people(one.captions or ()) for _ in row) for name, one in truth.items()}
    return {
        people: score_blanks([SetAnswer(name, rename(ids, people)) for name, ids in blanks.items()], truth)
        for people in ("same", "different")
    }


def stress(world: Path) -> dict[str, dict[str, float]]:
    """Table 1 on the test captions: what is left of a metric when ids are swapped, added, removed."""
    stories = {}
    for name, one in read_sets_of(world, "test", Notes()).items():
        events = [Event(Segment(float(k), k + 1.0), caption) for k, caption in enumerate(one.captions or ())]
        stories[name] = Story(name, tuple(events), float(len(events)))
    names = ["iSPICE", "METEOR", "SPICE(tok=none)", "CIDEr", "BLEU_4", "ROUGE_L"]
    ways = ["swap ids", "add id", "remove id"]
    found = stress_metrics(names, Corpus(stories, "simulated"), changes=ways, seed=0)
    return {name.partition("(")[0]: {way: found[name][way].ratio for way in ways} for name in names}


# --- the page --------------------------------------------------------------------------------------------------------


def spread(values: list[float]) -> str:
    """The mean of the seeds and the half width of its 95 % interval (Student's t)."""
    if len(values) < 2:
        return f"{100 * values[0]:.2f}"
    half = T95.get(len(values), 2.0) * stdev(values) / math.sqrt(len(values))
    return f"{100 * mean(values):.2f} ± {100 * half:.2f}"


def write_doc(
    args: argparse.Namespace, found: dict[str, list[dict[str, float]]], left: dict[str, dict[str, float]]
) -> None:
    lines = ["| FITB, test films | " + " | ".join(BLANKS) + " |", "|---|" + "---|" * len(BLANKS)]
    world = args.out / "world"
    for people, scores in trivial(world).items():
        lines.append(f"| {TRIVIAL[people]} | " + " | ".join(f"{100 * scores[k]:.2f}" for k in BLANKS) + " |")
    for name, runs in found.items():
        if "class" in runs[0]:
            lines.append(f"| {name} | " + " | ".join(spread([r[k] for r in runs]) for k in BLANKS) + " |")
    lines += ["", "| captions, test films | " + " | ".join(WORDS) + " |", "|---|" + "---|" * len(WORDS)]
    for name, runs in found.items():
        if "METEOR" in runs[0]:
            for sign in ("", "same id ", "all different ids "):
                row = " | ".join(spread([r[f"{sign}{k}"] for r in runs]) for k in WORDS)
                lines.append(f"| {name}{', ' + sign.strip() if sign else ''} | {row} |")
    pairs = [("joint", "FITB only", "class"), ("FITB only", "FITB only, text only", "class"),
             ("FITB only", "FITB only, clusters per clip", "class"), ("joint", "captions only", "CIDEr"),
             ("joint", "captions only", "METEOR")]  # fmt: skip
    lines += ["", "| difference, seed by seed | points |", "|---|---|"]
    for a, b, score in pairs:
        both = [x[score] - y[score] for x, y in zip(found[a], found[b], strict=True)]
        lines.append(f"| {score}: {a} − {b} | {spread(both)} |")
    streams = [k.removeprefix("look people ") for k in found["joint"][0] if k.startswith("look people ")]
    lines += [
        "",
        "| attention of the joint model (Fig. 4), % | " + " | ".join(streams) + " |",
        "|---|" + "---|" * len(streams),
    ]
    for kind in ("people", "words"):
        row = " | ".join(spread([r[f"look {kind} {s}"] for r in found["joint"]]) for s in streams)
        lines.append(f"| tokens of {kind} | {row} |")
    lines += ["", "| left of the score (Table 1) | " + " | ".join(left) + " |", "|---|" + "---|" * len(left)]
    for way in next(iter(left.values())):
        lines.append(f"| {way} | " + " | ".join(f"{scores[way]:.2f}" for scores in left.values()) + " |")
    seconds = sum(r.get("cpu_seconds", 0.0) for runs in found.values() for r in runs)
    count = sum(len(runs) for runs in found.values())
    lines += ["", f"{count} runs, {args.seeds} seeds, {args.epochs} epochs, {args.films} training films; training took "
              f"{seconds / 60:.0f} minutes of CPU. ± is half of a 95 % interval over seeds (Student's t)."]  # fmt: skip
    text = args.doc.read_text(encoding="utf-8")
    begin, end = MARK.format("begin"), MARK.format("end")
    if begin not in text:
        raise SystemExit(f"{args.doc} has no line {begin}")
    head, _, rest = text.partition(begin)
    args.doc.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
