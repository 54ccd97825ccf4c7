"""What tasks have in common; the contract is told in learn/tasks/__init__.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fabula.core.notes import Notes, Progress, silent
from fabula.core.options import Options
from fabula.learn.options import Changes, PredictOptions, Scores, Share, TrainOptions

if TYPE_CHECKING:
    from torch import nn

    from fabula.learn.batch import Data
    from fabula.report.analysis import Analysis


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What a paper trained with on its data. Options fill those that were not given."""

    about: str
    model: str | tuple[str, ...] | None = None  # the models it is for, the first is the default; None: any
    config: Mapping[str, Any] = field(default_factory=dict)
    by_model: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # further settings of single models
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """Those that it is for; (): any."""
        return (self.model,) if isinstance(self.model, str) else self.model or ()

    def config_of(self, model: str) -> dict[str, Any]:
        """The settings of this model."""
        return {**self.config, **self.by_model.get(model, {})}


@dataclass(frozen=True)
class Start:
    """What a run begins from: the config of its weights, if the file knows it, and how much of them is taken."""

    config: Any
    part: str  # "whole", or a part of the model

    @property
    def whole(self) -> bool:
        return self.part == "whole"


class Task:
    """Base of tasks: what most of them do alike."""

    name: ClassVar[str]
    about: ClassVar[str]  # one line
    usage: ClassVar[tuple[str, ...]] = ()  # example command lines
    models: ClassVar[tuple[str, ...]]
    Train: ClassVar[type[TrainOptions]] = TrainOptions
    Shape: ClassVar[type[Changes]] = Changes
    Predict: ClassVar[type[PredictOptions]] = PredictOptions
    Analyse: ClassVar[type[PredictOptions] | None] = None  # what an analysis is made of; None: there is none
    Simulate: ClassVar[type[Options] | None] = None  # what a simulated world is made of; None: there is none
    presets: ClassVar[Mapping[str, Preset]] = {}
    derived: ClassVar[tuple[str, ...]] = ()  # settings of the model that the data decide
    watch: Progress = staticmethod(silent)  # whom `ask` tells how far it is

    def read(self, options: Any, notes: Notes) -> Any:
        """Annotations, features: whatever the other methods need."""
        raise NotImplementedError

    def config(self, config: Any, source: Any, start: Start | None) -> Any:
        """The model's config with what the data say of it."""
        return config

    def training_data(self, source: Any, config: Any) -> Data:
        """What is trained on."""
        raise NotImplementedError

    def validation_data(self, source: Any, config: Any) -> Data | None:
        """What is validated on."""
        return None

    def answer(
        self, model: nn.Module, data: Data, share: Share, batch_size: int = 8, watch: Progress = silent
    ) -> list[Any]:
        """One answer for each unit of the share, in order."""
        from fabula.learn.batch import answer_units

        return answer_units(model, data, share.of(len(data)), batch_size, watch)

    def score(self, answers: list[Any], source: Any, config: Any) -> Scores:
        """Of all answers about `held`, in its order."""
        raise NotImplementedError

    def best_by(self, config: Any) -> tuple[str, ...]:
        """Scores that choose checkpoints, the most important first; (): the first score there is."""
        return ()

    def metadata(self, source: Any) -> dict[str, Any]:
        """What config.json should say of the data."""
        return {}

    def prediction_data(self, model: nn.Module, options: Any, notes: Notes) -> Data:
        """What is to be predicted."""
        raise NotImplementedError

    def predict_in_parts(self, path: Path, data: Data, options: Any, notes: Notes, watch: Progress) -> Any:
        """The result, where the options have several workers answer part by part; None: here and at once."""
        return None

    def postprocess(self, answers: list[Any], data: Data) -> Any:
        """Answers as the library call returns them."""
        return answers

    def captions(self, result: Any, data: Data) -> Iterable[str | None]:
        """The captions that the model wrote, to be looked at for those that say nothing; none where it writes none."""
        return ()

    def write(self, result: Any, path: Path) -> None:
        """The file of a prediction, as lines of JSON."""
        from fabula.io.files import write_text

        write_text(path, lines_of(result))

    def count(self, result: Any) -> str:
        """What the command line says of a result."""
        return f"{len(result):,} answers"

    def analyse(self, model: nn.Module, options: Any, notes: Notes) -> Analysis:
        """What can be seen inside a trained model, as figures and numbers."""
        raise NotImplementedError

    def simulate(self, options: Any, folder: Path, overwrite: bool) -> str:
        """Writes a simulated world, as a user's own data would lie there; returns what is in it, in words."""
        raise NotImplementedError

    def write_page(self, result: Any, options: Any) -> None:
        """Further files that the options ask for: a page."""


def lines_of(result: Any) -> list[str]:
    import json

    return [json.dumps(answer, ensure_ascii=False) + "\n" for answer in result]
