"""The command line: a verb is a file of a group's commands/ with `command` in it, loaded when it is called."""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import click

from fabula import __version__
from fabula.core.errors import FabulaError, GateError
from fabula.core.notes import listeners
from fabula.core.printable import one_line
from fabula.core.registry import close_to
from fabula.verbs.terminal.console import BareGroupError, VerbGroup, print_note

__all__ = ["fabula", "main"]

GROUPS = ("scoring", "trust", "training", "building", "searching")
SELDOM = (500_000, 20, 50)  # stories are many small objects without cycles: what they are made of is not walked often


# Verbs that may multiply large matrices. For all others numpy's threads would only be started, waited for and ended.
LEARN = ("train", "predict", "analyse", "simulate", "serve", "doctor", "people", "search")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the disk behind standard output takes no more


class UnreadError(Exception):
    """Whoever read the output has gone."""


class EndError(Exception):
    """An EOFError of ours, which click would take for Ctrl-D: a fault, to be seen as one."""


class Terminated(SystemExit):
    """SIGTERM: systemd, docker and SLURM end a process so. What is under way is cleaned up as after Ctrl-C."""


@contextmanager
def catch_signals() -> Iterator[None]:
    """SIGINT and SIGTERM as exceptions, so that temporaries go; signals that are ignored stay so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: nobody stops the cleaning
        raise Terminated(143)

    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: end}
    before = {which: signal.getsignal(which) for which in handlers}
    ours = [which for which in handlers if before[which] not in (signal.SIG_IGN, None)]
    try:
        for which in ours:
            signal.signal(which, handlers[which])
        yield
    finally:
        for which in ours:
            signal.signal(which, before[which])


@contextmanager
def name_broken_pipe() -> Iterator[None]:
    """A broken pipe and an early end under names that click does not know: it would end with codes of its own."""
    try:
        yield
    except BrokenPipeError as error:
        raise UnreadError from error
    except EOFError as error:
        raise EndError(str(error)) from error


@cache
def find_modules() -> dict[str, str]:
    """Verb → the module of its command."""
    homes = {group: Path(__file__).parent / group / "commands" for group in GROUPS}
    return {
        found.name: f"fabula.verbs.{group}.commands.{found.name}"
        for group, folder in homes.items()
        for found in pkgutil.iter_modules([str(folder)])
    }


class Verbs(VerbGroup):
    """A command for each verb. Only the one that is called is imported."""

    def make_context(self, *given: Any, **named: Any) -> click.Context:
        with name_broken_pipe():  # --help and --version write here
            return super().make_context(*given, **named)

    def invoke(self, ctx: click.Context) -> object:
        with name_broken_pipe():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(find_modules())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        module = find_modules().get(name)
        if module is None:
            return None
        if name not in LEARN:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        command: click.Command = importlib.import_module(module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            ctx.fail(f"no verb is called {args[0]!r}; {close_to(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="fabula %(version)s")
def fabula() -> None:
    """Score, match and build data for systems that tell the story of a video.

    \b
    fabula score preds.json --refs val_1.json val_2.json     every metric of the task, one table
    fabula score preds.json --refs val_1.json --protocol soda-2021
    fabula protocols preds.json --refs val_1.json            every published evaluator, and why they differ
    fabula compare a.json b.json --refs val_1.json           paired tests over videos
    fabula diagnose preds.json --refs val_1.json             what each kind of error costs
    fabula stress                                            how metrics react to perturbed references
    fabula serve preds.json --refs val_1.json                show timelines and pairs in a browser
    fabula list metrics                                      list metrics, formats, protocols …
    fabula demo                                              try it on the bundled stories
    """


def open_streams() -> None:
    """Output that is closed goes nowhere; a character that its encoding lacks is written as an escape."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  (open to the end)
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """The command line. Where nobody reads what it writes, it ends as a program does that SIGPIPE ends, quietly."""
    gc.set_threshold(*SELDOM)
    open_streams()
    listeners.append(print_note)
    try:
        run()
    except (UnreadError, BrokenPipeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())  # what is not written yet would break the pipe once more
        sys.exit(141)
    finally:
        listeners.remove(print_note)
        gc.freeze()  # the process ends: nobody needs to look once more for cycles in what is left


def run() -> None:
    """What a user can mend costs one line and exit code 2, a gate that is not passed 3; else it is a fault of ours."""
    try:
        with catch_signals():
            fabula.main(standalone_mode=False)
    except Terminated:
        print_note("stopped; no file is left half written")
        sys.exit(143)
    except GateError as error:
        end_with(str(error), 3)
    except FabulaError as error:
        end_with(str(error))
    except BareGroupError as error:
        click.echo(error.message, err=True)
        sys.exit(2)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n", err=True)
        lines = map(str.strip, error.format_message().split("\n"))  # click lists choices in lines of their own
        click.echo(one_line(f"Error: {' '.join(lines)}"), err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        print_note("stopped; no file is left half written")
        sys.exit(130)
    except MemoryError:
        end_with("memory ran out; use more memory, or score in parts: --work, fewer videos at a time")
    except RecursionError:
        end_with("the data is nested too deeply; check the named files")
    except OSError as error:
        end_with(describe_failure(error))


def describe_failure(error: OSError) -> str:
    """What the system refused, of which file."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror or error}; check the path, its permissions and the disk"
    if error.errno in FULL:
        return f"standard output cannot be written ({error.strerror}); check where it goes"
    return f"the system refused something ({error.strerror or error}); check disk, memory and limits (ulimit -a)"


def end_with(problem: str, code: int = 2) -> NoReturn:
    print_note(f"{'error' if code == 2 else 'gate'}: {problem}", style="red")
    sys.exit(code)
