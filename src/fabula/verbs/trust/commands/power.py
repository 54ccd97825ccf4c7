"""fabula power: how many videos would show a difference."""

from __future__ import annotations

from pathlib import Path

import click

from fabula.evaluate.options import ScoreOptions
from fabula.report.table import plain_rows
from fabula.stats.resampling import Clusters
from fabula.verbs.terminal.console import Several, show_progress
from fabula.verbs.terminal.flags import flags, path_argument, refs_option
from fabula.verbs.terminal.out import JsonOutput, Shown, check_outputs, show
from fabula.verbs.trust.power import WITHOUT, PowerOptions, Powers, power


@click.command("power", cls=Several)
@path_argument("systems", nargs=-1, required=True)
@refs_option()
@flags(PowerOptions, into="asked")
@flags(Clusters, into="grouped")
@flags(ScoreOptions, into="options", without=WITHOUT)
@flags(JsonOutput, into="outputs")
def command(
    systems: tuple[Path, ...],
    refs: tuple[Path, ...],
    asked: PowerOptions,
    grouped: Clusters,
    options: ScoreOptions,
    outputs: JsonOutput,
) -> None:
    """Estimate how many videos are needed to detect a difference.

    The estimate uses two SYSTEMS, or one as a pilot.

    \b
    fabula power a.json b.json --refs val_1.json --metrics SODA_c --difference .01
    fabula power a.json --refs val_1.json --metrics SODA_c --difference .01 --correlation .8
    fabula power rows_a.jsonl rows_b.jsonl --metrics SODA_c.f1 --difference .01
    """
    check_outputs([*systems, *refs, options.sets], outputs)
    with show_progress() as progress:
        seen = power(list(systems), refs, options=options, asked=asked, cluster=grouped.cluster, progress=progress)
    head = [
        "metric",
        f"{seen.unit} seen",
        "sigma",
        "observed",
        "difference",
        f"{seen.unit} needed",
        "smallest detectable difference",
    ]
    show(
        Shown(
            document=seen.to_dict,
            lines=lambda: [*plain_rows(head, list_rows(seen)), "", describe_test(seen)],
            warnings=seen.warnings,
        ),
        outputs.json_,
    )


def list_rows(seen: Powers) -> list[list[str]]:
    rows = []
    for line in seen.lines:
        d, s = seen.difference(line), line.scale
        observed = "" if line.observed is None else f"{line.observed * s:+.2f}"
        wanted, needed = ("", "") if not d else (f"{d * s:+.2f}", f"{line.needed(d):,}")
        shown = f"±{line.shown_by(line.videos) * s:.2f}"
        rows.append([line.metric, f"{line.videos:,}", f"{line.sigma * s:.2f}", observed, wanted, needed, shown])
    return rows


def describe_test(seen: Powers) -> str:
    o = seen.options
    rho = "" if o.correlation is None else f"|correlation:{o.correlation:g}"
    return f"paired test, two-sided|alpha:{o.alpha:g}|power:{o.power:g}{rho}|numbers ×100 as in tables"
