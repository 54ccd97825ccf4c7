"""Ids of people in text: numbered by first appearance, and freed from their brackets.

P4 carries P3. P3 falls.  →  P1 carries P2. P2 falls.

What matters in an identity-aware caption is who is who, not which number a person has. So before two captions are
compared, the first person named in each becomes P1, the second P2, … over the whole set of captions.

Files write people in several ways. `respell_ids` brings them to P1, P2, …: [PERSON1] and [3009_PERSON13] unasked,
anything else by a pattern that the user declares.

`normalise_as_published` prepares a text as MICap's code does it (Raajesh et al., CVPR 2024): an id is a whole word
between blanks, or before the full stop of a sentence, so that `P1,` and `P1's` stay what they are, and `p1` is somebody
else than `P1`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from fabula.core.errors import SpecError
from fabula.data.identity import ID as ID

TAG = r"\[(?:\w+_)?PERSON_?\d+\]"  # LSMDC's
PUBLISHED = re.compile(r"[Pp](?:[1-9]|1[0-8])")  # the 18 people that MICap's code knows
LOWER = re.compile(r"\bp(\d+)\b")
START = re.compile(r"((?:^|[.!?]\s+)\W*)([a-z])")
BRACKETS = " \t[]'\""


def renumber_ids(captions: Sequence[str]) -> list[str]:
    """The captions of one set with their ids renamed P1, P2, … in the order in which they are first named."""
    names: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        return names.setdefault(plain_number(found[1]), f"P{len(names) + 1}")

    return [ID.sub(renamed, caption) for caption in captions]


def plain_number(digits: str) -> str:
    """A person's number however it is written: 07 and ٧ are 7."""
    return "".join(str(unicodedata.decimal(digit)) for digit in digits).lstrip("0") or "0"


def capitalise_sentences(text: str) -> str:
    """Every sentence with a capital, which a parser needs."""
    return START.sub(lambda m: m[1] + m[2].upper(), text)


def normalise_as_published(text: str) -> str:
    """Ids renamed, then capitals, as MICap's code does it to a whole captionset; the last full stop is lost there."""
    names: dict[str, str] = {}
    renamed = ". ".join(
        " ".join(names.setdefault(w, f"P{len(names) + 1}") if PUBLISHED.fullmatch(w) else w for w in words)
        for words in split_sentences(text)
    )
    upper = LOWER.sub(r"P\1", renamed)
    return ". ".join(f"{first.capitalize()} {' '.join(rest)}" for first, *rest in split_sentences(upper))


def split_sentences(text: str) -> list[list[str]]:
    return [words for sentence in f"{text} ".split(". ") if (words := sentence.split())]


def pattern(declared: str | None) -> re.Pattern[str]:
    """How people are written besides P1, P2, …: as declared, or as LSMDC's tags."""
    try:
        return re.compile(TAG if declared is None else declared)
    except re.error as error:
        raise SpecError(f"the pattern of people {declared!r} is no regular expression ({error})") from None


def respell_ids(captions: Sequence[str], people: re.Pattern[str]) -> list[str]:
    """People as P1, P2, … where the captions of the set write them in the other way; else as they are."""
    if not any(people.search(caption) for caption in captions):
        return list(captions)
    names: dict[str, str] = {}
    anybody = re.compile(f"{people.pattern}|{ID.pattern}", people.flags)

    def called(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"P{len(names) + 1}") if found[0] else ""

    return [anybody.sub(called, caption) for caption in captions]


def as_text(captions: Sequence[str]) -> str:
    """The captions of a set as one text, a full stop behind each that has none."""
    stripped = (caption.strip() for caption in captions)
    return " ".join(c if c.rstrip("\"')]”’").endswith((".", "!", "?")) else f"{c}." for c in stripped if c)


def ids(caption: str) -> list[str]:
    """The ids in a caption, upper case, as often as they are named."""
    return [found[0].upper() for found in ID.finditer(caption)]


def hide_ids(caption: str) -> str:
    """What a caption says without saying who: all ids alike, blanks and case aside."""
    return " ".join(ID.sub("P", caption).lower().split())


def label(text: str) -> str:
    """An id without what files write around it: `[3009_PERSON13]`, ` 26]` and `'P1'` are 3009_PERSON13, 26 and P1."""
    return text.strip(BRACKETS)


def is_named(text: str) -> bool:
    """False for what stands for nobody: nothing, brackets around nothing, `_`."""
    return label(text) not in ("", "_")


def number_labels(labels: Sequence[str | None]) -> list[int | None]:
    """Ids as numbers by first appearance: A, B, A → 0, 1, 0. What has no id keeps none."""
    numbers: dict[str, int] = {}
    return [None if name is None else numbers.setdefault(name, len(numbers)) for name in labels]
