"""Learning rates by step, and optimisers.

    staircase   lr · decay^n          n = how many of the epochs decay_from, decay_from + decay_every, … have begun
    constant    lr
    linear      lr · (1 − t)          t = (step − w) / (all − w), from the end of the warm-up to the last step
    cosine      lr · (1 + cos πt) / 2

Each times min(1, (step + 1) / w) while it warms up for w steps (BertAdam, as published: step / w). PDVC makes
(epochs − decay_from) / decay_every milestones, rounded down: 7 of them in its 30 epochs, the last at epoch 26.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.learn.adamw import BertAdamW
from fabula.learn.bertadam import BertAdam
from fabula.learn.options import Settings


def lr_at(settings: Settings, step: int, steps_per_epoch: int, total: int) -> float:
    """The learning rate of a step, of `total` (from 0)."""
    s = settings
    warm = s.warmup if s.warmup >= 1 else s.warmup * total
    rise = min(1.0, (step + (s.optimizer != "bertadam")) / warm) if warm > 0 else 1.0
    if s.schedule == "constant":
        return float(s.lr * rise)
    if s.schedule == "staircase":
        return float(s.lr * rise * s.decay ** halvings(s, step // steps_per_epoch))
    t = min(max((step - warm) / max(total - warm, 1), 0.0), 1.0)
    return float(s.lr * rise * (1 - t if s.schedule == "linear" else (1 + math.cos(math.pi * t)) / 2))


def halvings(settings: Settings, epoch: int) -> int:
    """How many milestones have begun in this epoch."""
    s = settings
    most = s.decay_times
    if most is None:
        most = max(0, (s.epochs - s.decay_from) // s.decay_every) if s.steps is None else epoch + 1
    return 0 if epoch < s.decay_from else min(most, 1 + (epoch - s.decay_from) // s.decay_every)


def drops_of(settings: Settings, steps_per_epoch: int, total: int) -> list[int]:
    """The epochs (from 0) in which a staircase goes down."""
    epochs = range(math.ceil(total / steps_per_epoch))
    return [e for e in epochs if halvings(settings, e) > (halvings(settings, e - 1) if e else 0)]


def describe_rates(settings: Settings, steps_per_epoch: int, total: int) -> str:
    """The learning rate from the first to the last step, in one line."""
    s = settings
    end = lr_at(s, total - 1, steps_per_epoch, total)
    warm = math.ceil(s.warmup if s.warmup >= 1 else s.warmup * total)
    begins = f"learning rate {s.lr:g}" + (f" after a warm-up of {warm:,} steps" if warm > 1 else "")
    drops = drops_of(s, steps_per_epoch, total) if s.schedule == "staircase" else []
    if s.schedule == "staircase" and drops:
        named = [str(e + 1) for e in drops]
        listed = ", ".join(named if len(named) <= 8 else [*named[:3], "…", named[-1]])
        times = f" ({len(drops)} times)" if len(drops) > 1 else ""
        return f"{begins}, × {s.decay:g} at epoch {listed}{times}: {end:.2g} at the end"
    if s.schedule in ("constant", "staircase"):
        return f"{begins}, the same to the end"
    falls = {"linear": "falls in a line", "cosine": "falls as a cosine"}[s.schedule]
    return f"{begins}, {falls} to {end:.2g} at the last of {total:,} steps"


def warn_of_rates(settings: Settings, paper: Settings, steps_per_epoch: int, total: int) -> str | None:
    """A warning for a staircase whose last learning rates are too small to train with."""
    s, epochs = settings, math.ceil(total / steps_per_epoch)
    low = next((e for e in range(epochs) if s.decay ** halvings(s, e) < 1e-3), None)
    if s.schedule != "staircase" or low is None or epochs - low < 2:
        return None
    begin, every = (max(1, round(n * epochs / paper.epochs)) for n in (paper.decay_from, paper.decay_every))
    return (
        f"from epoch {low + 1} of {epochs} on the learning rate is below 1/1000 of {s.lr:g}, little is learnt: "
        f"the paper's steps are made for {paper.epochs} epochs; --decay-from {begin} --decay-every {every} stretch them"
    )


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """Adam, AdamW or BERT's, on the model's own groups or on all of it; biases and norms may be excluded from decay."""
    s = settings
    if s.optimizer == "bertadam":
        return BertAdam(groups_of(model, s), s.lr, s.betas, s.eps, s.weight_decay, s.clip_norm)
    kind: Any = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "bert": BertAdamW}[s.optimizer]
    optimizer: torch.optim.Optimizer = kind(
        groups_of(model, s), lr=s.lr, betas=s.betas, eps=s.eps, weight_decay=s.weight_decay
    )
    return optimizer


def groups_of(model: nn.Module, settings: Settings) -> list[dict[str, object]]:
    """What the optimiser is given: all parameters, once each."""
    own = getattr(model, "parameter_groups", None)
    if own is not None:
        groups: list[JsonDict] = own(settings)
        grouped = [id(p) for group in groups for p in group["params"]]
        if sorted(grouped) != sorted(id(p) for p in model.parameters() if p.requires_grad):
            raise SpecError("the model's parameter_groups leave parameters out, or name one twice")
        return groups
    every = [p for p in model.parameters() if p.requires_grad]
    if not settings.no_decay:
        return [{"params": every}]
    return [
        {"params": [p for p in every if p.dim() > 1]},
        {"params": [p for p in every if p.dim() <= 1], "weight_decay": 0.0},
    ]


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("lr_scale", 1.0)
