"""fabula.ask, fabula.ask_grid: a vision-language model run over a benchmark, with every frame and prompt on record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula.asking.options import AskOptions
from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import read_keywords, with_options
from fabula.verbs.keywords import BenchKeywords

if TYPE_CHECKING:
    from fabula.asking.grid import GridResult
    from fabula.asking.run import AskResult


@with_options(AskOptions)
def ask(
    bench: str | Path,
    *,
    options: AskOptions | None = None,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[BenchKeywords],
) -> AskResult:
    """The answers of a model to a benchmark file; with `out` they are written as `fabula.score` reads them.

    A run that stopped goes on when it is called again: no answered call is sent twice.

    Examples:

        >>> bench = Path("asked.txt")
        >>> _ = bench.write_text("a 0.0 1.5##a kite rises\\n")
        >>> done = fabula.ask(bench, url="fake:", videos=["inputs/films"], prompt="phrase", out="answers.jsonl")
        >>> done.calls, sorted(done.texts)
        (1, [0])
    """
    options = read_keywords("ask", keywords, options or AskOptions)
    from fabula.asking.run import ask_bench

    return ask_bench(bench, options, progress, warn)


@with_options(AskOptions)
def ask_grid(
    bench: str | Path,
    *vary: str,
    metric: str | None = None,
    options: AskOptions | None = None,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[BenchKeywords],
) -> GridResult:
    """The same under every combination of settings, `vary` being texts such as `frames=fabula/even(n=8),vllm/opencv`.

    Every cell is scored, and an analysis of variance says how much of the difference each factor makes. `out` is a
    folder: a file of answers for every cell, their record, and grid.json.

    Examples:

        >>> bench = Path("asked.txt")
        >>> _ = bench.write_text("a 0.0 1.5##a kite rises\\n")
        >>> grid = fabula.ask_grid(bench, "frames=2,4", url="fake:", videos=["inputs/films"], out="grid")
        >>> [cell.levels for cell in grid.cells]
        [('2',), ('4',)]
    """
    options = read_keywords("ask_grid", keywords, options or AskOptions)
    from fabula.asking import grid

    return grid.ask_grid(bench, options, grid.GridOptions(vary=vary, metric=metric), progress, warn)
