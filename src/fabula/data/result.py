"""Score and Result: numbers with the names of every choice that made them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fabula.core.errors import MissingExtra, SpecError
from fabula.core.rows import Rows, wide
from fabula.data import brief
from fabula.data.stories import Corpus, Item


class NoScore(SpecError, KeyError):  # noqa: N818  (a KeyError too: whoever catches that goes on)
    """A metric that was not computed."""

    __str__ = Exception.__str__  # a KeyError would print the repr of its message


@dataclass(frozen=True, slots=True)
class Score:
    """The numbers of one metric. `primary` names the one that a table prints when there is room for one."""

    name: str
    values: Mapping[str, float]
    primary: str
    signature: str
    ci: Mapping[str, tuple[float, float]] | None = None
    scale: float = 100.0  # tables print value × scale
    by_type: Mapping[str, Mapping[str, float]] = field(
        default_factory=dict
    )  # type of query, or category of video → its numbers, and how many
    by_threshold: Mapping[str, Mapping[str, float]] = field(
        default_factory=dict
    )  # "0.3" → the numbers there, where a score is the mean over several thresholds
    short: str = ""  # the signature without what the metric does by default
    ci_method: str = ""  # how the interval was made: bca, percentile, bounded

    @property
    def value(self) -> float:
        return self.values[self.primary]

    def __float__(self) -> float:
        """The primary number: float(result["SODA_c"]) is its F1."""
        return float(self.value)

    def to_dict(self) -> dict[str, Any]:
        ci = None if self.ci is None else [number(x) for x in self.ci[self.primary]]
        parts = {"by_type": self.by_type, "by_threshold": self.by_threshold}
        filled = {name: {k: numbers(v) for k, v in part.items()} for name, part in parts.items() if part}
        own = numbers({**self.values, "value": self.value})
        short = {"short": self.short} if self.short and "short" not in own else {}  # MR_mAP has a number of that name
        method = {"ci_method": self.ci_method} if self.ci_method else {}
        return {**own, "signature": self.signature, **short, "ci": ci, **method, **filled}


def number(value: float) -> float | None:
    """As JSON holds it, which has no NaN: the mean of nothing is null there."""
    return None if math.isnan(value) else value


def numbers(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: number(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """What `fabula.score` returns: scores by metric name, counts, warnings, and the rows they were folded from."""

    fabula: str
    task: str
    protocol: str
    scores: Mapping[str, Score]
    counts: Mapping[str, int]
    warnings: tuple[str, ...] = ()
    rows: Mapping[str, Rows] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)  # the metrics themselves, by the names of their scores
    refs: tuple[Corpus, ...] = ()  # what was compared, for reports; not in the JSON
    predictions: Corpus | None = None
    items: tuple[Item, ...] = ()  # the same for single captions
    read: Mapping[str, Any] = field(default_factory=dict)  # metric → the items as it read them, where not as they are
    kept: Any = None  # the same for queries, images and sets of clips (evaluate/kept.py)
    paired: Any = None  # stories as they were scored, for `pairs`
    judge_words: Mapping[str, Mapping[tuple[str, ...], str]] = field(
        default_factory=dict
    )  # metric → texts that a judge was asked about (candidate, reference; or a prompt) → its answer; not in the JSON

    def __getitem__(self, metric: str) -> Score:
        try:
            return self.scores[metric]
        except KeyError:
            raise NoScore(f"no score is called {metric!r}; there are: {', '.join(self.scores)}") from None

    def __repr__(self) -> str:
        """A table of a few lines, whatever was scored."""
        return brief.as_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return brief.as_html(self)

    def flat(self) -> dict[str, float]:
        """One number a name, for trackers of experiments: {"SODA_c/f1": 0.27, "mIoU": 0.78}; fractions, not × 100.

        The bounds of intervals, where there are some, are SODA_c/f1.low and SODA_c/f1.high.
        """
        numbers_by_name: dict[str, float] = {}
        for name, score in self.scores.items():
            for part, value in score.values.items():
                key = name if part == "value" else f"{name}/{part}"
                numbers_by_name[key] = value
                if score.ci and part in score.ci:
                    numbers_by_name[f"{key}.low"], numbers_by_name[f"{key}.high"] = score.ci[part]
        return numbers_by_name

    def to_pandas(self, rows: bool = False) -> Any:
        """A frame: a line per number; with `rows`, a line per video (or item) and reference set, as --rows writes."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra("to_pandas()", "pandas") from None
        if rows:
            return pd.DataFrame(wide(self.rows))
        nowhere = (math.nan, math.nan)
        lines = [
            {
                "metric": name,
                "number": part,
                "value": value,
                "low": (score.ci or {}).get(part, nowhere)[0],
                "high": (score.ci or {}).get(part, nowhere)[1],
                "primary": part == score.primary,
                "signature": score.signature,
            }
            for name, score in self.scores.items()
            for part, value in score.values.items()
        ]
        return pd.DataFrame(lines)

    def pairs(self, metric: str) -> Mapping[str, Any]:
        """Which events a metric matched, where it `draws` pairs: video → reference set → its matches, in order.

        Events are named by their places in `refs` and `predictions`. Made on demand; evaluate/pairs.py chooses whose.
        """
        if self.predictions is None:
            return {}
        found: Mapping[str, Any] = self.metrics[metric].match_corpora(self.refs, self.predictions, self.paired)
        return found

    def to_dict(self) -> dict[str, Any]:
        """The published JSON: keys are stable (docs/result-json.md)."""
        return {
            "fabula": self.fabula,
            "task": self.task,
            "protocol": self.protocol,
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
            "counts": dict(self.counts),
            "warnings": list(self.warnings),
        }
