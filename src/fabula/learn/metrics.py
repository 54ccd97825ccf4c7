"""SODA while a model trains: a torchmetrics metric whose states are sums over videos, so that processes add them up.

    soda = SodaC()                                       # or SodaC("SODA_c(text=meteor,refs=best)")
    soda.update(preds=[[(0.0, 4.2, "a man bows")]], refs=[[(0.0, 4.0, "a man bows deeply")]])
    soda.compute()                                       # {"precision": …, "recall": …, "f1": …}, over all processes

The sums of precision, recall and F1 are over rows, one for each video and reference set. Where every video has the
same number of reference sets, compute() is what `fabula score` gives to the same videos; where some have fewer, every
row has the same weight here, while `fabula score` gives it to every set. The corpus is never gathered: what travels
between processes is one number for each field, and the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fabula.api.reward import check_lengths, make_sets, make_story
from fabula.core.errors import InputError, MissingExtra, SpecError, shown
from fabula.core.nouns import Corpus
from fabula.metrics import Metric as Measure
from fabula.metrics import metric
from fabula.metrics.stories import Stories

try:
    import torch
    from torch import Tensor
    from torchmetrics import Metric
except ModuleNotFoundError as error:
    if error.name and error.name.split(".")[0] in ("torch", "torchmetrics"):
        raise MissingExtra("fabula.learn.metrics", "torchmetrics") from None
    raise

if TYPE_CHECKING:
    Base = object
else:
    Base = Metric

__all__ = ["SodaC", "StoryScore"]

Told = Sequence[tuple[float, float, str]]  # (start, end, caption), in any order


class StoryScore(Base):
    """Any metric of stories whose number is a mean over rows: SODA_a to SODA_d, mIoU, OrderedPRF@0.5 …"""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False  # forward() needs one update, not two

    if TYPE_CHECKING:
        n: Tensor

        def add_state(self, name: str, default: Tensor, dist_reduce_fx: str) -> None: ...

    def __init__(self, measure: str | Measure, **options: Any) -> None:
        """`options` are those of torchmetrics: dist_sync_on_step, process_group, sync_on_compute …"""
        super().__init__(**options)
        self.measure = folded_by_mean(measure)
        for field in self.measure.fields:
            self.add_state(f"sum_{field}", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("n", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def set_dtype(self, dst_type: object) -> StoryScore:
        """The sums stay in double precision."""
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], *rest: Any, **more: Any) -> Any:
        """Follows the model to its device, not to its precision; a device without doubles gets singles."""

        def moved(state: Tensor) -> Tensor:
            device = fn(torch.zeros(1, device=state.device)).device
            return state.to(device, torch.float32 if device.type == "mps" else state.dtype)

        return super()._apply(moved, *rest, **more)  # type: ignore[misc]

    def update(self, preds: Sequence[Told], refs: Sequence[Any]) -> None:
        """A batch: for each video a story, and a reference story or a list of them."""
        check_lengths(preds, refs)
        sets = make_sets(refs)
        for i, told in enumerate(refs):
            if not any(str(i) in s and len(s[str(i)]) for s in sets):
                raise InputError(f"the reference is {shown(told)}", field=f"item {i}", hint="it needs an event")
        if not sets:
            return
        guesses = Corpus({str(i): make_story(str(i), told) for i, told in enumerate(preds)})
        rows = self.measure.table(Stories(sets, guesses))
        for field in self.measure.fields:
            total = getattr(self, f"sum_{field}")
            setattr(self, f"sum_{field}", total + float(rows[field].sum()))
        self.n = self.n + len(rows)

    def compute(self) -> dict[str, Tensor]:
        """The fields of the measure, as fractions; NaN where nothing was seen."""
        return {field: getattr(self, f"sum_{field}") / self.n for field in self.measure.fields}


class SodaC(StoryScore):
    """SODA_c of all videos since the last reset: {"precision", "recall", "f1"}."""

    def __init__(self, measure: str | Measure = "SODA_c", **options: Any) -> None:
        super().__init__(measure, **options)


def folded_by_mean(measure: str | Measure) -> Measure:
    """The measure, if sums over batches are all it takes."""
    made = metric(measure, "dense") if isinstance(measure, str) else measure
    if made.reads != "stories" or "refs" not in made.defaults():  # paragraphs are folded over the corpus
        raise SpecError(f"{made.name} is not a metric of stories")
    if not made.is_mean or made.needs_statistics:
        raise SpecError(f"{made} is no mean over videos: score the whole corpus with fabula.score")
    return made
