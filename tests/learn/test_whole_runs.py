"""Small runs of every task, from files to predictions: losses, rates, norms, scores, answers and what is warned of.

tests/learn/runs has them; `python -m tests.learn.test_whole_runs` writes them anew. Other numbers mean that training
is another one: a resumed run would go on otherwise. Numbers are compared with a tolerance, texts letter by letter.
"""

from __future__ import annotations

import atexit
import csv
import json
import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula import demo  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.stories import Corpus  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.options import Callbacks  # noqa: E402
from fabula.learn.retrieval.data import read_moments  # noqa: E402
from fabula.learn.retrieval.simulate import Recipe as ClipRecipe  # noqa: E402
from fabula.learn.retrieval.simulate import simulate_moments  # noqa: E402
from fabula.learn.simulate import simulate  # noqa: E402
from fabula.learn.worlds.films import Recipe, make_film, write_world  # noqa: E402
from tests.learn import test_noise, test_vcmr_task  # noqa: E402
from tests.learn.texts import embed_captions  # noqa: E402
from tests.stored import as_lines, differences, keep_known, read_stored, write_stored  # noqa: E402

FOLDER = Path(__file__).parent / "runs"
FILMS = {"train_films": 1, "val_films": 1, "test_films": 1, "clips": 7, "set_clips": 3, "face_dim": 6, "action_dim": 4}
FILMS |= {"frame_dim": 4}
FAST = {"batch_size": 4, "lr": 1e-3, "threads": 1, "device": "cpu", "epochs": 2}


@cache
def place() -> Path:
    """A folder for this process's runs."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    torch.set_num_threads(1)
    return folder


# --- data ------------------------------------------------------------------------------------------------------------


@cache
def procedures() -> dict[str, Any]:
    """Six videos to train on, three to validate on."""
    folder = place() / "procedures"
    (folder / "splits").mkdir(parents=True)
    whole, _ = fabula.read(demo.REFERENCES["annotator_1"])
    names = list(whole)
    for split, some in (("train", names[:6]), ("val", names[6:9])):
        fabula.write(Corpus({v: whole[v] for v in some}, "demo"), folder / "splits" / f"{split}.json", "activitynet")
    simulate(Corpus({v: whole[v] for v in names[:9]}, "demo"), folder / "frames.safetensors")
    return {"data": folder / "splits", "features": folder / "frames.safetensors"}


def write_moments(folder: Path, rows_of: Callable[..., list[dict[str, Any]]], sizes: Mapping[str, int]) -> Path:
    (folder / "splits").mkdir(parents=True)
    every = []
    for k, (split, size) in enumerate(sizes.items()):
        rows = rows_of(size, 100 * k)
        (folder / "splits" / f"fig_{split}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        every += rows
    (folder / "all.jsonl").write_text("".join(json.dumps(r) + "\n" for r in every))
    fine, coarse = (read_moments(folder / "all.jsonl", Notes(), g) for g in ("fig", "cog"))
    simulate_moments(fine, coarse, folder / "clips.safetensors", ClipRecipe(dim=16, noise=0.3))
    return folder


@cache
def moments() -> dict[str, Any]:
    folder = write_moments(place() / "moments", test_vcmr_task.rows_of, {"train": 12, "val": 6})
    return {"data": folder / "splits", "features": str(folder / "clips.safetensors")}


@cache
def captions() -> dict[str, Any]:
    folder = write_moments(place() / "captions", test_noise.rows_of, {"train": 12, "val": 4, "test": 4})
    return {"data": folder / "splits", "features": str(folder / "clips.safetensors")}


@cache
def vectors() -> str:
    """Vectors of the captions' words."""
    data = captions()["data"]

    def embed(text: str) -> np.ndarray:
        found = [np.random.default_rng(sum(map(ord, w))).standard_normal(16) for w in text.lower().strip(".").split()]
        return np.sum(found, 0).astype(np.float32)

    return str(embed_captions(sorted(data.iterdir()), data.parent, embed))


@cache
def films() -> dict[str, Any]:
    write_world(place() / "films", Recipe(**FILMS))
    return {"data": place() / "films", "features": place() / "films"}


def long_set() -> Path:
    """All clips of the test film as one set, of more clips than the model takes at a time."""
    recipe = Recipe(**FILMS)
    film = make_film("sim-test-000", recipe)
    row = {"id": "whole", "captions": [s.caption for s in film.scenes], "clips": [film.clip(k) for k in range(7)]}
    path = place() / "long.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return path


# --- runs ------------------------------------------------------------------------------------------------------------


def hide(texts: list[str]) -> list[str]:
    """Texts without the folder of this process."""
    return [text.replace(str(place()), "…") for text in texts]


@contextmanager
def logged() -> Iterator[list[str]]:
    """What the loop logs meanwhile."""
    lines: list[str] = []
    handler, logger = logging.Handler(), logging.getLogger("fabula.learn.train")
    handler.emit = lambda record: lines.append(record.getMessage())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def split_numbers(text: str) -> list[Any]:
    """A text without its numbers, and these, which are compared with a tolerance."""
    found = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
    return [found.sub("#", text), [float(x) for x in found.findall(text)]]


def number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def describe_run(folder: Path) -> dict[str, Any]:
    """What a run's folder says; seconds and places of files aside."""
    found: dict[str, Any] = {"files": sorted(p.name for p in folder.iterdir())}
    about = json.loads((folder / "config.json").read_text().replace(str(place()), "…"))
    found["about"] = {name: value for name, value in about.items() if name not in ("fabula", "torch", "created")}
    for name in ("steps", "epochs", "validations"):
        if (path := folder / f"{name}.csv").exists():
            with path.open(newline="") as stream:
                rows = [{k: number(v) for k, v in row.items() if k != "seconds"} for row in csv.DictReader(stream)]
            found[name] = rows
    tensors, header = checkpoint.read(folder / "last.safetensors")
    found["header"] = sorted(header)
    groups: dict[str, float] = {}
    for name, tensor in tensors.items():
        if not name.startswith("rng"):
            kind = name.split(".")[0]
            groups[kind] = groups.get(kind, 0.0) + float(tensor.double().abs().sum())
    found["weights"] = groups
    return found


def train(what: str, out: str, /, **given: Any) -> tuple[Path, dict[str, Any]]:
    warned: list[str] = []
    folder = place() / "runs" / out
    seen: list[tuple[str, int, int]] = []
    callbacks = Callbacks(warn=warned.append, watch=lambda *what: seen.append(what))
    with logged() as lines:
        line = fabula.train(what, tiny=True, out=folder, callbacks=callbacks, **{**FAST, **given})
    found = describe_run(folder)
    found["logged"] = [split_numbers(text.rpartition(" · ")[0] if text.endswith(" s") else text) for text in lines]
    found["last"] = {name: value for name, value in line.items() if name != "seconds"}
    found["warned"] = hide(warned)
    found["watched"] = [[split_numbers(text), done, of] for text, done, of in seen][:4]
    return folder, found


def read_lines(text: str) -> list[Any]:
    try:
        return [json.loads(line) for line in text.splitlines()]
    except json.JSONDecodeError:
        return [json.loads(text)]


def ask(what: str, run: Path, /, **given: Any) -> tuple[Any, dict[str, Any]]:
    """Predictions, as they are written to a file, and what is warned of."""
    warned: list[str] = []
    out = place() / "answers.jsonl"
    out.unlink(missing_ok=True)
    answer = fabula.predict(what, run, out, device="cpu", callbacks=Callbacks(warn=warned.append), **given)
    return answer, {"written": read_lines(out.read_text()), "warned": hide(warned)}


PROCEDURE = ["hidden=8", "heads=2", "feedforward=8", "norm_groups=4", "word_dim=4", "rnn=4", "frames=16", "queries=5"]


def run_soft() -> dict[str, Any]:
    """PDVC with a captioner and PSS's loss; two batches a step, validated between epochs."""
    more = {"accumulate": 2, "validate_steps": 2, "schedule": "linear", "warmup": 0.25, "batch_size": 2}
    options = {"set_": [*PROCEDURE, "matcher=soft", "soft_class=true"], "captioner": "light", "words_from": "train+val"}
    run, found = train("pss", "soft", **procedures(), **options, **more, min_count=2, max_events=3)
    found["asked"] = ask("pss", run, **procedures())[1]
    found["of the store"] = ask("pss", run, features=procedures()["features"], rate=2.0, set_=["top=2"])[1]
    return found


def run_plain() -> dict[str, Any]:
    """PDVC without captions, by the Hungarian matching; AdamW, gradients cut, patience."""
    more = {"optimizer": "adamw", "no_decay": True, "clip_value": 0.05, "clip_norm": None, "schedule": "cosine"}
    options = {"captioner": "none", "matcher": "hungarian", "set_": PROCEDURE, "patience": 1, "log_every": 2}
    tracked: list[Any] = []
    stand_in = ModuleType("wandb")
    log = SimpleNamespace(id="x", log=lambda values, step: tracked.append([step, values]), finish=lambda: None)
    stand_in.init = lambda **given: log  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "wandb", stand_in)
        run, found = train("pss", "plain", **procedures(), **options, **more, best_by="mIoU,SODA_d", wandb="w")
    found["tracked"] = tracked
    found["asked"] = ask("pss", run, **procedures(), split="train")[1]
    return found


def run_cells() -> dict[str, Any]:
    run, found = train("pss", "cells", **procedures(), model="procnets", set_=["hidden=8", "frames=20"], steps=3)
    found["asked"] = ask("pss", run, **procedures())[1]
    return found


MOMENT = {"hidden": 8, "heads": 2, "max_clips": 24, "max_words": 8}
SPAN = {"max_length": 8, "min_length": 1}


def run_xml() -> dict[str, Any]:
    config = {**MOMENT, **SPAN, "query_dim": 8}
    run, found = train("vcmr", "xml", **moments(), set_=config, train="cog", warmup=2, epochs=3)
    answer, found["asked"] = ask("vcmr", run, **moments(), top=4)
    found["scores"], found["shown"] = answer.scores(), [len(answer.names), len(answer.answers)]
    found["lines"] = ask("vcmr", run, **moments(), form="lines", corpus="store", top=3, granularity="cog")[1]
    return found


def run_reloclnet() -> dict[str, Any]:
    config = {**MOMENT, **SPAN, "query_dim": 8}
    run, found = train("vcmr", "reloclnet", **moments(), model="reloclnet", set_=config, protocol="reloclnet")
    found["asked"] = ask("vcmr", run, **moments(), top=4, protocol="reloclnet")[1]
    return found


def run_hero() -> dict[str, Any]:
    run, found = train("vcmr", "hero", **moments(), model="hero", set_={**MOMENT, **SPAN, "feedforward": 8}, steps=3)
    found["asked"] = ask("vcmr", run, **moments(), top=4, split="train")[1]
    return found


def run_detr() -> dict[str, Any]:
    config = {**MOMENT, "feedforward": 8, "queries": 3, "query_dim": 8, "max_clips": 12, "overlap": 4}
    run, found = train("vcmr", "detr", **moments(), model="qd_detr", set_=config)
    found["asked"] = ask("vcmr", run, **moments(), form="qvhighlights")[1]
    found["published"] = ask("vcmr", run, **moments(), protocol="qvhighlights")[1]
    return found


SET = {"hidden": 8, "heads": 2, "feedforward": 8, "decoder_layers": 1}


def run_joint() -> dict[str, Any]:
    run, found = train("micap", "joint", **films(), set_=SET, pass_steps="together")
    found["filled"] = ask("micap", run, **films(), task="fitb", split="test")[1]
    found["told"] = ask("micap", run, **films(), task="caption")[1]
    found["beams"] = ask("micap", run, **films(), task="caption", set_=["beam=3", "length_power=0.5"])[1]
    for task in ("fitb", "caption"):
        found[f"long {task}"] = ask("micap", run, data=long_set(), features=films()["features"], task=task)[1]
    found["same"] = ask("micap", run, **films(), task="fitb", people="same")[1]
    return found


def run_each() -> dict[str, Any]:
    """A step for each of the two losses; faces are pooled."""
    run, found = train("micap", "each", **films(), set_=[*(f"{k}={v}" for k, v in SET.items()), "pool_faces=true"])
    found["told"] = ask("micap", run, **films(), task="caption", people="different", split="train")[1]
    return found


def run_fillin() -> dict[str, Any]:
    run, found = train("micap", "fillin", **films(), model="fillin", min_count=1)
    found["filled"] = ask("micap", run, **films(), task="fitb")[1]
    return found


def run_language(base: str) -> dict[str, Any]:
    """T5 or GPT-2, small and with weights at random."""
    pytest.importorskip("transformers", reason="T5 and GPT-2 need fabula[lm]")
    config = {**SET, "base": base, "prefix": 3, "task": "joint", "streams": "text,action,face,frame"}
    run, found = train("micap", base, **films(), model="lm", set_=config, min_count=1, epochs=1)
    found["filled"] = ask("micap", run, **films(), task="fitb")[1]
    found["told"] = ask("micap", run, **films(), task="caption", set_=["beam=2"])[1]
    return found


def run_figures() -> dict[str, Any]:
    """The analysis of a run: numbers of its figures, and grounding."""
    run = place() / "runs" / "figures"
    fabula.train("micap", tiny=True, out=run, **films(), set_=SET, **FAST)
    (place() / "figures").mkdir(exist_ok=True)
    told = {"who": films()["data"] / "who.jsonl", "truth": films()["data"] / "who.safetensors", "most": 2}
    made = fabula.analyse("micap", run, place() / "figures", **films(), split="test", eps=(0.3, 0.9), **told)
    numbers = json.loads((place() / "figures" / "analysis.json").read_text())
    return {"figures": [f.name for f in made.figures], "notes": list(made.notes), "numbers": numbers}


NOISE = {"query_dim": 8, "hidden": 8, "embed": 8, "heads": 2, "max_words": 12}


def run_noise() -> dict[str, Any]:
    run, found = train("noise", "noise", **captions(), set_=NOISE, hard=2)
    files = {name: place() / f"noise-{name}" for name in ("fit", "diagram", "summary")}
    answer, found["asked"] = ask("noise", run, **captions(), disturbed=2, **files)
    found["summary"] = json.loads(files["summary"].read_text())
    del found["summary"]["calibration"]["weights"]  # a hash of trained weights, whose last bits are the machine's
    found["fitted"] = {k: v for k, v in json.loads(files["fit"].read_text()).items() if k != "weights"}
    found["rows"] = [[row.best, row.scores] for row in answer.rows]
    found["calibrated"] = ask("noise", run, **captions(), split="val", calibration=files["fit"])[1]
    return found


def run_head() -> dict[str, Any]:
    run, found = train("noise", "head", **captions(), model="noise_head", text=vectors(), captions="fig")
    found["asked"] = ask("noise", run, **captions(), text=vectors(), disturbed=1)[1]
    return found


RUNS: dict[str, Callable[[], dict[str, Any]]] = {
    "soft": run_soft,
    "plain": run_plain,
    "cells": run_cells,
    "xml": run_xml,
    "reloclnet": run_reloclnet,
    "hero": run_hero,
    "detr": run_detr,
    "joint": run_joint,
    "each": run_each,
    "fillin": run_fillin,
    "t5": lambda: run_language("t5"),
    "gpt2": lambda: run_language("gpt2"),
    "figures": run_figures,
    "noise": run_noise,
    "head": run_head,
}


@pytest.mark.parametrize("name", RUNS)
def test_it_is_as_it_was(name):
    now, stored = json.loads(as_lines(RUNS[name]())), json.loads(read_stored(FOLDER, name))
    assert differences(keep_known(now, stored), stored) == []  # a new setting may stand beside the others


def test_nothing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(RUNS)


if __name__ == "__main__":
    import transformers  # noqa: F401  (all runs, or none)

    write_stored(FOLDER, {name: lambda run=run: as_lines(run()) for name, run in RUNS.items()})
