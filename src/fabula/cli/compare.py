"""fabula compare: is the difference between systems more than luck?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fabula.cli._console import Several, bar, say, spice_option, tell
from fabula.core.errors import SpecError
from fabula.io._files import dump_json
from fabula.report import compare as report
from fabula.stats.bootstrap import METHODS
from fabula.stats.compare import TESTS
from fabula.verbs import compare as compare_verb


@click.command("compare", cls=Several)
@click.argument("systems", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--refs", "-r", multiple=True, type=click.Path(path_type=Path), help="Reference file(s).")
@click.option("--task", help="fabula list tasks. Default: dense when the predictions have captions, else procedure.")
@click.option("--protocol", "-p", help="A published evaluator to reproduce (fabula list protocols).")
@click.option("--metrics", "-m", help='Metrics, comma separated: "SODA_c,PRF@0.5".')
@click.option("--test", type=click.Choice(TESTS), default="randomisation", show_default=True, help="The paired test.")
@click.option("--method", type=click.Choice(METHODS), default="bca", show_default=True, help="Kind of interval.")
@click.option("--level", type=float, default=0.95, show_default=True, help="The level of the intervals.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="A corrected p below it is marked.")
@click.option("--resamples", type=click.IntRange(1), default=10_000, show_default=True, help="Draws and trials.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of both.")
@click.option("--latex", is_flag=True, help="Print a LaTeX table (booktabs).")
@click.option("--markdown", is_flag=True, help="Print Markdown tables.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write JSON; - for standard output.")
@click.option("--names", help="What to call the systems, comma separated. Default: their files' names.")
@click.option("--tok", type=click.Choice(["ptb", "none"]), help="How captions are tokenised. Default: ptb.")
@click.option("--sets", type=click.Path(path_type=Path), help="Which clips belong together (task identity).")
@click.option("--people", help="Pattern of people in captions, where they are not P1 or [PERSON1] (task identity).")
@spice_option
def command(
    systems: tuple[Path, ...],
    refs: tuple[Path, ...],
    task: str | None,
    protocol: str | None,
    metrics: str | None,
    test: str,
    method: str,
    level: float,
    alpha: float,
    resamples: int,
    seed: int,
    latex: bool,
    markdown: bool,
    json_: Path | None,
    names: str | None,
    tok: str | None,
    sets: Path | None,
    people: str | None,
    spice: str | None,
) -> None:
    """Compare two or more SYSTEMS on the same references: paired tests over videos, corrected for their number.

    \b
    fabula compare a.json b.json --refs val_1.json val_2.json
    fabula compare a.json b.json c.json --refs val_1.json --metrics SODA_c --latex
    """
    called = [n.strip() for n in names.split(",")] if names else []
    if called and (len(called) != len(systems) or len(set(called)) < len(called)):
        raise SpecError(f"--names gives {len(set(called))} names for {len(systems)} systems")
    with bar() as progress:
        seen = compare_verb(
            dict(zip(called, systems, strict=True)) if called else list(systems),
            list(refs),
            task=task,
            protocol=protocol,
            metrics=metrics,
            test="bootstrap" if test == "bootstrap" else "randomisation",
            method="percentile" if method == "percentile" else "bca",
            level=level,
            alpha=alpha,
            resamples=resamples,
            seed=seed,
            tok=tok,
            sets=sets,
            people=people,
            spice=spice,
            progress=progress,
        )
    for warning in seen.warnings:
        say(f"warning: {warning}", style="yellow")
    if json_ and str(json_) != "-":
        dump_json(json_, report.as_json(seen), indent=2)
    if json_ and str(json_) == "-":
        import json

        click.echo(json.dumps(report.as_json(seen), ensure_ascii=True, indent=2))
    elif latex:
        tell(report.latex(seen))
    elif markdown:
        tell(report.markdown(seen))
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(report.rich_tables(seen))
    else:
        tell(report.plain(seen))
