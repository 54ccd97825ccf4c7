"""Scores as probabilities, on queries with and without an answer: Platt's sigmoid (1999) or isotonic regression.

    sigmoid    p = 1 / (1 + exp(−(a·x + b)))         a, b by maximum likelihood, targets as Platt smooths them
    isotonic   p = the non-decreasing steps nearest to the labels (pool adjacent violators; Zadrozny & Elkan, 2002)
    x          score: of the best moment · lift: (score − what is usual for this query) / its spread · both

    ECE = Σ_bins |B|/n · |share with an answer in B − mean p in B|          ten bins of equal width (Guo et al., 2017)

p is the probability that the library has an answer, given how well the best moment fits: as often as among the queries
of the calibration, and for queries like them. Which x and which map is chosen by cross-validation on those queries
alone. The result lies beside the store, and belongs to its recipe: another embedder's scores are other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, shown
from fabula.io.files import dump_json, load_json

if TYPE_CHECKING:
    from fabula.library.store import Store
    from fabula.report.figures import Figure

Floats = NDArray[np.float64]
FILE = "calibration.json"
VERSION = 1
BINS, FOLDS = 10, 5
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
    """A map from scores to probabilities, and what it was made on."""

    kind: Kind
    on: On
    weights: tuple[float, ...] = ()  # of a sigmoid: one for each x, and b
    knots: tuple[tuple[float, float], ...] = ()  # of isotonic regression: x, p
    recipe: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)  # queries, cross-validated losses

    def __call__(self, score: float, lift: float) -> float:
        """The probability that the library has an answer whose best moment scores so."""
        return float(self.many(np.array([score]), np.array([lift]))[0])

    def many(self, score: Floats, lift: Floats) -> Floats:
        x = Sample(score, lift, np.zeros(len(score), bool)).x(self.on)
        if self.kind == "isotonic":
            xs, ps = np.array(self.knots).T
            steps: Floats = np.interp(x[:, 0], xs, ps)
            return steps
        z = x @ np.array(self.weights[:-1]) + self.weights[-1]
        p: Floats = 1 / (1 + np.exp(-np.clip(z, -40, 40)))
        return p

    # ── kept ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: Path) -> None:
        dump_json(path, {"fabula-calibration": VERSION, **asdict(self)}, indent=2)

    @classmethod
    def load(cls, path: Path, recipe: dict[str, Any] | None = None) -> Calibration:
        """From a file; one made for another recipe is refused."""
        document = load_json(path)
        try:
            if document["fabula-calibration"] != VERSION:
                problem = f"a calibration of version {shown(document['fabula-calibration'])}, not {VERSION}"
                raise InputError(problem, file=path, hint="calibrate the store again")
            if document["kind"] not in ("sigmoid", "isotonic") or document["on"] not in ("score", "lift", "both"):
                raise ValueError
            knots = tuple((float(x), float(p)) for x, p in document["knots"])
            weights = tuple(float(w) for w in document["weights"])
            if len(weights) != {"score": 2, "lift": 2, "both": 3}[document["on"]] and document["kind"] == "sigmoid":
                raise ValueError
            if not np.isfinite([*weights, *(x for k in knots for x in k)]).all():
                raise ValueError
            if document["kind"] == "isotonic" and not are_steps(knots):
                raise ValueError
            calibration = cls(
                document["kind"], document["on"], weights, knots, dict(document["recipe"]), dict(document["about"])
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError("is not a calibration", file=path, hint="calibrate the store again") from None
        if recipe is not None and calibration.recipe != recipe:
            from fabula.library.manifest import check_recipe

            check_recipe(calibration.recipe, recipe, path)
        return calibration

    @classmethod
    def beside(cls, store: Store) -> Calibration | None:
        """The one that lies in a store's folder."""
        path = None if store.folder is None else store.folder / FILE
        return cls.load(path, as_json(store.recipe)) if path is not None and path.is_file() else None


def are_steps(knots: Sequence[tuple[float, float]]) -> bool:
    """Probabilities that do not fall while x rises."""
    rising = all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(knots))
    return bool(knots) and rising and 0 <= knots[0][1] <= knots[-1][1] <= 1


def as_json(recipe: dict[str, Any]) -> dict[str, Any]:
    """As it comes back from a file: lists for tuples."""
    import json

    plain: dict[str, Any] = json.loads(json.dumps(recipe))
    return plain


# ── fitted ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def fit(sample: Sample, recipe: dict[str, Any] | None = None, seed: int = 0) -> Calibration:
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
    calibration = fit_one(sample, kind, on)
    return Calibration(kind, on, calibration.weights, calibration.knots, as_json(recipe or {}), about)


def fit_one(sample: Sample, kind: Kind, on: On) -> Calibration:
    if kind == "isotonic":
        return Calibration(kind, on, knots=fit_isotonic(sample.x(on)[:, 0], sample.present))
    return Calibration(kind, on, weights=fit_sigmoid(sample.x(on), sample.present))


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


def fit_sigmoid(x: Floats, present: NDArray[np.bool_]) -> tuple[float, ...]:
    """Weights and b by Newton's method, with Platt's targets: (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2)."""
    yes, no = present.sum(), (~present).sum()
    t = np.where(present, (yes + 1) / (yes + 2), 1 / (no + 2))
    mean, spread = x.mean(0), np.where(x.std(0) > 1e-12, x.std(0), 1.0)
    X = np.column_stack([(x - mean) / spread, np.ones(len(x))])  # [n, d + 1]
    w = np.zeros(X.shape[1])
    ridge = 1e-3 * np.diag([*np.ones(x.shape[1]), 0.0])  # two that say the same have no single best
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(X @ w, -40, 40)))
        gradient = X.T @ (p - t) + ridge @ w
        H = X.T @ (X * (p * (1 - p))[:, None]) + ridge + 1e-9 * np.eye(len(w))
        step = np.linalg.solve(H, gradient)
        w = w - step * min(1.0, 5 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    a = w[:-1] / spread
    return (*(float(v) for v in a), float(w[-1] - a @ mean))


def fit_isotonic(x: Floats, present: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """Pool adjacent violators: blocks of rising mean, each a knot at its middle; never quite 0 or 1."""
    order = np.lexsort((~present, x))  # of equal x those with an answer first, so that they are pooled
    blocks: list[list[float]] = []  # sum of labels, count, least x, most x
    for value, label in zip(x[order].tolist(), present[order].tolist(), strict=True):
        blocks.append([float(label), 1.0, value, value])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            s, n, _, high = blocks.pop()
            before = blocks[-1]
            blocks[-1] = [before[0] + s, before[1] + n, before[2], high]
    least = 1 / (len(x) + 2)
    return tuple(((low + high) / 2, min(max(s / n, least), 1 - least)) for s, n, low, high in blocks)


# ── judged ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Bin(NamedTuple):
    p: float  # mean of what was said
    share: float  # that has an answer
    n: int


def reliability(p: Floats, present: NDArray[np.bool_], bins: int = BINS) -> list[Bin]:
    """Queries by the probability that was said of them, in bins of equal width; empty ones are left out."""
    which = np.minimum((p * bins).astype(int), bins - 1)
    members = [which == b for b in range(bins)]
    return [Bin(float(p[m].mean()), float(present[m].mean()), int(m.sum())) for m in members if m.any()]


def calibration_error(p: Floats, present: NDArray[np.bool_]) -> float:
    """ECE."""
    return sum(b.n * abs(b.share - b.p) for b in reliability(p, present)) / max(1, len(p))


class Trade(NamedTuple):
    """What a threshold costs."""

    threshold: float
    refused: float  # share of queries without an answer to which "nothing" is said
    lost: float  # share of queries with an answer to which "nothing" is said


def trade_off(p: Floats, present: NDArray[np.bool_], thresholds: Sequence[float] | None = None) -> list[Trade]:
    chosen = np.linspace(0, 1, 41) if thresholds is None else np.asarray(thresholds)
    yes, no = p[present], p[~present]

    def share(scores: Floats, t: float) -> float:
        return float((scores < t).mean()) if len(scores) else 0.0

    return [Trade(float(t), share(no, t), share(yes, t)) for t in chosen]


def draw(p: Floats, present: NDArray[np.bool_], title: str) -> Figure:
    """Reliability and trade-off side by side."""
    from fabula.report.figures import Curves, Figure

    bins, trades = reliability(p, present), trade_off(p, present)
    yes, no = int(present.sum()), int((~present).sum())
    summary = f"ECE {calibration_error(p, present):.3f}, {yes} queries with an answer, {no} without"
    measured = tuple((b.p, b.share) for b in bins)
    lines = {"as it should be": ((0.0, 0.0), (1.0, 1.0)), "measured": measured}
    cost = {
        "without an answer: nothing said": tuple((t.threshold, t.refused) for t in trades),
        "with an answer: lost": tuple((t.threshold, t.lost) for t in trades),
    }
    panels = (
        Curves("reliability", "probability said", "share with an answer", lines, marked=True),
        Curves("what a threshold costs", "--min-probability", "share of queries", cost),
    )
    return Figure("calibration", title, summary, panels)
