"""lmms-eval's second reader of Charades-STA answers (tasks/charades_sta/eval_tvg.py): no phrase, no time."""

from __future__ import annotations

from fabula.benchmarks._families.phrases import RANGE, RANGE_WITH_S, first_numbers, first_ranges, split_phrases
from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window, clock_seconds, pair_up, put_forward

CLOCK = lazy(r"\b(\d{1,2}:\d{2}:\d{2})\b")


def read(text: str) -> list[Window]:
    _, telling = split_phrases(text)
    found = (
        first_ranges(telling, RANGE.findall)
        or first_numbers(telling)
        or pair_up([clock_seconds(clocks[0]) for phrase in telling if (clocks := CLOCK.findall(phrase))])
        or first_ranges(telling, RANGE_WITH_S.findall)
    )
    return [put_forward(window) for window in found[:1]]


READER = Reader(
    name="charades-tvg",
    about="as charades-lmms, and nothing is read where no phrase says start, end or happen; clocks come last",
    read=read,
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
)
