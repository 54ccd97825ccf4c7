"""A batch, and the answers of a model about a data set: what every task shares.

A task's own batch is a dataclass on top of `Batch`: tensors (also in lists and mappings) go where they are sent, all
else stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from fabula.core.notes import Progress, silent


class Data(Protocol):
    """A data set. Item i is read by whichever process has time; what it draws, it draws from torch's generator."""

    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> Any: ...
    def collate(self, examples: Sequence[Any], /) -> Any: ...


@dataclass
class Batch:
    """Several units: videos, queries, clips."""

    names: list[str]  # of the units, for errors

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        return self.change(lambda t: t.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        return self.change(Tensor.pin_memory)

    def change(self, do: Callable[[Tensor], Tensor]) -> Self:
        """The batch with every tensor changed."""
        return replace(self, **{f.name: change(getattr(self, f.name), do) for f in fields(self)})


def change(value: Any, do: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return do(value)
    if isinstance(value, Mapping):
        return {name: change(part, do) for name, part in value.items()}
    if isinstance(value, list | tuple) and any(isinstance(part, Tensor) for part in value):
        parts = [change(part, do) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


@torch.no_grad()
def answer_units(
    model: nn.Module, data: Data, units: Iterable[int], batch_size: int = 8, watch: Progress = silent
) -> list[Any]:
    """`model.predict` of these units of a data set, one answer each."""
    units = list(units)
    device = next(model.parameters()).device
    answers: list[Any] = []
    for i in range(0, len(units), batch_size):
        batch = data.collate([data[k] for k in units[i : i + batch_size]]).to(device)
        answers += model.predict(batch)  # type: ignore[operator]
        watch("predicting", len(answers), len(units))
    return answers
