"""Base class of tasks; learn/tasks/__init__.py describes the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fabula.core.notes import Notes, Progress, silent
from fabula.core.options import Options
from fabula.documents.fields import JsonDict, JsonObject
from fabula.learn.options import Changes, PredictOptions, Scores, Share, TrainOptions

if TYPE_CHECKING:
    from fabula.learn.batch import Data
    from fabula.report.analysis import Analysis


@dataclass(frozen=True, kw_only=True)
class Preset:
    """The settings of a paper on its data. Its options replace those that the user leaves out."""

    about: str
    model: str | tuple[str, ...] | None = None  # the models it is for, the first is the default; None: any
    config: JsonObject = field(default_factory=dict)
    by_model: Mapping[str, JsonObject] = field(default_factory=dict)  # further settings of single models
    settings: JsonObject = field(default_factory=dict)
    options: JsonObject = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the preset is for; (): any."""
        return (self.model,) if isinstance(self.model, str) else self.model or ()

    def config_of(self, model: str) -> JsonDict:
        """The settings of one model."""
        return {**self.config, **self.by_model.get(model, {})}


@dataclass(frozen=True)
class Start:
    """The weights that a run starts from: their config and how much of them is loaded."""

    config: Any
    part: str  # "whole", or a part of the model

    @property
    def whole(self) -> bool:
        return self.part == "whole"


class Task:
    """Base class of tasks, with the defaults that most of them share."""

    name: ClassVar[str]
    about: ClassVar[str]  # one line
    usage: ClassVar[tuple[str, ...]] = ()  # example command lines
    models: ClassVar[tuple[str, ...]]
    Train: ClassVar[type[TrainOptions]] = TrainOptions
    Shape: ClassVar[type[Changes]] = Changes
    Predict: ClassVar[type[PredictOptions]] = PredictOptions
    Analyse: ClassVar[type[PredictOptions] | None] = None  # options of `fabula analyse`; None: no analysis
    Simulate: ClassVar[type[Options] | None] = None  # options of `fabula simulate`; None: no simulation
    presets: ClassVar[Mapping[str, Preset]] = {}
    derived: ClassVar[tuple[str, ...]] = ()  # model settings that come from the data

    def read(self, options: Any, notes: Notes) -> Any:
        """Read annotations and features for the other methods."""
        raise NotImplementedError

    def config(self, config: Any, source: Any, start: Start | None) -> Any:
        """Set the values of the model's config that depend on the data."""
        return config

    def training_data(self, source: Any, config: Any) -> Data:
        """The training set."""
        raise NotImplementedError

    def validation_data(self, source: Any, config: Any) -> Data | None:
        """The validation set; None: no validation."""
        return None

    def answer(self, model: Any, data: Any, share: Share, batch_size: int = 8, watch: Progress = silent) -> list[Any]:
        """Predict one answer for each unit of the share, in order."""
        from fabula.learn.batch import answer_units

        return answer_units(model, data, share.of(len(data)), batch_size, watch)

    def score(self, answers: list[Any], source: Any, config: Any) -> Scores:
        """Score the answers to all units of `validation_data`, in its order."""
        raise NotImplementedError

    def best_by(self, config: Any) -> tuple[str, ...]:
        """Names of the scores that choose checkpoints, the most important first; (): the first score."""
        return ()

    def metadata(self, source: Any) -> dict[str, object]:
        """Facts about the data for config.json and the checkpoints."""
        return {}

    def prediction_data(self, model: Any, metadata: JsonObject, options: Any, notes: Notes, watch: Progress) -> Data:
        """The data to predict on; `metadata` is what this task's `metadata` returned when the model was trained."""
        raise NotImplementedError

    def predict_in_parts(self, path: Path, data: Any, options: Any, notes: Notes, watch: Progress) -> object | None:
        """Predict in parts by several workers, if the options ask for it; None: predict in this process."""
        return None

    def postprocess(self, answers: list[Any], data: Any) -> Any:
        """Convert answers to what `fabula.predict` returns."""
        return answers

    def refine(self, result: Any, options: Any, notes: Notes, watch: Progress) -> Any:
        """Change a result by a further model, if the options name one."""
        return result

    def captions(self, result: Any, data: Any) -> Iterable[str | None]:
        """The captions that the model wrote, which are checked for empty and repetitive ones."""
        return ()

    def check_output(self, path: Path) -> None:
        """Refuse, before anything is predicted, a file that `write` cannot write."""

    def write(self, result: Any, path: Path) -> None:
        """Write a prediction as lines of JSON."""
        from fabula.documents.files import write_text

        write_text(path, lines_of(result))

    def count(self, result: Any) -> str:
        """A summary of the result for the command line."""
        return f"{len(result):,} answers"

    def analyse(self, model: Any, options: Any, notes: Notes, watch: Progress) -> Analysis:
        """Figures and numbers that describe a trained model."""
        raise NotImplementedError

    def simulate(self, options: Any, folder: Path, overwrite: bool) -> str:
        """Write simulated data in the layout of real data; return a summary of it."""
        raise NotImplementedError

    def write_page(self, result: Any, options: Any) -> None:
        """Write the further files that the options ask for, such as an HTML page."""


def lines_of(result: Any) -> list[str]:
    import json

    return [json.dumps(answer, ensure_ascii=False) + "\n" for answer in result]
