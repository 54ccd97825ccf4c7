"""Ids of people in text: normalised by first appearance, and told apart from their brackets.

P4 carries P3. P3 falls.  →  P1 carries P2. P2 falls.

What matters in an identity-aware caption is who is who, not which number a person has. So before two captions are
compared, the first person named in each becomes P1, the second P2, … over the whole set of captions.

match  word: an id is P and digits between word boundaries, whatever its case: `P2's`, `P1,` and `p1` are found
       blanks: as MICap's code does it, an id is a whole word between blanks, spelled exactly: `P1,` stays what it is,
       and `p1` is another person than `P1`
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

ID = re.compile(r"\bp(\d+)\b", re.IGNORECASE)
WORD = re.compile(r"(\s+)")
WHOLE = re.compile(r"[Pp]\d+")
BRACKETS = " \t[]'\""

Match = Literal["word", "blanks"]


def normalised(captions: Sequence[str], match: Match = "word") -> list[str]:
    """The captions of one set with their ids renamed P1, P2, … in the order in which they are first named."""
    names: dict[str, str] = {}

    def renamed(id: str) -> str:
        return names.setdefault(id, f"P{len(names) + 1}")

    if match == "word":
        return [ID.sub(lambda found: renamed(found[1].lstrip("0") or "0"), caption) for caption in captions]
    return ["".join(renamed(w) if WHOLE.fullmatch(w) else w for w in WORD.split(caption)) for caption in captions]


def ids(caption: str) -> list[str]:
    """The ids in a caption, upper case, as often as they are named."""
    return [found[0].upper() for found in ID.finditer(caption)]


def label(text: str) -> str:
    """An id without what files write around it: `[3009_PERSON13]`, ` 26]` and `'P1'` are 3009_PERSON13, 26 and P1."""
    return text.strip(BRACKETS)


def named(text: str) -> bool:
    """False for what stands for nobody: nothing, brackets around nothing, `_`."""
    return label(text) not in ("", "_")


def numbered(labels: Sequence[str | None]) -> list[int | None]:
    """Ids as numbers by first appearance: A, B, A → 0, 1, 0. What has no id keeps none."""
    seen: dict[str, int] = {}
    return [None if name is None else seen.setdefault(name, len(seen)) for name in labels]
