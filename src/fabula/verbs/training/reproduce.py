"""What `fabula reproduce` calls for each step of a table: a command line of fabula, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click

from fabula.core.errors import FabulaError


def execute(words: Sequence[str], log: Path) -> None:
    """Run one command line; what it prints goes to `log`. Whatever ends it early is a FabulaError."""
    from fabula.verbs.command_line import fabula

    with log.open("a", encoding="utf-8") as stream, redirect_stdout(stream), redirect_stderr(stream):
        print("fabula", *words, flush=True)
        try:
            fabula.main(list(words), prog_name="fabula", standalone_mode=False)
        except click.ClickException as error:
            raise FabulaError(f"fabula {words[0]}: {error.format_message()}; see {log}") from None
        except SystemExit as error:
            if error.code not in (None, 0):
                raise FabulaError(f"fabula {words[0]} ended with exit code {error.code}; see {log}") from None


def parse(words: Sequence[str]) -> None:
    """Check that a command line could be run: its verb, its options and their types; nothing is read."""
    from fabula.verbs.command_line import fabula

    command: click.Command = fabula
    context = click.Context(command)
    rest = list(words)
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, rest)
        if found is None:
            raise FabulaError(f"no verb is called {name!r}")
        command, context = found, click.Context(found, parent=context, info_name=name)
    command.make_context(words[0], rest)
