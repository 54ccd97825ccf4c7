"""The training loop: one flat loop on lightning Fabric that trains any model of learn/models.

    for epoch: for batch: loss → backward → clip → step → log;   validate;   checkpoint

A run is a folder:

    config.json        model, settings, data: what was asked for
    steps.csv          a line per step: epoch, learning rate, every loss
    epochs.csv         a line per epoch: mean losses, validation scores, seconds
    last.safetensors   weights, optimiser, random states, place: training goes on from here after a kill
    best.safetensors   the weights with the best validation score

Resuming gives the curve of a run that was never stopped: the order of the videos is a function of seed and epoch, the
learning rate one of the epoch, and the random states of all processes are in the checkpoint; lines that were logged
after it are dropped. Several processes: `torchrun --nproc-per-node 2 -m fabula train …`; a run is resumed with as many.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import logging
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning_fabric import Fabric
from lightning_fabric.loggers.logger import Logger
from torch import Tensor, nn

from fabula.core.errors import FabulaError, InputError, SpecError, shown
from fabula.io.files import dump_json, load_json, name_write_failures, write_text
from fabula.learn import checkpoint
from fabula.learn._stores import summarize
from fabula.learn.data import Vocabulary
from fabula.learn.options import Callbacks, Run, Settings, Validation

log = logging.getLogger(__name__)


class TrainingError(FabulaError):
    """Training cannot go on; says at which step and on which videos."""


class Data(Protocol):
    """What the loop needs of a data set: `Steps` of learn/data.py is one."""

    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> Any: ...
    def collate(self, examples: Sequence[Any], /) -> Any: ...


def lr_at(settings: Settings, epoch: int) -> float:
    """lr · decay^n, n = how many of the epochs decay_from, decay_from + decay_every, … have begun."""
    s = settings
    n = 0 if epoch < s.decay_from else 1 + (epoch - s.decay_from) // s.decay_every
    return float(s.lr * s.decay**n)


def batches(n: int, settings: Settings, epoch: int, rank: int = 0, world: int = 1) -> list[list[int]]:
    """The examples of each step of this epoch on this process: one permutation, dealt out; the end wraps around."""
    generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + epoch)
    order: list[int] = torch.randperm(n, generator=generator).tolist()
    each = settings.batch_size * world
    if len(order) % each and world > 1:  # every process makes the same number of steps
        order = (order * (each // len(order) + 2))[: math.ceil(n / each) * each]
    dealt = [order[i : i + each] for i in range(0, len(order), each)]
    return [step[rank * settings.batch_size : (rank + 1) * settings.batch_size] for step in dealt]


def train(
    model: nn.Module,
    data: Data,
    settings: Settings,
    run: Run,
    *,
    validation: Validation | None = None,
    about: Mapping[str, Any] | None = None,  # what else config.json should say: data, features
    callbacks: Callbacks | None = None,
    stop_after: int | None = None,  # leave after so many steps, checkpoint written (for tests and time limits)
) -> dict[str, float]:
    """Train, and return the last epoch's line of epochs.csv."""
    out, watch = run.out, (callbacks or Callbacks()).watch
    if settings.threads:
        torch.set_num_threads(settings.threads)
    fabric = make_fabric(out, run.tensorboard)
    fabric.launch()
    first, world = fabric.is_global_zero, fabric.world_size
    prepare(run, model, settings, about or {}, first)
    fabric.barrier()
    torch.manual_seed(settings.seed + fabric.global_rank)  # dropout and drawn queries differ between processes

    optimizer = torch.optim.Adam(model.parameters(), settings.lr, settings.betas, weight_decay=settings.weight_decay)
    state = Place()
    if run.resume and (out / "last.safetensors").exists():
        state = continue_from(out / "last.safetensors", model, optimizer, fabric, settings)
    if run.resume and first:  # also where it was killed before its first checkpoint
        cut(out / "steps.csv", "step", state.step)
        cut(out / "epochs.csv", "epoch", state.epoch - 1)  # not by its step: the last checkpoint may be of that step
    wrapped, optimizer = fabric.setup(model, optimizer)
    wrapped.mark_forward_method("loss")
    total = settings.epochs * len(batches(len(data), settings, 0, 0, world))
    line: dict[str, float] = dict(state.line)

    for epoch in range(state.epoch, settings.epochs):
        for group in optimizer.param_groups:
            group["lr"] = lr_at(settings, epoch)
        began = time.monotonic()
        for at, chosen in enumerate(batches(len(data), settings, epoch, fabric.global_rank, world)):
            if epoch == state.epoch and at < state.batch:
                continue  # done before the checkpoint
            wrapped.train()
            batch = data.collate([data[i] for i in chosen]).to(fabric.device)
            losses: dict[str, Tensor] = wrapped.loss(batch)
            if not torch.isfinite(losses["loss"]):
                seen = ", ".join(f"{n} {v.item():g}" for n, v in losses.items())
                raise TrainingError(
                    f"the loss is not finite at step {state.step} on {batch.videos} ({seen}); lower --lr"
                )
            optimizer.zero_grad(set_to_none=True)
            fabric.backward(losses["loss"])
            if settings.clip_norm is not None:
                fabric.clip_gradients(wrapped, optimizer, max_norm=settings.clip_norm, error_if_nonfinite=False)
            if settings.clip_value is not None:
                fabric.clip_gradients(wrapped, optimizer, clip_val=settings.clip_value)
            optimizer.step()

            state.step += 1
            values = {n: v.item() for n, v in losses.items()}
            state.add(values)
            if first:
                write_line(
                    out / "steps.csv", {"step": state.step, "epoch": epoch, "lr": lr_at(settings, epoch), **values}
                )
                fabric.log_dict(values, step=state.step)
                head = " · ".join(f"{n} {v:.3f}" for n, v in values.items() if not n[-1].isdigit())
                watch(f"epoch {epoch + 1}/{settings.epochs} · {head}", state.step, total)
            if state.step % settings.save_every == 0:
                save(out, model, optimizer, fabric, settings, state.at(epoch, at + 1))
            if stop_after is not None and state.step >= stop_after:
                save(out, model, optimizer, fabric, settings, state.at(epoch, at + 1))
                return line

        line = {"epoch": epoch, "step": state.step, "lr": lr_at(settings, epoch), **state.means()}
        last = epoch + 1 == settings.epochs
        if first and validation and ((epoch + 1) % settings.validate_every == 0 or last):
            random = torch.get_rng_state()
            model.eval()
            scores = dict(validation.measure(model))
            torch.set_rng_state(random)
            key = validation.best_by or next(iter(scores))
            line |= {f"val_{n}": v for n, v in scores.items()}
            if state.best is None or scores[key] > state.best:
                state.best = scores[key]
                weights = {f"model.{n}": t for n, t in model.state_dict().items()}
                header = checkpoint.header_of(
                    model, epoch=epoch, step=state.step, scores=scores, about=dict(about or {})
                )
                checkpoint.write(out / "best.safetensors", weights, header)
        if first:
            line["seconds"] = round(time.monotonic() - began, 3)
            write_line(out / "epochs.csv", line)
            fabric.log_dict({n: v for n, v in line.items() if n.startswith("val_")}, step=state.step)
            shown = " · ".join(f"{n} {v:.4g}" for n, v in line.items() if n == "loss" or n.startswith("val_"))
            log.info("epoch %d/%d · %s · %.1f s", epoch + 1, settings.epochs, shown, line["seconds"])
        state.sums, state.count, state.line = {}, 0, line
        save(out, model, optimizer, fabric, settings, state.at(epoch + 1, 0))
        fabric.barrier()
    return line


# ---------------------------------------------------------------------------------------------------------------------
# Where training stands


@dataclass
class Place:
    """All that a checkpoint needs beside tensors."""

    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    step: int = 0
    best: float | None = None
    count: int = 0  # steps of this epoch in `sums`
    sums: dict[str, float] = None  # type: ignore[assignment]
    line: dict[str, float] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.sums, self.line = self.sums or {}, self.line or {}

    def add(self, values: Mapping[str, float]) -> None:
        self.count += 1
        for n, v in values.items():
            self.sums[n] = self.sums.get(n, 0.0) + v

    def means(self) -> dict[str, float]:
        return {n: v / max(self.count, 1) for n, v in self.sums.items()}

    def at(self, epoch: int, batch: int) -> Place:
        self.epoch, self.batch = epoch, batch
        return self


def save(out: Path, model: nn.Module, optimizer: Any, fabric: Fabric, settings: Settings, state: Place) -> None:
    """last.safetensors, by the first process; the others send it their random state."""
    mine = torch.get_rng_state().to(torch.int32)
    gathered = fabric.all_gather(mine) if fabric.world_size > 1 else mine
    assert isinstance(gathered, Tensor)
    random = gathered.reshape(fabric.world_size, -1)
    if not fabric.is_global_zero:
        return
    kept, numbers = checkpoint.optimizer_tensors(optimizer)
    tensors = {f"model.{n}": t for n, t in model.state_dict().items()} | kept
    tensors |= {f"rng.{rank}": r.to(torch.uint8) for rank, r in enumerate(random)}
    place = asdict(state)
    header = checkpoint.header_of(model, settings=asdict(settings), optimizer=numbers, place=place)
    checkpoint.write(out / "last.safetensors", tensors, header)


def continue_from(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, fabric: Fabric, settings: Settings
) -> Place:
    tensors, header = checkpoint.read(path)
    checkpoint.restore(model, tensors, header, path)
    checkpoint.restore_optimizer(optimizer, tensors, header, path)
    processes = sum(n.startswith("rng.") for n in tensors)
    if processes != fabric.world_size:
        seen = f"the run was made by {processes} processes, now there are {fabric.world_size}"
        raise InputError(seen, file=path, hint=f"resume it with {processes}")
    try:
        torch.set_rng_state(tensors[f"rng.{fabric.global_rank}"].to(torch.uint8))
    except (KeyError, RuntimeError, TypeError) as error:
        problem = f"its random state cannot be used ({summarize(error)})"
        raise InputError(problem, file=path, hint=checkpoint.AGAIN) from None
    return place_of(header.get("place"), path)


def place_of(told: Any, path: Path) -> Place:
    """Where training stood, as the header tells it."""
    whole = isinstance(told, dict) and told.keys() == {f.name for f in fields(Place)}
    whole = whole and all(type(told[n]) is int and 0 <= told[n] < 1 << 53 for n in ("epoch", "batch", "step", "count"))
    whole = whole and (told["best"] is None or is_number(told["best"]))
    whole = whole and all(isinstance(told[n], dict) and all(map(is_number, told[n].values())) for n in ("sums", "line"))
    if not whole:
        raise InputError("its header does not say where training stood", file=path, hint=checkpoint.AGAIN)
    return Place(**told)


def is_number(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < 1 << 63)


def prepare(run: Run, model: nn.Module, settings: Settings, about: Mapping[str, Any], first: bool) -> None:
    """The run's folder. A run that is there is continued when asked to, replaced when told to, never by accident."""
    wanted = {"model": model.name, "config": asdict(model.config), "settings": asdict(settings), **about}  # type: ignore[call-overload]
    wanted = json.loads(json.dumps(wanted))  # tuples as the file has them
    out = run.out
    there = out / "config.json"
    if run.resume:
        if not there.exists():
            raise InputError("no run to resume here", file=out, hint="leave --resume out to begin one")
        must_agree(load_json(there), wanted, there)
        return
    if not first:
        return
    with name_write_failures(out):
        clear(run)
        out.mkdir(parents=True, exist_ok=True)
    dump_json(there, wanted, indent=1)


def clear(run: Run) -> None:
    """What is there goes, if that was said."""
    out = run.out
    ours = ("config.json", "steps.csv", "epochs.csv", "last.safetensors", "best.safetensors")
    if any((out / name).exists() for name in ours):
        if not run.overwrite:
            raise InputError(
                "holds a run already", file=out, hint="say --resume to go on with it, --overwrite to lose it"
            )
        for name in ours:
            (out / name).unlink(missing_ok=True)


def must_agree(kept: Mapping[str, Any], wanted: Mapping[str, Any], file: Path) -> None:
    """A run is resumed with what it was begun with. `epochs` may grow; what does not change the curve is free."""
    if not isinstance(kept, dict) or not all(isinstance(kept.get(part), dict) for part in ("config", "settings")):
        hint = "say --overwrite to begin the run anew, or choose another --out"
        raise InputError("is damaged: it does not say what the run was begun with", file=file, hint=hint)
    if kept.get("model") != wanted["model"]:
        was = shown(kept.get("model"))
        hint = f"resume with --model {was}, or choose another --out"
        raise InputError(f"a run of the model {was}, not {wanted['model']!r}", file=file, hint=hint)
    then, now = kept["config"].get("vocabulary"), wanted["config"].get("vocabulary")
    if isinstance(then, list) and then and now and then != now and all(isinstance(w, str) for w in then):
        Vocabulary(tuple(now)).must_equal(Vocabulary(tuple(then)), file)
    free = {"epochs", "save_every", "validate_every", "threads"}
    for part in ("config", "settings"):
        for name, value in wanted[part].items():
            if kept[part].get(name) != value and not (part == "settings" and name in free):
                seen = f"{name} was {shown(kept[part].get(name))} and is {shown(value)} now"
                raise InputError(seen, file=file, hint="resume with the settings of the run, or begin another")


def make_fabric(out: Path, tensorboard: bool) -> Fabric:
    """One process, or as many as torchrun started; on a CPU they speak gloo."""
    loggers: list[Logger] = []
    if tensorboard:
        try:
            from lightning_fabric.loggers.tensorboard import TensorBoardLogger

            loggers = [TensorBoardLogger(out, name="tensorboard", version="")]
        except ModuleNotFoundError:
            raise SpecError("--tensorboard needs the package tensorboard; the CSV files are there without it") from None
    local, world = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1:
        return Fabric(devices=local, num_nodes=world // local, strategy="ddp", loggers=loggers)
    return Fabric(devices=1, loggers=loggers)


# ---------------------------------------------------------------------------------------------------------------------
# CSV


def write_line(path: Path, line: Mapping[str, float]) -> None:
    """A line at the end; the head when the file is new. A line with new columns (a first validation) rewrites it."""
    text = {n: format(v, ".10g") for n, v in line.items()}
    head = read_head(path)
    if not head or set(text) - set(head):
        rows = read_lines(path) if head else []
        write_rows(path, [*head, *(n for n in text if n not in head)], [*rows, text])
        return
    with name_write_failures(path), path.open("a", newline="") as stream:
        csv.DictWriter(stream, head, restval="", lineterminator="\n").writerow(text)


def read_head(path: Path) -> list[str]:
    """The columns of the table; none where there is no table."""
    if not path.exists():
        return []
    with name_damage(path), path.open(newline="") as stream:
        return next(csv.reader(stream), [])


def read_lines(path: Path) -> list[dict[str, str]]:
    with name_damage(path), path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@contextlib.contextmanager
def name_damage(path: Path) -> Iterator[None]:
    """A table that cannot be read, as an error that says how to go on."""
    try:
        yield
    except (OSError, csv.Error, ValueError) as error:
        raise damaged_table(path, summarize(error)) from None


def damaged_table(path: Path, why: str) -> InputError:
    hint = "delete it to go on without the lines so far, or begin the run anew with --overwrite"
    return InputError(f"is damaged ({why})", file=path, hint=hint)


def write_rows(path: Path, head: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, head, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, [buffer.getvalue()])


def cut(path: Path, column: str, last: int) -> None:
    """Drop the lines after `last`: they will be written again."""
    head = read_head(path)
    if not head:
        path.unlink(missing_ok=True)  # killed before a word of it was written
        return
    if column not in head:
        raise damaged_table(path, f"it has no column {column!r}")
    rows: list[dict[str, str]] = []
    for row in read_lines(path):
        at = row[column] or ""
        in_order = at.isascii() and at.isdigit() and len(at) < 16
        if in_order and int(at) <= last and (not rows or int(at) > int(rows[-1][column])):  # not half a line
            rows.append({name: row[name] or "" for name in head})
    write_rows(path, head, rows)
