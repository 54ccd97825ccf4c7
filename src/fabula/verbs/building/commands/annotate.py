"""fabula annotate: coarse captions of moments into a fine-grained benchmark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fabula.annotation.recipe import RecipeOptions
from fabula.core.errors import SpecError
from fabula.core.options import Options, option
from fabula.documents.files import write_text
from fabula.llm.options import EndpointOptions
from fabula.verbs.building import annotate as api
from fabula.verbs.terminal.console import Several, VerbGroup, print_note, show_progress, warn
from fabula.verbs.terminal.flags import flags, path_argument, typed
from fabula.verbs.terminal.out import Shown, check_outputs, show


@dataclass(frozen=True, kw_only=True)
class AsJson(Options):
    """What a verb found, for programs."""

    json_: Path | None = option(None, "Write it as JSON; - for standard output.", writes=True)


OFFERED = 8  # models of an endpoint that a message names
UNFINISHED = 3  # exit code of a run that leaves something to do
BATCH = ("batch", "batch_moments", "batch_pause", "batch_wait", "forget_batches")


@click.group("annotate", cls=VerbGroup)
def command() -> None:
    """Make a fine-grained benchmark of coarse captions of moments.

    As VERIFIED does (Chen et al., NeurIPS 2024).

    \b
    fabula annotate plan moments.jsonl --model M --price 0.15/0.60 --videos videos/ --probe 20
    fabula annotate run moments.jsonl -s run.sqlite --url http://127.0.0.1:8000/v1 --model M --videos videos/
    fabula annotate status -s run.sqlite
    fabula annotate retry -s run.sqlite --url … --model M --videos videos/
    fabula annotate export -s run.sqlite -o benchmark/
    fabula annotate stats train.jsonl test.jsonl --html stats.html
    """


@command.command()
@path_argument("moments")
@flags(EndpointOptions, into="endpoint")
@flags(RecipeOptions, into="recipe")
@flags(api.PlanOptions, into="options")
@flags(AsJson, into="out")
def plan(
    moments: Path, endpoint: EndpointOptions, recipe: RecipeOptions, options: api.PlanOptions, out: AsJson
) -> None:
    """Calls, tokens, cost and time of annotating MOMENTS, before anything is spent.

    \b
    fabula annotate plan moments.jsonl --model M --price 0.15/0.60
    fabula annotate plan moments.jsonl --model M --videos videos/ --probe 20
    """
    check_outputs([moments], out)
    found = api.plan(moments, endpoint=endpoint, recipe=recipe, options=options)
    show(Shown(document=found.to_dict, lines=lambda: tell_plan(found.to_dict())), out.json_)


def tell_plan(told: dict[str, Any]) -> Iterator[str]:
    yield "step\tcalls\ttokens in\ttokens out\tcost"
    for name, step in [*told["steps"].items(), *((n, told[n]) for n in ("total", "least", "most"))]:
        cost = f"{step['cost']:.4f}" if told["priced"] else "-"
        yield f"{name}\t{step['calls']:,}\t{step['tokens_in']:,}\t{step['tokens_out']:,}\t{cost}"
    how = f"counted on {told['probed']}" if told["probed"] else "not looked at; --probe counts them"
    yield f"{told['moments']:,} moments, {told['keyframes']:.2f} keyframes each ({how}), about {told['seconds']:,.0f} s"
    if told["answered"]:
        yield f"{told['answered']:,} calls are answered in the store already"
    if not told["priced"]:
        yield "no price was given: say --price IN/OUT for a million tokens"


@command.command()
@path_argument("moments", required=False)
@flags(EndpointOptions, into="endpoint")
@flags(RecipeOptions, into="recipe")
@flags(api.RunOptions, into="options")
def run(moments: Path | None, endpoint: EndpointOptions, recipe: RecipeOptions, options: api.RunOptions) -> None:
    """Annotate MOMENTS, or go on with those that the store holds. Run the same command again to resume.

    Moments that failed are asked again. Exit code 3: some failed, or the budget stopped the run.

    \b
    fabula annotate run moments.jsonl -s run.sqlite --blind                       a dry run with the fake endpoint
    fabula annotate run moments.jsonl -s run.sqlite --url URL --model M --videos videos/ --budget 5 --price 0.15/0.60
    """
    check_outputs([moments, endpoint.replay], endpoint)
    need_model(endpoint)
    with show_progress() as watch:
        tell_run(api.run(moments, options=options, endpoint=endpoint, recipe=recipe, progress=watch))


@command.command()
@click.option("--empty", is_flag=True, help="Also retry moments where every candidate was rejected.")
@flags(EndpointOptions, into="endpoint")
@flags(RecipeOptions, into="recipe")
@flags(api.RunOptions, into="options", without=("format",))
def retry(empty: bool, endpoint: EndpointOptions, recipe: RecipeOptions, options: api.RunOptions) -> None:
    """Ask again for the moments that failed. What was answered is not asked again.

    Exit code 3: some failed, or the budget stopped the run.
    """
    check_outputs([endpoint.replay], endpoint)
    need_model(endpoint)
    states = ("failed", "empty") if empty else ("failed",)
    with show_progress() as watch:
        ran = api.retry(options=options, endpoint=endpoint, recipe=recipe, states=states, progress=watch)
    tell_run(ran)


def need_model(endpoint: EndpointOptions) -> None:
    """Refuse an endpoint without the name of a model; the name that stands for none is known to nobody there."""
    if endpoint.is_fake or endpoint.replay is not None or "--model" in typed(EndpointOptions):
        return
    from fabula.llm.ask import list_models

    offered = list_models(endpoint)
    more = f" ({len(offered) - OFFERED:,} more)" if len(offered) > OFFERED else ""
    told = f"; it offers {', '.join(offered[:OFFERED])}{more}" if offered else ""
    raise SpecError(f"which model is asked at {endpoint.url} is not said; say --model{told}")


def tell_run(ran: api.Ran) -> None:
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(ran.states.items())) or "nothing settled"
    print_note(f"recipe {ran.recipe}: {states}; {ran.made:,} calls answered in this run")
    if empty := ran.states.get("empty"):
        warn(f"{empty:,} moments are empty: every candidate was rejected; fabula annotate retry --empty asks again")
    if ran.stopped:
        warn(f"stopped: {ran.stopped}; {ran.left:,} moments are left; the same command goes on")
    if failed := ran.states.get("failed"):
        warn(f"{failed:,} moments failed, the first by {ran.reason}; the same command asks them again")
    if not ran.finished:
        sys.exit(UNFINISHED)


@command.command()
@flags(api.StoreOptions, into="options")
@flags(AsJson, into="out")
def status(options: api.StoreOptions, out: AsJson) -> None:
    """How far a run has come, and what it cost."""
    check_outputs([options.store], out)
    found = api.status(options)
    show(Shown(document=lambda: found, lines=lambda: tell_status(found)), out.json_)


def tell_status(told: dict[str, Any]) -> Iterator[str]:
    states = ", ".join(f"{count:,} {state}" for state, count in told["states"].items())
    yield f"moments\t{told['moments']:,}" + (f"\t{states} (recipe {told['recipe']})" if told["recipe"] else "")
    if len(told["recipes"]) > 1 and not told["recipe"]:
        yield f"recipes\t{', '.join(told['recipes'])}\t(--recipe says how far each is)"
    if told["steps"]:
        yield ""
        yield "step\tcalls\ttokens in\ttokens out\tcost\tseconds each"
    for name, s in told["steps"].items():
        each = s["seconds"] / s["calls"]
        yield f"{name}\t{s['calls']:,}\t{s['tokens_in']:,.0f}\t{s['tokens_out']:,.0f}\t{s['cost']:.4f}\t{each:.2f}"
    for kind, f in told["failures"].items():
        yield f"tries failed: {kind}\t{f['tries']:,}\t\t\t{f['cost']:.4f}"
    if told["steps"] or told["failures"]:
        yield ""
    more = f" (and {told['uncounted']:,} tries and answers whose tokens nobody counted)" if told["uncounted"] else ""
    yield f"cost\t{told['cost']:.4f}{more}"
    if told["batches"]:
        yield f"batches\t{told['batches']:,} sent and not fetched"
    if told["failed"]:
        yield ""
    for failed in told["failed"]:
        yield f"failed\t{failed['id']}\t{failed['kind']}\t{failed['message']}"


@command.command()
@path_argument("moments", required=False)
@flags(api.AbOptions, into="ab_options")
@flags(EndpointOptions, into="endpoint")
@flags(RecipeOptions, into="recipe")
@flags(api.RunOptions, into="options", without=("engine", "address", *BATCH))
@flags(AsJson, into="out")
def ab(
    moments: Path | None,
    ab_options: api.AbOptions,
    endpoint: EndpointOptions,
    recipe: RecipeOptions,
    options: api.RunOptions,
    out: AsJson,
) -> None:
    """Two prompts or two models on a sample of MOMENTS, marked by the same judge.

    \b
    fabula annotate ab moments.jsonl -s ab.sqlite --url URL --model M --prompts-b prompts/ --videos videos/ --sample 50
    """
    check_outputs([moments, options.store], out)
    need_model(endpoint)
    with show_progress() as watch:
        found = api.ab(
            moments, ab_options=ab_options, options=options, endpoint=endpoint, recipe=recipe, progress=watch
        )
    show(Shown(document=lambda: found, lines=lambda: tell_ab(found)), out.json_)


def tell_ab(told: dict[str, Any]) -> Iterator[str]:
    yield "\tdone\tscore\twords\tcandidates\tdropped"
    for name in ("a", "b"):
        s = told[name]
        score = "-" if s["score"] is None else f"{s['score']:.2f}"
        yield f"{name}\t{s['done']:,}\t{score}\t{s['words']:.2f}\t{s['candidates']:.2f}\t{s['dropped']:.2f}"
    d = told["b − a"]
    if d["score"] is not None:
        wide = "" if d["interval"] is None else f" ({d['interval'][0]:+.2f} to {d['interval'][1]:+.2f})"
        yield f"b − a\t{d['score']:+.2f}{wide}\tb higher {d['b higher']}, equal {d['equal']}, a higher {d['a higher']}"


@command.command(cls=Several)
@path_argument("files", nargs=-1, required=True)
@flags(api.StatsOptions, into="options")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with the pictures.")
@flags(AsJson, into="out")
def stats(files: tuple[Path, ...], options: api.StatsOptions, html: Path | None, out: AsJson) -> None:
    """Spans, confidences, words and near-equal captions of FILES in VERIFIED's released format.

    \b
    fabula annotate stats charades_fig_train.jsonl charades_fig_test.jsonl
    fabula annotate stats train.jsonl test.jsonl --embedder minilm --picture --words 1000 --html stats.html
    """
    check_outputs(files, out, **{"--html": html})
    found = api.stats(files, options=options)
    if html is not None:
        from fabula.annotation.page import make_page

        write_text(html, [make_page(found)])
    show(Shown(document=lambda: found, lines=lambda: tell_stats(found)), out.json_)


def tell_stats(told: dict[str, Any]) -> Iterator[str]:
    yield "file\tcaptions\tvideos\tspan\tc\twords coarse\twords fine\tend after the video\ttell a time"
    for name, d in told["files"].items():
        c = "-" if d["confidence"] is None else f"{d['confidence']:.4f}"
        words = f"{d['words']['coarse']:.2f}\t{d['words']['fine']:.2f}"
        odd = f"{d['beyond the video']:,}\t{d['tells a time']:,}"
        yield f"{name}\t{d['captions']:,}\t{d['videos']:,}\t{d['span']:.3f}\t{c}\t{words}\t{odd}"
        for branch, b in d["branches"].items():
            of = "-" if b["confidence"] is None else f"{b['confidence']:.4f}"
            yield f"{name} {branch}\t{b['captions']:,}\t\t\t{of}"
    yield ""
    yield "captions that are equal\tcoarse classes\tinstances\tfine classes\tinstances"
    for name, d in told["files"].items():
        yield tell_pairs(name, d["exact"])
        yield tell_pairs(f"{name}, case and full stop aside", d["exact, case and full stop aside"])
    if told.get("distinct"):
        yield ""
        yield f"almost equal ({told['embedder']})\tcoarse classes\tinstances\tfine classes\tinstances"
        for name, d in told["distinct"].items():
            yield tell_pairs(name, d)
    if told.get("new words"):
        yield ""
        for kind in ("static", "dynamic"):
            found = told["new words"][kind]
            most = ", ".join(word for word, _ in found["most"][:12])
            yield f"new {kind} words\t{found['per caption']:.2f} a caption\t{most}"


def tell_pairs(name: str, d: dict[str, Any]) -> str:
    return "\t".join([name, *(f"{d[side][key]:,}" for side in ("coarse", "fine") for key in ("classes", "instances"))])


@command.command()
@flags(api.ExportOptions, into="options")
def export(options: api.ExportOptions) -> None:
    """Write the benchmark of a store: lines, provenance, near-duplicates, a card.

    \b
    fabula annotate export -s run.sqlite -o benchmark/ --licence cc-by-4.0 --layouts label-studio,potato
    """
    told = api.export(options)
    near = told["near duplicates"]["instances"]
    states = ", ".join(f"{count:,} {state}" for state, count in told["moments"].items())
    print_note(f"{options.out}/: {states}; {near:,} captions are almost equal to another")
