"""fabula.train: the models of the papers on your annotations and features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from fabula.core.errors import SpecError
from fabula.core.options import split_keywords, with_options
from fabula.core.registry import close_to
from fabula.learn import need_learn
from fabula.learn.options import Callbacks, Changes, Run, Settings, TrainOptions
from fabula.learn.tasks import room
from fabula.learn.tasks.base import Task
from fabula.verbs.keywords import TrainKeywords


@with_options(TrainOptions, Changes, Settings, Run)
def train(
    name: str,
    *,
    task: TrainOptions | str | None = None,
    architecture: Changes | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    run: Run | None = None,
    callbacks: Callbacks | None = None,
    **keywords: Unpack[TrainKeywords],
) -> dict[str, float]:
    """Train a model and write the folder of its run; returns the last epoch's losses and scores.

    `name` is a task (`pss`: procedure segmentation and summarisation, Batra et al., BMVC 2022). Options are given one
    by one, or as objects; the task's own are those of `fabula train NAME --help`. The default of a setting is the value
    of the model's paper. A plug-in's own options are handed over as an object: `task=MyOptions(…)`.

    Examples:

        >>> losses = fabula.train("pss", data=demo.REFERENCES["annotator_1"], features="steps.safetensors",
        ...                       out="runs/new", tiny=True, captioner="none", epochs=1, batch_size=8, threads=1)
        >>> losses["step"]
        2
    """
    found = find_task(name)
    values: dict[str, object] = {**keywords}
    if isinstance(task, str):  # an option of the task itself, which has this name
        values, task = {**values, "task": task}, None
    kinds = (task or found.Train, architecture or found.Shape, run or Run, Settings)
    options, shape, folder, _ = split_keywords("train", values, *kinds)
    changes = as_changes(settings) | {o.name: values[o.name] for o in Settings.options() if o.name in values}
    need_learn()
    from fabula.learn.run import fit

    return fit(found, options, folder, shape.config(), changes, callbacks)


def as_changes(settings: Settings | Mapping[str, object] | None) -> dict[str, object]:
    """Every setting of an object; those of a mapping; none."""
    if isinstance(settings, Settings):
        return {o.name: getattr(settings, o.name) for o in settings.options()}
    return dict(settings or {})


def find_task(name: str) -> Task:
    """The task of that name; its file alone is imported, and that is light."""
    found = room.find(name)
    if found is None:
        raise SpecError(f"no task is called {name!r}; {close_to(name, room.names())}")
    made: Task = found()
    return made
