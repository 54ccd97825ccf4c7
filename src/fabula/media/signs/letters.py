"""How much a text is like words: a lexicon, and the letters that follow each other in it, three by three.

    P(word) = Π P(c | a b),  P(c | a b) = (n(abc) + BACK · P(c | b)) / (n(ab) + BACK), and so on down to single letters
    likely  = log2 P / (letters + 1), the end counted: −3 for words of the lexicon, below −6 for letters by chance

The words are METEOR's (WordNet's lemmas, and function words of five languages), which the core install brings along.
English is their language; Polish or Turkish words are less likely by it but far from chance, so it decides alone over
nothing: the less a text is like words, the surer its letters must be (gates.py). Digits and other scripts have no part.
"""

from __future__ import annotations

import functools
import re
import zipfile
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.media.signs.vote import fold_letter
from fabula.text.meteor.index import Tables

BACK = 4.0  # readings that the shorter context is worth
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PLACE = {c: i for i, c in enumerate(LETTERS, 1)}  # 0: before and after a word
SYNSETS = "synonym/english.synsets"
FUNCTION = ("english", "french", "german", "spanish", "czech")
OTHER = {"ł": "l", "ø": "o", "đ": "d", "ß": "s", "æ": "a", "œ": "o", "ı": "i", "þ": "t", "ð": "d"}


@functools.lru_cache(maxsize=1)
def lexicon() -> frozenset[str]:
    """Words of METEOR's tables, in small letters a to z; none where the tables cannot be read."""
    try:
        with zipfile.ZipFile(Tables.installed().jar) as jar:
            texts = jar.read(SYNSETS).decode().split("\n")[::2]
            texts += [jar.read(f"function/{name}.words").decode("utf-8", "replace") for name in FUNCTION]
    except (FabulaError, OSError, KeyError, zipfile.BadZipFile):
        return frozenset()
    return frozenset(word for text in texts for word in re.split(r"[_\s]+", plain(text)) if word.isalpha())


def plain(text: str) -> str:
    """Small letters without marks; what is no letter stays."""
    text = text.casefold()
    return text if text.isascii() else "".join(OTHER.get(c) or fold_letter(c) for c in text)


@functools.lru_cache(maxsize=1)
def letter_model() -> NDArray[np.float32]:
    """log2 P(c | a b) as [a, b, c]."""
    return train(sorted(lexicon()))


def train(words: Iterable[str]) -> NDArray[np.float32]:
    n = len(LETTERS) + 1
    codes = [[0, 0, *(PLACE[c] for c in word), 0] for word in words if all(c in PLACE for c in word)]
    three = np.zeros((n, n, n))
    for word in codes:
        for a, b, c in zip(word, word[1:], word[2:], strict=False):
            three[a, b, c] += 1
    two, one = three.sum(0), three.sum((0, 1))
    single = (one + 1) / (one.sum() + n)
    double = (two + BACK * single) / (two.sum(1, keepdims=True) + BACK)
    triple = (three + BACK * double[None]) / (three.sum(2, keepdims=True) + BACK)
    likely: NDArray[np.float32] = np.log2(triple).astype(np.float32)
    return likely


def likely(word: str) -> float:
    """log2 P a letter, of a word in Latin letters."""
    model = letter_model()
    code = [0, 0, *(PLACE[c] for c in plain(word) if c in PLACE), 0]
    return float(np.mean([model[a, b, c] for a, b, c in zip(code, code[1:], code[2:], strict=False)]))


def is_latin(word: str) -> bool:
    """Whether all letters of a word are Latin ones, as far as the model knows them."""
    letters = [c for c in plain(word) if c.isalpha()]
    return bool(letters) and all(c in PLACE for c in letters)


def is_known(word: str) -> bool:
    """Whether a word of two letters or more is in the lexicon."""
    letters = "".join(c for c in plain(word) if c.isalpha())
    return len(letters) >= 2 and letters in lexicon()
