"""fabula reproduce: the tables of papers, row by row, beside the printed numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from fabula.core.options import Options, option
from fabula.documents.files import encode_json, write_text
from fabula.papers import printed
from fabula.papers.run import RunOptions, run_tables
from fabula.papers.table import find_tables
from fabula.verbs.terminal.console import Several, VerbGroup, print_lines, show_progress, warn
from fabula.verbs.terminal.flags import flags
from fabula.verbs.terminal.out import check_outputs
from fabula.verbs.training.reproduce import execute


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """What is made of the numbers."""

    format: Literal["markdown", "latex", "html", "json"] = option("markdown", "Form of the tables.", shows_default=True)
    out: Path | None = option(None, "File to write. Default: standard output.", "-o", writes=True)


@click.group("reproduce", cls=VerbGroup)
def command() -> None:
    """Run the tables of papers beside their printed numbers.

    \b
    fabula reproduce list
    fabula reproduce show pss-table3
    fabula reproduce run pss-table3 --data youcook2=yc2/,tasty=tasty/ --features stores/ --work pss/ --devices 0,1
    fabula reproduce run pss-table3 --data youcook2=yc2/,tasty=tasty/ --features stores/ --work pss/ --resume
    fabula reproduce run pss --simulate --seeds 2          every table of a paper, on a small simulated copy
    """


@command.command("list")
def list_tables() -> None:
    """List the tables."""
    print_lines(list(printed.list_lines()))


@command.command()
@click.argument("tables", nargs=-1, required=True)
def show(tables: tuple[str, ...]) -> None:
    """Print the paper's numbers, what must be on disk, and the command lines of each row."""
    lines: list[str] = []
    for table in find_tables(tables):
        lines += [*([""] if lines else []), *printed.show_lines(table)]
    print_lines(lines)


@command.command(cls=Several)
@click.argument("tables", nargs=-1, required=True)
@flags(RunOptions, into="options")
@flags(Outputs, into="outputs")
def run(tables: tuple[str, ...], options: RunOptions, outputs: Outputs) -> None:
    """Run TABLES: train, predict and score each row, and print its numbers beside the paper's.

    Rows that need what is not there are not run, and the table says what they need. Exit code 2: nothing can be run.
    Killed or stopped, the same command with --resume goes on.

    \b
    fabula reproduce run pss-table1 --data yc2/ --rows Uniform
    fabula reproduce run verified-table4 --data fig/ --features stores/ --work verified/ --devices 0,1 --format latex
    fabula reproduce run all --simulate --seeds 2 --work simulated/
    """
    chosen = find_tables(tables)
    check_outputs([], outputs)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of workers, which are many
    if options.simulate:
        warn(printed.BANNER)
    with show_progress() as progress:
        outcomes = run_tables(chosen, options, execute, progress)
    if outputs.format == "json":
        documents = [outcome.to_dict() for outcome in outcomes]
        lines = encode_json(documents[0] if len(documents) == 1 else documents, outputs.out, indent=2).splitlines()
    elif outputs.format == "html":
        lines = list(printed.html(outcomes))
    else:
        write = printed.markdown if outputs.format == "markdown" else printed.latex
        lines = []
        for outcome in outcomes:
            lines += [*([""] if lines else []), *write(outcome)]
    if outputs.out is None:
        print_lines(lines)
    else:
        write_text(outputs.out, (f"{line}\n" for line in lines))
