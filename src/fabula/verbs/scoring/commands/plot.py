"""fabula plot: plots for papers as SVG, from what fabula score wrote."""

from __future__ import annotations

from pathlib import Path

import click

from fabula.core.errors import SpecError
from fabula.documents.files import write_text
from fabula.verbs.scoring.plot import Kind, PlotOptions, plot
from fabula.verbs.terminal.console import Several, print_note
from fabula.verbs.terminal.flags import PATH, flags
from fabula.verbs.terminal.out import check_outputs


@click.command("plot", cls=Several)
@click.argument("kind", type=click.Choice(["scatter", "thresholds", "intervals"]))
@click.argument("systems", nargs=-1, type=PATH, required=True)
@flags(PlotOptions, into="options")
@click.option("-o", "--out", type=PATH, required=True, help="The SVG file to write.")
def command(kind: Kind, systems: tuple[Path, ...], options: PlotOptions, out: Path) -> None:
    """Draw SYSTEMS, files that fabula score wrote, as SVG.

    \b
    fabula plot scatter a.rows.jsonl b.rows.jsonl -m SODA_c -o scatter.svg      a point per video (--rows)
    fabula plot thresholds a.json b.json -m PRF -o curves.svg                   a number at each tIoU (--json)
    fabula plot intervals a.json b.json -m SODA_c,METEOR -o intervals.svg       numbers with intervals (--ci --json)
    """
    if out.suffix.lower() != ".svg":
        raise SpecError(f"{out}: plots are SVG; name a file that ends in .svg")
    check_outputs(systems, None, **{"--out": out})
    write_text(out, [plot(kind, *systems, options=options)])
    print_note(f"{out}: {kind} of {', '.join(path.name for path in systems)}")
