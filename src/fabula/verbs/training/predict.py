"""fabula.predict: a trained model's answers; of `pss` a corpus that `fabula.score` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from fabula.core.options import read_keywords, with_options
from fabula.learn import need_learn
from fabula.learn.options import Callbacks, PredictOptions
from fabula.verbs.keywords import PredictKeywords
from fabula.verbs.training.train import find_task


@with_options(PredictOptions)
def predict(
    name: str,
    checkpoint: str | Path,
    out: str | Path | None = None,
    *,
    options: PredictOptions | None = None,
    callbacks: Callbacks | None = None,
    **keywords: Unpack[PredictKeywords],
) -> Any:
    """Predict with the model of a checkpoint or run; for `pss` the result is a Corpus of segments (and captions).

    With `out`, also a file: a submission. Options are given one by one, or as one object; the task's own are those of
    `fabula predict NAME --help`.

    Examples:

        >>> corpus = fabula.predict("pss", "runs/pdvc", features="features/steps.safetensors", device="cpu")
        >>> len(corpus)
        4
    """
    task = find_task(name)
    options = read_keywords("predict", keywords, options or task.Predict)
    if out is not None:
        task.check_output(Path(out))
    need_learn()
    from fabula.learn.run import predict as run_predict

    built = run_predict(task, checkpoint, options, callbacks)
    if out is not None:
        task.write(built, Path(out))
    task.write_page(built, options)
    return built
