"""Scores of queries with and without an answer as probabilities, by the maps of stats/calibration.py.

    x          score: of the best moment · lift: (score − what is usual for this query) / its spread · both

p is the probability that the library has an answer, given how well the best moment fits: as often as among the queries
of the calibration, and for queries like them. Which x and which map is chosen by cross-validation on those queries
alone. The result is kept in the store's folder, and belongs to its recipe: another embedder's scores are other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, shown
from fabula.documents.fields import JsonDict
from fabula.documents.files import dump_json, load_json
from fabula.stats.calibration import (
    Bin,
    Binning,
    Floats,
    expected_calibration_error,
    fit_isotonic,
    fit_platt,
    sigmoid,
)

if TYPE_CHECKING:
    from fabula.library.store import Store
    from fabula.report.drawing.panels import Figure

FILE = "calibration.json"
VERSION = 1
FOLDS = 5
BINNING = Binning(10, "width")  # of every ECE of a library
RIDGE = 1e-3  # score and lift may carry the same information
FEWEST = 10  # queries of each kind
Kind = Literal["sigmoid", "isotonic"]
On = Literal["score", "lift", "both"]
CHOICES: tuple[tuple[Kind, On], ...] = (
    ("sigmoid", "score"),
    ("sigmoid", "lift"),
    ("sigmoid", "both"),
    ("isotonic", "score"),
    ("isotonic", "lift"),
)


class Sample(NamedTuple):
    """Queries by their best moments. n queries."""

    score: Floats  # [n]; the lowest there is where nothing was found at all
    lift: Floats
    present: NDArray[np.bool_]  # does the library have an answer?

    def take(self, at: Any) -> Sample:
        return Sample(*(column[at] for column in self))

    def x(self, on: On) -> Floats:
        """[n, 1] or [n, 2]"""
        columns = {"score": [self.score], "lift": [self.lift], "both": [self.score, self.lift]}[on]
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Calibration:
    """A map from scores to probabilities, and the queries it was fitted to."""

    kind: Kind
    on: On
    weights: tuple[float, ...] = ()  # of a sigmoid: one for each x, and b
    knots: tuple[tuple[float, float], ...] = ()  # of isotonic regression: x, p
    recipe: JsonDict = field(default_factory=dict)
    about: JsonDict = field(default_factory=dict)  # queries, cross-validated losses

    def __call__(self, score: float, lift: float) -> float:
        """The probability that the library has an answer whose best moment scores so."""
        return float(self.many(np.array([score]), np.array([lift]))[0])

    def many(self, score: Floats, lift: Floats) -> Floats:
        x = Sample(score, lift, np.zeros(len(score), bool)).x(self.on)
        if self.kind == "isotonic":
            xs, ps = np.array(self.knots).T
            steps: Floats = np.interp(x[:, 0], xs, ps)
            return steps
        return sigmoid(x @ np.array(self.weights[:-1]) + self.weights[-1])

    # ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: Path) -> None:
        dump_json(path, {"fabula-calibration": VERSION, **asdict(self)}, indent=2)

    @classmethod
    def load(cls, path: Path, recipe: JsonDict | None = None) -> Calibration:
        """From a file; one made for another recipe is refused."""
        entry = load_json(path)
        try:
            if entry["fabula-calibration"] != VERSION:
                raise InputError(
                    f"a calibration of version {shown(entry['fabula-calibration'])}, not {VERSION}",
                    file=path,
                    hint="calibrate the store again",
                )
            if entry["kind"] not in ("sigmoid", "isotonic") or entry["on"] not in ("score", "lift", "both"):
                raise ValueError
            knots = tuple((float(x), float(p)) for x, p in entry["knots"])
            weights = tuple(float(w) for w in entry["weights"])
            if len(weights) != {"score": 2, "lift": 2, "both": 3}[entry["on"]] and entry["kind"] == "sigmoid":
                raise ValueError
            if not np.isfinite([*weights, *(x for k in knots for x in k)]).all():
                raise ValueError
            if entry["kind"] == "isotonic" and not are_steps(knots):
                raise ValueError
            calibration = cls(entry["kind"], entry["on"], weights, knots, dict(entry["recipe"]), dict(entry["about"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError("is not a calibration", file=path, hint="calibrate the store again") from None
        if recipe is not None and calibration.recipe != recipe:
            from fabula.library.manifest import check_recipe

            check_recipe(calibration.recipe, recipe, path)
        return calibration

    @classmethod
    def beside(cls, store: Store) -> Calibration | None:
        """The one in a store's folder."""
        path = None if store.folder is None else store.folder / FILE
        return cls.load(path, as_json(store.recipe)) if path is not None and path.is_file() else None


def are_steps(knots: Sequence[tuple[float, float]]) -> bool:
    """Probabilities that do not fall while x rises."""
    rising = all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(knots))
    return bool(knots) and rising and 0 <= knots[0][1] <= knots[-1][1] <= 1


def as_json(recipe: JsonDict) -> JsonDict:
    """As it comes back from a file: lists for tuples."""
    import json

    copy: JsonDict = json.loads(json.dumps(recipe))
    return copy


# ── fitted ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def fit(sample: Sample, recipe: JsonDict | None = None, seed: int = 0) -> Calibration:
    """The map with the least cross-validated loss, fitted to all queries."""
    yes, no = int(sample.present.sum()), int((~sample.present).sum())
    if min(yes, no) < FEWEST:
        raise SpecError(
            f"{yes} queries with an answer and {no} without; a calibration needs {FEWEST} of each, better hundreds"
        )
    losses = {f"{kind} on {on}": cross_validate(sample, kind, on, seed) for kind, on in CHOICES}
    best = min(range(len(CHOICES)), key=lambda i: list(losses.values())[i])  # the first of equals
    kind, on = CHOICES[best]
    about = {"present": yes, "absent": no, "log loss, cross-validated": {k: round(v, 6) for k, v in losses.items()}}
    best_map = fit_one(sample, kind, on)
    return replace(best_map, recipe=as_json(recipe or {}), about=about)


def fit_one(sample: Sample, kind: Kind, on: On) -> Calibration:
    if kind == "isotonic":
        return Calibration(kind, on, knots=fit_isotonic(sample.x(on)[:, 0], sample.present))
    return Calibration(kind, on, weights=fit_platt(sample.x(on), sample.present, ridge=RIDGE))


def cross_validate(sample: Sample, kind: Kind, on: On, seed: int) -> float:
    """Mean log loss of queries that were left out, FOLDS times."""
    n = len(sample.score)
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    loss = np.zeros(n)
    for k in range(FOLDS):
        out = fold == k
        calibration = fit_one(sample.take(~out), kind, on)
        left = sample.take(out)
        loss[out] = log_loss(calibration.many(left.score, left.lift), left.present)
    return float(loss.mean())


def log_loss(p: Floats, present: NDArray[np.bool_]) -> Floats:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return -np.where(present, np.log(p), np.log(1 - p))


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def reliability(p: Floats, present: NDArray[np.bool_]) -> list[Bin]:
    return BINNING.split(p, present)


def calibration_error(p: Floats, present: NDArray[np.bool_]) -> float:
    """ECE (10 equal-width bins)."""
    return expected_calibration_error(reliability(p, present))


class Trade(NamedTuple):
    """What a threshold costs."""

    threshold: float
    refused: float  # share of queries without an answer to which "nothing" is said
    lost: float  # share of queries with an answer to which "nothing" is said


def trade_off(p: Floats, present: NDArray[np.bool_], thresholds: Sequence[float] | None = None) -> list[Trade]:
    chosen = np.linspace(0, 1, 41) if thresholds is None else np.asarray(thresholds)
    yes, no = p[present], p[~present]

    def share(probabilities: Floats, t: float) -> float:
        return float((probabilities < t).mean()) if len(probabilities) else 0.0

    return [Trade(float(t), share(no, t), share(yes, t)) for t in chosen]


def draw(p: Floats, present: NDArray[np.bool_], title: str) -> Figure:
    """Reliability and trade-off side by side."""
    from fabula.report.drawing.panels import Curves, Figure

    bins, trades = reliability(p, present), trade_off(p, present)
    yes, no = int(present.sum()), int((~present).sum())
    words = f"ECE ({BINNING}) {calibration_error(p, present):.3f}, {yes} queries with an answer, {no} without"
    measured = tuple((b.probability, b.share) for b in bins)
    lines = {"as it should be": ((0.0, 0.0), (1.0, 1.0)), "measured": measured}
    cost = {
        "without an answer: nothing said": tuple((t.threshold, t.refused) for t in trades),
        "with an answer: lost": tuple((t.threshold, t.lost) for t in trades),
    }
    panels = (
        Curves("reliability", "probability said", "share with an answer", lines, marked=True),
        Curves("what a threshold costs", "--min-probability", "share of queries", cost),
    )
    return Figure("calibration", title, words, panels)
