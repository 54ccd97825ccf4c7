"""Options of training and prediction; nothing here imports torch, so help texts stay fast.

A task adds its own options (learn/tasks): what it reads, what it predicts from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import MUST, Options, option, same_as
from fabula.documents.fields import JsonDict

MOST_SEED = (1 << 32) - 1  # an epoch's order has a seed a million times as large, in 64 bits
Scores = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """How a model is trained. A model's `recipe` holds the values of its paper."""

    epochs: int = option(30, "Number of epochs. Default: the paper's.")
    steps: int | None = option(None, "Steps instead of epochs.")
    batch_size: int = option(1, "Units per batch and process. Default: the paper's.")
    accumulate: int = option(1, "Batches per step.")
    pass_steps: Literal["each", "together"] = option(
        "each", "For models with several losses per batch: one step per loss, or one for all."
    )
    optimizer: Literal["adam", "adamw", "bert", "bertadam"] = option(
        "adam", "bert: AdamW as HERO has it; bertadam: TVR's. Default: the paper's."
    )
    lr: float = option(5e-5, "Learning rate. Default: the paper's.")
    weight_decay: float = option(1e-4, "Weight decay. Default: the paper's.")
    no_decay: bool = option(False, "Apply no weight decay to biases and norms.")
    betas: tuple[float, float] = option((0.9, 0.999), "Betas of the optimiser. Default: the paper's.")
    eps: float = option(1e-8, "Epsilon of the optimiser.")
    schedule: Literal["staircase", "constant", "linear", "cosine"] = option(
        "staircase", "How the learning rate falls. Default: the paper's."
    )
    warmup: float = option(0.0, "Warm-up steps; below 1: a share of all steps.")
    decay: float = option(0.5, "Staircase: factor of the learning rate at each decay.")
    decay_from: int = option(8, "Staircase: first epoch of decay, from 0.")
    decay_every: int = option(3, "Staircase: epochs between two decays.")
    decay_times: int | None = option(
        None, "Staircase: number of decays. Default: (epochs − decay-from) / decay-every, as in PDVC."
    )
    clip_norm: float | None = option(100.0, "Maximum gradient norm (bertadam: of each tensor). Default: the paper's.")
    clip_value: float | None = option(None, "Maximum absolute value of a gradient entry.")
    precision: Literal["32", "bf16", "16-mixed"] = option("32", "Precision of matrix products. Default: 32.")
    seed: int = option(777, "Random seed. Default: 777.")
    validate_every: int = option(1, "Epochs between validations. Default: 1.")
    validate_steps: int | None = option(None, "Steps between validations, instead of epochs.")
    patience: int | None = option(None, "Stop after this many validations without a better score.")
    best_by: tuple[str, ...] = option(
        (), "Scores that choose checkpoints, as SODA_d or METEOR+SODA_c. Default: the task's.", parts=True
    )
    save_minutes: float | None = option(10.0, "Minutes between checkpoints. Default: 10.")  # and every epoch
    save_every: int | None = option(None, "Steps between checkpoints.")
    log_every: int = option(1, "Steps between reads of the losses; each read makes a GPU wait.")
    workers: int = option(0, "Number of data loader processes.")
    device: str = option("auto", "auto, cpu, cuda, cuda:1, mps.")
    threads: int | None = option(None, "Number of torch threads on a CPU.")  # None: as torch likes

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "validate_every", "decay_every", "accumulate", "log_every"):
            self.check_least(name, 1)
        for name in ("steps", "validate_steps", "patience", "save_every", "threads"):
            self.check_least(name, 1)
        for name in ("workers", "decay_times", "decay_from"):
            self.check_least(name, 0)
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise SpecError(f"a learning rate of {self.lr}; it must be a positive number")
        for name in ("weight_decay", "eps", "warmup", "decay", "clip_norm", "clip_value", "save_minutes"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise SpecError(f"{name} is {value}; it must be at least 0")
        if not 0 <= self.seed <= MOST_SEED:
            raise SpecError(f"seed {self.seed}; it is a whole number from 0 to {MOST_SEED}")
        object.__setattr__(self, "best_by", (self.best_by,) if isinstance(self.best_by, str) else tuple(self.best_by))

    def check_least(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if value is not None and value < least:
            raise SpecError(f"{name} is {value}; it must be at least {least}")


def split_texts(options: Options) -> None:
    """One text, or one path, where several are taken: `features="a.h5"` and `"a.h5,b.h5"` as on the command line."""
    for o in options.options():
        value = getattr(options, o.name)
        if o.hint != tuple[str, ...] or not o.about.parts or value is None:
            continue
        if isinstance(value, str | Path):
            text = str(value)
            whole = "," not in text or ("\0" not in text and Path(text).exists())
            value = [text] if whole else [part.strip() for part in text.split(",") if part.strip()]
        object.__setattr__(options, o.name, tuple(str(part) for part in value))


FREE = ("epochs", "steps", "save_every", "save_minutes", "validate_every", "validate_steps", "patience", "best_by",
        "log_every", "workers", "device", "threads")  # fmt: skip  # may change when a run is resumed


@dataclass(frozen=True, kw_only=True)
class TrainOptions(Options):
    """The model, and the weights it starts from. A task adds its own options to these."""

    model: str | None = option(None, "Default: the task's first.")
    tiny: bool = option(False, "A small model that trains on a laptop.")  # begins from Config.tiny()
    preset: str | None = option(None, "Settings of a paper for its data.")
    config: Path | None = option(None, "A run's config.json, or a .toml with tables [config], [settings], [options].")
    from_: Path | None = option(None, "Start from the weights of a run, or of an official .pth.")
    from_part: str = option("whole", "whole, or a part of the model: encoder.", shows_default=True)
    from_words: Path | None = option(None, "The words of official weights: their vocabulary file.")

    def __post_init__(self) -> None:
        super().__post_init__()
        split_texts(self)


@dataclass(frozen=True, kw_only=True)
class Changes(Options):
    """What is other than in a model's default config."""

    set_: Any = option((), "Any other setting of the model, repeatable.", several=True, metavar="NAME=VALUE")

    def config(self) -> JsonDict:
        """By name. In the library `set_` may be a mapping; text is read as the setting's type later.

        An option that a task adds is the setting of its name.
        """
        named = {o.name: getattr(self, o.name) for o in self.options() if o.name in self.flagged()}
        return {**read_pairs(self.set_), **{name: value for name, value in named.items() if value is not None}}

    def flagged(self) -> set[str]:
        """Options that are settings of the model under the same name."""
        return {o.name for o in self.options()} - {"set_"}


def read_pairs(texts: Any) -> JsonDict:
    """`name=value` texts, or a mapping, as a mapping."""
    if isinstance(texts, Mapping):
        return dict(texts)
    pairs = {}
    for pair in [texts] if isinstance(texts, str) else texts:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SpecError(f"--set {pair!r}: write name=value")
        pairs[name.strip()] = value.strip()
    return pairs


@dataclass(frozen=True, kw_only=True)
class Run(Options):
    """The folder of a run, and what is done where there is one already."""

    out: Path = option(MUST, "Folder of the run.", "-o")
    resume: bool = option(False, "Resume from the run's last checkpoint.")
    overwrite: bool = option(False, "Replace an existing run.")
    tensorboard: bool = option(False, "Also write TensorBoard files.")
    wandb: str | None = option(None, "Log to Weights & Biases, to this project.")
    mlflow: str | None = option(None, "Log to MLflow, to this experiment.")


@dataclass(frozen=True, kw_only=True)
class Callbacks:
    """Callbacks of training and predicting: progress and warnings."""

    watch: Progress = silent  # what is going on, steps done, steps in all
    warn: Callable[[str], None] = ignore


@dataclass(frozen=True)
class Share:
    """This process's part of a work that several do: units rank, rank + world, …"""

    rank: int = 0
    world: int = 1

    def of(self, n: int) -> range:
        return range(self.rank, n, self.world)


@dataclass(frozen=True, kw_only=True)
class Validation:
    """What is measured between steps, on a model (an nn.Module): answers by all processes, scores by the first."""

    answer: Callable[[Any, Share], list[Any]]  # one per unit of the share, in order
    score: Callable[[list[Any]], Scores]  # of all answers, in the order of the units
    best_by: tuple[str, ...] = ()  # scores, or sums as "METEOR+SODA_c"; (): the first. best.safetensors is by the first


@dataclass(frozen=True, kw_only=True)
class PredictOptions(Options):
    """Options of every prediction. A task adds its own options to these."""

    batch_size: int = option(8, "Batch size.", shows_default=True)
    device: str = option("auto", "auto, cpu, cuda, cuda:1, mps.", shows_default=True)
    set_: Any = option(
        (),
        "Change a setting that acts on predictions alone (fabula list settings).",
        several=True,
        metavar="NAME=VALUE",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        split_texts(self)
        if self.batch_size < 1:
            raise SpecError(f"batch_size is {self.batch_size}; it must be at least 1")

    def changes(self) -> JsonDict:
        return read_pairs(self.set_)


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(Options):
    """The input of simulated features, and the file they are written to."""

    embedder: str = option("hashing", "hashing, minilm or wordllama.", shows_default=True)
    seed: int = option(0, "Random seed.", shows_default=True)
    rate: float = option(1.0, "Features per second.", shows_default=True)
    format: str | None = option(None, "Format of the annotations. Default: detected from the content.")
    out: Path = option(MUST, ".safetensors, .h5, or a folder.", "-o")
    overwrite: bool = option(False, "Replace an existing store.")


@dataclass(frozen=True, kw_only=True)
class BlankOptions(Options):
    """How blanks become vectors."""

    model: str = option(MUST, "Folder of BERT's weights: config.json, model.safetensors, tokenizer.json.")
    out: Path = option(MUST, "Store to write, as streams/text.safetensors.", "-o")
    sets: Path | None = option(
        None, "Captions of clips: the file of sets (valSets.csv). Default: five consecutive clips of a film."
    )
    split: tuple[str, ...] = option(
        (), "Splits of a folder. Default: all that it has; train: a set begins at every clip.", parts=True
    )
    counter: Literal["corrected", "published"] = option(
        "corrected", "Number of a blank; published: as the published helper counts it, with its mistake."
    )
    batch: int = option(64, "Paragraphs per batch.", shows_default=True, at_least=1)
    overwrite: bool = option(False, "Replace an existing store.")


@dataclass(frozen=True, kw_only=True)
class TuneOptions(Options):
    """How an encoder of blanks is tuned."""

    model: str = same_as(BlankOptions, "model")
    genders: Path = option(MUST, 'JSON: clip → ["M", "F", "G"], a letter for each blank.')
    out: Path = option(MUST, "Folder of the tuned encoder.", "-o")
    sets: Path | None = same_as(BlankOptions, "sets")
    split: tuple[str, ...] = option(("train",), "Splits of a folder. Default: train.", parts=True)
    epochs: int = option(3, "Number of epochs.", shows_default=True, at_least=1)
    batch: int = option(16, "Captionsets per step.", shows_default=True, at_least=1)
    lr: float = option(5e-5, "Learning rate at the start; it falls to 0.", shows_default=True)
    seed: int = option(0, "Random seed.", shows_default=True)
    device: str = option("auto", "auto, cpu, cuda, cuda:1, mps.", shows_default=True)
    overwrite: bool = option(False, "Replace an existing folder.")
