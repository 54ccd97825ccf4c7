"""fabula train: the models of the papers on your annotations and features."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fabula.cli._console import say
from fabula.core.errors import MissingExtra, SpecError


@contextmanager
def watching() -> Iterator[Callable[[str, int, int], None]]:
    """A bar whose text changes (epoch, losses); nothing where there is no terminal."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None)
        yield lambda what, done, total: progress.update(task, description=what, completed=done, total=total)


def lead() -> bool:
    """True in the one process that talks."""
    return os.environ.get("RANK", "0") == "0"


def need_learn() -> None:
    if not all(importlib.util.find_spec(module) for module in ("torch", "lightning_fabric", "safetensors")):
        raise MissingExtra("training and predicting", "learn")


def changes(pairs: tuple[str, ...]) -> dict[str, str]:
    """`--set dropout=0.2 --set queries=30` as a dict."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SpecError(f"--set {pair!r}: say name=value")
        found[name.strip()] = value.strip()
    return found


def told(**values: Any) -> dict[str, Any]:
    """The options that were given."""
    return {n: v for n, v in values.items() if v is not None}


@click.group("train")
def command() -> None:
    """Train a model: pss."""


@command.command()
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="Annotations: a file, or a folder of splits."
)
@click.option("--features", required=True, type=click.Path(path_type=Path), help=".npy folder, .h5 or .safetensors.")
@click.option("--val", type=click.Path(path_type=Path), help="Validation annotations. Default: the split in --data.")
@click.option("--model", default="pdvc", show_default=True, help="pdvc or procnets.")
@click.option("--matcher", type=click.Choice(["hungarian", "ordered", "soft"]), help="PDVC: who answers for a step.")
@click.option("--captioner", type=click.Choice(["standard", "light", "none"]), help="PDVC: which captioner.")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Folder of the run.")
@click.option("--epochs", type=int, help="Default: the paper's.")
@click.option("--batch-size", type=int, help="Videos per step and process. Default: the paper's, 1.")
@click.option("--lr", type=float, help="Learning rate. Default: the paper's.")
@click.option("--seed", type=int, help="Default: 777.")
@click.option("--tiny", is_flag=True, help="A small model that trains on a laptop.")
@click.option("--set", "set_", multiple=True, metavar="NAME=VALUE", help="Any other setting of the model, repeatable.")
@click.option("--max-events", type=int, help="Keep so many random steps per video (PDVC's accident: 10). Default: all.")
@click.option("--skip-missing", is_flag=True, help="Leave out videos that have no features.")
@click.option("--save-every", type=int, help="Steps between checkpoints. Default: 500.")
@click.option("--validate-every", type=int, help="Epochs between validations. Default: 1.")
@click.option("--threads", type=int, help="Threads of torch on a CPU.")
@click.option("--format", help="Format of the annotations (fabula list formats). Default: known by its shape.")
@click.option("--resume", is_flag=True, help="Go on from the run's last checkpoint.")
@click.option("--overwrite", is_flag=True, help="Replace the run that is there.")
@click.option("--tensorboard", is_flag=True, help="Write TensorBoard files beside the CSV.")
def pss(
    data: Path,
    features: Path,
    val: Path | None,
    model: str,
    matcher: str | None,
    captioner: str | None,
    out: Path,
    epochs: int | None,
    batch_size: int | None,
    lr: float | None,
    seed: int | None,
    tiny: bool,
    set_: tuple[str, ...],
    max_events: int | None,
    skip_missing: bool,
    save_every: int | None,
    validate_every: int | None,
    threads: int | None,
    format: str | None,
    resume: bool,
    overwrite: bool,
    tensorboard: bool,
) -> None:
    """Train procedure segmentation and summarisation (Batra et al., BMVC 2022).

    \b
    fabula train pss --data yc2/ --features s3d/ --matcher soft --out runs/soft
    fabula train pss --data yc2/ --features s3d/ --matcher soft --out runs/soft --resume
    torchrun --nproc-per-node 2 -m fabula train pss --data … --features … --out …
    fabula predict pss runs/soft --features s3d/ --data yc2/ -o submission.json
    """
    need_learn()
    from fabula.learn.pss import Task, train_pss

    if lead():
        logging.getLogger("fabula.learn").setLevel(logging.INFO)
        logging.getLogger("fabula.learn").addHandler(Said())
    task = Task(data, features, model, val, format, tiny, max_events=max_events, skip_missing=skip_missing)
    config = {**changes(set_), **told(matcher=matcher, captioner=captioner)}
    settings = told(
        epochs=epochs,
        batch_size=batch_size,
        lr=lr,
        seed=seed,
        save_every=save_every,
        validate_every=validate_every,
        threads=threads,
    )
    try:
        with watching() if lead() else silent() as watch:
            train_pss(
                task,
                out,
                config,
                settings,
                resume=resume,
                overwrite=overwrite,
                tensorboard=tensorboard,
                watch=watch,
                warn=lambda line: say(f"warning: {line}", style="yellow") if lead() else None,
            )
    except KeyboardInterrupt:
        say(f"stopped; --resume goes on from {out}/last.safetensors, if it is there")
        sys.exit(130)
    if lead():
        say(f"run in {out}/: predict with: fabula predict pss {out} --features {features} -o submission.json")


@contextmanager
def silent() -> Iterator[Callable[[str, int, int], None]]:
    yield lambda what, done, total: None


class Said(logging.Handler):
    """Log lines to the person."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())
