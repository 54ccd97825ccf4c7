"""fabula predict: a trained model's answers as a file; of `pss` a submission that `fabula score` reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.options import Options, option
from fabula.learn.options import Callbacks, PredictOptions
from fabula.learn.tasks.base import Task
from fabula.verbs.terminal.console import print_note, show_training, warn
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import check_new, check_outputs
from fabula.verbs.terminal.tasks import help_of, task_group
from fabula.verbs.training.predict import predict


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """Where predictions go."""

    out: Path | None = option(None, "File to write. Required unless a page is written.", "-o", writes=True)
    overwrite: bool = option(False, "Replace an existing file.")


def make_predict(task: Task) -> click.Command:
    """`fabula predict NAME CHECKPOINT`."""

    @click.command(task.name, **help_of(task, "predict"))
    @path_argument("checkpoint")
    @flags(task.Predict, into="options")
    @flags(Outputs, into="outputs")
    def command(checkpoint: Path, options: PredictOptions, outputs: Outputs) -> None:
        written = {o.flag: getattr(options, o.name) for o in options.options() if o.about.writes}
        if outputs.out is None and not any(written.values()):
            raise click.MissingParameter(param_hint="'--out' / '-o'", param_type="option")
        if not outputs.overwrite:
            for path in (outputs.out, *written.values()):
                if path is not None:
                    check_new(path)
        check_outputs([checkpoint, *paths_read(options)], outputs, **written)
        with show_training() as watch:
            callbacks = Callbacks(watch=watch, warn=warn)
            made = predict(task.name, checkpoint, outputs.out, options=options, callbacks=callbacks)
        where = ", ".join(str(path) for path in (outputs.out, *written.values()) if path is not None)
        print_note(f"{task.count(made)} → {where}")

    made: click.Command = command
    return made


def paths_read(options: PredictOptions) -> list[Path | None]:
    """Every file that the options name to be read."""
    named = [getattr(options, o.name) for o in options.options() if not o.about.writes]
    several = [path for value in named if isinstance(value, tuple) for path in value]
    return [path for path in (*named, *several) if isinstance(path, Path)]


command = task_group("predict", "Predict with a trained model: fabula predict TASK RUN -o FILE.", make_predict)
