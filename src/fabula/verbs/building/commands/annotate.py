"""fabula annotate: coarse captions of moments into a fine-grained benchmark."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fabula.annotation import benchmark, printed
from fabula.annotation.recipe import RecipeOptions
from fabula.documents.files import write_text
from fabula.learn import need_learn
from fabula.llm.options import EndpointOptions
from fabula.verbs.terminal.console import Several, VerbGroup, print_note, show_progress, warn
from fabula.verbs.terminal.endpoint import need_model
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import JsonOutput, Shown, check_outputs, show

UNFINISHED = 3  # exit code of a run that leaves something to do
BATCH = ("batch", "batch_moments", "batch_pause", "batch_wait", "forget_batches")


@click.group("annotate", cls=VerbGroup)
def command() -> None:
    """Build a fine-grained benchmark from coarse captions of moments.

    The method is VERIFIED's (Chen et al., NeurIPS 2024).

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
@flags(benchmark.PlanOptions, into="options")
@flags(JsonOutput, into="out")
def plan(
    moments: Path, endpoint: EndpointOptions, recipe: RecipeOptions, options: benchmark.PlanOptions, out: JsonOutput
) -> None:
    """Estimate calls, tokens, cost and time of annotating MOMENTS; send nothing.

    \b
    fabula annotate plan moments.jsonl --model M --price 0.15/0.60
    fabula annotate plan moments.jsonl --model M --videos videos/ --probe 20
    """
    check_outputs([moments], out)
    found = benchmark.plan(moments, endpoint=endpoint, recipe=recipe, options=options)
    show(Shown(document=found.to_dict, lines=lambda: printed.plan_lines(found.to_dict())), out.json_)


@command.command()
@path_argument("moments", required=False)
@flags(EndpointOptions, into="endpoint")
@flags(RecipeOptions, into="recipe")
@flags(benchmark.RunOptions, into="options")
def run(moments: Path | None, endpoint: EndpointOptions, recipe: RecipeOptions, options: benchmark.RunOptions) -> None:
    """Annotate MOMENTS, or continue with those in the store. Run the same command again to resume.

    Failed moments are retried. Exit code 3: some moments failed, or the budget stopped the run.

    \b
    fabula annotate run moments.jsonl -s run.sqlite --blind                       a dry run with the fake endpoint
    fabula annotate run moments.jsonl -s run.sqlite --url URL --model M --videos videos/ --budget 5 --price 0.15/0.60
    """
    check_outputs([moments, endpoint.replay], endpoint)
    need_model(endpoint, EndpointOptions)
    with show_progress() as watch:
        ran = benchmark.run(
            moments, options=options, endpoint=endpoint, recipe=recipe, make_scorer=make_scorer, progress=watch
        )
    report_run(ran)


@command.command()
@click.option("--empty", is_flag=True, help="Also retry moments where every candidate was rejected.")
@flags(EndpointOptions, into="endpoint")
@flags(RecipeOptions, into="recipe")
@flags(benchmark.RunOptions, into="options", without=("format",))
def retry(empty: bool, endpoint: EndpointOptions, recipe: RecipeOptions, options: benchmark.RunOptions) -> None:
    """Retry the moments that failed; answered calls are not repeated.

    Exit code 3: some moments failed, or the budget stopped the run.
    """
    check_outputs([endpoint.replay], endpoint)
    need_model(endpoint, EndpointOptions)
    states = ("failed", "empty") if empty else ("failed",)
    with show_progress() as watch:
        ran = benchmark.retry(
            options=options, endpoint=endpoint, recipe=recipe, states=states, make_scorer=make_scorer, progress=watch
        )
    report_run(ran)


def make_scorer(recipe: RecipeOptions) -> benchmark.Evaluator | None:
    """The noise evaluator that selects captions, where the recipe names one."""
    if recipe.evaluator is None:
        return None
    need_learn()
    from fabula.learn.noise.scorer import NoiseScorer

    return NoiseScorer(recipe.evaluator, recipe.scorer_features, text=recipe.scorer_text)


def report_run(ran: benchmark.Ran) -> None:
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(ran.states.items())) or "nothing settled"
    print_note(f"recipe {ran.recipe}: {states}; {ran.made:,} calls answered in this run")
    if empty := ran.states.get("empty"):
        warn(f"{empty:,} moments are empty: every candidate was rejected; fabula annotate retry --empty asks again")
    if ran.stopped:
        warn(f"stopped: {ran.stopped}; {ran.left:,} moments are left; run the same command again to resume")
    if failed := ran.states.get("failed"):
        warn(f"{failed:,} moments failed, the first by {ran.reason}; run the same command again to retry")
    if not ran.finished:
        sys.exit(UNFINISHED)


@command.command()
@flags(benchmark.StoreOptions, into="options")
@flags(JsonOutput, into="out")
def status(options: benchmark.StoreOptions, out: JsonOutput) -> None:
    """Show the progress and the cost of a run."""
    check_outputs([options.store], out)
    found = benchmark.status(options)
    show(Shown(document=lambda: found, lines=lambda: printed.status_lines(found)), out.json_)


@command.command()
@path_argument("moments", required=False)
@flags(benchmark.AbOptions, into="ab_options")
@flags(EndpointOptions, into="endpoint")
@flags(RecipeOptions, into="recipe")
@flags(benchmark.RunOptions, into="options", without=("engine", "address", *BATCH))
@flags(JsonOutput, into="out")
def ab(
    moments: Path | None,
    ab_options: benchmark.AbOptions,
    endpoint: EndpointOptions,
    recipe: RecipeOptions,
    options: benchmark.RunOptions,
    out: JsonOutput,
) -> None:
    """Compare two prompts or two models on a sample of MOMENTS, scored by the same judge.

    \b
    fabula annotate ab moments.jsonl -s ab.sqlite --url URL --model M --prompts-b prompts/ --videos videos/ --sample 50
    """
    check_outputs([moments, options.store], out)
    need_model(endpoint, EndpointOptions)
    with show_progress() as watch:
        found = benchmark.ab(
            moments, ab_options=ab_options, options=options, endpoint=endpoint, recipe=recipe, progress=watch
        )
    show(Shown(document=lambda: found, lines=lambda: printed.comparison_lines(found)), out.json_)


@command.command(cls=Several)
@path_argument("files", nargs=-1, required=True)
@flags(benchmark.StatsOptions, into="options")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with the pictures.")
@flags(JsonOutput, into="out")
def stats(files: tuple[Path, ...], options: benchmark.StatsOptions, html: Path | None, out: JsonOutput) -> None:
    """Count spans, confidences, words and near-equal captions of FILES in VERIFIED's released format.

    \b
    fabula annotate stats charades_fig_train.jsonl charades_fig_test.jsonl
    fabula annotate stats train.jsonl test.jsonl --embedder minilm --picture --words 1000 --html stats.html
    """
    check_outputs(files, out, **{"--html": html})
    found = benchmark.stats(files, options=options)
    if html is not None:
        from fabula.annotation.page import make_page

        write_text(html, [make_page(found)])
    show(Shown(document=lambda: found, lines=lambda: printed.stats_lines(found)), out.json_)


@command.command()
@flags(benchmark.ExportOptions, into="options")
def export(options: benchmark.ExportOptions) -> None:
    """Write the benchmark of a store: lines, provenance, near-duplicates, a card.

    \b
    fabula annotate export -s run.sqlite -o benchmark/ --licence cc-by-4.0 --layouts label-studio,potato
    """
    card = benchmark.export(options)
    near = card["near duplicates"]["instances"]
    states = ", ".join(f"{count:,} {state}" for state, count in card["moments"].items())
    print_note(f"{options.out}/: {states}; {near:,} captions are almost equal to another")
