"""Where a verb writes, looked at before it does any work: a slip must not cost a file, nor an hour of scoring."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabula.core.errors import InputError, SpecError
from fabula.core.options import Option, Options, option
from fabula.verbs.terminal.console import print_lines, warn

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fabula.data.result import Result
    from fabula.verbs.terminal.screen import Screen

STDOUT = Path("-")
JSON = "--json"  # the option whose - is standard output
Lines = Callable[[], Iterable[str]]


@dataclass(frozen=True, kw_only=True)
class JsonOutput(Options):
    """What a verb found, for programs."""

    json_: Path | None = option(None, "Write JSON; - for standard output.", writes=True)


@dataclass(frozen=True, kw_only=True)
class LatexOutput(JsonOutput):
    """The same, and a table for a paper."""

    latex: Path | None = option(
        None, "Print a LaTeX table (booktabs), or write it to a .tex file.", writes=True, ending=".tex"
    )


def check_outputs(read: Iterable[Path | None], outputs: Options | None = None, **written: Path | None) -> None:
    """Refuse a file to be written that is read, is written twice, or lies where nothing can be written.

    `outputs` has them as options that write; in `written` they go by the words that the help text has: TARGET.
    """
    if outputs is not None:
        written |= {o.flag: getattr(outputs, o.name) for o in outputs.options() if o.about.writes}
        printed = [o.flag for o in outputs.options() if getattr(outputs, o.name) == STDOUT and is_printable(o)]
        if len(printed) > 1:
            raise SpecError(f"{' and '.join(printed)} each take standard output; say one of them, or name a file")
    sources = [path for path in read if path is not None]
    taken: dict[str, str] = {}
    for flag, path in written.items():
        if path is None:
            continue
        if str(path) == "-":
            if outputs is None or not any(o.flag == flag and is_printable(o) for o in outputs.options()):
                raise SpecError(f"{flag} - would be a file called -; name a file, or /dev/stdout")
            continue
        if path.exists() and not path.is_file() and not path.is_dir():
            continue  # a device or a pipe
        for source in sources:
            if source.is_file() and path.exists() and path.samefile(source):
                raise SpecError(f"{flag} {path} would replace {source}, which is read; give it another name")
        real = os.path.realpath(path)
        if real in taken:
            raise SpecError(f"{flag} and {taken[real]} name the same file, {path}; give each its own")
        taken[real] = flag
        check_folder(path, Path(real))


def is_printable(o: Option) -> bool:
    """True of an option that may write to standard output: --json -, --latex."""
    return o.about.writes and (o.flag == JSON or bool(o.about.ending))


def write_forms(*forms: tuple[Path | None, Lines]) -> Lines | None:
    """Other forms of a table (--latex, --markdown), each into its file; the one that standard output is to get."""
    printed = None
    for path, lines in forms:
        if path == STDOUT:
            printed = lines
        elif path is not None:
            from fabula.documents.files import write_text

            write_text(path, (f"{line}\n" for line in lines()))
    return printed


def check_folder(path: Path, real: Path) -> None:
    """That a file can be made there, as far as can be told without making one."""
    fault = 0
    if real.is_dir():
        fault = errno.EISDIR
    elif not real.parent.exists():
        fault = errno.ENOENT
    elif not real.parent.is_dir():
        fault = errno.ENOTDIR
    elif not os.access(real.parent, os.W_OK | os.X_OK):
        fault = errno.EACCES
    if fault:
        raise InputError(f"cannot be written ({os.strerror(fault)})", file=path, hint="check the folder")


def check_new(path: Path) -> None:
    if path.is_file():
        raise InputError("exists already", file=path, hint="choose another name, or say --overwrite")


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made ({error.strerror})", file=path, hint="choose another --out") from None


def write_page(
    path: Path,
    results: Sequence[Result],
    systems: Sequence[Path],
    title: str | None = None,
    *,
    videos: Path | None = None,
    images: Path | None = None,
) -> None:
    """The results as a page, where it can show them, with the films or images of a folder."""
    from fabula.documents.files import write_text
    from fabula.report.pages import check_page, make_page
    from fabula.verbs.terminal.beside import find_beside

    check_page(results[0])
    beside = find_beside(results[0], videos, images)
    for line in beside.notes:
        warn(line)
    write_text(path, [make_page(results, systems, title, beside=beside, folder=path.parent)])


def write_json(path: Path | None, document: Callable[[], object]) -> bool:
    """What --json asks for, if it does; True if it went to standard output, which then takes nothing else."""
    if path is None:
        return False
    if str(path) == "-":
        import json

        click.echo(json.dumps(document(), ensure_ascii=True, indent=2).replace("\x7f", "\\u007f"))
        return True
    from fabula.documents.files import dump_json

    dump_json(path, document(), indent=2)
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a verb has to show, each form made where it is asked for."""

    document: Callable[[], object]  # for --json
    lines: Callable[[], Iterable[str]]  # for a pipe
    drawn: Callable[[], RenderableType] | None = None  # for a terminal; None: the lines, aligned and wrapped
    after: Callable[[], Iterable[str]] = tuple  # lines below either
    verbatim: bool = False  # the lines are a document (LaTeX, Markdown): a terminal gets them as they are
    warnings: Iterable[str] = ()


def show(shown: Shown, json_: Path | None = None) -> None:
    """Warnings to standard error; JSON to a file, or alone to standard output; tables to a terminal, else lines."""
    for line in shown.warnings:
        warn(line)
    if not write_json(json_, shown.document):
        print_shown(shown)


def print_shown(shown: Shown) -> None:
    if not sys.stdout.isatty() or shown.verbatim:
        print_lines([*shown.lines(), *shown.after()])
        return
    from fabula.verbs.terminal.screen import Screen

    draw(shown, Screen())


def draw(shown: Shown, screen: Screen) -> None:
    """On a terminal of any width."""
    from fabula.report.layout import lay_out

    screen.draw(shown.drawn() if shown.drawn is not None else lay_out(shown.lines()))
    screen.draw(lay_out(shown.after()))
