"""A trained noise evaluator that is asked about one moment at a time: c(V, q) of some captions of it.

`fabula annotate run --scorer noise:RUN` chooses captions by it (annotation/steps.py says what a scorer is).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from fabula.annotation.moments import Moment
from fabula.core.errors import InputError, shown
from fabula.core.notes import Notes
from fabula.data.moments import Query
from fabula.learn import checkpoint
from fabula.learn.models.noise_scorer import Config
from fabula.learn.noise.data import Judged, Shown
from fabula.learn.retrieval.data import Clips
from fabula.learn.tasks.noise import MODELS, open_run_texts
from fabula.learn.tasks.vcmr import open_stores


def digest_weights(model: nn.Module) -> str:
    """SHA-256 of all weights and their names: which evaluator this is, wherever its run lies."""
    hasher = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        hasher.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        hasher.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return hasher.hexdigest()


class NoiseScorer:
    """Scores captions of moments by their features."""

    def __init__(
        self, run: str | Path, features: Sequence[str], rate: float | None = None, text: str | None = None
    ) -> None:
        model, header = checkpoint.load_model(run)
        if header["model"] not in MODELS:
            raise InputError(
                f"the model {shown(header['model'])} scores no captions",
                file=run,
                hint="name a run of fabula train noise",
            )
        self.model: Any = model.eval()
        self.notes = Notes()
        stores = open_stores(features, self.notes)
        about = header.get("about")
        trained = about if isinstance(about, dict) else {}
        texts = open_run_texts(text, trained, cast(Config, model.config))
        self.shown = Shown(Clips(stores, model.config, rate, keep=False), self.notes, texts)
        self.about: dict[str, object] = {
            "model": header["model"],
            "weights": digest_weights(model)[:16],
            "features": [store.path.name for store in stores],
            "simulated": any(bool(s.metadata.get("simulated")) for s in stores) or bool(trained.get("simulated")),
            **({"text": texts.recipe} if texts is not None else {}),
        }

    @torch.no_grad()
    def score(self, moment: Moment, captions: Sequence[str]) -> list[float]:
        """c of each caption, in their order."""
        query = Query(moment.id, moment.video, ((moment.start, moment.end),), moment.duration)
        data = Judged([query], [captions], self.shown)
        scores: list[list[float]] = self.model.predict(data.collate([data[0]]))
        return scores[0]
