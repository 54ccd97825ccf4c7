"""fabula.power: how many videos would show a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import Options, option, split_keywords, with_options
from fabula.core.registry import close_to
from fabula.core.rows import Rows
from fabula.documents.document import open_document
from fabula.documents.files import check_path, has_lines
from fabula.documents.rows import read_number
from fabula.documents.tables import read_rows as load_rows
from fabula.evaluate.clusters import cluster_results
from fabula.evaluate.inputs import take_both, take_refs, take_sets
from fabula.evaluate.options import WHERE, ScoreOptions
from fabula.evaluate.request import make_request, run_request
from fabula.metrics import Wanted
from fabula.stats.power import Power, power_of_pair, power_of_pilot
from fabula.stats.resampling import Clusters
from fabula.stats.sample import Folding, Mean, samples
from fabula.verbs.keywords import Data, PowerKeywords

WITHOUT = WHERE


@dataclass(frozen=True, kw_only=True)
class PowerOptions(Options):
    """What is to be shown, and how surely."""

    difference: float | None = option(None, "Difference to detect, as a fraction: .01. Default: the observed one.")
    power: float = option(0.8, "Probability of detecting it.", shows_default=True)
    alpha: float = option(0.05, "Level of the two-sided test.", shows_default=True)
    correlation: float | None = option(
        None, "With one system: correlation of the scores of two systems over videos, such as .8."
    )

    def __post_init__(self) -> None:
        for name in ("power", "alpha"):
            if not 0 < getattr(self, name) < 1:
                raise SpecError(f"--{name} {getattr(self, name):g}; it lies between 0 and 1")
        if self.correlation is not None and not -1 <= self.correlation < 1:
            raise SpecError(f"--correlation {self.correlation:g}; it lies between -1 and 1, and below 1")


@dataclass(frozen=True, slots=True)
class Powers:
    """What a test over videos can see, metric by metric."""

    lines: tuple[Power, ...]
    options: PowerOptions
    unit: str  # what is counted: videos, groups
    warnings: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> Power:
        return next(line for line in self.lines if line.metric == metric)

    def difference(self, line: Power) -> float | None:
        return line.observed if self.options.difference is None else self.options.difference

    def to_dict(self) -> dict[str, object]:
        """As `fabula power --json` writes it."""
        return {
            "alpha": self.options.alpha,
            "power": self.options.power,
            "correlation": self.options.correlation,
            "unit": self.unit,
            "metrics": {
                line.metric: {
                    "sigma": line.sigma,
                    self.unit: line.videos,
                    "observed": line.observed,
                    "difference": (d := self.difference(line)),
                    "needed": line.needed(d) if d else None,
                    "shown": line.shown_by(line.videos),
                }
                for line in self.lines
            },
            "warnings": list(self.warnings),
        }


@with_options(PowerOptions, Clusters, ScoreOptions, without=WITHOUT)
def power(
    systems: Data,
    refs: Data = (),
    *,
    options: ScoreOptions | None = None,
    asked: PowerOptions | None = None,
    progress: Progress = silent,
    **keywords: Unpack[PowerKeywords],
) -> Powers:
    """How many videos would show a difference: from two systems over the same videos, or from one, a pilot.

    Systems are predictions, scored against `refs`; or rows that `--rows` wrote (.jsonl, .csv), one file a system, then
    `metrics` names columns. Of one system `correlation` must be assumed.

    Examples:

        >>> systems = [demo.SYSTEMS["good"], demo.SYSTEMS["out_of_order"]]
        >>> line = fabula.power(systems, list(demo.REFERENCES.values()), metrics="SODA_d")["SODA_d"]
        >>> line.videos, line.needed(0.1)
        (15, 34)
    """
    hands = (asked or PowerOptions(), Clusters(), options or ScoreOptions())
    asked, grouped, options = split_keywords("power", keywords, *hands, without=WITHOUT)
    several = list(systems) if isinstance(systems, list | tuple) else [systems]
    if not 1 <= len(several) <= 2:
        raise SpecError(f"{len(several)} systems; name two to compare, or one as a pilot")
    if len(several) == 1 and asked.correlation is None:
        raise SpecError("one system shows no correlation; add --correlation, such as .8, or a second system")
    if len(several) == 2 and asked.correlation is not None:
        raise SpecError("--correlation applies to one system; leave it out")
    if len(several) == 1 and asked.difference is None:
        raise SpecError("one system has no difference; say which: --difference .01")
    tables, scales, unit, warnings = gather(several, refs, options, grouped, progress)
    lines = []
    for metric, some in tables.items():
        made = samples(some)
        scale = scales.get(metric, 100.0)
        check_fraction(metric, asked.difference, [sample.value for sample in made])
        if len(made) == 2:
            lines.append(power_of_pair(metric, made[0], made[1], asked.alpha, asked.power, scale))
        else:
            rho = asked.correlation or 0.0
            lines.append(power_of_pilot(metric, made[0], rho, asked.alpha, asked.power, scale))
    return Powers(tuple(lines), asked, unit, warnings)


def check_fraction(metric: str, difference: float | None, values: Sequence[float]) -> None:
    """Refuse a difference in points where the scores are fractions."""
    if difference is not None and abs(difference) >= 1 and all(abs(value) <= 1 for value in values):
        raise SpecError(
            f"--difference {difference:g}: {metric} is a fraction, {values[0]:.4f} here; "
            f"write {difference / 100:g} for {difference:g} point{'s' * (abs(difference) != 1)} of a table"
        )


Tables = dict[str, list[tuple[Rows, Folding]]]


def gather(
    systems: Sequence[Data], refs: Data, options: ScoreOptions, grouped: Clusters, progress: Progress
) -> tuple[Tables, dict[str, float], str, tuple[str, ...]]:
    """Rows of every metric, of one or two systems; the metrics' scales; what is counted; warnings."""
    if not refs and all(isinstance(s, str | Path) and is_rows(Path(s)) for s in systems):
        if grouped.cluster is not None:
            raise SpecError("rows name no group; --cluster needs predictions and references")
        tables = [read_rows(Path(s), options.metrics) for s in systems]
        shared = [name for name in tables[0] if all(name in table for table in tables)]
        if not shared:
            raise SpecError(f"no column of numbers stands in both; there are: {', '.join(tables[0])}")
        return {name: [(t[name], Mean(name)) for t in tables] for name in shared}, {}, "videos", ()
    options = take_sets(options)
    taken = take_refs(refs, options) if refs else refs
    both = [take_both(system, taken, options) for system in systems]
    found = {str(i): run_request(make_request(*pair, options, progress)) for i, pair in enumerate(both)}
    unit = "videos"
    if grouped.cluster is not None:
        found, _ = cluster_results(found, grouped.cluster, [p for p, _ in both], both[0][1])
        unit = "groups"
    first = found["0"]
    for result in found.values():
        if result.task != first.task:
            raise SpecError(f"one system was read as {first.task}, the other as {result.task}; say which: --task")
    tables_of = {name: [(r.rows[name], first.metrics[name]) for r in found.values()] for name in first.scores}
    warnings = tuple(dict.fromkeys(w for r in found.values() for w in r.warnings))
    return tables_of, {name: s.scale for name, s in first.scores.items()}, unit, warnings


def is_rows(path: Path) -> bool:
    """Files that `--rows` writes: lines whose fields are numbers, but for the id."""
    if path.suffix == ".csv":
        return True
    if not has_lines(check_path(path)):
        return False
    first = {k: v for k, v in open_document(path).first_object.items() if k not in KEYS}
    return bool(first) and all(isinstance(v, int | float | list) for v in first.values())


KEYS = ("video", "id", "set", "image", "query", "refset")


def read_rows(path: Path, wanted: Wanted | None) -> dict[str, Rows]:
    """The columns of numbers of a file of rows, each as rows of its own."""
    entries = list(load_rows(check_path(path)))
    if not entries:
        raise InputError("no rows", file=path, hint="write them with fabula score --rows")
    unit = next((key for key in KEYS if key in entries[0] and key != "refset"), None)
    if unit is None:
        raise InputError("no column names the video or item of a row", file=path, hint=f"one of {', '.join(KEYS[:-1])}")
    names = [name for name, value in entries[0].items() if name not in KEYS and read_number(value) is not None]
    if wanted is not None:
        asked = [name.strip() for name in wanted.split(",")] if isinstance(wanted, str) else [str(w) for w in wanted]
        for name in asked:
            if name not in names:
                raise SpecError(f"{path} has no column {name!r}; {close_to(name, names)}")
        names = asked
    found = {}
    for name in names:
        numbers = [(e, read_number(e.get(name))) for e in entries]
        rows = ({unit: e[unit], "refset": int(e.get("refset", 0)), name: x} for e, x in numbers if x is not None)
        found[name] = Rows.of(rows, unit)
    return found
