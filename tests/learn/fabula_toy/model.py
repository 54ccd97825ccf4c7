"""A toy model with dropout and, if asked, two losses per batch that each leave the other's head alone."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fabula.core.errors import InputError
from fabula.learn import batch


@dataclass
class Batch(batch.Batch):
    seen: Tensor  # [B, 4]
    true: Tensor  # [B]


class Numbers:
    """Item i is x_i times (1, −1, 2, .5), plus noise that is drawn anew each time. 999 cannot be read, NaN can."""

    def __init__(self, numbers: list[float], noise: float) -> None:
        self.numbers, self.noise = numbers, noise

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, i: int) -> tuple[str, Tensor, float]:
        x = self.numbers[i]
        if x == 999:
            raise InputError("nobody can read this", video=f"number {i}", hint="leave it out")
        return f"number {i}", x * torch.tensor([1.0, -1.0, 2.0, 0.5]) + self.noise * torch.randn(4), x

    def collate(self, examples: list[tuple[str, Tensor, float]]) -> Batch:
        names, seen, true = zip(*examples, strict=True)
        return Batch(list(names), torch.stack(seen), torch.tensor(true))


@dataclass(frozen=True)
class Config:
    width: int = 0  # of a number's vector
    hidden: int = 16
    dropout: float = 0.2
    two: bool = False  # two losses per batch
    bad_gradient: bool = False  # a loss that is finite with a gradient that is not

    @classmethod
    def tiny(cls, **changes: Any) -> Config:
        return cls(hidden=8, **changes)


class Model(nn.Module):
    name: ClassVar[str] = "guesser"
    config_class: ClassVar[type[Config]] = Config
    recipe: ClassVar[dict[str, Any]] = {"epochs": 3, "batch_size": 2, "lr": 0.01, "schedule": "cosine"}
    parts: ClassVar[dict[str, tuple[str, ...]]] = {"encoder": ("body.",)}

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.passes = ("number", "sign") if config.two else ("",)
        self.body = nn.Sequential(nn.Linear(config.width, config.hidden), nn.Tanh(), nn.Dropout(config.dropout))
        self.number = nn.Linear(config.hidden, 1)
        if config.two:
            self.sign = nn.Linear(config.hidden, 1)
        self.began: list[tuple[int, int]] = []
        self.steps = 0

    def begin(self, epoch: int, step: int) -> None:
        self.began.append((epoch, step))

    def loss(self, batch: Batch, part: str = "number") -> dict[str, Tensor]:
        self.steps += 1
        if os.environ.get("TOY_DIES") == f"{os.environ.get('RANK', '0')}:{self.steps}":
            os.kill(os.getpid(), signal.SIGKILL)
        h = self.body(batch.seen)
        if part == "sign":
            wrong = nn.functional.softplus(-self.sign(h)[:, 0] * batch.true.sign()).mean()
            return {"loss": wrong, "wrong": wrong.detach()}
        off = (self.number(h)[:, 0] - batch.true).abs().mean()
        if self.config.bad_gradient:
            off = off + (self.number.bias * 0.0).abs().sqrt().sum()
        return {"loss": off, "scaled_1": off.detach() / math.e}

    def predict(self, batch: Batch) -> list[float]:
        return [round(x, 6) for x in self.number(self.body(batch.seen))[:, 0].tolist()]
