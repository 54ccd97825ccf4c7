"""lmms-eval's reader of ExtremeWhenBench answers (tasks/extremewhenbench/utils.py): the last range of the text."""

from __future__ import annotations

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window, put_forward

NUMBER = r"(\d+(?:\.\d+)?)"
RANGE = lazy(rf"{NUMBER}\s*(?:[-~–—]|to)\s*{NUMBER}")


def read(text: str) -> list[Window]:
    found = RANGE.findall(text)[-1:]
    return [put_forward((float(a), float(b))) for a, b in found]


READER = Reader(
    name="extremewhen",
    about="numbers around a dash, a tilde or 'to' in small letters; the last pair of the text",
    read=read,
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
)
