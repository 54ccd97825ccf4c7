"""Words as numbers: the vocabulary of PDVC's captioners (Wang et al., ICCV 2021), built from captions.

A caption is cut into words as PDVC's loader does it: twelve marks become blanks, everything else stays where it is
("don't", "(hot)" and "50%" are words), and the rest is split at white space.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabula.core.errors import InputError, shown
from fabula.documents.files import dump_json, load_json

UNKNOWN = "<unk>"
BLANKS = re.compile(r'\\n|[,:!_;\-.?/"\\]')  # "\\n": the two characters, as PDVC's annotations have them


def words_of(caption: str) -> list[str]:
    """Lower case; , : ! _ ; - . ? / " and backslashes as blanks."""
    return BLANKS.sub(" ", caption).lower().split()


@dataclass(frozen=True)
class Vocabulary:
    """Words by index: 0 is begin, end and padding at once (PDVC), words are 1 … V, and V is the unknown word."""

    words: tuple[str, ...]  # words[i] has index i + 1; the last is UNKNOWN

    def __post_init__(self) -> None:
        if not self.words or self.words[-1] != UNKNOWN or len(set(self.words)) != len(self.words):
            raise InputError(f"not a vocabulary: words must be distinct and end in {UNKNOWN!r}", hint="build it again")
        object.__setattr__(self, "_index", {w: i for i, w in enumerate(self.words, 1)})

    @classmethod
    def build(cls, captions: Iterable[str], min_count: int = 1) -> Vocabulary:
        """Every word with at least `min_count` occurrences, the frequent ones first, ties by spelling."""
        counts = Counter(w for caption in captions for w in words_of(caption))
        words_by_count = sorted(
            (w for w, n in counts.items() if n >= min_count and w != UNKNOWN), key=lambda w: (-counts[w], w)
        )
        return cls((*words_by_count, UNKNOWN))

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        document = load_json(Path(path))
        if not (isinstance(document, dict) and isinstance(words := document.get("words"), list)):
            raise InputError("not a vocabulary", file=path, hint='it is {"words": [text, …]}, written by fabula train')
        return cls(tuple(map(str, words)))

    def save(self, path: str | Path) -> None:
        dump_json(Path(path), {"words": list(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, caption: str, max_words: int) -> list[int]:
        """[0, words…, 0]: at most max_words − 2 words, as PDVC cuts them."""
        index: dict[str, int] = self._index  # type: ignore[attr-defined]
        return [0, *(index.get(w, len(self)) for w in words_of(caption)[: max_words - 2]), 0]

    def decode(self, ids: Sequence[int]) -> str:
        """The words up to the first 0 and a full stop, as PDVC writes its captions; nothing where there is no word."""
        ids = list(ids)
        text = " ".join(self.words[i - 1] for i in (ids[: ids.index(0)] if 0 in ids else ids))
        return text and f"{text}."


def warn_of_captions(captions: Iterable[str | None]) -> str | None:
    """A warning for empty and repetitive captions; None if there are none."""
    every = [caption for caption in captions if caption is not None]
    empty = [caption for caption in every if not any(c.isalnum() for c in caption)]
    loops = [caption for caption in every if goes_in_circles(caption)]
    if not empty and not loops:
        return None
    parts = [f"{len(empty):,} are empty"] if empty else []
    if loops:
        shortest = min(loops, key=len)
        parts.append(f"{len(loops):,} repeat themselves, as {shown(shortest)}")
    return f"of {len(every):,} captions {' and '.join(parts)}: the model may have learnt too little"


def goes_in_circles(caption: str) -> bool:
    """One word or two, three times in a row: he he he; the man the man the man."""
    words = caption.lower().split()
    for n in (1, 2):
        same = [a == b for a, b in zip(words, words[n:], strict=False)]
        if any(all(same[i : i + 2 * n]) for i in range(len(same) - 2 * n + 1)):
            return True
    return False
