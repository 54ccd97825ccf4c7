"""Voices: the same pairs put to a judge in one way or another, and what two voices have in common.

    equal = share of pairs judged alike      shift = mean of y − x      gap = mean of |y − x|
    α     = Krippendorff's, interval data: 1 the same judgements, 0 as by chance (stats/agreement.py)

Each with an interval by drawing videos or items, for the pairs of one are not independent. Only pairs that both voices
judged and that could be read count; how many could not is said beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, shown
from fabula.core.rows import Rows
from fabula.llm.answer import Answer, CallError
from fabula.llm.call import Call
from fabula.llm.session import Session
from fabula.stats.agreement import alpha, alpha_interval
from fabula.stats.choose import ENOUGH, Chosen, choose_apart, tell_choices
from fabula.stats.resampling import Resampling
from fabula.stats.sample import Mean, Sample
from fabula.text.judges.base import Judge
from fabula.text.judges.scorer import check_answered

Array = NDArray[np.float64]
Change = Callable[[str, str], tuple[str, str]]  # prediction, reference → as they are shown


@dataclass(frozen=True, slots=True)
class Pair:
    """A prediction and a reference to be judged, and whose they are."""

    id: str  # the video, or the item
    prediction: str
    reference: str


def keep(prediction: str, reference: str) -> tuple[str, str]:
    return prediction, reference


@dataclass(frozen=True)
class Voice:
    """A way to ask about pairs."""

    name: str
    kind: str  # what is varied
    judge: Judge
    model: str = ""  # "": that of the session
    change: Change = keep
    again: int = 0

    def changes(self, pair: Pair) -> bool:
        """True where there is something to ask: a pair that a change leaves as it is says nothing about the change."""
        same = pair.prediction, pair.reference
        return self.change is keep or self.change(*same) != same

    def calls(self, session: Session, pairs: Sequence[Pair]) -> list[Call]:
        model = self.model or session.options.model
        shown = [self.change(pair.prediction, pair.reference) for pair in pairs]
        judge = self.judge.located(session.prompts)
        by_texts = {texts: judge.call(model, *texts, again=self.again) for texts in dict.fromkeys(shown)}
        return [by_texts[texts] for texts in shown]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a voice said of each pair."""

    voice: Voice
    values: Array  # [N] NaN: nothing could be read, or nothing was asked
    asked: int  # number of pairs: those that the voice changes, or all where it changes no text
    unread: int
    missing: int  # not on record
    sample: str = ""  # one that could not be read

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.values)) if np.isfinite(self.values).any() else float("nan")


def hear(session: Session, voice: Voice, pairs: Sequence[Pair]) -> Heard:
    """Ask, or look up. A call that a record lacks is missing; one that an endpoint fails ends the run."""
    changed = [k for k, pair in enumerate(pairs) if voice.changes(pair)]
    answers = session.ask(voice.calls(session, [pairs[k] for k in changed])) if changed else []
    check_answered([a for a in answers if not (isinstance(a, CallError) and a.kind == "replay")])
    values_read = [voice.judge.read(a.text) if isinstance(a, Answer) else None for a in answers]
    missing, values = sum(isinstance(a, CallError) for a in answers), np.full(len(pairs), np.nan)
    values[changed] = [np.nan if v is None else v for v in values_read]
    unread = [a.text for a, v in zip(answers, values_read, strict=True) if v is None and isinstance(a, Answer)]
    return Heard(voice, values, len(changed), len(unread), missing, unread[0] if unread else "")


def check_read(heard: Heard) -> None:
    """Refuse a judge of whose answers none can be read."""
    if heard.unread and not np.isfinite(heard.values).any():
        problem = f"none of {heard.unread} judgements can be read; the model said {shown(heard.sample, 100)}"
        raise InputError(problem, hint="ask a model that answers in the form that the judge asks for")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval; NaN where there is too little to say."""

    value: float
    low: float
    high: float
    ci_method: str = ""
    reason: str = ""  # why the interval is another than was asked for, or none


UNITS = "videos or items"  # what is drawn
NOTHING = Estimate(float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True, slots=True)
class Beside:
    """A voice beside another."""

    name: str
    kind: str
    pairs: int  # judged by both, and read
    unread: int  # of this voice
    missing: int
    mean: float
    equal: Estimate
    shift: Estimate
    gap: Estimate
    alpha: Estimate


def set_beside(base: Heard, other: Heard, pairs: Sequence[Pair], how: Resampling) -> Beside:
    both = np.isfinite(base.values) & np.isfinite(other.values)
    x, y = base.values[both], other.values[both]
    ids = [pairs[k].id for k in np.flatnonzero(both).tolist()]
    return Beside(
        other.voice.name,
        other.voice.kind,
        len(x),
        other.unread,
        other.missing,
        other.mean,
        estimate(np.isclose(x, y).astype(float), ids, how),
        estimate(y - x, ids, how, least=-1.0),
        estimate(np.abs(y - x), ids, how),
        estimate_alpha(x, y, ids, how),
    )


def estimate(values: Array, ids: Sequence[str], how: Resampling, least: float = 0.0) -> Estimate:
    """A mean over pairs of values from `least` to 1, its interval by drawing ids."""
    if not len(values):
        return NOTHING
    rows = Rows.of({"video": k, "value": v} for k, v in enumerate(((values - least) / (1 - least)).tolist()))
    sample = Sample.of(replace(rows, clusters=tuple(ids)), Mean())
    value, (chosen,) = float(values.mean()), choose_apart([sample], how)
    reason = chosen.reason.format(units=UNITS)
    if chosen.interval is None:
        return replace(NOTHING, value=value, reason=reason)
    low, high = (least + (1 - least) * end for end in chosen.interval)
    return Estimate(value, low, high, chosen.method, reason)


def estimate_alpha(x: Array, y: Array, ids: Sequence[str], how: Resampling) -> Estimate:
    if not len(x):
        return NOTHING
    units = [list(unit) for unit in zip(x.tolist(), y.tolist(), strict=True)]
    value, drawn = alpha(units, "interval"), len(set(ids))
    if drawn < ENOUGH:
        return replace(NOTHING, value=value, reason=f"{drawn} {UNITS} are too few, an interval of α needs {ENOUGH}")
    found = alpha_interval(units, "interval", how.resamples, how.seed, how.level, ids)
    return replace(NOTHING, value=value) if found is None else Estimate(value, *found, "percentile")


def tell_estimates(named: Iterable[tuple[str, Estimate]]) -> list[str]:
    """Which intervals are bounded ones, and which are absent, with the reason."""
    return tell_choices([(name, Chosen(None, e.ci_method, e.reason)) for name, e in named], UNITS)
