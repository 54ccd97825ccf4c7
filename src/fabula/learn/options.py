"""What training, predicting and simulating can be told; nothing here needs torch, so that help texts do not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import MUST, Options, option, same_as

MOST_SEED = (1 << 32) - 1  # an epoch's order has a seed a million times as large, in 64 bits
Scores = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """How a model is trained. A model's `recipe` holds the values of its paper."""

    epochs: int = option(30, "Default: the paper's.")
    batch_size: int = option(1, "Videos per step and process. Default: the paper's, 1.")
    lr: float = option(5e-5, "Learning rate. Default: the paper's.")
    weight_decay: float = option(1e-4, "Of Adam.", library_only=True)
    betas: tuple[float, float] = option((0.9, 0.999), "Of Adam.", library_only=True)
    decay: float = option(0.5, "The learning rate is multiplied by this …", library_only=True)
    decay_from: int = option(8, "… at this epoch (from 0) …", library_only=True)
    decay_every: int = option(3, "… and every so many epochs after.", library_only=True)
    clip_norm: float | None = option(100.0, "Gradient norm at most; None: as it is.", library_only=True)
    clip_value: float | None = option(None, "Every gradient entry within ±this.", library_only=True)
    seed: int = option(777, "Default: 777.")
    save_every: int = option(500, "Steps between checkpoints. Default: 500.")  # and one at the end of every epoch
    validate_every: int = option(1, "Epochs between validations. Default: 1.")
    threads: int | None = option(None, "Threads of torch on a CPU.")  # None: as torch likes

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "save_every", "validate_every", "decay_every"):
            if getattr(self, name) < 1:
                raise SpecError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise SpecError(f"a learning rate of {self.lr}; it must be a positive number")
        if not 0 <= self.seed <= MOST_SEED:
            raise SpecError(f"seed {self.seed}; it is a whole number from 0 to {MOST_SEED}")


@dataclass(frozen=True, kw_only=True)
class Task(Options):
    """What a run trains on."""

    data: Path = option(MUST, "Annotations: a file, or a folder of splits.")
    features: Path = option(MUST, ".npy folder, .h5 or .safetensors.")
    val: Path | None = option(None, "Validation annotations. Default: the split in --data.")  # or no validation
    model: str = option("pdvc", "pdvc or procnets.", shows_default=True)
    tiny: bool = option(False, "A small model that trains on a laptop.")  # begins from Config.tiny()
    min_count: int = option(1, "A word is known from so many times on.", library_only=True)
    max_events: int | None = option(
        None, "Keep so many random steps per video (PDVC's accident: 10). Default: all."
    )  # data.py
    skip_missing: bool = option(False, "Leave out videos that have no features.")
    format: str | None = option(None, "Format of the annotations (fabula list formats). Default: known by its shape.")

    def __post_init__(self) -> None:
        self.set_paths("data", "features", "val")


@dataclass(frozen=True, kw_only=True)
class Changes(Options):
    """What is other than in a model's default config."""

    set_: Any = option((), "Any other setting of the model, repeatable.", several=True, metavar="NAME=VALUE")

    def config(self) -> dict[str, Any]:
        """By name. In the library `set_` may be a mapping; text is read as the setting's type later."""
        if isinstance(self.set_, Mapping):
            return dict(self.set_)
        found = {}
        for pair in [self.set_] if isinstance(self.set_, str) else self.set_:
            name, equals, value = pair.partition("=")
            if not equals:
                raise SpecError(f"--set {pair!r}: say name=value")
            found[name.strip()] = value.strip()
        return found


@dataclass(frozen=True, kw_only=True)
class Architecture(Changes):
    """The same, with what PDVC is mostly asked for."""

    matcher: Literal["hungarian", "ordered", "soft"] | None = option(None, "PDVC: who answers for a step.")
    captioner: Literal["standard", "light", "none"] | None = option(None, "PDVC: which captioner.")

    def config(self) -> dict[str, Any]:
        named = {"matcher": self.matcher, "captioner": self.captioner}
        return {**super().config(), **{name: value for name, value in named.items() if value is not None}}


@dataclass(frozen=True, kw_only=True)
class Run(Options):
    """The folder of a run, and what is done where there is one already."""

    out: Path = option(MUST, "Folder of the run.", "-o")
    resume: bool = option(False, "Go on from the run's last checkpoint.")
    overwrite: bool = option(False, "Replace the run that is there.")
    tensorboard: bool = option(False, "Write TensorBoard files beside the CSV.")

    def __post_init__(self) -> None:
        self.set_paths("out")


@dataclass(frozen=True, kw_only=True)
class Callbacks:
    """Whom training and predicting tell what goes on."""

    watch: Progress = silent  # what is going on, steps done, steps in all
    warn: Callable[[str], None] = ignore


@dataclass(frozen=True, kw_only=True)
class Validation:
    """What is measured between epochs, on a model (an nn.Module)."""

    measure: Callable[[Any], Scores]
    best_by: str | None = None  # the score that chooses best.safetensors; None: the first


@dataclass(frozen=True, kw_only=True)
class PredictOptions(Changes):
    """What a trained model predicts, and from what."""

    features: Path = same_as(Task, "features")
    data: Path | None = option(None, "Videos and durations: annotations, or a folder of splits.")
    split: str = option("val", "Which split of --data: train, val, test.", shows_default=True)
    rate: float | None = option(None, "Features per second, where neither --data nor the store knows durations.")
    batch_size: int = option(8, "Videos at a time.", shows_default=True)
    set_: Any = option((), "Change an inference setting, as ec_alpha=0.3.", several=True, metavar="NAME=VALUE")
    format: str | None = option(None, "Format of --data (fabula list formats). Default: known by its shape.")

    def __post_init__(self) -> None:
        self.set_paths("features", "data")
        if self.batch_size < 1:
            raise SpecError(f"batch_size is {self.batch_size}; it must be at least 1")


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(Options):
    """What features are made of, and where they go."""

    embedder: str = option("hashing", "hashing, minilm or wordllama.", shows_default=True)
    seed: int = option(0, "The seed of drift and noise.", shows_default=True)
    rate: float = option(1.0, "Features per second.", shows_default=True)
    format: str | None = option(None, "Format of the annotations. Default: known by its shape.")
    out: Path = option(MUST, ".safetensors, .h5, or a folder.", "-o")
    overwrite: bool = option(False, "Replace what is there.")
