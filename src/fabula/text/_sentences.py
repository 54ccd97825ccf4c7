"""Sentences as the kernels count them: each distinct one is passed once, and goes by its number from then on.

Sentences stay, up to a bound, so that the metrics of a run, and its many runs where rules are compared, share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from fabula.text import memories
from fabula.text.placed import Numbers, Pairs, Texts, lay_flat

if TYPE_CHECKING:
    from fabula._kernels._native import Sentences

LIMIT = 1 << 17  # sentences; about a kilobyte each

T = TypeVar("T")
Besides = Callable[[object], Iterable[str]]  # rows, or None → sentences


class NumberedItems(NamedTuple):
    """Items as the kernels take them: candidate k has the references from starts[k] to starts[k + 1]."""

    rows: Sentences
    candidates: Numbers  # [K]
    references: Numbers  # [R]
    starts: Numbers  # [K + 1]


class Memory:
    """The sentences that one process has passed to its kernels."""

    def __init__(self, keep: Sequence[str] = ()) -> None:
        self.rows: Sentences | None = None
        self.numbers: dict[str, int] = {}
        self.keep = keep  # sentences that it always has, first of all
        self.lock = Lock()

    def add(self, kernels: ModuleType, texts: Sequence[str], besides: Besides = lambda rows: ()) -> Sentences:
        """The rows with these sentences, and with those that they must have besides."""
        new = [text for text in dict.fromkeys(chain(besides(self.rows), texts)) if text not in self.numbers]
        if self.rows is None or len(self.numbers) + len(new) > LIMIT + len(self.keep):
            self.rows, self.numbers = kernels.Sentences(), {}
            new = list(dict.fromkeys(chain(self.keep, besides(self.rows), texts)))
        first = len(self.rows)
        self.rows.add(new)
        self.numbers.update(zip(new, range(first, first + len(new)), strict=True))
        return self.rows

    def forget(self) -> None:
        with self.lock:
            self.rows, self.numbers = None, {}


shared = Memory()
memories.append(lambda: shared.forget())


def count(
    kernels: ModuleType,
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    work: Callable[[NumberedItems], T],
    memory: Memory | None = None,
    besides: Besides = lambda rows: (),
) -> T:
    """`work` on these items; one caller at a time, because new sentences move the memory of earlier ones."""
    flat, starts = lay_flat(references)
    own = shared if memory is None else memory
    with own.lock:
        rows = own.add(kernels, [*candidates, *flat], besides)
        number = own.numbers.__getitem__
        c = np.fromiter(map(number, candidates), np.int64, len(candidates))
        r = np.fromiter(map(number, flat), np.int64, len(flat))
        return work(NumberedItems(rows, c, r, starts))


def count_pairs(
    kernels: ModuleType,
    pairs: Pairs,
    work: Callable[[NumberedItems], T],
    memory: Memory | None = None,
    besides: Besides = lambda rows: (),
) -> T:
    """The same for items that name sentences by their place."""
    own, texts = shared if memory is None else memory, pairs.texts
    with own.lock:
        kept = texts if isinstance(texts, Texts) else Texts()
        numbers = np.full(len(texts), -1)
        if kept.rows is own.rows:
            numbers[: len(kept.numbers)] = kept.numbers
        used = np.zeros(len(texts), bool)
        used[pairs.candidates] = used[pairs.references] = True
        new = np.flatnonzero(used & (numbers < 0)).tolist()
        rows = own.add(kernels, [texts[k] for k in new], besides)
        if rows is not kept.rows:  # others than before, or begun anew because they were full
            numbers[:], new = -1, np.flatnonzero(used).tolist()
            rows = own.add(kernels, [texts[k] for k in new], besides)
        numbers[new] = [own.numbers[texts[k]] for k in new]
        kept.rows, kept.numbers = rows, numbers
        return work(NumberedItems(rows, numbers[pairs.candidates], numbers[pairs.references], pairs.starts))
