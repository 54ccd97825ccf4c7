"""fabula.predict: a trained model's answers, as a corpus that `fabula.score` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabula import io
from fabula.api.train import TRAINED, check_name, need_learn
from fabula.core.nouns import Corpus
from fabula.core.options import deal, takes
from fabula.learn.options import Callbacks, PredictOptions


@takes(PredictOptions)
def predict(
    name: str,
    checkpoint: str | Path,
    out: str | Path | None = None,
    *,
    options: PredictOptions | None = None,
    callbacks: Callbacks | None = None,
    **given: Any,
) -> Corpus:
    """Segments (and captions) of the videos of a feature store, by the model of a checkpoint or run (`pss`).

    With `out`, also a submission file. Options are given one by one, or as one object.
    """
    check_name(name, TRAINED)
    (options,) = deal("predict", given, options or PredictOptions)
    need_learn()
    from fabula.learn.pss import predict_pss

    made = predict_pss(checkpoint, options, callbacks)
    if out is not None:
        io.write(made, out, "submission")
    return made
