"""How many processors this process may use: what threads and processes are counted by."""

from __future__ import annotations

import os


def processors() -> int:
    """Those it is bound to (taskset, cgroups' cpusets), not those the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
