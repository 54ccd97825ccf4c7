"""Train and predict with any task: options, data, model and loop put together. learn/tasks describes a task.

A model's settings come from its paper (or `tiny`, or the run it starts from), a preset, a config file, the command
line, and last from the data (widths and words); later ones replace earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes
from fabula.core.registry import close_to
from fabula.documents.fields import JsonDict, JsonObject
from fabula.learn import checkpoint
from fabula.learn.config import configure, configure_inference, read_recipe
from fabula.learn.loop.processes import find_device
from fabula.learn.models import room as models
from fabula.learn.options import Callbacks, PredictOptions, Run, Settings, Share, TrainOptions, Validation
from fabula.learn.tasks.base import Preset, Start, Task
from fabula.learn.train import train
from fabula.learn.words import warn_of_captions

if TYPE_CHECKING:
    from fabula.report.analysis import Analysis


def fit(
    task: Task,
    options: TrainOptions,
    run: Run,
    config: JsonObject | None = None,
    settings: JsonObject | None = None,
    callbacks: Callbacks | None = None,
) -> dict[str, float]:
    """Train, and return the last epoch's losses and scores.

    `config` and `settings` change single values of the model's and the loop's defaults.
    """
    callbacks, notes = callbacks or Callbacks(), Notes()
    recipe = read_recipe(options.config, task.name)
    preset = find_preset(task, options.preset or recipe.preset)
    options = fill(options, preset.options, "--preset")
    with name_file(options.config):
        options = fill(options, recipe.options, "[options]")
    for name in config or {}:
        if name in task.derived:
            raise SpecError(f"{name} comes from the data and cannot be set")
    Model = models.get(options.model or recipe.model or (*preset.models, *task.models)[0])
    if preset.models and Model.name not in preset.models:
        fits = f"model{'s' * (len(preset.models) > 1)} {', '.join(preset.models)}"
        raise SpecError(f"--preset {options.preset or recipe.preset} is for the {fits}, not {Model.name}")
    source = task.read(options, notes)
    report_notes(notes, callbacks)

    begin, weights = read_start(options, Model)
    chosen = configure(begin.config if begin else default_of(Model, options.tiny), preset.config_of(Model.name))
    looped = configure(Settings(**Model.recipe), count_epochs(preset.settings))
    with name_file(options.config):
        chosen = configure(chosen, {n: v for n, v in recipe.config.items() if n not in task.derived})
        looped = configure(looped, count_epochs(recipe.settings))
    chosen = task.config(configure(chosen, config or {}), source, begin)
    looped = configure(looped, count_epochs(settings or {}))
    torch.manual_seed(looped.seed)  # the weights begin the same in every process and every run of a seed
    model = Model(chosen)
    if begin is not None:
        take_weights(model, weights(chosen), replace(options, from_part=begin.part), notes)
    data, validation_data = task.training_data(source, chosen), task.validation_data(source, chosen)
    for dataset in (data, validation_data):
        if (own := getattr(dataset, "notes", notes)) is not notes:
            notes.extend(own)
    report_notes(notes, callbacks)
    warn_shared(source, callbacks)
    validation = None
    if validation_data is not None:
        validation = Validation(
            answer=lambda m, share: task.answer(m, validation_data, share),
            score=lambda answers: task.score(answers, source, chosen),
            best_by=task.best_by(chosen),
        )
    about = {"task": task.name, **task.metadata(source)}
    return train(model, data, looped, run, validation=validation, about=about, callbacks=callbacks)


def predict(task: Task, path: str | Path, options: PredictOptions, callbacks: Callbacks | None = None) -> Any:
    """The predictions of the model of a checkpoint or run, as the task returns them."""
    callbacks, notes = callbacks or Callbacks(), Notes()
    model, metadata = open_model(task, path, options)
    if not hasattr(model, "predict"):
        raise InputError(f"the model {model.name!r} has no predict method", file=path, hint="name another")
    data = task.prediction_data(model, metadata, options, notes, callbacks.watch)
    if (own := getattr(data, "notes", notes)) is not notes:
        notes.extend(own)
    report_notes(notes, callbacks)
    result = task.predict_in_parts(Path(path), data, options, notes, callbacks.watch)
    if result is None:
        result = task.postprocess(task.answer(model, data, Share(), options.batch_size, callbacks.watch), data)
        result = task.refine(result, options, notes, callbacks.watch)
        if warning := warn_of_captions(task.captions(result, data)):
            callbacks.warn(warning)
    report_notes(notes, callbacks)
    return result


def analyse(task: Task, path: str | Path, options: PredictOptions, callbacks: Callbacks | None = None) -> Analysis:
    """The task's analysis of the model of a checkpoint or run."""
    callbacks, notes = callbacks or Callbacks(), Notes()
    model, _ = open_model(task, path, options)
    analysis = task.analyse(model, options, notes, callbacks.watch)
    for line in notes.lines():
        callbacks.warn(line)
    return replace(analysis, notes=(*notes.lines(), *analysis.notes))


def open_model(task: Task, path: str | Path, options: PredictOptions) -> tuple[nn.Module, JsonObject]:
    """The model of a checkpoint or run, on the device and with the changes of the options, and the run's metadata.

    A model that was trained for another task is refused.
    """
    device = find_device(options.device)
    model, header = checkpoint.load_model(path)
    metadata = checkpoint.metadata_of(header)
    trained_for = metadata.get("task", task.name)
    if trained_for != task.name:
        raise InputError(
            f"a model of the task {shown(trained_for)}, not {task.name!r}",
            file=path,
            hint=f"use fabula predict {trained_for}" if isinstance(trained_for, str) else checkpoint.AGAIN,
        )
    configure_inference(model, options.changes())
    return model.to(device).eval(), metadata


def warn_shared(source: Any, callbacks: Callbacks) -> None:
    """Warn if validation data are also training data: they choose an overfitted checkpoint."""
    train, val = getattr(source, "train", None), getattr(source, "val", None)
    if not isinstance(train, Mapping) or not isinstance(val, Mapping):
        return
    shared = sum(1 for id in val if id in train and train[id] == val[id])
    if shared:
        share = "all" if shared == len(val) else f"{shared:,} of"
        callbacks.warn(f"{share} {len(val):,} validation entries are also training entries: their scores are too high")


def report_notes(notes: Notes, callbacks: Callbacks) -> None:
    """Send new notes to the warn callback."""
    for line in notes.lines():
        callbacks.warn(line)
    notes.kinds.clear()
    notes.counts.clear()


def count_epochs(settings: JsonObject) -> JsonObject:
    """A user's epochs replace the steps of the model's paper."""
    return {"steps": None, **settings} if "epochs" in settings else settings


def default_of(Model: Any, tiny: bool) -> Any:
    return Model.config_class.tiny() if tiny else Model.config_class()


def find_preset(task: Task, name: str | None) -> Preset:
    if name is None:
        return Preset(about="")
    if name not in task.presets:
        there = list(task.presets)
        known = close_to(name, there) if there else f"{task.name} has none"
        raise SpecError(f"no preset is called {name!r}; {known}")
    return task.presets[name]


def fill(options: TrainOptions, values: JsonObject, whose: str) -> TrainOptions:
    """Fill in the options that the user left out."""
    known = {o.name: o for o in options.options()}
    missing = {}
    for name, value in values.items():
        if name not in known:
            raise SpecError(f"{whose}: no option is called {name!r}; {close_to(name, list(known))}")
        if getattr(options, name) in (None, False, ()):
            missing[name] = value
    return configure_options(options, missing) if missing else options


def configure_options(options: TrainOptions, values: JsonObject) -> TrainOptions:
    """As `configure`, for options: paths are text."""
    paths = {o.name: Path(str(values[o.name])) for o in options.options() if o.kind is Path and o.name in values}
    rest = {n: v for n, v in values.items() if n not in paths}
    changes: JsonDict = {**paths}
    return replace(configure(options, rest), **changes)


@contextmanager
def name_file(path: Path | None) -> Iterator[None]:
    """Turn a wrong value of a config file into an error that names the file."""
    try:
        yield
    except SpecError as error:
        if path is None:
            raise
        raise InputError(str(error), file=path, hint="correct the file") from None


# ---------------------------------------------------------------------------------------------------------------------
# Beginning from weights

Weights = Callable[[Any], dict[str, Tensor]]  # for a model of this config


def read_start(options: TrainOptions, Model: Any) -> tuple[Start | None, Weights]:
    """Read the config of the weights that a run starts from, and the weights."""
    path = options.from_
    if path is None:
        if options.from_part != "whole" or options.from_words is not None:
            flag = "--from-words" if options.from_words is not None else "--from-part"
            raise SpecError(f"{flag} has no effect without --from")
        return None, lambda config: {}
    if path.suffix in checkpoint.PICKLES:
        return read_official(path, options, Model)
    if options.from_words is not None:
        raise SpecError("--from-words is for official weights; a run has its own vocabulary")
    if hasattr(Model, "read_folder") and path.is_dir() and not checkpoint.is_run(path):
        sizes, state = Model.read_folder(path)
        return Start(configure(default_of(Model, options.tiny), sizes), "language"), lambda _: state
    tensors, header = checkpoint.read(path, weights_only=True)
    if header["model"] != Model.name:
        raise InputError(
            f"weights of the model {shown(header['model'])}, not {Model.name!r}",
            file=path,
            hint=f"use --model {header['model']}, or name other weights",
        )
    config = checkpoint.config_of(Model.config_class, header["config"], path)
    return Start(config, options.from_part), lambda _: {n.removeprefix("model."): t for n, t in tensors.items()}


def read_official(path: Path, options: TrainOptions, Model: Any) -> tuple[Start, Weights]:
    """Read weights that the authors' code saved; their shapes give part of the config."""
    from fabula.learn import official

    known = {f.name for f in fields(Model.config_class)}
    sizes = {n: v for n, v in official.read_sizes(path, Model.name).items() if n in known}
    if "outside" in known:
        sizes["outside"] = "zero"  # as the CUDA kernel that they were trained with
    if options.from_words is not None:
        sizes["vocabulary"] = official.read_words(options.from_words, Model.name)
    config = configure(default_of(Model, options.tiny), sizes)
    part = "all" if options.from_part == "whole" else options.from_part
    return Start(config, options.from_part), lambda c: dict(official.load_official(path, c, part, Model.name)[0])


def take_weights(model: nn.Module, weights: Mapping[str, Tensor], options: TrainOptions, notes: Notes) -> None:
    """Load all weights, or those of one part; they must fit. New rows of a table in `Model.grows` start at random."""
    own = model.state_dict()
    for name in getattr(model, "grows", ()):
        if name in weights and (n := len(weights[name])) < len(own[name]):
            weights = {**weights, name: torch.cat([weights[name], own[name][n:]])}
            notes.add(f"{name}: the weights have {n} rows; {n + 1} to {len(own[name])} start at random")
    if options.from_part != "whole":
        prefixes = find_part(model, options.from_part)
        own = {n: t for n, t in own.items() if n.startswith(prefixes)}
        weights = {n: t for n, t in weights.items() if n.startswith(prefixes)}
    checkpoint.check_names(own, weights, options.from_)
    model.load_state_dict(dict(weights), strict=options.from_part == "whole")


def find_part(model: nn.Module, part: str) -> tuple[str, ...]:
    """The prefixes of a part's weights."""
    from fabula.learn import official

    parts: dict[str, tuple[str, ...]] = dict(getattr(model, "parts", {}))
    if (name := str(model.name)) in official.TABLES:
        parts.setdefault("encoder", tuple(official.TABLES[name].encoder))
    if part not in parts:
        there = ", ".join(("whole", *parts))
        raise SpecError(f"--from-part {part}: the model {model.name} has no such part; there are: {there}")
    return parts[part]
