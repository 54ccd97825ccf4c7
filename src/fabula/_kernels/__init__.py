"""Chooses between the compiled kernels and their Python twins; FABULA_KERNELS=python|native forces one."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from fabula.core.errors import KernelError, shown

try:
    from fabula._kernels import _native

    NATIVE: ModuleType | None = _native
except ImportError:
    NATIVE = None

CHOICES = ("auto", "python", "native")
MOST_THREADS = 1024  # that may be asked for; the kernels start at most 256, and no more than there is work for
SHARES = (Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"))  # cgroups 2 and 1
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
    """Those that this process may use (taskset, cpusets, a container's share), not those the machine has."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(bound, container_share(SHARES) or bound)


@functools.cache
def container_share(shares: tuple[Path, ...]) -> int | None:
    """Processors that a container's limit amounts to, rounded up: `200000 100000` are two; None where there is none."""
    for path in shares:
        try:
            texts = path.read_text(encoding="ascii").split()
            if len(texts) == 1:  # the older form: the quota alone, the period in a file beside it
                texts.append(path.with_name("cpu.cfs_period_us").read_text(encoding="ascii").strip())
            quota, period = (int(text) for text in texts)
        except (OSError, ValueError):  # no such file; `max`
            continue
        if quota > 0 and period > 0:
            return max(1, -(-quota // period))
    return None


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
