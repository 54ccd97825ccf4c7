"""PLM-VideoBench's reader of dense captions (Cho et al., 2025; plm_videobench/eval_utils.py): [first, last]: words.

an item   [, whole number, comma, blanks, whole number, ], and all that follows up to the next [ or the end
words     every : a blank, "newline Frame blank" taken out, one comma at the end taken off, newlines blanks

So a description in brackets, which the task asks for, has no words, and brackets inside one end it.
"""

from __future__ import annotations

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import CaptionedWindow, Reader, Window

ITEM = lazy(r"\[(\d+),\s*(\d+)\]([^\[]*)")
DIGITS = 300  # a number with more ends the published program; here such an item is none


def tell(text: str) -> list[CaptionedWindow]:
    """Nothing is sorted, cut to the video or put forward; empty words stay."""
    return [
        ((float(int(first)), float(int(last))), tidy_words(words))
        for first, last, words in ITEM.findall(text)
        if max(len(first), len(last)) <= DIGITS
    ]


def tidy_words(words: str) -> str:
    words = words.replace(":", " ").replace("\nFrame ", "").strip().removesuffix(",")
    return words.strip().replace("\n", " ").strip()


def read(text: str) -> list[Window]:
    return [window for window, _ in tell(text)]


READER = Reader(
    name="plm-rdcap",
    about="[first, last] with whole numbers and no blank before the comma; its words end at the next bracket",
    read=read,
    tell=tell,
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
)
