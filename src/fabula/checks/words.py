"""Checks of captions: said at all, said again, said by a system that says it everywhere, in letters a tool may drop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fabula.checks._check import Check, Facts, Place
from fabula.core.errors import shown

COMMON = 0.05  # of all captions
ENOUGH = 20  # captions before a share means anything


def same(caption: str) -> str:
    return " ".join(caption.lower().split()).rstrip(".")


def empty(facts: Facts) -> Iterator[Place]:
    if any(caption for _, _, caption in facts.words):  # where nothing is said, the file is a segmentation
        for whose, i, caption in facts.words:
            if caption is None or not caption.strip():
                yield Place(whose, i, "no caption" if caption is None else shown(caption))


def repeated(facts: Facts) -> Iterator[Place]:
    """One sentence for several events of a video."""
    known: set[tuple[str | int, str]] = set()
    for whose, i, caption in facts.words:
        if i is not None and caption and caption.strip():
            if (whose, same(caption)) in known:
                yield Place(whose, i, shown(caption))
            known.add((whose, same(caption)))


def common(facts: Facts) -> Iterator[Place]:
    counts = Counter(same(caption) for _, _, caption in facts.words if caption and caption.strip())
    if counts and (total := counts.total()) >= ENOUGH:
        sentence, count = counts.most_common(1)[0]
        if count / total >= COMMON:
            yield Place(None, None, f"{shown(sentence)} is {count:,} of {total:,} captions ({count / total:.1%})")


def non_ascii(facts: Facts) -> Iterator[Place]:
    for whose, i, caption in facts.words:
        if caption and not caption.isascii():
            yield Place(whose, i, shown("".join(dict.fromkeys(c for c in caption if not c.isascii()))))


CHECKS = (
    Check("empty-caption", "warning", "The caption is empty while others are not.", empty),
    Check("repeated-sentence", "warning", "The same sentence several times in one video or image.", repeated),
    Check("common-sentence", "warning", f"One sentence is {COMMON:.0%} or more of all captions.", common),
    Check("non-ascii", "info", "Letters outside ASCII: SODA's evaluator replaces them by blanks.", non_ascii),
)
