"""fabula simulate: features made from annotations, or a whole world of a task, to try training without a video."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fabula.core.options import MUST, Options, option
from fabula.learn.options import SimulateOptions
from fabula.learn.tasks import room
from fabula.learn.tasks.base import Task
from fabula.verbs.terminal.console import print_note, warn
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.training.simulate import simulate, simulate_world


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """Where a world goes."""

    out: Path = option(MUST, "Folder of the world.", "-o")
    overwrite: bool = option(False, "Replace the world that is there.")


def make_simulate(task: Task) -> click.Command:
    """`fabula simulate NAME`."""
    assert task.Simulate is not None

    @click.command(task.name)
    @flags(task.Simulate, into="options")
    @flags(Outputs, into="outputs")
    def command(options: Options, outputs: Outputs) -> None:
        made = simulate_world(task.name, outputs.out, options=options, overwrite=outputs.overwrite)
        print_note(f"{made} → {outputs.out}/: fabula train {task.name} --data {outputs.out} --out RUN")

    command.help = (
        f"Make a SIMULATED world of the task {task.name}: no video is seen, and the stores say so. The folder is what "
        f"a user's own data would be: fabula train {task.name} --data FOLDER."
    )
    made: click.Command = command
    return made


class Simulate(click.Command):
    """Files of annotations; or, as the first word, a task that has a world of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and not Path(args[0]).exists() and (found := room.find(args[0])) is not None:
            task: Task = found()
            if task.Simulate is not None:
                return make_simulate(task).make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("simulate", cls=Simulate)
@path_argument("annotations", nargs=-1, required=True)
@flags(SimulateOptions, into="options")
def command(annotations: tuple[Path, ...], options: SimulateOptions) -> None:
    """Make SIMULATED frame features from annotations, without video.

    The store says that they are simulated.

    A task with a simulated world (micap) makes captions, faces and features.

    \b
    fabula simulate yc2/ --embedder minilm -o simulated.safetensors
    fabula simulate yc2/yc2_my_train.json yc2/yc2_my_val.json -o simulated.safetensors
    fabula simulate micap -o world/ --difficulty hard        (its own options: fabula simulate micap --help)
    """
    count = simulate(annotations, options=options, warn=warn)
    print_note(f"{count:,} videos, simulated from annotations with {options.embedder} → {options.out}")
