"""Who is who: faces into people. Plain DBSCAN as MICap has it, and linking that knows what a video proves (the default).

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
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core import spec
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.core.registry import close_to
from fabula.core.spec import Spec
from fabula.features.people.base import Floats, Ints, unit

CELLS = 1 << 24  # of a block of distances
WORTH = 30  # links that weigh as much as the embedder's own eps
HALVES = 4  # faces that a track needs to be cut into two that must be alike
ALIKE, APART = 0.9, 0.1  # quantiles of must-links and cannot-links between which eps lies


@dataclass(frozen=True)
class Grouping:
    """Who each face is, and how that was decided."""

    person: Ints  # [n]; −1: nobody
    eps: float
    told: dict[str, Any]  # for the manifest: what was counted and calibrated


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
        person, told = place_noise(person, [np.array([i]) for i in lost], x, frame, self.noise)
        told = {"eps": self.eps, "people": count_people(person), **told}
        return Grouping(number(person), self.eps, told)


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
        told: dict[str, Any] = {"tracks": len(tracks)}
        if self.eps is None:
            eps, links = calibrate(x, of, frame, means, eps)
            told |= links
        else:
            eps = self.eps
        who = link(means, list_frames(of, frame, len(tracks)), eps, self.neighbours, progress)[of]
        groups = [one for one in split_by(who) if len(one) < self.smallest]
        for one in groups:
            who[one] = -1
        who, noise = place_noise(who, groups, x, frame, self.noise)
        return Grouping(number(who), float(eps), {"eps": float(eps), "people": count_people(who), **told, **noise})


CLUSTERERS: dict[str, type[Clusterer]] = {"linked": Linked, "dbscan": Dbscan}


def clusterer(text: str) -> Clusterer:
    """From its string: `linked`, `linked(eps=0.6,noise=drop)`, `dbscan`."""
    name, given = spec.parse(text)
    found = CLUSTERERS.get(name.lower())
    if found is None:
        raise SpecError(f"no way of clustering is called {name!r}; {close_to(name, list(CLUSTERERS))}")
    return found().with_params(given)


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
    for at, near in blocks(x[cores], x[cores], eps, "people", progress):
        i, j = np.nonzero(near[:, at.start :])  # distances are the same from either side
        join(parent, cores[i + at.start], cores[j + at.start])
    label = np.where(core, flatten(parent), n)  # roots are the first of theirs
    if min_samples > 1 and len(cores):
        rest = np.flatnonzero(~core)
        for at, near in blocks(x[rest], x[cores], eps, "borders", progress):
            label[rest[at]] = np.where(near, label[cores][None], n).min(1)  # the person that was first
    return number(np.where(label == n, -1, label), by_label=True)


def blocks(
    a: Floats, b: Floats, eps: float, what: str, progress: Progress
) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """Which rows of b are within eps of some rows of a, these at a time."""
    step = max(1, CELLS // max(len(b), 1))
    for start in range(0, len(a), step):
        at = slice(start, min(start + step, len(a)))
        yield at, a[at] @ b.T >= 1 - eps - 1e-6
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
    made = np.full(len(label), -1, np.int64)
    real = label >= 0
    values, first, where = np.unique(label[real], return_index=True, return_inverse=True)
    order = np.arange(len(values)) if by_label else np.argsort(np.argsort(first))
    made[real] = order[where]
    return made


# ── linking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def link(means: Floats, frames: list[set[int]], eps: float, neighbours: int, progress: Progress = silent) -> Ints:
    """The person of each track: average linkage, the most alike first, never two that share a picture."""
    T = len(means)
    S, size = means.astype(np.float64), np.ones(T)
    near, heap = find_neighbours(means, eps, neighbours, progress)
    heapq.heapify(heap)
    alive, who = np.ones(T, bool), np.arange(T)
    members: list[list[int]] = [[t] for t in range(T)]
    version = np.zeros(T, np.int64)  # a pair is stale when one of its two has grown
    while heap:
        d, a, b, va, vb = heapq.heappop(heap)
        if not (alive[a] and alive[b]) or version[a] != va or version[b] != vb:
            continue
        if not frames[a].isdisjoint(frames[b]):  # nor will it ever be: frames only grow
            near[a].discard(b)
            near[b].discard(a)
            continue
        if len(frames[a]) + len(near[a]) < len(frames[b]) + len(near[b]):
            a, b = b, a  # the smaller goes into the larger
        S[a] += S[b]
        size[a] += size[b]
        frames[a] |= frames[b]
        members[a] += members[b]
        frames[b], members[b], alive[b] = set(), [], False
        near[a] |= near[b]
        near[a] -= {a, b}
        for c in near[b]:
            if c != a:
                near[c].discard(b)
                near[c].add(a)
        near[b] = set()
        version[a] += 1
        others = np.fromiter(near[a], np.int64, len(near[a]))
        if len(others):
            far = 1 - (S[others] @ S[a]) / (size[others] * size[a])
            for c, d in zip(others[far <= eps].tolist(), far[far <= eps].tolist(), strict=True):
                heapq.heappush(heap, (d, min(a, c), max(a, c), int(version[min(a, c)]), int(version[max(a, c)])))
    for t in np.flatnonzero(alive).tolist():
        who[members[t]] = min(members[t])
    return who


Pair = tuple[float, int, int, int, int]  # distance, two groups, and how often each had grown


def find_neighbours(means: Floats, eps: float, k: int, progress: Progress) -> tuple[list[set[int]], list[Pair]]:
    """The k nearest of each track within eps and a little more, both ways; and the pairs within eps."""
    T = len(means)
    near: list[set[int]] = [set() for _ in range(T)]
    step = max(1, CELLS // max(T, 1))
    reach = 1 - min(2.0, eps + 0.15)  # a pair too far may join in others' company
    found: set[int] = set()
    heap: list[Pair] = []
    for start in range(0, T, step):
        cosine = means[start : start + step] @ means.T  # [step, T]
        cosine[np.arange(len(cosine)), np.arange(start, start + len(cosine))] = -2
        m = min(k, T - 1)
        if m < 1:
            break
        top = np.argpartition(-cosine, m - 1, axis=1)[:, :m] if m < T - 1 else np.argsort(-cosine, axis=1)[:, :m]
        value = np.take_along_axis(cosine, top, 1)
        rows, cols = np.nonzero(value >= reach)
        for i, j, c in zip((rows + start).tolist(), top[rows, cols].tolist(), value[rows, cols].tolist(), strict=True):
            a, b = (i, j) if i < j else (j, i)
            if a * T + b in found:
                continue
            found.add(a * T + b)
            near[a].add(b)
            near[b].add(a)
            if 1 - c <= eps:
                heap.append((1 - c, a, b, 0, 0))
        progress("neighbours", min(start + step, T), T)
    return near, heap


def check_tracks(track: Ints, frame: Ints) -> None:
    """A track has at most one face a picture: else nothing could keep both links."""
    both = np.unique(np.stack([track, frame]), axis=1)
    if both.shape[1] != len(track):
        raise InputError("a track with two faces in one picture", hint="give such faces tracks of their own")


def list_frames(track: Ints, frame: Ints, count: int) -> list[set[int]]:
    """The pictures of each track; those of one face alone forbid nothing and are left out."""
    _, where, many = np.unique(frame, return_inverse=True, return_counts=True)
    made: list[set[int]] = [set() for _ in range(count)]
    some = many[where] > 1
    for t, f in zip(track[some].tolist(), frame[some].tolist(), strict=True):
        made[t].add(f)
    return made


def sum_by(of: Ints, x: Floats, count: int) -> NDArray[np.float64]:
    """Σ x of each group. [groups, C]"""
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(count))
    made = np.zeros((count, x.shape[1]))
    step = 4096
    for k in range(0, count, step):  # some groups at a time: rows are sorted by group without a copy of all
        last = starts[k + step] if k + step < count else len(x)
        rows = order[starts[k] : last]
        if len(rows):
            made[k : k + step] = np.add.reduceat(x[rows].astype(np.float64), starts[k : k + step] - starts[k], axis=0)
    return made


def split_by(who: Ints) -> list[Ints]:
    """The faces of each person."""
    order = np.argsort(who, kind="stable")
    cuts = np.flatnonzero(np.diff(who[order])) + 1
    return [one for one in np.split(order, cuts) if len(one) and who[one[0]] >= 0]


# ── calibration and noise ───────────────────────────────────────────────────────────────────────────────────────────


def calibrate(x: Floats, of: Ints, frame: Ints, means: Floats, own: float) -> tuple[float, dict[str, Any]]:
    """eps between what must be alike and what must not, as far as the video has such pairs.

    d⁺  between the means of the first and the last third of each track of four faces and more
    d⁻  between the means of every two tracks with a picture in common
    ê   = ½ (Q.9(d⁺) + Q.1(d⁻)), or as far as Q.1(d⁻) where they cross;   eps = (m·ê + 30·own)/(m + 30),  m = min(|d⁺|, |d⁻|)
    """
    alike, apart = must_links(x, of, len(means)), cannot_links(of, frame, means)
    told: dict[str, Any] = {"must_links": len(alike), "cannot_links": len(apart), "own_eps": own}
    m = min(len(alike), len(apart))
    if not m:
        return own, told
    high, low = float(np.quantile(alike, ALIKE)), float(np.quantile(apart, APART))
    here = (high + low) / 2 if high <= low else low
    return (m * here + WORTH * own) / (m + WORTH), {**told, "must_q90": high, "cannot_q10": low}


def must_links(x: Floats, of: Ints, count: int, most: int = 20_000) -> NDArray[np.float64]:
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(count + 1))
    long = np.flatnonzero(np.diff(starts) >= HALVES)
    long = long[:: max(1, len(long) // most)]
    made = []
    for t in long.tolist():
        rows = order[starts[t] : starts[t + 1]]
        third = max(1, len(rows) // 3)
        a, b = unit(x[rows[:third]].mean(0)), unit(x[rows[-third:]].mean(0))
        made.append(1 - float(a @ b))
    return np.array(made)


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


def place_noise(person: Ints, groups: list[Ints], x: Floats, frame: Ints, rule: str) -> tuple[Ints, dict[str, Any]]:
    """Groups of faces that are nobody yet, by the rule."""
    told: dict[str, Any] = {"noise": sum(map(len, groups)), "noise_rule": rule}
    person = person.copy()
    if not groups or rule == "drop":
        return person, told
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
            seen = set(frame[one].tolist())
            order = np.argsort(-(centres @ unit(x[one].mean(0))), kind="stable")
            best = next((int(k) for k in order if len(seen) == len(one) and frames[k].isdisjoint(seen)), None)
            if best is None:
                person[one], new, alone = new, new + 1, alone + 1
            else:
                person[one] = labels[best]
                frames[best] |= seen
        return person, {**told, "noise_alone": alone}
    for one in groups:
        person[one], new = new, new + 1
    return person, told


def count_people(person: Ints) -> int:
    return len(np.unique(person[person >= 0]))


def impossible_merges(person: Ints, frame: Ints) -> int:
    """Pairs of faces of one picture that are one person: Σ over (picture, person) of k(k−1)/2."""
    real = person >= 0
    _, k = np.unique(np.stack([frame[real], person[real]]), axis=1, return_counts=True)
    return int((k * (k - 1) // 2).sum())
