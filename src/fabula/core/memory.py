"""How much memory this process may still take: what the machine has left, and what its limits leave of that.

available = min(MemAvailable, limit − used of every memory cgroup above the process, RLIMIT_AS − its own size)

What cannot fit is refused before it is begun, in one line: what it needs, what there is, what to do (`require`).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from fabula.core.errors import FabulaError

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
UNKNOWN = 4 << 30  # where the system does not say


def available() -> int:
    """Bytes that can still be taken, never below 0. Looked up at every call: it changes."""
    return max(0, min(free_bytes(), *cgroup_bytes(), *limit_bytes(), sys.maxsize))


def free_bytes() -> int:
    """What the machine has left; without /proc, all that it has."""
    with contextlib.suppress(OSError, ValueError):
        for line in (PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return UNKNOWN


def cgroup_bytes() -> Iterator[int]:
    """What each memory cgroup above this process leaves, in both versions; cached files can be given back."""
    with contextlib.suppress(OSError):
        for line in (PROC / "self" / "cgroup").read_text().splitlines():
            _, kinds, inside = line.split(":", 2)
            if not kinds:
                roots, names = [CGROUPS, CGROUPS / "unified"], ("memory.max", "memory.current", "inactive_file")
            elif "memory" in kinds.split(","):
                roots = [CGROUPS / "memory"]
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            else:
                continue
            for root in roots:
                folder = root / inside.lstrip("/")
                for place in (folder, *folder.parents):
                    yield from group_bytes(place, *names)
                    if place == root:
                        break


def group_bytes(folder: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    """Nothing where the group has no limit, or is not to be seen."""
    with contextlib.suppress(OSError, ValueError):
        most = int((folder / limit).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        yield most - int((folder / used).read_text()) + int(stat.get(cached, 0))


def limit_bytes() -> Iterator[int]:
    """What `ulimit -v` leaves of the address space."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int((PROC / "self" / "statm").read_text().split()[0])
            yield most - pages * resource.getpagesize()


def require(need: int, what: str, hint: str) -> None:
    """An error where `need` bytes are more than there are; `what` is the request, as the line calls it."""
    there = available()
    if need > there:
        raise FabulaError(f"{what} would need {size(need)} of memory and {size(there)} are free; {hint}")


def size(count: float) -> str:
    """Bytes in the largest unit that leaves a number above 1."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if count >= 10 or unit == "bytes" else f"{count:.1f} {unit}"
