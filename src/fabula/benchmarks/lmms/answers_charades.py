"""lmms-eval's reader of Charades-STA answers (tasks/charades_sta/utils.py): the first range of a telling phrase."""

from __future__ import annotations

from fabula.benchmarks._families.phrases import RANGE, RANGE_WITH_S, first_numbers, first_ranges, split_phrases
from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window, clock_seconds, pair_up, put_forward

CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
CLOCK_RANGE = lazy(rf"\b({CLOCK})\s*[–-]\s*({CLOCK})\b")
CLOCK_ALONE = lazy(rf"\b({CLOCK})\b")


def read(text: str) -> list[Window]:
    phrases, telling = split_phrases(text)
    asked = telling or phrases
    found = (
        first_ranges(asked, CLOCK_RANGE.findall, clock_seconds)
        or first_ranges(asked, RANGE.findall)
        or pair_up([clock_seconds(clock) for phrase in asked for clock in CLOCK_ALONE.findall(phrase)])
        or first_numbers(asked)
        or first_ranges(asked, RANGE_WITH_S.findall)
    )
    return [put_forward(window) for window in found[:1]]


READER = Reader(
    name="charades-lmms",
    about="clocks, then numbers around a dash, in phrases that say start, end or happen; every 'to' is a dash",
    read=read,
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
)
