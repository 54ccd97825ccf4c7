"""The aligner's beam search (align.align_pair) for many pairs of sentences at once, in numpy: without a compiler.

All paths of all pairs stand in flat arrays, in the order of `align_pair`'s queues, and take a step over one word of
every reference at a time. What a pair needs a wider number for is left to `align_pair`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.text.meteor.align import BEAM, WEIGHT, Match, Sentence, propose_matches, search_matches

PAIRS = 4096  # at a time
WORDS = 62  # of a sentence: those that are taken are the bits of an int64
CHOICES = 4096  # of a pair: distances stay below 2²⁰

Index = NDArray[np.int64]
Mask = NDArray[np.bool_]


def align_many(pairs: Sequence[tuple[Sentence, Sentence]]) -> list[list[Match] | InputError]:
    """`align_pair` of each (candidate, reference), or why it cannot be aligned."""
    found: list[list[Match] | InputError] = []
    for start in range(0, len(pairs), PAIRS):
        found += align_some(pairs[start : start + PAIRS])
    return found


def align_some(pairs: Sequence[tuple[Sentence, Sentence]]) -> list[list[Match] | InputError]:
    found: list[list[Match] | InputError] = [[]] * len(pairs)
    places, choices, sizes = list[int](), list[list[Match]](), list[tuple[int, int]]()
    for k, (hyp, ref) in enumerate(pairs):
        try:
            proposed = propose_matches(hyp, ref)
        except InputError as error:
            found[k] = error
            continue
        flat = [match for matches in proposed for match in matches]
        if len(hyp) > WORDS or len(ref) > WORDS or len(flat) > CHOICES:
            found[k] = search_matches(proposed, len(hyp), len(ref))
        elif flat:
            places.append(k)
            choices.append(flat)
            sizes.append((len(hyp), len(ref)))
    if places:
        for k, flat, chosen in zip(places, choices, Search(choices, sizes).run(), strict=True):
            found[k] = [flat[m] for m in chosen]
    return found


class Search:
    """Pairs with at least one match each: matches by position, in the order in which they were proposed."""

    def __init__(self, choices: Sequence[Sequence[Match]], sizes: Sequence[tuple[int, int]]) -> None:
        counts = np.array([len(matches) for matches in choices])
        self.first = np.cumsum(counts) - counts  # [K] of the matches of each pair
        self.owner = np.repeat(np.arange(len(choices)), counts)  # [M]
        columns = np.array([match for matches in choices for match in matches], np.int64).T
        self.ref, self.hyp, ref_words, hyp_words, module = columns
        self.sizes = np.array(sizes, np.int64)[:, 1]  # [K] words of the references
        halves = (2 * np.array(WEIGHT)).astype(np.int64)[module]
        self.gain = hyp_words * halves // 2 + ref_words * halves // 2  # cut to integers one by one
        self.bits = (np.left_shift(1, hyp_words) - 1) << self.hyp
        self.hyp_end, self.ref_end = self.hyp + hyp_words, self.ref + ref_words
        self.distance = np.abs(self.ref - self.hyp)
        self.fix_unrivalled()

    def fix_unrivalled(self) -> None:
        """As align._fix_unrivalled; then the matches that are left to choose from."""
        K, width = len(self.sizes), WORDS + 1
        at_ref, at_hyp = self.owner * width + self.ref, self.owner * width + self.hyp
        ref_size, hyp_size = self.ref_end - self.ref, self.hyp_end - self.hyp
        covers = [count_covers(at, size, K * width) for at, size in ((at_ref, ref_size), (at_hyp, hyp_size))]
        single = np.bincount(at_ref, minlength=K * width)[at_ref] == 1
        fixed = (
            single & (over(covers[0], at_ref, ref_size) == ref_size) & (over(covers[1], at_hyp, hyp_size) == hyp_size)
        )
        used = count_covers(at_ref[fixed], ref_size[fixed], K * width)  # 0 or 1
        self.hyp_used = np.zeros(K, np.int64)
        np.add.at(self.hyp_used, self.owner[fixed], self.bits[fixed])  # no bit twice
        fixed_at = np.full(K * width, -1)
        fixed_at[at_ref[fixed]] = np.flatnonzero(fixed)
        self.fixed = fixed_at.reshape(K, width)
        self.open = np.flatnonzero(~fixed & (over(used, at_ref, ref_size) == 0))  # by pair and position
        place = at_ref[self.open]
        self.counts = np.bincount(place, minlength=K * width).reshape(K, width)
        self.starts = np.searchsorted(place, np.arange(K * width)).reshape(K, width)

    def run(self) -> list[list[int]]:
        """Of each pair the chosen ones of its matches, in the order of the reference."""
        K = len(self.sizes)
        self.nodes: list[Index] = []  # the last match of a path, and the node of those before it
        self.before: list[Index] = []
        self.made = 0
        path = Paths.begin(self.hyp_used)
        ends = np.full(K, -1)
        for position in range(int(self.sizes.max()) + 1):
            path = path.best()
            done = self.sizes[path.owner] == position
            if done.any():
                last = path.take(np.flatnonzero(done))
                last.close()
                last = last.best()
                first = np.flatnonzero(np.diff(last.owner, prepend=-1))
                ends[last.owner[first]] = last.chosen[first]
                path = path.take(np.flatnonzero(~done))
            if not len(path.owner):
                break
            path = self.step(path, position)
        return self.trace(ends)

    def step(self, path: Paths, position: int) -> Paths:
        """All paths over one more word of their references."""
        inside = position < path.at
        fixed = np.where(inside, -1, self.fixed[path.owner, position])
        free = ~inside & (fixed < 0)  # where a fixed match goes on, every path is inside it: no other covers its words
        at = np.flatnonzero(fixed >= 0)
        self.choose(path, at, fixed[at])
        path.distance[at] += self.distance[fixed[at]]
        whose, option, shift = self.offer(path, np.flatnonzero(free), position)
        branches = path.take(whose)
        branches.distance += shift
        self.choose(branches, np.arange(len(whose)), option)
        np.add.at(path.distance, whose, self.distance[option])
        path.close(free)
        path.at[free] += 1
        order = np.argsort(np.concatenate([whose, np.arange(len(path.owner))]), kind="stable")  # branches come first
        return Paths.joined(branches, path).take(order)

    def offer(self, path: Paths, at: Index, position: int) -> tuple[Index, Index, Index]:
        """Path, match that it may take, and the distances of those before it, which are booked already."""
        counts = self.counts[path.owner[at], position]
        whose = np.repeat(at, counts)
        begin = np.cumsum(counts) - counts
        step = np.arange(len(whose)) - np.repeat(begin, counts)
        option = self.open[np.repeat(self.starts[path.owner[at], position], counts) + step]
        may = np.flatnonzero((path.used[whose] & self.bits[option]) == 0)
        whose, option = whose[may], option[may]
        total = np.cumsum(self.distance[option]) - self.distance[option]
        first = np.searchsorted(whose, whose)
        return whose, option, total - total[first] if len(total) else total

    def choose(self, path: Paths, at: Index, match: Index) -> None:
        """The paths at these places take a match each."""
        path.matches[at] += self.gain[match]
        path.chunks[at] += (path.open_end[at] != -1) & (path.open_end[at] != self.hyp[match])
        path.open_end[at] = self.hyp_end[match]
        path.used[at] |= self.bits[match]
        path.at[at] = self.ref_end[match]
        self.nodes.append(match)
        self.before.append(path.chosen[at])
        path.chosen[at] = self.made + np.arange(len(at))
        self.made += len(at)

    def trace(self, ends: Index) -> list[list[int]]:
        nodes, before = np.concatenate(self.nodes).tolist(), np.concatenate(self.before).tolist()
        found = []
        for first, node in zip(self.first.tolist(), ends.tolist(), strict=True):
            chosen = []
            while node >= 0:
                chosen.append(nodes[node] - first)
                node = before[node]
            found.append(chosen[::-1])
        return found


class Paths:
    """Fields of align.Path, a column each. [N]"""

    FIELDS = ("owner", "used", "at", "matches", "chunks", "distance", "open_end", "chosen")

    def __init__(self, columns: Sequence[Index]) -> None:
        self.owner, self.used, self.at, self.matches, self.chunks, self.distance, self.open_end, self.chosen = columns

    @classmethod
    def begin(cls, used: Index) -> Paths:
        none = np.zeros(len(used), np.int64)
        return cls([np.arange(len(used)), used.copy(), *(none.copy() for _ in range(4)), none - 1, none - 1])

    @property
    def columns(self) -> list[Index]:
        return [getattr(self, name) for name in self.FIELDS]

    @classmethod
    def joined(cls, a: Paths, b: Paths) -> Paths:
        return cls([np.concatenate(both) for both in zip(a.columns, b.columns, strict=True)])

    def take(self, at: Index) -> Paths:
        return Paths([column[at] for column in self.columns])

    def close(self, where: Mask | None = None) -> None:
        """End the open chunk."""
        closing = self.open_end != -1 if where is None else where & (self.open_end != -1)
        self.chunks[closing] += 1
        self.open_end[closing] = -1

    def best(self) -> Paths:
        """Of each pair the first of them by `align.rank`, sorted."""
        key = self.owner << 36 | (255 - self.matches) << 28 | self.chunks << 20 | self.distance
        order = np.argsort(key, kind="stable")
        owner = self.owner[order]
        turn = np.arange(len(owner)) - np.searchsorted(owner, owner)
        return self.take(order[turn < BEAM])


def count_covers(at: Index, size: Index, places: int) -> Index:
    """How many runs of so many places cover each. [places]"""
    edges = np.bincount(at, minlength=places + 1) - np.bincount(at + size, minlength=places + 1)
    return np.cumsum(edges)[:places]


def over(covers: Index, at: Index, size: Index) -> Index:
    """The sum of the covers of each run."""
    total = np.concatenate([[0], np.cumsum(covers)])
    found: Index = total[at + size] - total[at]
    return found
