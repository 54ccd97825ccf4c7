"""What cannot fit into memory is refused before it is begun, in one line: what it needs, what there is, what to do."""

from __future__ import annotations

from fabula.core.errors import FabulaError
from fabula.core.memory import available


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
