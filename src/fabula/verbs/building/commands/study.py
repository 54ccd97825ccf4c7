"""fabula study: ask people, properly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fabula.core.errors import SpecError
from fabula.core.options import Options, option
from fabula.documents.files import write_text
from fabula.verbs.building import study as api
from fabula.verbs.terminal.console import Several, VerbGroup, print_note, show_progress
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import Shown, check_outputs, show, write_forms
from fabula.web.binding import Binding


@dataclass(frozen=True, kw_only=True)
class AsJson(Options):
    json_: Path | None = option(None, "Write JSON; - for standard output.", writes=True)


@dataclass(frozen=True, kw_only=True)
class Outputs(AsJson):
    """What is made of the results."""

    latex: Path | None = option(
        None, "Print a LaTeX table (booktabs), or write it to a .tex file.", writes=True, ending=".tex"
    )
    html: Path | None = option(None, "Write a page with pictures.", writes=True)
    table: Path | None = option(None, "Write every answer: .csv or .parquet, which fabula meta reads.", writes=True)
    answers: tuple[Path, ...] = option((), "Backups of the same study taken elsewhere, to be added.", several=True)


@click.group("study", cls=VerbGroup)
def command() -> None:
    """Plan, serve and analyse a study with people.

    In the form of VERIFIED (Chen et al., NeurIPS 2024) and of four others.

    \b
    fabula study power PLAN.toml                       what the plan can find
    fabula study simulate PLAN.toml --mix careful=8,random=2
    fabula study new PLAN.toml -o kitchen/             the study's folder, and a link for each rater
    fabula study serve kitchen/                        on this machine; --origin https://NAME behind a proxy
    fabula study backup kitchen/ copy.sqlite           while it is served
    fabula study results kitchen/ --html results.html --table answers.parquet
    """


@command.command()
@path_argument("plan")
@flags(api.NewOptions, into="options")
def new(plan: Path, options: api.NewOptions) -> None:
    """Make a study of PLAN: clips found, questions dealt out, links for the raters. It is fixed from then on."""
    made, design = api.new(plan, out=options.out)
    asked = sum(slot.role == "question" for slot in design.slots)
    print_note(
        f"study {made.id} in {options.out}/: {len(design.questions)} questions, {design.raters} raters, {asked} answers"
        f"; links.csv holds a link for each rater"
    )


@command.command()
@path_argument("study")
@flags(Binding, into="binding")
def serve(study: Path, binding: Binding) -> None:
    """Serve STUDY to its raters, until Ctrl-C. Killed or stopped, say it again: no answer is lost.

    \b
    fabula study serve kitchen/
    fabula study serve kitchen/ --host 0.0.0.0 --origin https://study.example.org     behind a proxy that speaks TLS
    """

    def ready(address: str, store: Any) -> None:
        count = len(store.answers())
        print_note(f"{store.plan.title} is at {address} ({count} answers so far; Ctrl-C stops)")
        print_note(f"a rater's address is {address} and her link of {study}/links.csv")
        print_note(f"clips are served from {store.clips}")

    api.serve(study, binding, ready)
    print_note("stopped; every answer is on the disk")


@command.command(cls=Several)
@path_argument("study")
@flags(Outputs, into="outputs")
def results(study: Path, outputs: Outputs) -> None:
    """What the raters of STUDY said: shares, scores, agreement, tests, and who was left out by the plan's rule."""
    from fabula.studies import report
    from fabula.studies.results import to_dict
    from fabula.studies.store import find_store

    check_outputs([find_store(study), *outputs.answers], outputs)
    if outputs.table is not None and outputs.table.suffix not in (".csv", ".parquet"):
        raise SpecError(f"{outputs.table}: answers are written as .csv or .parquet; choose one by the file's ending")
    found = api.results(study, outputs.answers)
    if outputs.html is not None:
        write_text(outputs.html, [report.page(found)])
    if outputs.table is not None:
        api.write_table(found.table, outputs.table)
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
    check_outputs([api_store(study)], None, COPY=copy)
    api.backup(study, copy)
    print_note(f"{copy}: a copy as of now")


def api_store(study: Path) -> Path:
    from fabula.studies.store import find_store

    return find_store(study)


@command.command()
@path_argument("plan")
@flags(api.PowerOptions, into="options")
@flags(AsJson, into="out")
def power(plan: Path, options: api.PowerOptions, out: AsJson) -> None:
    """What PLAN can find: the smallest difference that its test finds four times in five."""
    check_outputs([plan], out)
    reached, design = api.power(plan)
    told: dict[str, Any] = {
        "measure": reached.measure,
        "raters": reached.raters,
        "items": reached.items,
        "answers of a comparison": reached.answers,
        "standard error": reached.se,
        "smallest difference": None if reached.smallest != reached.smallest else reached.smallest,
        "alpha": reached.alpha,
    }
    if options.effect is not None:
        told |= {"effect": options.effect, "power": reached.power(options.effect)}
    show(Shown(document=lambda: told, lines=lambda: tell_power(told, len(design.systems))), out.json_)


def tell_power(told: dict[str, Any], systems: int) -> Iterator[str]:
    yield f"measure\t{told['measure']}"
    yield f"raters\t{told['raters']}"
    yield f"items\t{told['items']}"
    yield f"answers of a comparison\t{told['answers of a comparison']}"
    smallest = told["smallest difference"]
    if smallest is None:
        yield "smallest difference\tnone: a single rater, or a single item, tells of nobody else"
    else:
        yield f"smallest difference\t{smallest:.3f}\tfound four times in five at α = {told['alpha']:g}"
        if told["measure"] in ("static", "dynamic", "better"):
            yield f"as a share\t{50 + 50 * smallest:.1f} % of the choices instead of 50 %"
    if "power" in told:
        yield f"power of {told['effect']:g}\t{told['power']:.3f}"
    if systems > 2:
        yield "note\tof one pair of systems; Holm's correction over all pairs costs some of it"


@command.command()
@path_argument("plan")
@flags(api.SimulateOptions, into="options")
@flags(AsJson, into="out")
def simulate(plan: Path, options: api.SimulateOptions, out: AsJson) -> None:
    """Simulated studies of PLAN: what its test finds, and whom its rule leaves out. Nothing here was said by people.

    \b
    fabula study simulate PLAN.toml --mix careful=8,hasty=1,random=1 --effect 0.3
    """
    check_outputs([plan], out)
    with show_progress() as watch:
        told = api.simulate(plan, options=options, progress=watch)
    show(Shown(document=lambda: told, lines=lambda: tell_simulated(told)), out.json_)


def tell_simulated(told: dict[str, Any]) -> Iterator[str]:
    yield f"SIMULATED\t{told['studies']} studies of {told['raters']} raters"
    if told["without a rater left"]:
        yield f"studies in which nobody was left\t{told['without a rater left']}"
    if told["value"] is not None:
        yield f"{told['measure']} of {told['system']}\t{told['value']:.3f}"
    if told["first description ahead"] is not None:
        yield f"first description ahead\t{told['first description ahead']:.3f}"
    yield f"difference found\t{told['found']:.3f}"
    if told["power"] is not None:
        yield f"power by formula, careful raters\t{told['power']:.3f}"
    yield ""
    yield "rater\tleft out\tof"
    for kind, x in told["left out"].items():
        yield f"{kind}\t{x['share']:.3f}\t{x['raters']}"
