"""fabula annotate: coarse captions of moments into a fine-grained benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fabula.annotate.recipe import RecipeOptions
from fabula.api import annotate as api
from fabula.cli._console import print_note, show_progress, warn
from fabula.cli._options import flags, path_argument
from fabula.cli._out import Shown, check_outputs, show
from fabula.core.options import Options, option
from fabula.llm.options import EndpointOptions


@dataclass(frozen=True, kw_only=True)
class AsJson(Options):
    """What a verb found, for programs."""

    json_: Path | None = option(None, "Write it as JSON; - for standard output.", writes=True)


@click.group("annotate")
def command() -> None:
    """Coarse captions of moments into a fine-grained benchmark (VERIFIED, Chen et al., NeurIPS 2024).

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
    """Annotate MOMENTS, or go on with those that the store holds. Killed or stopped, say it again: it goes on.

    \b
    fabula annotate run moments.jsonl -s run.sqlite --blind                       a dry run with the fake endpoint
    fabula annotate run moments.jsonl -s run.sqlite --url URL --model M --videos videos/ --budget 5 --price 0.15/0.60
    """
    check_outputs([moments, endpoint.replay], endpoint)
    with show_progress() as watch:
        tell_run(api.run(moments, options=options, endpoint=endpoint, recipe=recipe, progress=watch))


@command.command()
@click.option("--empty", is_flag=True, help="Those too of which no candidate could stand.")
@flags(EndpointOptions, into="endpoint")
@flags(RecipeOptions, into="recipe")
@flags(api.RunOptions, into="options", without=("format",))
def retry(empty: bool, endpoint: EndpointOptions, recipe: RecipeOptions, options: api.RunOptions) -> None:
    """Take up again the moments that failed. What was answered is not asked again."""
    check_outputs([endpoint.replay], endpoint)
    states = ("failed", "empty") if empty else ("failed",)
    with show_progress() as watch:
        ran = api.retry(options=options, endpoint=endpoint, recipe=recipe, states=states, progress=watch)
    tell_run(ran)


def tell_run(ran: api.Ran) -> None:
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(ran.states.items())) or "nothing settled"
    print_note(f"recipe {ran.recipe}: {states}; {ran.made:,} calls answered in this run")
    if ran.stopped:
        warn(f"stopped: {ran.stopped}; the same command goes on")
    if ran.failed:
        warn(f"{ran.failed:,} moments failed; fabula annotate status says why, retry takes them up again")


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
        yield "step\tcalls\ttokens in\ttokens out\tcost\tseconds each"
    for name, s in told["steps"].items():
        each = s["seconds"] / s["calls"]
        yield f"{name}\t{s['calls']:,}\t{s['tokens_in']:,.0f}\t{s['tokens_out']:,.0f}\t{s['cost']:.4f}\t{each:.2f}"
    for kind, f in told["failures"].items():
        yield f"tries failed: {kind}\t{f['tries']:,}\t\t\t{f['cost']:.4f}"
    more = f" (and {told['uncounted']:,} tries and answers whose tokens nobody counted)" if told["uncounted"] else ""
    yield f"cost\t{told['cost']:.4f}{more}"
    for failed in told["failed"]:
        yield f"failed\t{failed['id']}\t{failed['kind']}\t{failed['message']}"
