"""What the caption parser sees of a word: the word without case and digits, its ends, and its shape."""

from __future__ import annotations

import re

SHAPES = 12
_DIGITS = re.compile(r"[0-9]")


def features(word: str, first: bool) -> tuple[str, str, str, str, int]:
    """(word, last three letters, last two, first three, shape) of a token; `first` in its sentence."""
    plain = _DIGITS.sub("0", word.lower())
    return plain, plain[-3:], plain[-2:], plain[:3], shape(word, plain, first)


def shape(word: str, plain: str, first: bool) -> int:
    """0 lower case · 1 hyphen · 2 digits alone · 3 digits within · 4 no letter · then capitals, where they stand."""
    if "0" in plain:
        digits = 2 if not any(c.isalpha() for c in plain) else 3
        return digits + (7 if word[0].isupper() else 0)
    if not any(c.isalpha() for c in word):
        return 4
    if word[0].isupper():
        return (5 if first else 6) if word[1:].islower() or len(word) == 1 else (7 if first else 8)
    return 1 if "-" in word else 0 if word.isascii() else 11
