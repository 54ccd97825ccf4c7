"""fabula compare: is the difference between systems more than luck?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.errors import SpecError
from fabula.core.options import Options, option, same_as
from fabula.evaluate.options import ScoreOptions
from fabula.report import compare as report
from fabula.stats.resampling import Clusters, PairedTest
from fabula.verbs.scoring.compare import WITHOUT, compare
from fabula.verbs.terminal.console import Several, show_progress
from fabula.verbs.terminal.flags import flags, path_argument, refs_option
from fabula.verbs.terminal.gates import check_worse
from fabula.verbs.terminal.out import LatexOutput, Shown, check_outputs, show, write_forms


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """What is made of the comparison."""

    latex: Path | None = same_as(LatexOutput, "latex")
    markdown: Path | None = option(
        None, "Print Markdown tables, or write them to a .md file.", writes=True, ending=".md"
    )
    json_: Path | None = same_as(LatexOutput, "json_")
    names: tuple[str, ...] = option((), "Names of the systems, comma separated. Default: their file names.", parts=True)

    fail_if_worse: bool = option(
        False, "End with exit code 3 if a system is worse than the first (corrected p below --alpha)."
    )


@click.command("compare", cls=Several)
@path_argument("systems", nargs=-1, required=True)
@refs_option()
@flags(ScoreOptions, into="options", without=WITHOUT)
@flags(PairedTest, into="testing", help={"resamples": "Number of resamples and permutations.", "seed": "Random seed."})
@flags(Clusters, into="grouped")
@flags(Outputs, into="outputs")
def command(
    systems: tuple[Path, ...],
    refs: tuple[Path, ...],
    options: ScoreOptions,
    testing: PairedTest,
    grouped: Clusters,
    outputs: Outputs,
) -> None:
    """Compare two or more SYSTEMS by paired tests over videos.

    All are scored on the same references; p-values are corrected for the number of tests.

    \b
    fabula compare a.json b.json --refs val_1.json val_2.json
    fabula compare a.json b.json c.json --refs val_1.json --metrics SODA_c --latex
    fabula compare old.json new.json --refs val_1.json --metrics SODA_c --fail-if-worse
    """
    named = name_systems(systems, outputs.names)
    check_outputs([*systems, *refs, options.sets], outputs)
    with show_progress() as progress:
        own = {"cluster": grouped.cluster, "progress": progress}
        seen = compare(named, refs, options=options, testing=testing, **own)
    printed = write_forms(
        (outputs.latex, lambda: report.latex(seen)), (outputs.markdown, lambda: report.markdown(seen))
    )
    shown = Shown(
        document=lambda: report.as_json(seen),
        lines=printed or (lambda: report.plain(seen)),
        drawn=lambda: report.rich_tables(seen),
        verbatim=printed is not None,
        warnings=seen.warnings,
    )
    show(shown, outputs.json_)
    if outputs.fail_if_worse:
        check_worse(seen)


def name_systems(systems: tuple[Path, ...], names: tuple[str, ...]) -> dict[str, Path] | tuple[Path, ...]:
    """Systems by the names that --names gives them."""
    if not names:
        return systems
    if len(names) != len(systems):
        raise SpecError(f"--names gives {len(names)} names for {len(systems)} systems")
    if not all(names) or len(set(names)) < len(names):
        said = ",".join(names)
        raise SpecError(f"--names {said}: a name is empty or stands twice; give each system its own")
    return dict(zip(names, systems, strict=True))
