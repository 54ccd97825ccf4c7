"""PSS by plain calls, without the names of its options: `train_pss`, `predict_pss`. The task is learn/tasks/pss.py."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from fabula.core.notes import Progress, silent
from fabula.data.stories import Corpus
from fabula.documents.fields import JsonObject
from fabula.learn.batch import answer_units
from fabula.learn.data import Steps
from fabula.learn.options import Callbacks, Run
from fabula.learn.run import fit, predict
from fabula.learn.tasks.pss import PredictOptions, Task, TrainOptions, as_corpus
from fabula.learn.tasks.pss import score_predictions as score_predictions


def train_pss(
    options: TrainOptions,
    run: Run,
    config: JsonObject | None = None,
    settings: JsonObject | None = None,
    callbacks: Callbacks | None = None,
) -> dict[str, float]:
    """Train on annotations and features; `config` and `settings` change single values of the defaults."""
    return fit(Task(), options, run, config, settings, callbacks)


def predict_pss(path: str | Path, options: PredictOptions, callbacks: Callbacks | None = None) -> Corpus:
    """Segments (and captions) of every video, by the model of a checkpoint."""
    corpus: Corpus = predict(Task(), path, options, callbacks)
    return corpus


def predictions(model: nn.Module, data: Steps, batch_size: int = 8, watch: Progress = silent) -> Corpus:
    """Predict every video of a data set."""
    return as_corpus(answer_units(model, data, range(len(data)), batch_size, watch))
