"""fabula doctor: what this install has, and what to do about what it has not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys

import click

from fabula import __version__, _kernels
from fabula.cli._console import print_lines
from fabula.core.cachefile import cache_folder, find_distrust
from fabula.core.errors import FabulaError
from fabula.text.meteor.index import Tables, find_index

EXTRAS = {"parquet": "pyarrow", "hungarian": "scipy"}  # extra → the module it brings


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


def extra_state(extra: str, module: str) -> tuple[bool, str]:
    if importlib.util.find_spec(module) is None:
        return False, f"absent (optional): pip install 'fabula[{extra}]'"
    return True, f"{module} {importlib.metadata.version(module)}"


@click.command("doctor")
def command() -> None:
    """Say what this install has and what it lacks."""
    checks = [
        ("fabula", (True, f"{__version__} on Python {platform.python_version()}, {sys.platform}")),
        ("kernels", kernel_state()),
        ("METEOR", meteor_state()),
        *((f"[{extra}]", extra_state(extra, module)) for extra, module in EXTRAS.items()),
    ]
    print_lines(f"{'✓' if good else '·'} {name:<12} {what}" for name, (good, what) in checks)
