"""Where a verb writes, looked at before it does any work: a slip must not cost a file, nor an hour of scoring."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from fabula.core.errors import InputError, SpecError
from fabula.io.files import dump_json

JSON = "--json"  # the option whose - is standard output


def check_outputs(read: Iterable[Path | None], **written: Path | None) -> None:
    """Refuse a file to be written that is read, is written twice, or lies where nothing can be written.

    `written` has options by their Python names: json_ is --json; TARGET, which is no option, is spelled as it is.
    """
    sources = [path for path in read if path is not None]
    taken: dict[str, str] = {}
    for name, path in written.items():
        if path is None:
            continue
        option = name if name.isupper() else f"--{name.rstrip('_')}"
        if str(path) == "-":
            if option != JSON:
                raise SpecError(f"{option} - would be a file called -; name a file, or /dev/stdout")
            continue
        if path.exists() and not path.is_file() and not path.is_dir():
            continue  # a device or a pipe
        for source in sources:
            if source.is_file() and path.exists() and path.samefile(source):
                raise SpecError(f"{option} {path} would replace {source}, which is read; give it another name")
        real = os.path.realpath(path)
        if real in taken:
            raise SpecError(f"{option} and {taken[real]} name the same file, {path}; give each its own")
        taken[real] = option
        check_folder(path, Path(real))


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


def write_json(path: Path, document: Any) -> bool:
    """What --json asks for; True if it went to standard output, which then takes nothing else."""
    if str(path) == "-":
        print_json(document)
        return True
    dump_json(path, document, indent=2)
    return False


def print_json(document: Any) -> None:
    click.echo(json.dumps(document, ensure_ascii=True, indent=2))
