"""fabula analyse: a look inside a trained model: a page of figures, each as SVG, and their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.options import MUST, Options, option
from fabula.learn.options import Callbacks, PredictOptions
from fabula.learn.tasks.base import Task
from fabula.verbs.terminal.console import print_note, show_training, warn
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import check_new, make_folder
from fabula.verbs.terminal.tasks import help_of, task_group
from fabula.verbs.training.analyse import analyse


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """Where the figures go."""

    out: Path = option(MUST, "Folder: index.html and further pages, an .svg a figure, analysis.json.", "-o")
    overwrite: bool = option(False, "Replace an existing analysis.")


def make_analyse(task: Task) -> click.Command:
    """`fabula analyse NAME CHECKPOINT`."""
    assert task.Analyse is not None

    @click.command(task.name, **help_of(task, "analyse"))
    @path_argument("checkpoint")
    @flags(task.Analyse, into="options")
    @flags(Outputs, into="outputs")
    def command(checkpoint: Path, options: PredictOptions, outputs: Outputs) -> None:
        if not outputs.overwrite:
            check_new(outputs.out / "index.html")
        make_folder(outputs.out)
        with show_training() as watch:
            built = analyse(
                task.name, checkpoint, outputs.out, options=options, callbacks=Callbacks(watch=watch, warn=warn)
            )
        for line in built.summary:
            print_note(line)
        print_note(f"{len(built.figures)} figures → {outputs.out}/index.html")

    built: click.Command = command
    return built


command = task_group(
    "analyse",
    "Draw a trained model: fabula analyse TASK RUN -o FOLDER.",
    make_analyse,
    offers=lambda task: task.Analyse is not None,
)
