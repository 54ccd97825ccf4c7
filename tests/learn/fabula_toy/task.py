"""A toy task: guess a number from a noisy vector. Light: torch comes with the methods."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from fabula.core.errors import InputError
from fabula.core.options import MUST, option
from fabula.learn import options as shared
from fabula.learn.tasks import base


@dataclass(frozen=True, kw_only=True)
class TrainOptions(shared.TrainOptions):
    numbers: Path = option(MUST, "A JSON list of numbers.")
    noise: float | None = option(None, "How noisy. Default: 0.1.")


@dataclass(frozen=True, kw_only=True)
class Shape(shared.Changes):
    two: bool | None = option(None, "Two losses per batch.")


@dataclass(frozen=True, kw_only=True)
class PredictOptions(shared.PredictOptions):
    numbers: Path = option(MUST, "A JSON list of numbers.", argument=True)


class Task(base.Task):
    name: ClassVar[str] = "guess"
    about: ClassVar[str] = "Guess numbers."
    models: ClassVar[tuple[str, ...]] = ("guesser",)
    Train = TrainOptions
    Shape = Shape
    Predict = PredictOptions
    derived: ClassVar[tuple[str, ...]] = ("width",)
    presets: ClassVar[dict[str, base.Preset]] = {
        "loud": base.Preset(about="much noise", settings={"lr": 0.02}, options={"noise": 0.5}),
    }

    def read(self, options: Any, notes: Any) -> Any:
        notes.add("these are toy numbers")
        return read_numbers(options.numbers), options

    def config(self, config: Any, source: Any, start: Any) -> Any:
        return replace(config, width=4)

    def training_data(self, source: Any, config: Any) -> Any:
        from fabula_toy.model import Numbers

        return Numbers(source[0], 0.1 if source[1].noise is None else source[1].noise)

    def validation_data(self, source: Any, config: Any) -> Any:
        from fabula_toy.model import Numbers

        return Numbers(source[0], 0.0)

    def score(self, answers: list[Any], source: Any, config: Any) -> dict[str, float]:
        errors = [abs(told - true) for told, true in zip(answers, source[0], strict=True)]
        return {"near": -sum(errors) / len(errors), "far": -max(errors), "first": answers[0]}

    def best_by(self, config: Any) -> tuple[str, ...]:
        return ("near", "near+far")

    def prediction_data(self, model: Any, metadata: Any, options: Any, notes: Any, watch: Any) -> Any:
        from fabula_toy.model import Numbers

        return Numbers(read_numbers(options.numbers), 0.0)


def read_numbers(path: Path) -> list[float]:
    found = json.loads(path.read_text())
    if not found:
        raise InputError("no numbers", file=path, hint="write some")
    return [float(x) for x in found]
