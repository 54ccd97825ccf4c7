"""fabula compare: is the difference between systems more than luck?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fabula.api.compare import compare as compare_verb
from fabula.cli._console import Several, bar, say, tell
from fabula.cli._out import check_outputs, write_json
from fabula.cli._what import What, resampled, what_to_score
from fabula.core.errors import SpecError
from fabula.report import compare as report
from fabula.stats.bootstrap import Resampling
from fabula.stats.compare import TESTS


@click.command("compare", cls=Several)
@click.argument("systems", nargs=-1, required=True, type=click.Path(path_type=Path))
@what_to_score()
@click.option("--test", type=click.Choice(TESTS), default="randomisation", show_default=True, help="The paired test.")
@resampled(10_000, "Draws and trials.", seed="both")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="A corrected p below it is marked.")
@click.option("--latex", is_flag=True, help="Print a LaTeX table (booktabs).")
@click.option("--markdown", is_flag=True, help="Print Markdown tables.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write JSON; - for standard output.")
@click.option("--names", help="What to call the systems, comma separated. Default: their files' names.")
def command(
    systems: tuple[Path, ...],
    what: What,
    test: str,
    how: Resampling,
    alpha: float,
    latex: bool,
    markdown: bool,
    json_: Path | None,
    names: str | None,
) -> None:
    """Compare two or more SYSTEMS on the same references: paired tests over videos, corrected for their number.

    \b
    fabula compare a.json b.json --refs val_1.json val_2.json
    fabula compare a.json b.json c.json --refs val_1.json --metrics SODA_c --latex
    """
    called = [n.strip() for n in names.split(",")] if names else []
    if called and len(called) != len(systems):
        raise SpecError(f"--names gives {len(called)} names for {len(systems)} systems")
    if not all(called) or len(set(called)) < len(called):
        raise SpecError(f"--names {names}: an empty name, or one that stands twice; give each system its own")
    if latex + markdown + (str(json_) == "-") > 1:
        raise SpecError("--latex, --markdown and --json - each take standard output; say one of them")
    check_outputs([*systems, *what["refs"], what["sets"]], json_=json_)
    with bar() as progress:
        seen = compare_verb(
            dict(zip(called, systems, strict=True)) if called else list(systems),
            **what,
            test="bootstrap" if test == "bootstrap" else "randomisation",
            method=how.method,
            level=how.level,
            alpha=alpha,
            resamples=how.resamples,
            seed=how.seed,
            progress=progress,
        )
    for warning in seen.warnings:
        say(f"warning: {warning}", style="yellow")
    if json_ and write_json(json_, report.as_json(seen)):
        return
    if latex:
        tell(report.latex(seen))
    elif markdown:
        tell(report.markdown(seen))
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(report.rich_tables(seen))
    else:
        tell(report.plain(seen))
