"""A metric of somebody else that raises costs one line: which metric, which file and line, what; the cause is kept."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import fabula
from fabula import demo
from fabula.core.errors import SpecError
from fabula.metrics.stories import StoryMetric

GOOD, TRUTH = demo.SYSTEMS["good"], next(iter(demo.REFERENCES.values()))


@dataclass(frozen=True, kw_only=True)
class Wrong(StoryMetric):
    name: ClassVar[str] = "Wrong"
    paper: ClassVar[str] = "nobody"

    def unit(self, ref: Any, pred: Any, ctx: Any) -> dict[str, float]:
        return {"value": pred.events[0].start}


def test_it_names_the_metric_and_the_line() -> None:
    line = Wrong.unit.__code__.co_firstlineno + 1
    place = rf"the metric Wrong \({__name__}\) raised AttributeError at test_foreign\.py:{line}: .*'start'; mend"
    with pytest.raises(SpecError, match=place) as caught:
        fabula.score(GOOD, TRUTH, metrics=[Wrong()])
    assert isinstance(caught.value.__cause__, AttributeError)
