"""fabula train: the models of the papers on your annotations and features."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from fabula.core.errors import FabulaError
from fabula.core.notes import ignore
from fabula.learn.options import Callbacks, Changes, Run, Settings, TrainOptions
from fabula.learn.tasks.base import Task
from fabula.verbs.terminal.console import print_note, show_training, warn
from fabula.verbs.terminal.flags import flags
from fabula.verbs.terminal.tasks import help_of, task_group
from fabula.verbs.training.train import train


def make_train(task: Task) -> click.Command:
    """`fabula train NAME`."""

    names = {"model": f"One of {', '.join(task.models)}. Default: {task.models[0]}."} if task.models else {}
    any_setting = {"set_": "Any other setting of the model (fabula list settings), repeatable."}

    @click.command(task.name, **help_of(task, "train"))
    @flags(task.Train, into="options", help=names)
    @flags(task.Shape, into="shape", help=any_setting)
    @flags(Settings, into="settings", as_typed=True)
    @flags(Run, into="run")
    def command(options: TrainOptions, shape: Changes, settings: Mapping[str, object], run: Run) -> None:
        talks = os.environ.get("RANK", "0") == "0"  # one process of several
        try:
            with show_log(talks), show_training(talks) as watch:
                callbacks = Callbacks(watch=watch, warn=warn if talks else ignore)
                train(task.name, task=options, architecture=shape, settings=settings, run=run, callbacks=callbacks)
        except KeyboardInterrupt:
            print_note(f"stopped; --resume continues from {run.out}/last.safetensors, if it exists")
            sys.exit(130)
        except FabulaError as error:
            if talks or not getattr(error, "told_by_all", False):
                raise
            sys.exit(2)  # the first process says it
        if talks:
            print_note(f"run in {run.out}/: predict with: fabula predict {task.name} {run.out} …")

    made: click.Command = command
    return made


command = task_group("train", "Train a model: fabula train TASK --out RUN.", make_train)


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
