"""The same benchmark under several settings: scores of every cell, and how much of their difference each factor makes.

    --vary frames=fabula/rate(fps=1),vllm/opencv prompt=default,phrase     2 × 2 cells

A factor is an option of the run (frames, prompt, layout, side, …) or a setting of the frame recipe (fps=1,2). All cells
share one record, so that a grid is resumed and replayed as a run is. What a video is worth in a cell is the metric's
primary number over its rows alone; the analysis of variance over these numbers stands in stats/factorial.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path

import numpy as np

from fabula import metrics as metric_room
from fabula.asking.bench import BenchFile
from fabula.asking.options import AskOptions
from fabula.asking.run import AskResult, ask_bench
from fabula.asking.settings import find_recipe
from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import Options, option
from fabula.core.registry import close_to
from fabula.documents.fields import JsonDict
from fabula.documents.files import dump_json
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.request import score
from fabula.llm.fake import Reply, echo
from fabula.stats.bootstrap import Interval
from fabula.stats.choose import choose_intervals
from fabula.stats.factorial import Variance, analyse_variance
from fabula.stats.resampling import Resampling
from fabula.stats.sample import Array, Sample, samples

FACTORS = ("frames", "prompt", "layout", "side", "quality", "times", "model", "temperature", "max_tokens", "seed")
WHOLE = ("side", "quality", "max_tokens", "seed")
MOST = 200  # cells
LEAST = 2  # videos of an analysis
Setting = tuple[str, ...]  # a level of each factor


@dataclass(frozen=True, kw_only=True)
class GridOptions(Options):
    """Which settings are compared, and by what."""

    vary: tuple[str, ...] = option(
        (), "Factors and their levels; every combination is run.", several=True, metavar="NAME=A,B"
    )
    metric: str | None = option(None, "Metric of the grid. Default: the first of the task.", needs="vary")
    resamples: int = option(2000, "Number of resamples of videos.", at_least=1)
    level: float = option(0.95, "Confidence level of the intervals.")

    def __post_init__(self) -> None:
        vary = (self.vary,) if isinstance(self.vary, str) else tuple(self.vary)
        object.__setattr__(self, "vary", vary)
        super().__post_init__()


@dataclass(frozen=True)
class Cell:
    """One combination of levels, and what came of it."""

    levels: Setting
    answers: Path
    signature: str
    settings: str
    value: float
    interval: Interval | None
    answered: int
    signed: str  # signature of the score


@dataclass(frozen=True)
class GridResult:
    """All cells, and the analysis of variance between them."""

    factors: tuple[str, ...]
    metric: str
    number: str  # which of the metric's
    scale: float
    cells: tuple[Cell, ...]
    variance: Variance | None  # None: fewer than two videos
    runs: tuple[AskResult, ...] = ()
    stopped: str | None = None

    @property
    def finished(self) -> bool:
        return self.stopped is None and all(run.finished for run in self.runs)

    def to_dict(self) -> JsonDict:
        v = self.variance
        return {
            "factors": list(self.factors),
            "metric": self.metric,
            "number": self.number,
            "cells": [
                {
                    "levels": dict(zip(self.factors, cell.levels, strict=True)),
                    "answers": cell.answers.name,
                    "value": cell.value,
                    "ci": None if cell.interval is None else list(cell.interval),
                    "answered": cell.answered,
                    "run": cell.signature,
                    "settings": cell.settings,
                    "signature": cell.signed,
                }
                for cell in self.cells
            ],
            "variance": None
            if v is None
            else {
                "effects": [
                    {
                        "factors": list(e.factors),
                        "df": e.df,
                        "ss": e.ss,
                        "share": e.share,
                        "ci": list(e.interval),
                        "F": finite(e.f),
                        "p": finite(e.p),
                    }
                    for e in v.effects
                ],
                "videos": {"count": v.count, "ss": v.videos},
                "videos × settings": {"ss": v.rest},
                "total": {"ss": v.total},
            },
            "stopped": self.stopped,
        }

    def lines(self) -> list[str]:
        """For a terminal."""
        s = self.scale
        rows = ["\t".join((*self.factors, f"{self.metric} {self.number}", "interval", "answered", "run"))]
        for cell in self.cells:
            ends = "–" if cell.interval is None else f"{s * cell.interval.low:.2f} – {s * cell.interval.high:.2f}"
            rows.append("\t".join((*cell.levels, f"{s * cell.value:.2f}", ends, f"{cell.answered:,}", cell.signature)))
        return [*rows, "", *self.variance_lines()]

    def variance_lines(self) -> list[str]:
        v = self.variance
        if v is None:
            return ["an analysis of variance needs two videos, and answers in every cell"]
        rows = ["source\tdf\tsum of squares\tof the settings\tinterval\tF\tp"]
        for e in v.effects:
            part, ends = f"{100 * e.share:.1f} %", f"{100 * e.interval.low:.1f} – {100 * e.interval.high:.1f} %"
            rows.append(
                f"{e.name}\t{e.df}\t{e.ss:.4f}\t{part}\t{ends}\t{show_number(e.f, '.2f')}\t{show_number(e.p, '.4f')}"
            )
        whole = sum(e.df for e in v.effects)
        rows.append(f"videos\t{v.count - 1}\t{v.videos:.4f}\t\t\t\t")
        rows.append(f"videos × settings\t{whole * (v.count - 1)}\t{v.rest:.4f}\t\t\t\t")
        share = 100 * v.settings / v.total if v.total > 0 else 0.0
        rows.append(f"all\t{(whole + 1) * v.count - 1}\t{v.total:.4f}\t\t\t\t")
        return [*rows, f"settings make {share:.1f} % of the variance between {v.count:,} videos under them"]


def finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def show_number(value: float, form: str) -> str:
    return "∞" if value == np.inf else "–" if np.isnan(value) else format(value, form)


# ── settings ───────────────────────────────────────────────────────────────────────────────────────────────────────


def read_factors(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`frames=a,b` → levels by factor."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        levels = tuple(spec.split(values))
        if not equals or not name.strip() or not levels:
            raise SpecError(f"--vary {text}: say NAME=LEVEL,LEVEL, such as frames=fabula/rate(fps=1),vllm/opencv")
        name = name.strip().replace("-", "_")
        if name in found or len(set(levels)) < len(levels):
            raise SpecError(f"--vary {text}: {'a factor' if name in found else 'a level'} stands there twice")
        found[name] = levels
    cells = int(np.prod([len(levels) for levels in found.values()]))
    if cells < 2 or cells > MOST:
        raise SpecError(f"--vary makes {cells} cells; there are 2 to {MOST}")
    return found


def set_levels(options: AskOptions, levels: Mapping[str, str]) -> AskOptions:
    """The options of one cell: those of the run first, then those of its recipe."""
    own = {name: convert(name, level) for name, level in levels.items() if name in FACTORS}
    changed = replace(options, **own)  # type: ignore[arg-type]
    inner = {name: level for name, level in levels.items() if name not in FACTORS}
    if inner:
        recipe = find_recipe(changed.frames)
        unknown = [name for name in inner if name not in {field.name for field in fields(recipe)}]
        if unknown:
            known = [*FACTORS, *recipe.defaults()]
            raise SpecError(f"--vary {unknown[0]}: no such factor; {close_to(unknown[0], known)}")
        changed = replace(changed, frames=recipe.with_params(inner).full())
    return changed


def convert(name: str, level: str) -> object:
    try:
        return int(level) if name in WHOLE else float(level) if name == "temperature" else level
    except ValueError:
        raise SpecError(f"--vary {name}={level}: it is a number") from None


# ── the run ────────────────────────────────────────────────────────────────────────────────────────────────────────


def ask_grid(
    path: str | Path,
    options: AskOptions,
    grid: GridOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    reply: Reply = echo,
) -> GridResult:
    """Every cell asked, scored and compared; answers, record and `grid.json` go into the folder `options.out`."""
    factors = read_factors(grid.vary)
    if options.out is None:
        raise SpecError("a grid has a file for every cell: name a folder with --out")
    folder = options.out
    if folder.is_file():
        raise SpecError(f"{folder} is a file; a grid has a file for every cell: name a folder with --out")
    record = options.record or (None if options.replay else folder / "record.jsonl")
    settings = list(product(*factors.values()))
    cells = []
    for k, levels in enumerate(settings):
        changed = set_levels(options, dict(zip(factors, levels, strict=True)))
        out = folder / f"{k + 1:0{len(str(len(settings)))}d}.jsonl"
        cells.append(replace(changed, out=out, record=record))
    folder.mkdir(parents=True, exist_ok=True)
    runs: list[AskResult] = []
    for k, cell in enumerate(cells):
        run = ask_bench(path, cell, count_cells(progress, k, len(cells)), warn, reply)
        runs.append(run)
        if run.stopped is not None:
            break
    done = compare_cells(path, factors, settings, cells, runs, grid)
    dump_json(folder / "grid.json", done.to_dict(), indent=2)
    return done


def count_cells(progress: Progress, k: int, cells: int) -> Progress:
    return lambda what, done, total: progress(f"cell {k + 1} of {cells}: {what}", done, total)


def compare_cells(
    path: str | Path,
    factors: Mapping[str, Sequence[str]],
    settings: Sequence[Setting],
    cells: Sequence[AskOptions],
    runs: Sequence[AskResult],
    grid: GridOptions,
) -> GridResult:
    """Scores of the cells that were asked, and the analysis where all were."""
    name, found, tables = "", [], []
    number, scale = "", 100.0
    for levels, options, run in zip(settings, cells, runs, strict=False):
        assert options.out is not None
        if not run.answers:
            continue
        result = score(options.out, path, choose_scoring(run.bench, options, grid))
        name = next(iter(result.scores))
        one, metric, rows = result[name], result.metrics[name], result.rows[name]
        number, scale = one.primary, one.scale
        how = Resampling(resamples=grid.resamples, level=grid.level)
        interval = choose_intervals({name: Sample.of(rows, metric)}, how)[name].interval
        tables.append((rows, metric))
        found.append(
            Cell(levels, options.out, run.signature, run.settings, one.value, interval, len(run.answers), one.signature)
        )
    variance = None
    if len(tables) == len(settings):
        values = find_values(samples(tables))
        if values.shape[1] >= LEAST:
            shaped = values.reshape(*(len(levels) for levels in factors.values()), -1)
            variance = analyse_variance(shaped, list(factors), level=grid.level, resamples=grid.resamples)
    stopped = next((run.stopped for run in runs if run.stopped), None)
    return GridResult(tuple(factors), name, number, scale, tuple(found), variance, tuple(runs), stopped)


def choose_scoring(bench: BenchFile, options: AskOptions, grid: GridOptions) -> ScoreOptions:
    metric = grid.metric or metric_room.default(bench.subject)[0].name
    ids = [one.id for one in bench.inquiries] if options.limit is not None else None
    return ScoreOptions(task=bench.subject, metrics=metric, refs_format=options.format, ids=ids)


def find_values(cells: Sequence[Sample]) -> Array:
    """What every video is worth in every cell, by its rows alone. [cells, V]"""
    alone = np.eye(len(cells[0].videos))
    return np.array([cell.under(alone) for cell in cells])
