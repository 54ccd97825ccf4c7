"""fabula ask: a vision-language model run over a benchmark, with every frame, prompt and answer on record."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from fabula.asking.grid import GridOptions
from fabula.asking.options import AskOptions
from fabula.core.errors import SpecError
from fabula.core.options import option
from fabula.verbs.terminal.console import Several, print_lines, print_note, show_training, warn
from fabula.verbs.terminal.endpoint import need_model
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import JsonOutput, Shown, check_outputs, show

UNFINISHED = 3  # exit code of a run that leaves something to do


@dataclass(frozen=True, kw_only=True)
class InsteadOptions(JsonOutput):
    """What is done instead."""

    plan: bool = option(False, "Print calls, pictures and tokens, and send nothing.")


@click.command("ask", cls=Several)
@path_argument("bench")
@flags(AskOptions, into="options")
@flags(GridOptions, into="grid")
@flags(InsteadOptions, into="instead")
def command(bench: Path, options: AskOptions, grid: GridOptions, instead: InsteadOptions) -> None:
    """Run a vision-language model over the benchmark file BENCH.

    What is asked, by how the file begins: grounding, highlights, questions, dense captions.

    \b
    fabula ask charades_sta_test.txt --videos clips/ --url http://127.0.0.1:8000/v1 -m qwen2.5-vl --plan
    fabula ask charades_sta_test.txt --videos clips/ --url URL -m M -o answers.jsonl      run again to resume
    fabula score answers.jsonl --refs charades_sta_test.txt --task grounding
    fabula ask bench.json --videos clips/ --url URL -m M -o a.jsonl --frames "vllm/opencv(num_frames=32)" --prompt tags
    fabula ask bench.json --replay answers.record.jsonl -o again.jsonl                    no server, no films
    fabula ask bench.json --videos clips/ --url URL -m M -o grid/ --vary fps=1,2 prompt=default,phrase

    Run the same command again to resume. Exit code 3: something is left to do.
    """
    check_outputs([bench, options.replay], options)
    check_outputs([bench], instead)
    if instead.plan:
        from fabula.asking.plan import plan_bench

        if grid.vary:
            raise SpecError("--plan is of one run; leave out --vary")
        with show_training() as progress:
            planned = plan_bench(bench, options, progress, warn)
        show(Shown(document=planned.to_dict, lines=planned.lines), instead.json_)
        return
    if instead.json_ is not None and not grid.vary:
        raise SpecError("--json only applies with --plan or --vary; -o has the answers, and its record everything")
    options.check_server()
    need_model(options, AskOptions)
    if grid.vary:
        run_grid(bench, options, grid, instead)
    else:
        run(bench, options)


def run(bench: Path, options: AskOptions) -> None:
    from fabula.asking.answers import list_lines
    from fabula.verbs.building.ask import ask

    with show_training() as progress:
        done = ask(bench, options=options, progress=progress, warn=warn)
    if options.out is None:
        print_lines(line.rstrip("\n") for line in list_lines(done.bench, done.answers, done.signature))
    where = f" → {options.out}" if options.out is not None else ""
    cost = f", {done.spent:.4f} spent in all" if options.price else ""
    print_note(f"{len(done.answers):,} of {len(done.bench.inquiries):,} questions answered{where}")
    print_note(f"{done.calls:,} calls answered now, {done.tokens_in:,} tokens in and {done.tokens_out:,} out{cost}")
    print_note(f"run {done.signature}: {done.settings}")
    if done.failed:
        first = next(iter(done.failed.values()))
        warn(f"{len(done.failed):,} questions got no answer ({first}); run the same command again to ask them")
    if done.stopped:
        warn(f"stopped: {done.stopped}; {done.left:,} questions are left; run the same command again to resume")
    if not done.finished:
        sys.exit(UNFINISHED)


def run_grid(bench: Path, options: AskOptions, grid: GridOptions, instead: InsteadOptions) -> None:
    from fabula.asking.grid import ask_grid

    with show_training() as progress:
        done = ask_grid(bench, options, grid, progress, warn)
    show(Shown(document=done.to_dict, lines=done.lines), instead.json_)
    print_note(f"{len(done.cells):,} cells → {options.out}")
    failed = sum(len(run.failed) for run in done.runs)
    if failed:
        warn(f"{failed:,} questions got no answer; run the same command again to ask them")
    if done.stopped:
        warn(f"stopped: {done.stopped}; run the same command again to resume")
    if not done.finished:
        sys.exit(UNFINISHED)
