"""Document frequencies for CIDEr (Vedantam et al., CVPR 2015): counted, merged, saved and loaded.

df(ω) = |{items: some reference of the item has the n-gram ω}|,   n = 1..4,   over N items
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabula.core.errors import InputError, shown
from fabula.documents.files import check_path, load_json, write_bytes
from fabula.text._check import check_references

MOST = 2**53  # items: counts up to here are whole numbers as floats, too


@dataclass(frozen=True, slots=True)
class Idf:
    """In how many of N items each n-gram (its words joined by a blank) occurs."""

    N: int
    df: Mapping[str, int]

    @classmethod
    def from_references(cls, references: Sequence[Sequence[str]]) -> Idf:
        """Count the references of each item; an n-gram counts once per item."""
        df: Counter[str] = Counter()
        for i, texts in enumerate(references):
            df.update({w for text in check_references(texts, item=i) for n in ngrams(text) for w in n})
        return cls(len(references), dict(df))

    @classmethod
    def from_counts(cls, references: Mapping[str, int]) -> Idf:
        """Items of one reference each, given as how many items have it."""
        df: Counter[str] = Counter()
        for text, count in references.items():
            df.update(dict.fromkeys({w for n in ngrams(text) for w in n}, count))
        return cls(sum(references.values()), dict(df))

    def merge(self, *others: Idf) -> Idf:
        """The Idf of all items together: shards are counted apart and merged."""
        df = Counter(self.df)
        for other in others:
            df.update(other.df)
        return Idf(self.N + sum(other.N for other in others), dict(df))

    def save(self, file: str | Path) -> None:
        """Write JSON, compressed if the name ends in .gz; the same counts give the same bytes."""
        text = json.dumps({"N": self.N, "df": dict(self.df)}, sort_keys=True).encode()
        write_bytes(Path(file), [text])

    @classmethod
    def load(cls, file: str | Path) -> Idf:
        """Read what `save` wrote."""
        entry = load_json(check_path(file))
        N, df = (entry.get("N"), entry.get("df")) if isinstance(entry, dict) else (None, None)
        if type(N) is not int or not 0 <= N <= MOST or not isinstance(df, dict):
            raise InputError(f'seen {shown(entry)}, expected {{"N": items, "df": {{n-gram: items}}}}', file=file)
        for ngram, count in df.items():
            if type(count) is not int or not 0 < count <= N:
                raise InputError(f"df of {shown(ngram)} is {shown(count)}, expected 1 to N = {N}", file=file)
        return cls(N, df)


def ngrams(text: str) -> list[list[str]]:
    """The n-grams of a sentence for n = 1..4, repetitions kept."""
    words = text.split()
    return [[" ".join(words[i : i + n]) for i in range(len(words) - n + 1)] for n in range(1, 5)]
