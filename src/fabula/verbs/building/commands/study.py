"""fabula study: plan, serve and analyse studies with people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.errors import SpecError
from fabula.core.options import option
from fabula.documents.files import write_text
from fabula.studies import report, steps
from fabula.studies.results import to_dict
from fabula.studies.store import Store, find_store
from fabula.verbs.terminal.console import Several, VerbGroup, print_note, show_progress
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import JsonOutput, LatexOutput, Shown, check_outputs, show, write_forms
from fabula.web.binding import Binding


@dataclass(frozen=True, kw_only=True)
class Outputs(LatexOutput):
    """What is made of the results."""

    html: Path | None = option(None, "Write a page with pictures.", writes=True)
    table: Path | None = option(None, "Write every answer: .csv or .parquet, which fabula meta reads.", writes=True)
    ids: Path | None = option(None, "Write the ids that raters entered (rater_id in the plan), .csv.", writes=True)
    answers: tuple[Path, ...] = option((), "Backups of the same study; their answers are added.", several=True)


@click.group("study", cls=VerbGroup)
def command() -> None:
    """Plan, serve and analyse a study with people.

    Six forms of questions, VERIFIED's (Chen et al., NeurIPS 2024) among them.

    \b
    fabula study power PLAN.toml                       what the plan can detect
    fabula study simulate PLAN.toml --mix careful=8,random=2
    fabula study new PLAN.toml -o kitchen/             the study's folder, and a link for each rater
    fabula study serve kitchen/                        on this machine; --origin https://NAME behind a proxy
    fabula study backup kitchen/ copy.sqlite           while it is served
    fabula study results kitchen/ --html results.html --table answers.parquet
    """


@command.command()
@path_argument("plan")
@flags(steps.NewOptions, into="options")
def new(plan: Path, options: steps.NewOptions) -> None:
    """Create a study from PLAN: find clips, assign questions, make a link for each rater. A study never changes."""
    study, design = steps.new(plan, out=options.out)
    answers = sum(slot.role == "question" for slot in design.slots)
    print_note(
        f"study {study.id} in {options.out}/: {len(design.questions)} questions, {design.raters} raters, "
        f"{answers} answers; links.csv holds a link for each rater"
    )


@command.command()
@path_argument("study")
@flags(Binding, into="binding")
def serve(study: Path, binding: Binding) -> None:
    """Serve STUDY to its raters, until Ctrl-C. Run the same command again to resume; no answer is lost.

    \b
    fabula study serve kitchen/
    fabula study serve kitchen/ --host 0.0.0.0 --origin https://study.example.org     behind a proxy that speaks TLS
    """

    def ready(address: str, store: Store) -> None:
        count = len(store.answers())
        print_note(f"{store.plan.title} is at {address} ({count} answers so far; Ctrl-C stops)")
        print_note(f"each rater's link is in {study}/links.csv; it follows {address}")
        print_note(f"clips are served from {store.clips}")

    steps.serve(study, binding, ready)
    print_note("stopped; every answer is on the disk")


@command.command(cls=Several)
@path_argument("study")
@flags(Outputs, into="outputs")
def results(study: Path, outputs: Outputs) -> None:
    """Report the ratings of STUDY: shares, scores, agreement, tests and excluded raters."""
    check_outputs([find_store(study), *outputs.answers], outputs)
    if outputs.table is not None and outputs.table.suffix not in (".csv", ".parquet"):
        raise SpecError(f"{outputs.table}: answers are written as .csv or .parquet; choose one by the file's ending")
    found = steps.results(study, outputs.answers)
    if outputs.html is not None:
        write_text(outputs.html, [report.page(found)])
    if outputs.table is not None:
        steps.write_ratings(found.table, outputs.table)
    if outputs.ids is not None:
        print_note(f"{steps.write_ids(study, found, outputs.ids)} ids → {outputs.ids}")
    latex = write_forms((outputs.latex, lambda: report.latex(found)))
    shown = Shown(
        document=lambda: to_dict(found),
        lines=latex or (lambda: report.plain(found)),
        verbatim=latex is not None,
        warnings=found.warnings,
    )
    show(shown, outputs.json_)


@command.command()
@path_argument("study")
@path_argument("copy")
def backup(study: Path, copy: Path) -> None:
    """Copy STUDY to the file COPY, also while it is served."""
    check_outputs([find_store(study)], None, COPY=copy)
    steps.backup(study, copy)
    print_note(f"{copy}: a copy as of now")


@command.command()
@path_argument("plan")
@flags(steps.PowerOptions, into="options")
@flags(JsonOutput, into="out")
def power(plan: Path, options: steps.PowerOptions, out: JsonOutput) -> None:
    """Print the smallest difference that the test of PLAN detects in 80 % of studies."""
    check_outputs([plan], out)
    reached, design = steps.power(plan)
    found: dict[str, object] = {
        "measure": reached.measure,
        "raters": reached.raters,
        "items": reached.items,
        "answers of a comparison": reached.answers,
        "standard error": reached.se,
        "smallest difference": None if reached.smallest != reached.smallest else reached.smallest,
        "alpha": reached.alpha,
    }
    if options.effect is not None:
        found |= {"effect": options.effect, "power": reached.power(options.effect)}
    show(Shown(document=lambda: found, lines=lambda: report.power_lines(found, len(design.systems))), out.json_)


@command.command()
@path_argument("plan")
@flags(steps.SimulateOptions, into="options")
@flags(JsonOutput, into="out")
def simulate(plan: Path, options: steps.SimulateOptions, out: JsonOutput) -> None:
    """Simulate studies of PLAN: how often its test finds a difference, and whom its rule excludes. No person is asked.

    \b
    fabula study simulate PLAN.toml --mix careful=8,hasty=1,random=1 --effect 0.3
    """
    check_outputs([plan], out)
    with show_progress() as watch:
        found = steps.simulate(plan, options=options, progress=watch)
    show(Shown(document=lambda: found, lines=lambda: report.simulation_lines(found)), out.json_)
