"""fabula predict: a trained model's answers as a file; of `pss` a submission that `fabula score` reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.api.predict import predict
from fabula.cli._console import print_note, show_training, warn
from fabula.cli._options import flags, path_argument
from fabula.cli._out import check_new, check_outputs
from fabula.cli._tasks import help_of, task_group
from fabula.core.options import MUST, Options, option
from fabula.learn.options import Callbacks, PredictOptions
from fabula.learn.tasks.base import Task


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """Where predictions go."""

    out: Path = option(MUST, "File to write.", "-o", writes=True)
    overwrite: bool = option(False, "Replace the file that is there.")


def make_predict(task: Task) -> click.Command:
    """`fabula predict NAME CHECKPOINT`."""

    @click.command(task.name, **help_of(task, "predict"))
    @path_argument("checkpoint")
    @flags(task.Predict, into="options")
    @flags(Outputs, into="outputs")
    def command(checkpoint: Path, options: PredictOptions, outputs: Outputs) -> None:
        if not outputs.overwrite:
            check_new(outputs.out)
        named = [getattr(options, o.name) for o in options.options() if o.kind is Path]
        check_outputs([checkpoint, *named], outputs)
        with show_training() as watch:
            callbacks = Callbacks(watch=watch, warn=warn)
            made = predict(task.name, checkpoint, outputs.out, options=options, callbacks=callbacks)
        print_note(f"{task.count(made)} → {outputs.out}")

    made: click.Command = command
    return made


command = task_group(
    "predict", "Predict with the model of a CHECKPOINT or run: fabula predict TASK RUN -o FILE.", make_predict
)
