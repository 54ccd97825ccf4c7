"""Does the order of a matcher matter in PDVC? Five matchers, four settings, five seeds, on SIMULATED features.

    python reproduce/matchers.py --data ../shared/data

Trains a small PDVC without captions on simulated YouCook2 and where order could matter: steps that overlap, long nested
queries, ActivityNet's overlapping events. Says SODA-D with the predicted and with the true number of steps, and how far
the matchings agree while the model is trained. Writes its part of docs/reproduction.md. Runs that are finished are not
repeated. The loop is a plain one, in this file: no epoch is chosen, the last one is scored.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import platform
import time
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor

import fabula
from fabula import io
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.learn.data import Steps
from fabula.learn.matchers import HungarianMatcher, OrderedMatcher
from fabula.learn.models.pdvc import Config, Layer, Model, to_span
from fabula.learn.simulate import Recipe, simulate
from fabula.media.stores.features import Features

HERE = Path(__file__).resolve().parent.parent
MATCHERS: dict[str, dict[str, Any]] = {  # name → changes of the model's settings
    "Hungarian": {"matcher": "hungarian"},
    "ordered": {"matcher": "ordered"},
    "ordered, complete": {"matcher": "ordered", "missing": "complete"},
    "soft (PSS)": {"matcher": "soft", "soft_class": True},
    "marginal": {"matcher": "marginal"},
}
SETTINGS = {
    "YouCook2": "the PSS splits",
    "overlapping steps": "the same, every step three times as long",
    "long queries": "YouCook2, boxes begin half a video long (length bias 0) instead of .12",
    "ActivityNet": "videos with at least two events that overlap",
}
SMALL: dict[str, Any] = {
    "captioner": "none", "frames": 48, "hidden": 48, "heads": 4, "feedforward": 96, "levels": 2, "encoder_layers": 1,
    "norm_groups": 8, "queries": 20, "dropout": 0.1,
}  # fmt: skip
EPOCHS, BATCH, LR = 8, 8, 1e-3  # the rate is halved at 60 and again at 80 % of all steps
TRAIN, TEST = 200, 180  # videos
SEEDS = (777, 778, 779, 780, 781)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with youcook2_pss/ and anet_captions/")
    parser.add_argument("--out", type=Path, default=HERE / "build" / "reproduce-matchers")
    parser.add_argument("--doc", type=Path, default=HERE / "docs" / "reproduction.md")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for setting in ("YouCook2", "overlapping steps", "ActivityNet"):
        prepare(given, setting)
    jobs = [(given, s, m, seed) for seed in given.seeds for s in SETTINGS for m in MATCHERS]
    jobs = [job for job in jobs if not result_of(*job).exists()]
    if given.processes > 1:
        with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
            pool.starmap(train_one, jobs, chunksize=1)
    else:
        for job in jobs:
            train_one(*job)
    if all(result_of(given, s, m, seed).exists() for seed in SEEDS for s in SETTINGS for m in MATCHERS):
        write(given)


# ---------------------------------------------------------------------------------------------------------------------
# Data


def prepare(given: argparse.Namespace, setting: str) -> None:
    """Training and test videos of a setting and their simulated features, once."""
    folder = given.out / slug(setting)
    if (folder / "features.safetensors").exists():
        return
    folder.mkdir(exist_ok=True)
    if setting == "ActivityNet":
        names = {split: given.data / "anet_captions" / f"{split}.json" for split in ("train", "val_1")}
    else:
        names = {split: given.data / "youcook2_pss" / f"yc2_my_{split}.json" for split in ("train", "test")}
    whole = {}
    for (_, path), split, most in zip(names.items(), ("train", "test"), (TRAIN, TEST), strict=True):
        corpus, _ = io.read(path)
        stories = [cut_to_video(s, 3.0 if setting == "overlapping steps" else 1.0) for s in corpus.values()]
        stories = [s for s in stories if s.events and (setting != "ActivityNet" or overlaps(s))]
        kept = Corpus({s.id: s for s in stories[:most]}, setting)
        io.write(kept, folder / f"{split}.json", "activitynet")
        whole |= kept.stories
    rate = 0.5 if setting != "ActivityNet" else 1.0
    simulate(Corpus(whole, setting), folder / "features.safetensors", "hashing", Recipe(rate=rate), True)


def cut_to_video(story: Story, longer: float) -> Story:
    """Its steps in order, each so many times as long about its middle, cut to the video; empty ones left out."""
    D = story.duration or 0.0
    events = []
    for e in story.by_start().events:
        middle, half = (e.segment.start + e.segment.end) / 2, longer * (e.segment.end - e.segment.start) / 2
        start, end = max(0.0, middle - half), min(D, middle + half)
        if end > start:
            events.append(Event(Segment(start, end), e.caption))
    return Story(story.id, tuple(events), story.duration)


def overlaps(story: Story) -> bool:
    """Two events share more than half of the shorter one."""
    spans = [(e.segment.start, e.segment.end) for e in story.events]
    return any(
        min(b, d) - max(a, c) > 0.5 * min(b - a, d - c) for i, (a, b) in enumerate(spans) for c, d in spans[i + 1 :]
    )


# ---------------------------------------------------------------------------------------------------------------------
# One run


def train_one(given: argparse.Namespace, setting: str, matcher: str, seed: int) -> None:
    """Train, score the test videos, keep the numbers."""
    torch.set_num_threads(1)
    began = time.process_time()
    folder = given.out / slug("YouCook2" if setting == "long queries" else setting)
    store = Features(folder / "features.safetensors")
    data = {split: Steps(io.read(folder / f"{split}.json")[0], store, SMALL["frames"]) for split in ("train", "test")}
    items = {split: [some[i] for i in range(len(some))] for split, some in data.items()}
    torch.manual_seed(seed)
    model = Model(Config(feature_dim=store.dim, **SMALL, **MATCHERS[matcher]))
    if setting == "long queries":
        model.box_heads[0].last.bias.data[1] = 0.0  # type: ignore[union-attr, index]
    optimizer = torch.optim.Adam(model.parameters(), LR, weight_decay=1e-4)
    total, step, seen = EPOCHS * math.ceil(len(items["train"]) / BATCH), 0, []
    for epoch in range(EPOCHS):
        agreement: list[tuple[float, float, float]] = []
        watch(model, agreement)
        order = torch.randperm(len(items["train"])).tolist()
        for i in range(0, len(order), BATCH):
            for group in optimizer.param_groups:
                group["lr"] = LR * (0.25 if step >= 0.8 * total else 0.5 if step >= 0.6 * total else 1.0)
            loss = model.loss(Steps.collate([items["train"][k] for k in order[i : i + BATCH]]))["loss"]
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
            optimizer.step()
            step += 1
        seen.append([mean(column) for column in zip(*agreement, strict=True)])
        print(f"{setting} · {matcher} · {seed} · epoch {epoch + 1} · loss {loss.item():.3f}", flush=True)
    scores = score_test(model.eval(), items["test"], data["test"].corpus)
    told = {**scores, "agreement": seen, "cpu_seconds": time.process_time() - began}
    result_of(given, setting, matcher, seed).write_text(json.dumps(told))


def watch(model: Model, kept: list[tuple[float, float, float]]) -> None:
    """Beside every matching of the training: would Hungarian and complete ordered matching have agreed?"""
    own = Model.match_layers.__get__(model)
    hungarian, ordered = HungarianMatcher(), OrderedMatcher(complete=True)

    @torch.no_grad()
    def match_layers(layers: list[Layer], targets: Tensor, mask: Tensor) -> None:
        for layer in layers:
            C = model.cost(layer.logits, layer.boxes, targets)  # targets are in order of start: sort by centre
            by_step = targets[..., 0].masked_fill(~mask, math.inf).argsort(dim=1, stable=True)
            C = C.gather(2, by_step[:, None].expand_as(C))
            m = mask.sum(1)
            free, bound = hungarian(C, (None, m)), ordered(C, (None, m), centres=layer.boxes[..., 0])
            for b in range(len(C)):
                (q, t), (p, s) = free[b], bound[b]
                mine, theirs = (
                    dict(zip(t.tolist(), q.tolist(), strict=True)),
                    dict(zip(s.tolist(), p.tolist(), strict=True)),
                )
                steps = len(mine)
                same = sum(mine[k] == theirs.get(k) for k in mine) / steps
                centre = layer.boxes[b, [mine[k] for k in sorted(mine)], 0]
                turned = (centre.diff() < 0).double().mean().item() if steps > 1 else 0.0
                kept.append((same, turned, (C[b, p, s].sum() - C[b, q, t].sum()).item() / steps))

    def spied(layers: list[Layer], targets: Tensor, mask: Tensor) -> Any:
        match_layers(layers, targets, mask)
        return own(layers, targets, mask)

    model.match_layers = spied  # type: ignore[method-assign, assignment]


@torch.no_grad()
def score_test(model: Model, items: list[Any], refs: Corpus) -> dict[str, float]:
    """SODA-D with the counter's number of steps, and with the true one: the best by class score, in order of start."""
    told: dict[str, dict[str, Story]] = {"predicted": {}, "true": {}}
    for i in range(0, len(items), 16):
        batch = Steps.collate(items[i : i + 16])
        last = model.decode(batch, model.encode(batch))[-1]
        spans = to_span(last.boxes).clamp(0, 1) * batch.duration[:, None, None]
        for b, video in enumerate(batch.videos):
            for kind, n in (("predicted", int(last.counts[b].argmax())), ("true", int(batch.span_mask[b].sum()))):
                best = last.logits[b].topk(min(max(n, 1), last.logits.shape[1])).indices
                events = tuple(Event(Segment(*spans[b, k].tolist()), None) for k in best.tolist())
                told[kind][video] = Story(video, events, float(batch.duration[b])).by_start()
    scores = {}
    for kind, stories in told.items():
        found = fabula.score(Corpus(stories, kind), refs, task="procedure", metrics="SODA_d")["SODA_d"].values
        scores |= {f"{kind}_{name}": 100 * found[name] for name in ("f1", "precision", "recall")}
    return scores


# ---------------------------------------------------------------------------------------------------------------------
# The page


def slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text.lower())


def result_of(given: argparse.Namespace, setting: str, matcher: str, seed: int) -> Path:
    return Path(given.out) / f"{slug(setting)}.{slug(matcher)}.{seed}.json"


def write(given: argparse.Namespace) -> None:
    """docs/reproduction.md: what came out."""
    runs = {(s, m): [json.loads(result_of(given, s, m, seed).read_text()) for seed in SEEDS]
            for s in SETTINGS for m in MATCHERS}  # fmt: skip
    parts = []
    for title, field in (("predicted", "predicted_f1"), ("true", "true_f1")):
        head = ["| SODA-D F1, " + title + " count | " + " | ".join(SETTINGS) + " |", "|---|" + "---|" * len(SETTINGS)]
        for m in MATCHERS:
            cells = []
            for s in SETTINGS:
                values = [r[field] for r in runs[s, m]]
                cells.append(f"{mean(values):.2f} ± {stdev(values):.2f}")
            head.append(f"| {m} | " + " | ".join(cells) + " |")
        head.append("| *largest difference to Hungarian, paired by seed* | " + " | ".join(
            largest_gap(runs, s, field) for s in SETTINGS) + " |")  # fmt: skip
        parts.append("\n".join(head))
    head = ["| setting | trained with | same pairs, first epoch | same pairs, last | inverted, first | last | "
            "cost of order per step, first | last |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for s in SETTINGS:
        for m in MATCHERS:
            first, last = ([mean(r["agreement"][e][k] for r in runs[s, m]) for k in range(3)] for e in (0, -1))
            cells = [f"{100 * first[0]:.1f} %", f"{100 * last[0]:.1f} %", f"{100 * first[1]:.1f} %",
                     f"{100 * last[1]:.1f} %", f"{first[2]:.4f}", f"{last[2]:.4f}"]  # fmt: skip
            head.append(f"| {s} | {m} | " + " | ".join(cells) + " |")
    parts.append("\n".join(head))
    text = TEMPLATE.format(
        scores="\n\n".join(parts[:2]), agreement=parts[2],
        settings="\n".join(f"- **{name}**: {what}." for name, what in SETTINGS.items()),
        small=", ".join(f"{k} {v}" for k, v in SMALL.items()), seeds=", ".join(map(str, SEEDS)),
        train=TRAIN, test=TEST, epochs=EPOCHS, batch=BATCH, lr=LR,
        cpu=math.ceil(sum(r["cpu_seconds"] for some in runs.values() for r in some) / 60), runs=len(runs) * len(SEEDS),
        versions=f"Python {platform.python_version()}, torch {torch.__version__}, fabula {fabula.__version__}",
    )  # fmt: skip
    page = given.doc.read_text() if given.doc.exists() else ""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        before, after = ([*page.split("## Speed", 1), ""])[:2]
        after = "\n## Speed" + after if after else ""
    given.doc.write_text(f"{before.rstrip()}\n\n{BEGIN}\n{text}{END}\n\n{after.lstrip()}")
    print("\n\n".join(parts), f"\n→ {given.doc}")


def largest_gap(runs: dict[tuple[str, str], list[dict[str, Any]]], setting: str, field: str) -> str:
    """The matcher that differs most from Hungarian, by how much, and the spread of that difference over the seeds."""
    gaps = {}
    for m in list(MATCHERS)[1:]:
        pairs = zip(runs[setting, m], runs[setting, "Hungarian"], strict=True)
        gaps[m] = [a[field] - b[field] for a, b in pairs]
    name = max(gaps, key=lambda m: abs(mean(gaps[m])))
    return f"{name} {mean(gaps[name]):+.2f} ± {stdev(gaps[name]):.2f}"


BEGIN, END = "<!-- reproduce/matchers.py writes this section -->", "<!-- end of reproduce/matchers.py -->"
TEMPLATE = """## Does the order of a matcher matter?

Written by `reproduce/matchers.py`; **simulated features** (hashed words of the annotation, `fabula.learn.simulate`), so
that levels mean nothing for real footage. A small PDVC without captions ({small}), {train} training videos, {epochs}
epochs of batches of {batch}, learning rate {lr} halved at 60 and 80 %; the last epoch is scored, none is chosen, on
{test} test videos; mean ± standard deviation of {runs} runs over the seeds {seeds}.

    python reproduce/matchers.py --data ../shared/data

{settings}

{scores}

"True count" keeps as many steps as the reference has, by class score: what the counter learns is taken out of the
comparison. "soft (PSS)" is the published loss with its class term; "marginal" the free energy of the set loss over
complete ordered matchings, γ .02.

How far the matchings agree while the model is trained, over both layers: the share of steps to which Hungarian and
complete ordered matching give the same query, the share of neighbouring steps whose Hungarian queries stand in the
wrong order, and what the order adds to the cost of a step (about 2 to 4 in size):

{agreement}

Cost: {cpu} minutes of processor time for all runs, one thread each. {versions}.
"""

if __name__ == "__main__":
    main()
