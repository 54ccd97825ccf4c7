"""Procedure segmentation and summarisation (PSS; Batra et al., BMVC 2022): data, model and loop put together.

`train_pss` is `fabula train pss`, `predict_pss` is `fabula predict pss`. Predictions are a Corpus, for `fabula.score`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fabula.api.score import score
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.core.nouns import Corpus, Story
from fabula.core.registry import close_to
from fabula.learn import checkpoint
from fabula.learn.data import Steps, Vocabulary, durations_as_corpus, only_with, read_split
from fabula.learn.features import Features
from fabula.learn.models import room
from fabula.learn.options import Callbacks, PredictOptions, Run, Settings, Task, Validation
from fabula.learn.train import train

METRICS = "SODA_d,mIoU"


def train_pss(
    task: Task,
    run: Run,
    config: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    callbacks: Callbacks | None = None,
) -> dict[str, float]:
    """Train on the annotations and features of a task, validate with SODA-D after every epoch.

    `config` and `settings` change single values of the model's and the loop's defaults.
    """
    callbacks = callbacks or Callbacks()
    notes = Notes()
    features = Features(task.features)
    train_set, seen = read_split(task.data, "train", task.format)
    notes.extend(seen)
    val_set = read_validation(task, notes)
    if task.skip_missing:
        train_set = only_with(train_set, features, notes)
        val_set = only_with(val_set, features, notes) if val_set else None
    if features.metadata.get("simulated"):
        notes.add(f"{features.path.name} holds simulated features: scores say nothing about real videos")
    for line in notes.lines():
        callbacks.warn(line)

    Model = room.get(task.model)
    chosen = configure(
        Model.config_class.tiny() if task.tiny else Model.config_class(),
        {"feature_dim": features.dim, **(config or {})},
    )
    vocabulary = None
    if getattr(chosen, "captioner", "none") != "none":
        vocabulary = Vocabulary.build((c for s in train_set.values() for c in s.captions), task.min_count)
        chosen = replace(chosen, vocabulary=vocabulary.words)
    looped = configure(Settings(**Model.recipe), settings or {})
    torch.manual_seed(looped.seed)  # the weights begin the same in every process and every run of a seed
    model = Model(chosen)
    steps = Steps(train_set, features, chosen.frames, vocabulary, getattr(chosen, "max_words", 2), task.max_events)
    held: Steps | None = None
    if val_set is not None:
        held = Steps(val_set, features, chosen.frames, targets=getattr(chosen, "proposals", "learned") == "gt")

    def validate(m: nn.Module) -> dict[str, float]:
        assert held is not None and val_set is not None
        return score_predictions(predictions(m, held), val_set)

    about = {
        "data": str(task.data),
        "features": features.path.name,
        "simulated": bool(features.metadata.get("simulated")),
    }
    measured = Validation(measure=validate, best_by="SODA_d") if held else None
    return train(model, steps, looped, run, validation=measured, about=about, callbacks=callbacks)


def read_validation(task: Task, notes: Notes) -> Corpus | None:
    """The validation split: named, or part of the data, or none."""
    if task.val is not None:
        corpus, seen = read_split(task.val, "val", task.format)
    else:
        try:
            corpus, seen = read_split(task.data, "val", task.format)
        except (InputError, SpecError):
            return None
        if corpus.name == str(task.data) and ":" not in corpus.format:
            return None  # one plain file is all training
    notes.extend(seen)
    return corpus


def configure(default: Any, changes: Mapping[str, Any]) -> Any:
    """A dataclass with some values changed; text is read as the field's type, an unknown name names its neighbour."""
    known = {f.name: getattr(default, f.name) for f in fields(default)}
    given = {}
    for name, value in changes.items():
        if name not in known:
            raise SpecError(f"no setting is called {name!r}; {close_to(name, list(known))}")
        given[name] = value
        if isinstance(value, str) and not isinstance(known[name], str):
            given[name] = parse_setting(value, known[name], name)
    return replace(default, **given)


def parse_setting(text: str, like: Any, name: str) -> Any:
    """`--set dropout=0.2`: text as a number, a truth value or none."""
    if text.lower() in ("none", "null"):
        return None
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
        if isinstance(like, tuple):
            return tuple(float(part) for part in text.split(",") if part)
        return int(text) if isinstance(like, int) else float(text)
    except (ValueError, KeyError):
        raise SpecError(f"{name} is {text!r}; it should look like {like!r}") from None


def predictions(model: nn.Module, data: Steps, batch_size: int = 8, watch: Progress = silent) -> Corpus:
    """What the model says about every video of a data set."""
    device = next(model.parameters()).device
    stories: dict[str, Story] = {}
    for i in range(0, len(data), batch_size):
        batch = data.collate([data[k] for k in range(i, min(i + batch_size, len(data)))]).to(device)
        stories |= {story.id: story for story in model.predict(batch)}  # type: ignore[operator]
        watch("predicting", len(stories), len(data))
    return Corpus(stories, name="predictions")


def score_predictions(predicted: Corpus, refs: Corpus) -> dict[str, float]:
    """SODA-D (F1, precision, recall) and mIoU, by `fabula.score`."""
    result = score(predicted, refs, task="procedure", metrics=METRICS)
    d = result["SODA_d"].values
    return {"SODA_d": d["f1"], "precision": d["precision"], "recall": d["recall"], "mIoU": result["mIoU"].value}


def predict_pss(path: str | Path, options: PredictOptions, callbacks: Callbacks | None = None) -> Corpus:
    """Segments (and captions) for every video of `data`, or else of the store, by the model of a checkpoint.

    Durations come from `data`, from the store's metadata, or from `rate` (features per second).
    """
    callbacks = callbacks or Callbacks()
    data, rate, config = options.data, options.rate, options.config()
    model, header = checkpoint.load_model(path)
    if not hasattr(model, "predict"):
        raise InputError(f"the model {header['model']!r} does not segment videos", file=path, hint="name another")
    if config:
        model.config = configure(model.config, config)
    store = Features(options.features)
    if store.dim != model.config.feature_dim:  # type: ignore[union-attr]
        seen = f"features of {store.dim} channels; the checkpoint takes {model.config.feature_dim}"  # type: ignore[union-attr]
        raise InputError(seen, file=options.features, hint="use the features the model was trained on")
    if store.metadata.get("simulated"):
        callbacks.warn(f"{store.path.name} holds simulated features: scores say nothing about real videos")
    if data is not None:
        corpus, notes = read_split(data, options.split, options.format)
        for line in notes.lines():
            callbacks.warn(line)
    elif rate is not None:
        if rate <= 0:
            raise SpecError(f"a rate of {rate} features per second; it must be positive")
        corpus = durations_as_corpus({v: len(store[v]) / rate for v in store}, store)
    else:
        corpus = durations_as_corpus(dict(store.metadata.get("durations", {})), store)
    gt = getattr(model.config, "proposals", "learned") == "gt"
    steps = Steps(corpus, store, model.config.frames, targets=gt)  # type: ignore[union-attr, arg-type]
    return predictions(model, steps, options.batch_size, callbacks.watch)
