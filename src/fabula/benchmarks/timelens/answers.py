"""TimeLens' reader (timelens/utils.py; lmms-eval's is the same): clocks, dashes, "to", then any numbers."""

from __future__ import annotations

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window, clock_seconds, pair_up

CLOCK = lazy(r"\b(\d{1,2}:\d{2}:\d{2}(?:\.\d+)?|\d{1,2}:\d{2}(?:\.\d+)?)\b")
LOOSE = r"(\d+\.?\d*)"
DASHED = lazy(rf"{LOOSE}\s*-\s*{LOOSE}")
SPELLED = lazy(rf"{LOOSE}\s+to\s+{LOOSE}")
ALONE = lazy(r"\b(\d+\.\d+|\d+)\b")


def read(text: str) -> list[Window]:
    """All windows; reversed ones stay reversed."""
    text = text.lower()
    ranges = DASHED.findall(text) or SPELLED.findall(text)
    return (
        pair_up([clock_seconds(clock) for clock in CLOCK.findall(text)])
        or [(float(a), float(b)) for a, b in ranges]
        or pair_up([float(number) for number in ALONE.findall(text)])
    )


READER = Reader(
    name="timelens",
    about="clocks two by two, else numbers around a dash, else around 'to', else any numbers two by two",
    read=read,
    repository="github.com/TencentARC/TimeLens",
    commit="5d90c06",
)
