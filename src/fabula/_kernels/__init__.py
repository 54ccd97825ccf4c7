"""Chooses between the compiled kernels and their Python twins; FABULA_KERNELS=python|native forces one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from fabula.core.errors import KernelError, shown

try:
    from fabula._kernels import _native

    NATIVE: ModuleType | None = _native
except ImportError:
    NATIVE = None

CHOICES = ("auto", "python", "native")
MOST_THREADS = 1024  # that may be asked for; the kernels start at most 256, and no more than there is work for
_choice = os.environ.get("FABULA_KERNELS", "auto")


def native() -> ModuleType | None:
    """The compiled module, or None where the Python twins serve."""
    if _choice not in CHOICES:
        raise KernelError(f"FABULA_KERNELS is {shown(_choice)}; it may be {', '.join(CHOICES)}")
    if _choice == "native" and NATIVE is None:
        raise KernelError(
            "FABULA_KERNELS=native, but this install has no compiled kernels; "
            "reinstall with a C++17 compiler at hand, or unset FABULA_KERNELS to use the Python twins"
        )
    return None if _choice == "python" else NATIVE


def threads() -> int:
    """How many a kernel may use: FABULA_THREADS, else as many as the processors that this process may use."""
    said = os.environ.get("FABULA_THREADS", "")
    if said and not (said.isascii() and said.isdigit() and len(said) < 9 and 0 < int(said) <= MOST_THREADS):
        raise KernelError(f"FABULA_THREADS is {shown(said)}; it is a number from 1 to {MOST_THREADS}")
    return int(said) if said else processors()


def processors() -> int:
    """Those that this process is bound to (taskset, cpusets), not those the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def using(choice: str) -> Iterator[None]:
    """Force a choice for a while: `with using("python"): ...` (tests and benchmarks)."""
    global _choice
    before, _choice = _choice, choice
    try:
        native()
        yield
    finally:
        _choice = before
