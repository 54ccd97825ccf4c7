"""Who is who: faces into people. DBSCAN as MICap has it, and linking that knows what a video proves (the default).

dbscan   (Ester et al., KDD 1996; MICap: cosine distance, eps .75)  a face with at least `min_samples` faces within eps,
         itself included, is a core; cores within eps of one another are one person; any other face within eps of a core
         belongs to it, to the first such person; the rest is noise. With min_samples 1 nothing is.

linked   Faces of a track are one person's (must-link), two faces of one picture never are (cannot-link). Tracks are
         joined by average linkage, the most alike first, for as long as

             d(A, B) = 1 − (1/|A||B|) Σ_{a ∈ A, b ∈ B} cos(a, b)  ≤  eps       a, b: mean faces of tracks

         and no picture shows both. With S = Σ of its unit vectors, the sum is S_A · S_B: no pair is looked at twice.
         Only pairs among the nearest `neighbours` of a track, or that became so by joining, are candidates.

eps      where it is not said: calibrated on the video's own links (`calibrate`).
noise    what has fewer faces than `smallest` (for dbscan: what it calls noise): a person of its own (own), the nearest
         person who is in none of its pictures (nearest), or nobody, −1 (drop). Always counted.

People are numbered from 0 by first appearance. Memory is linear in faces: distances are made in blocks and forgotten.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core import spec
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.core.registry import close_to
from fabula.core.spec import Spec
from fabula.media.people.base import Floats, Ints, unit

CELLS = 1 << 22  # of a block of distances
ROUNDING = 1e-6  # of a cosine of float32
WORTH = 10  # links that weigh as much as the embedder's own eps
THIRDS = 4  # faces that a track needs to have a first and a last third that must be alike
ALIKE, APART, BELOW = 0.9, 0.05, 0.9  # quantiles of must-links and cannot-links, and how far eps stays below these
BESIDE = 0.1  # beyond eps: a pair that may come into reach when one of the two has joined others


@dataclass(frozen=True)
class Grouping:
    """Who each face is, and how that was decided."""

    person: Ints  # [n]; −1: nobody
    eps: float
    counts: dict[str, object]  # for the manifest: what was counted and calibrated


@dataclass(frozen=True, kw_only=True)
class Clusterer(Spec):
    """Base of both."""

    noise: Literal["own", "nearest", "drop"] = "own"

    def group(self, x: Floats, track: Ints, frame: Ints, eps: float, progress: Progress = silent) -> Grouping:
        """Of faces x [n, C] with the track and the picture of each; `eps` is the embedder's own."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Dbscan(Clusterer):
    name: ClassVar[str] = "dbscan"

    eps: float = 0.75
    min_samples: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_eps(self.name, self.eps)
        if self.min_samples < 1:
            raise SpecError(f"dbscan: min_samples={self.min_samples}; at least the face itself, 1")

    def group(self, x: Floats, track: Ints, frame: Ints, eps: float, progress: Progress = silent) -> Grouping:
        person = dbscan(x, self.eps, self.min_samples, progress)
        lost = np.flatnonzero(person < 0)
        person, counts = place_noise(person, [np.array([i]) for i in lost], x, frame, self.noise)
        counts = {"eps": self.eps, "people": count_people(person), **counts}
        return Grouping(number(person), self.eps, counts)


@dataclass(frozen=True, kw_only=True)
class Linked(Clusterer):
    name: ClassVar[str] = "linked"

    eps: float | None = None  # None: calibrated
    smallest: int = 2
    neighbours: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eps is not None:
            check_eps(self.name, self.eps)
        if self.smallest < 1 or self.neighbours < 1:
            raise SpecError("linked: smallest and neighbours are at least 1")

    def group(self, x: Floats, track: Ints, frame: Ints, eps: float, progress: Progress = silent) -> Grouping:
        tracks, of = np.unique(track, return_inverse=True)
        check_tracks(of, frame)
        x = unit(x)
        means = unit(sum_by(of, x, len(tracks)))
        counts: dict[str, object] = {"tracks": len(tracks)}
        if self.eps is None:
            eps, links = calibrate(x, of, frame, means, eps)
            counts |= links
        else:
            eps = self.eps
        who = link(means, list_frames(of, frame, len(tracks)), eps, self.neighbours, progress)[of]
        groups = [one for one in split_by(who) if len(one) < self.smallest]
        for one in groups:
            who[one] = -1
        who, noise = place_noise(who, groups, x, frame, self.noise)
        return Grouping(number(who), float(eps), {"eps": float(eps), "people": count_people(who), **counts, **noise})


CLUSTERERS: dict[str, type[Clusterer]] = {"linked": Linked, "dbscan": Dbscan}


def clusterer(text: str) -> Clusterer:
    """From its string: `linked`, `linked(eps=0.6,noise=drop)`, `dbscan`."""
    name, settings = spec.parse(text)
    found = CLUSTERERS.get(name.lower())
    if found is None:
        raise SpecError(f"no way of clustering is called {name!r}; {close_to(name, list(CLUSTERERS))}")
    return found().with_params(settings)


def check_eps(name: str, eps: float) -> None:
    if not 0 <= eps <= 2:
        raise SpecError(f"{name}: eps={eps:g}; cosine distances lie between 0 and 2")


# ── DBSCAN ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def dbscan(x: Floats, eps: float, min_samples: int = 1, progress: Progress = silent) -> Ints:
    """Labels by first appearance of a core; −1 is noise. In blocks, so that memory is linear in faces."""
    n = len(x)
    x = unit(x)
    core = np.ones(n, bool)
    if min_samples > 1:
        for at, near in blocks(x, x, eps, "neighbours", progress):
            core[at] = near.sum(1) >= min_samples
    parent = np.arange(n)
    cores = np.flatnonzero(core)
    inside = x if len(cores) == n else x[cores]
    for at, near in blocks(inside, inside, eps, "people", progress, after=True):
        i, j = np.nonzero(near)
        join(parent, cores[i + at.start], cores[j + at.start])
    label = np.where(core, flatten(parent), n)  # roots are the first of theirs
    if min_samples > 1 and len(cores):
        rest = np.flatnonzero(~core)
        for at, near in blocks(x[rest], x[cores], eps, "borders", progress):
            label[rest[at]] = np.where(near, label[cores][None], n).min(1)  # the person that was first
    return number(np.where(label == n, -1, label), by_label=True)


def blocks(
    a: Floats, b: Floats, eps: float, what: str, progress: Progress, after: bool = False
) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """Which rows of b are within eps of some rows of a, these at a time; `after`: from the first of these on alone."""
    step = max(1, CELLS // max(len(b), 1))
    for start in range(0, len(a), step):
        at = slice(start, min(start + step, len(a)))
        yield at, a[at] @ b[start if after else 0 :].T >= 1 - eps - ROUNDING
        progress(what, at.stop, len(a))


def join(parent: Ints, a: Ints, b: Ints) -> None:
    """Pairs that are one group; the first of a group is its root, and every entry leads to it."""
    while True:
        low, high = np.minimum(parent[a], parent[b]), np.maximum(parent[a], parent[b])
        differ = low != high
        if not differ.any():
            return
        low, high, a, b = low[differ], high[differ], a[differ], b[differ]
        pairs = np.unique(low * len(parent) + high)
        low, high = np.divmod(pairs, len(parent))
        np.minimum.at(parent, high, low)
        parent[:] = flatten(parent)


def flatten(parent: Ints) -> Ints:
    while not np.array_equal(parent[parent], parent):
        parent = parent[parent]
    return parent


def number(label: Ints, by_label: bool = False) -> Ints:
    """Labels as 0, 1, 2, … by first appearance (or in their own order); −1 stays."""
    numbers = np.full(len(label), -1, np.int64)
    real = label >= 0
    values, first, where = np.unique(label[real], return_index=True, return_inverse=True)
    order = np.arange(len(values)) if by_label else np.argsort(np.argsort(first))
    numbers[real] = order[where]
    return numbers


# ── linking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def link(means: Floats, frames: list[set[int]], eps: float, neighbours: int, progress: Progress = silent) -> Ints:
    """The person of each track: average linkage, the most alike first, never two that share a picture."""
    groups = Groups(means, frames, eps, find_neighbours(means, eps + BESIDE, neighbours, progress))
    T = len(means)
    heap = [pair for t in range(T) if (pair := groups.nearest(t)) is not None]
    heapq.heapify(heap)
    left = T
    while heap:
        _, a, b, grown_a, grown_b = heapq.heappop(heap)
        if groups.parent[a] != a or groups.grown[a] != grown_a:
            continue  # it has another entry
        if groups.parent[b] == b and groups.grown[b] == grown_b:
            a = groups.join(a, b)
            left -= 1
            if not left % 1000:
                progress("people", T - left, T)
        if (pair := groups.nearest(a)) is not None:
            heapq.heappush(heap, pair)
    return flatten(groups.parent)


Pair = tuple[float, int, int, int, int]  # distance, two groups, and how often each had grown


class Groups:
    """Tracks on their way to people. d(A ∪ B, C) ≥ min(d(A, C), d(B, C)), so that a nearest one found earlier is a
    bound: it is looked for again when it comes to the top, not whenever something near has joined."""

    def __init__(self, means: Floats, frames: list[set[int]], eps: float, near: list[Ints]) -> None:
        T = len(means)
        self.S, self.size, self.frames, self.eps, self.near = means.copy(), np.ones(T), frames, eps, near
        self.parent, self.grown = np.arange(T), np.zeros(T, np.int64)

    def nearest(self, a: int) -> Pair | None:
        """The nearest group within eps that is in none of its pictures."""
        near = np.unique(self.roots(self.near[a]))
        near = near[near != a]
        if not len(near):
            self.near[a] = near
            return None
        far = 1 - (self.S[near] @ self.S[a]) / (self.size[near] * self.size[a])
        never: list[int] = []
        found: Pair | None = None
        for k in np.argsort(far, kind="stable").tolist():
            if far[k] > self.eps:
                break
            b = int(near[k])
            if self.frames[a].isdisjoint(self.frames[b]):
                found = float(far[k]), a, b, int(self.grown[a]), int(self.grown[b])
                break
            never.append(k)  # pictures only become more
        self.near[a] = np.delete(near, never) if never else near
        return found

    def roots(self, items: Ints) -> Ints:
        """Whom these have become."""
        while True:
            up = self.parent[items]
            if np.array_equal(up, items):
                return items
            items = up

    def join(self, a: int, b: int) -> int:
        """The smaller goes into the larger; which that is."""
        if len(self.frames[a]) + len(self.near[a]) < len(self.frames[b]) + len(self.near[b]):
            a, b = b, a
        self.S[a] += self.S[b]
        self.size[a] += self.size[b]
        self.frames[a] |= self.frames[b]
        self.near[a] = np.concatenate([self.near[a], self.near[b]])
        self.frames[b], self.near[b] = set(), self.near[b][:0]
        self.parent[b] = a
        self.grown[a] += 1
        return a


def find_neighbours(x: Floats, eps: float, k: int, progress: Progress) -> list[Ints]:
    """Of each row the k nearest within eps, and those of whom it is one."""
    T = len(x)
    step = max(1, CELLS // max(T, 1))
    pairs = [np.zeros((2, 0), np.int32)]
    for start in range(0, T, step):
        cosine = x[start : start + step] @ x.T  # [step, T]
        rows = np.arange(len(cosine))
        cosine[rows, start + rows] = -2
        good = cosine >= 1 - eps
        for row in np.flatnonzero(good.sum(1) > k).tolist():
            few = np.flatnonzero(good[row])
            good[row] = False
            good[row, few[np.argpartition(-cosine[row, few], k - 1)[:k]]] = True
        i, j = np.nonzero(good)
        pairs.append(np.stack([i + start, j]).astype(np.int32))
        progress("neighbours", min(start + step, T), T)
    one, other = np.concatenate(pairs, axis=1)
    one, other = np.concatenate([one, other]), np.concatenate([other, one])
    order = np.argsort(one, kind="stable")
    cuts = np.searchsorted(one[order], np.arange(1, T))
    return np.split(other[order].astype(np.int64), cuts) if T else []


def check_tracks(track: Ints, frame: Ints) -> None:
    """A track has at most one face a picture: else nothing could keep both links."""
    both = np.unique(np.stack([track, frame]), axis=1)
    if both.shape[1] != len(track):
        raise InputError("a track with two faces in one picture", hint="give such faces tracks of their own")


def list_frames(track: Ints, frame: Ints, count: int) -> list[set[int]]:
    """The pictures of each track; those of one face alone forbid nothing and are left out."""
    _, where, many = np.unique(frame, return_inverse=True, return_counts=True)
    frames: list[set[int]] = [set() for _ in range(count)]
    several = many[where] > 1
    for t, f in zip(track[several].tolist(), frame[several].tolist(), strict=True):
        frames[t].add(f)
    return frames


def sum_by(of: Ints, x: Floats, count: int) -> Floats:
    """Σ x of each group. [groups, C]"""
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(count))
    sums = np.zeros((count, x.shape[1]), np.float32)
    step = 4096
    for k in range(0, count, step):  # some groups at a time: rows are sorted by group without a copy of all
        last = starts[k + step] if k + step < count else len(x)
        rows = order[starts[k] : last]
        if len(rows):
            sums[k : k + step] = np.add.reduceat(x[rows].astype(np.float64), starts[k : k + step] - starts[k], axis=0)
    return sums


def split_by(who: Ints) -> list[Ints]:
    """The faces of each person."""
    order = np.argsort(who, kind="stable")
    cuts = np.flatnonzero(np.diff(who[order])) + 1
    return [one for one in np.split(order, cuts) if len(one) and who[one[0]] >= 0]


# ── calibration and noise ───────────────────────────────────────────────────────────────────────────────────────────


def calibrate(x: Floats, of: Ints, frame: Ints, means: Floats, own: float) -> tuple[float, dict[str, float]]:
    """eps below what must not be alike and not below what must be, as far as the video has such pairs.

    d⁺  between the means of the first and the last third of each track of four faces and more
    d⁻  between the means of every two tracks with a picture in common
    ê   = max(.9 · Q.05(d⁻), min(Q.9(d⁺), Q.05(d⁻)))          eps = (m·ê + 10·own)/(m + 10),  m = |d⁻|

    A track is one pose in one light, so that d⁺ alone would be far too strict: most of the word is d⁻'s.
    """
    alike, apart = must_links(x, of, len(means)), cannot_links(of, frame, means)
    counts: dict[str, float] = {"must_links": len(alike), "cannot_links": len(apart), "own_eps": own}
    if len(alike):
        counts["must_q90"] = float(np.quantile(alike, ALIKE))
    if not len(apart):
        return own, counts
    counts["cannot_q05"] = low = float(np.quantile(apart, APART))
    here = max(BELOW * low, min(counts.get("must_q90", 0.0), low))
    m = len(apart)
    return (m * here + WORTH * own) / (m + WORTH), counts


def must_links(x: Floats, of: Ints, count: int, most: int = 20_000) -> NDArray[np.float64]:
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(count + 1))
    long = np.flatnonzero(np.diff(starts) >= THIRDS)
    long = long[:: max(1, len(long) // most)]
    pairs = []
    for t in long.tolist():
        rows = order[starts[t] : starts[t + 1]]
        third = max(1, len(rows) // 3)
        a, b = unit(x[rows[:third]].mean(0)), unit(x[rows[-third:]].mean(0))
        pairs.append(1 - float(a @ b))
    return np.array(pairs)


def cannot_links(of: Ints, frame: Ints, means: Floats, most: int = 200_000) -> NDArray[np.float64]:
    order = np.argsort(frame, kind="stable")
    pairs: set[tuple[int, int]] = set()
    for rows in np.split(order, np.flatnonzero(np.diff(frame[order])) + 1):
        tracks = sorted(of[rows].tolist())[:64]  # of a crowd, some
        pairs.update((a, b) for k, a in enumerate(tracks) for b in tracks[k + 1 :])
        if len(pairs) >= most:
            break
    if not pairs:
        return np.zeros(0)
    a, b = np.array(sorted(pairs)).T
    return np.concatenate(
        [1 - np.einsum("nc,nc->n", means[a[i : i + 4096]], means[b[i : i + 4096]]) for i in range(0, len(a), 4096)]
    ).astype(np.float64)


def place_noise(person: Ints, groups: list[Ints], x: Floats, frame: Ints, rule: str) -> tuple[Ints, dict[str, object]]:
    """Groups of faces that are nobody yet, by the rule."""
    counts: dict[str, object] = {"noise": sum(map(len, groups)), "noise_rule": rule}
    person = person.copy()
    if not groups or rule == "drop":
        return person, counts
    new = int(person.max(initial=-1)) + 1
    if rule == "nearest" and new:
        real = np.flatnonzero(person >= 0)
        labels, of = np.unique(person[real], return_inverse=True)
        centres = unit(sum_by(of, unit(x[real]), len(labels)))
        frames = [set[int]() for _ in labels]
        for k, f in zip(of.tolist(), frame[real].tolist(), strict=True):
            frames[k].add(f)
        alone = 0
        for one in groups:
            taken = set(frame[one].tolist())
            order = np.argsort(-(centres @ unit(x[one].mean(0))), kind="stable")
            best = next((int(k) for k in order if len(taken) == len(one) and frames[k].isdisjoint(taken)), None)
            if best is None:
                person[one], new, alone = new, new + 1, alone + 1
            else:
                person[one] = labels[best]
                frames[best] |= taken
        return person, {**counts, "noise_alone": alone}
    for one in groups:
        person[one], new = new, new + 1
    return person, counts


def count_people(person: Ints) -> int:
    return len(np.unique(person[person >= 0]))


def impossible_merges(person: Ints, frame: Ints) -> int:
    """Pairs of faces of one picture that are one person: Σ over (picture, person) of k(k−1)/2."""
    real = person >= 0
    _, k = np.unique(np.stack([frame[real], person[real]]), axis=1, return_counts=True)
    return int((k * (k - 1) // 2).sum())
