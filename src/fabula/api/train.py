"""fabula.train: the models of the papers on your annotations and features."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from fabula.core.errors import MissingExtra, SpecError
from fabula.core.options import deal, takes
from fabula.core.registry import close_to
from fabula.learn.options import Architecture, Callbacks, Run, Settings, Task

TRAINED = ("pss",)
KINDS = (Task, Architecture, Settings, Run)


@takes(*KINDS)
def train(
    name: str,
    *,
    task: Task | None = None,
    architecture: Architecture | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    run: Run | None = None,
    callbacks: Callbacks | None = None,
    **given: Any,
) -> dict[str, float]:
    """Train a model and write the folder of its run; returns the last epoch's losses and scores.

    `pss`: procedure segmentation and summarisation (Batra et al., BMVC 2022). Options are given one by one, or as
    objects; settings that are not said are those of the model's paper.
    """
    check_name(name, TRAINED)
    own = {o.name for o in Settings.options()} & given.keys()
    changes = {**as_changes(settings), **{n: given.pop(n) for n in own}}
    hands = (task or Task, architecture or Architecture(), run or Run)
    task, architecture, run = deal("train", given, *hands)
    need_learn()
    from fabula.learn.pss import train_pss

    return train_pss(task, run, architecture.config(), changes, callbacks)


def as_changes(settings: Settings | Mapping[str, Any] | None) -> dict[str, Any]:
    """Every setting of an object; those of a mapping; none."""
    if isinstance(settings, Settings):
        return {o.name: getattr(settings, o.name) for o in settings.options()}
    return dict(settings or {})


def check_name(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise SpecError(f"no model is trained under {name!r}; {close_to(name, list(names))}")


def need_learn() -> None:
    if not all(importlib.util.find_spec(module) for module in ("torch", "lightning_fabric", "safetensors")):
        raise MissingExtra("training and predicting", "learn")
