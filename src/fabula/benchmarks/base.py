"""What a protocol is: a published evaluator's choices, as configured metrics, with where they were read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.registry import close_to, key

if TYPE_CHECKING:
    from fabula.metrics.base import Metric

Settings = dict[str, Any]  # parameters that several metrics of a protocol have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """Computes nothing itself."""

    name: str
    task: str
    paper: str
    repository: str
    commit: str
    metrics: tuple[Metric, ...]
    answers: str = ""  # who reads answers in words for it, where a format of stories leaves that open
    quirks: tuple[str, ...] = ()  # what it does that its paper does not say, one sentence each
    tables: str = ""  # the format of tables of predictions, where its evaluator reads answers in its own way

    @property
    def judges_segments(self) -> bool:
        """False where the evaluator takes reversed, zero-length and negative segments as they come."""
        return all(m.param("segments", "checked") == "checked" for m in self.metrics)

    def metric(self, text: str) -> Metric:
        """The protocol's own setting of a metric; what the text says besides its name is changed on top of it."""
        name, params = spec.parse(text)
        for metric in self.metrics:
            if key(name) in (key(metric.name), key(metric.label)):
                return metric.with_params(params)
        names = [m.title for m in self.metrics]
        raise SpecError(f"the protocol {self.name} has no metric {name!r}; {close_to(name, names)}")
