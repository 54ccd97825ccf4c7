"""What the verbs share: printing, the bar that shows itself after a second, options that take several files."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from fabula.core.notes import silent
from fabula.core.printable import cut_words, one_line, printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0  # seconds before a progress bar shows itself
EVERY = 10.0  # seconds between two lines where there is no terminal
WIDEST = 60  # characters of what a bar says
ROOMY = 60  # columns of a terminal that has room for a bar beside words and numbers
WHOLE = 1000  # characters of a verb's description: a sentence is never cut

Watch = Callable[[str, int, int], None]  # what is being done, how far, of how many


def print_note(line: str, style: str | None = None) -> None:
    """A line on standard error: printable, of limited length."""
    colour = False if os.environ.get("NO_COLOR") else None  # None: where it is a terminal
    click.secho(one_line(f"fabula: {line}"), err=True, fg=style, color=colour)


def warn(line: str) -> None:
    print_note(f"warning: {line}", style="yellow")


def print_lines(lines: Iterable[str]) -> None:
    """Lines of output; tabs part their columns, and nothing else in them is obeyed."""
    for line in lines:
        click.echo("\t".join(map(printable, line.split("\t"))))


@contextmanager
def show_progress() -> Iterator[Watch]:
    """A progress callback: a bar on a terminal when it takes more than a second; elsewhere a line every ten."""
    if not sys.stderr.isatty():
        yield tell_progress()
        return
    progress = make_bar()
    started = time.monotonic()
    tasks: dict[str, TaskID] = {}

    def show(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = progress.add_task(cut_words(printable(what), WIDEST), total=total)
        progress.update(tasks[what], completed=done, total=total, visible=done < total)
        if not progress.live.is_started and time.monotonic() - started > PATIENCE:
            progress.start()

    try:
        yield show
    finally:
        progress.stop()


def tell_progress() -> Watch:
    """How far it is, in a line, whenever ten seconds have gone by since the last one."""
    last = time.monotonic()

    def tell(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            print_note(f"{what}: {done} of {total} ({100 * done // total} %)" if total else f"{what}: {done} so far")

    return tell


@contextmanager
def show_training(talks: bool = True) -> Iterator[Watch]:
    """A bar whose text changes (epoch, losses), lines where there is no terminal; nothing where `talks` is False."""
    if not talks or not sys.stderr.isatty():
        yield tell_progress() if talks else silent
        return
    with make_bar() as progress:
        task = progress.add_task("starting", total=None)

        def show(what: str, done: int, total: int) -> None:
            progress.update(task, description=cut_words(printable(what), WIDEST), completed=done, total=total)

        yield show


def make_bar() -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    from fabula.verbs.terminal.screen import Screen

    screen = Screen(stderr=True)
    words = TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold"))  # wraps: no number cut
    bar = [BarColumn(screen.width // 4)] if screen.width >= ROOMY else []
    return Progress(words, *bar, MofNCompleteColumn(), TimeRemainingColumn(), console=screen, transient=True)


class BareGroupError(click.UsageError):
    """A group was called without a command: its help is the answer."""


class VerbGroup(click.Group):
    """A group that prints its help when called bare, with every version of click, and no description cut short."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            raise BareGroupError(ctx.get_help(), ctx=ctx)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(WHOLE)) for name, command in commands if command and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


class Repeatable(click.Option):
    """An option of names: `--only a b`, `--only a,b` and `--only a --only b` are the same."""


class MaybeFile(click.Option):
    """`--latex` prints; `--latex table.tex` writes that file. Only a word with the ending is taken for the file."""

    def __init__(self, *names: Any, ending: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.ending = ending


NAME = r"[A-Za-z_][\w-]*(?:\([^()]*\))?(?:@[\d./]+)?(?:/\w+)?(?:=[-+\d.e]+)?"
NAMES = rf"\s*{NAME}(?:\s*,\s*{NAME})*\s*"


def is_name(word: str) -> bool:
    """A word that may be a metric or a protocol, and no file: `--metrics mIoU preds.json` names one metric."""
    return re.fullmatch(NAMES, word) is not None and not os.path.exists(word)  # noqa: PTH110  (begins quicker)


def join_files(args: list[str], endings: Mapping[str, str]) -> list[str]:
    """`--latex table.tex` as one word, `--latex` alone as `--latex=-`."""
    joined: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return [*joined, word, *words]
        if word in endings:
            following = next(words, None)
            is_file = following is not None and following.endswith(endings[word]) and not following.startswith("-")
            joined.append(f"{word}={following if is_file else '-'}")
            if following is not None and not is_file:
                joined += join_files([following, *words], endings)
        else:
            joined.append(word)
    return joined


# what people type, and what they mean
NEAREST = {
    "--predictions": "predictions are named without a flag, references behind --refs",
    "--references": "name reference files behind --refs",
    "--out": "name files behind --json, --rows or --html",
    "--output": "name files behind --json, --rows or --html",
    "--latex": "fabula compare prints LaTeX tables",
}


class Several(click.Command):
    """A command whose `--refs A B C` takes every following word up to the next option; `--metrics a b` every name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [p for p in self.params if isinstance(p, click.Option) and p.multiple]
        many = {o for p in options for o in p.opts}
        names = {o for p in options if isinstance(p, Repeatable) for o in p.opts}
        endings = {o: p.ending for p in self.params if isinstance(p, MaybeFile) for o in p.opts}
        flat: list[str] = []
        args = join_files(args, endings)
        open_option: str | None = None
        fresh = False  # the option has not had a value yet
        for i, arg in enumerate(args):
            if arg == "--":
                flat += args[i:]
                break
            if arg in many:
                open_option, fresh = arg, True
                flat.append(arg)
            elif arg.startswith("-") and len(arg) > 1:
                open_option = None
                flat.append(arg)
            elif open_option and not fresh and (open_option not in names or is_name(arg)):
                flat += [open_option, arg]
            else:
                open_option = None if not fresh and open_option in names else open_option
                fresh = False
                flat.append(arg)
        try:
            return super().parse_args(ctx, flat)
        except click.NoSuchOption as error:
            if error.option_name in NEAREST:
                raise click.UsageError(
                    f"No such option {error.option_name}: {NEAREST[error.option_name]}.", ctx
                ) from None
            raise
        except click.UsageError as error:
            if error.message.startswith("Got unexpected extra") and "--refs" in many:
                raise click.UsageError(f"{error.message}: name reference files behind --refs.", ctx) from None
            raise
