"""fabula.plot: plots for papers as SVG, from results and rows that `fabula score --json` and `--rows` wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Unpack

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.options import Options, option, read_keywords, with_options
from fabula.core.registry import close_to
from fabula.report.drawing.elements import COLUMN, PAGE
from fabula.report.drawing.plots import draw_curves, draw_intervals, draw_scatter
from fabula.report.plotted import System, make_curves, make_intervals, make_scatter, name_systems, read_result
from fabula.verbs.keywords import PlotKeywords

Kind = Literal["scatter", "thresholds", "intervals"]


@dataclass(frozen=True, kw_only=True)
class PlotOptions(Options):
    """Keywords of `fabula.plot` and flags of `fabula plot`."""

    metrics: str | None = option(
        None,
        "Metrics, comma separated: SODA_c, SODA_c.precision. Default: those that all files have.",
        "-m",
        joined=True,
    )
    names: tuple[str, ...] = option((), "Names of the systems, comma separated. Default: their file names.", parts=True)
    width: Literal["column", "page"] = option(
        "column", "Width of one column of a paper (3.3 in) or of two (6.9 in).", shows_default=True
    )


@with_options(PlotOptions)
def plot(kind: Kind, *systems: System, options: PlotOptions | None = None, **keywords: Unpack[PlotKeywords]) -> str:
    """A plot as SVG.

    scatter     two systems, a point per video, with the diagonal and how many lie above and below: two files of rows
    thresholds  a metric at each of its thresholds, a line per system: results (JSON)
    intervals   numbers with their intervals, a strip per metric, a line per system: results (JSON), scored with --ci

    Systems are files, or results that are at hand.

    Examples:

        >>> result = fabula.score(demo.SYSTEMS["good"], demo.REFERENCES["annotator_1"], metrics="SODA_d", ci=True)
        >>> fabula.plot("intervals", result)[-7:]
        '</svg>\\n'
    """
    options = read_keywords("plot", keywords, options or PlotOptions())
    wide = PAGE if options.width == "page" else COLUMN
    names = name_systems(systems, options.names)
    wanted = [] if options.metrics is None else spec.split(options.metrics)
    if kind == "scatter":
        return draw_scatter(make_scatter(systems, names, wanted), wide)
    if kind not in ("thresholds", "intervals"):
        raise SpecError(f"no plot is called {kind!r}; {close_to(str(kind), ['scatter', 'thresholds', 'intervals'])}")
    if not systems:
        raise SpecError(f"a plot of {kind} needs at least one result; write it with fabula score --json")
    results = {name: read_result(system) for name, system in zip(names, systems, strict=True)}
    if kind == "thresholds":
        return draw_curves(make_curves(results, wanted), wide)
    return draw_intervals(make_intervals(results, wanted), wide)
