"""fabula train: the models of the papers on your annotations and features."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from fabula.api.train import train
from fabula.cli._console import print_note, show_training, warn
from fabula.cli._options import flags
from fabula.core.notes import ignore
from fabula.learn.options import Architecture, Callbacks, Run, Settings, Task


@click.group("train")
def command() -> None:
    """Train a model: pss."""


@command.command()
@flags(Task, into="task")
@flags(Architecture, into="architecture")
@flags(Settings, into="settings", as_typed=True)
@flags(Run, into="run")
def pss(task: Task, architecture: Architecture, settings: Mapping[str, Any], run: Run) -> None:
    """Train procedure segmentation and summarisation (Batra et al., BMVC 2022).

    \b
    fabula train pss --data yc2/ --features s3d/ --matcher soft --out runs/soft
    fabula train pss --data yc2/ --features s3d/ --matcher soft --out runs/soft --resume
    torchrun --nproc-per-node 2 -m fabula train pss --data … --features … --out …
    fabula predict pss runs/soft --features s3d/ --data yc2/ -o submission.json
    """
    talks = os.environ.get("RANK", "0") == "0"  # one process of several
    try:
        with show_log(talks), show_training(talks) as watch:
            callbacks = Callbacks(watch=watch, warn=warn if talks else ignore)
            train("pss", task=task, architecture=architecture, settings=settings, run=run, callbacks=callbacks)
    except KeyboardInterrupt:
        print_note(f"stopped; --resume goes on from {run.out}/last.safetensors, if it is there")
        sys.exit(130)
    if talks:
        again = f"fabula predict pss {run.out} --features {task.features} -o submission.json"
        print_note(f"run in {run.out}/: predict with: {again}")


@contextmanager
def show_log(talks: bool) -> Iterator[None]:
    """What training logs, on standard error, as long as it lasts."""
    if not talks:
        yield
        return
    log, handler = logging.getLogger("fabula.learn"), NoteHandler()
    before = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


class NoteHandler(logging.Handler):
    """Log lines to the person."""

    def emit(self, record: logging.LogRecord) -> None:
        print_note(record.getMessage())
