"""fabula doctor: what this install has, and what to do about what it has not."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from fabula import __version__, _kernels
from fabula.core.cachefile import cache_folder, find_distrust
from fabula.core.errors import FabulaError
from fabula.core.plugins import is_installed, pip_line, read_extras
from fabula.text.meteor.index import Tables, find_index
from fabula.verbs.terminal.out import Shown, show

if TYPE_CHECKING:
    from fabula.report.layout import TextTable

Checks = list[tuple[str, tuple[bool, str]]]  # what was looked at: is it there, and what to say of it
OWNERS = ("test", "llm-test", "test-weights", "bench")  # extras of those who work on Fabula itself


def kernel_state() -> tuple[bool, str]:
    if _kernels.NATIVE is None:
        return False, "Python twins only (slower, same numbers); reinstall with a C++17 compiler for the compiled ones"
    return True, "compiled" if _kernels.native() else "compiled ones are there, FABULA_KERNELS=python turns them off"


def meteor_state() -> tuple[bool, str]:
    try:
        tables = Tables.installed()
    except FabulaError as error:
        return False, str(error)
    folder = cache_folder()
    if why := find_distrust(folder / "index"):
        return False, f"{why}: its tables are not read from there; chmod go-w, or set FABULA_CACHE"
    built = find_index(tables, folder)
    if built is None:
        return True, f"its index will be built at first use, in {folder} (FABULA_CACHE chooses another place)"
    return True, f"index whole, {built.path.stat().st_size / 2**20:.0f} MB in {folder}"


def extra_state(extra: str, packages: Iterable[str]) -> tuple[bool, str]:
    """Which of its packages are here, in which version; how to get those that are not."""
    absent = [package for package in packages if not is_installed(package)]
    if absent:
        return False, f"absent (optional): {', '.join(absent)}; {pip_line(extra)}"
    return True, ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)


def absent_state(extras: list[str]) -> tuple[bool, str]:
    """All absent extras in one line."""
    named = ", ".join(f"[{extra}]" for extra in extras)
    return False, f"{len(extras)} absent (optional): {named}; --extras says how to install each"


@click.command("doctor")
@click.option(
    "--extras", "every", is_flag=True, help="Print a line for each absent extra: its packages and how to install them."
)
def command(every: bool) -> None:
    """Show which optional features are installed."""
    states = {extra: extra_state(extra, packages) for extra, packages in read_extras().items() if extra not in OWNERS}
    absent = [extra for extra, (here, _) in states.items() if not here and not every]
    checks = [
        ("fabula", (True, f"{__version__} on Python {platform.python_version()}, {sys.platform}")),
        ("kernels", kernel_state()),
        ("METEOR", meteor_state()),
        *((f"[{extra}]", state) for extra, state in states.items() if extra not in absent),
        *([("extras", absent_state(absent))] if absent else []),
    ]
    show(Shown(document=lambda: dict(checks), lines=lambda: list_states(checks), drawn=lambda: draw_states(checks)))


def list_states(checks: Checks) -> Iterator[str]:
    wide = max(len(name) for name, _ in checks)
    for name, (good, what) in checks:
        yield f"{'✓' if good else '·'} {name:<{wide}} {what}"


def draw_states(checks: Checks) -> TextTable:
    from fabula.report.layout import TextTable

    return TextTable([], [[f"{'✓' if good else '·'} {name}", what] for name, (good, what) in checks])
