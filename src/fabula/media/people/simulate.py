"""Simulated tracks of faces, to try clustering on where the truth is known. No face was seen: vectors alone.

    e = unit(person + bias·g + pose·p + track·q + face·r (+ blur·h))      unit directions; g and h are everybody's

A person has a direction, and a few poses with theirs; look-alikes lean towards somebody else. A shot shows one to four
people for some seconds at 5 pictures a second; faces are missed, tracks of a blurred face lean towards what all blurred
faces have in common, and now and then a tracker has gone on with the wrong person (`switched`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabula.media.people.base import Floats, Ints, unit


@dataclass(frozen=True)
class Recipe:
    """What the simulated film is like."""

    people: int = 12
    shots: int = 150
    dim: int = 128
    poses: int = 3
    pose: float = 0.8  # lengths of what is added to a person's direction
    track: float = 0.5
    face: float = 0.6
    bias: float = 0.0  # what all faces have in common: an embedder whose strangers are near one another
    blurred: float = 0.2  # of tracks
    blur: float = 1.2
    lookalikes: float = 0.25  # of people …
    likeness: float = 0.45  # … the cosine with whom they look like
    missed: float = 0.15  # of faces
    switched: float = 0.01  # of tracks


@dataclass(frozen=True)
class Simulated:
    """Faces by shot, then picture."""

    embedding: Floats  # [n, C]
    track: Ints  # [n]
    frame: Ints  # [n]
    shot: Ints  # [n]
    truth: Ints  # [n] who it is


def simulate(recipe: Recipe, seed: int) -> Simulated:
    rng = np.random.default_rng(seed)
    r = recipe

    def directions(*shape: int) -> NDArray[np.float64]:
        x = rng.standard_normal((*shape, r.dim))
        units: NDArray[np.float64] = x / np.linalg.norm(x, axis=-1, keepdims=True)
        return units

    person = directions(r.people)
    for k in range(1, r.people):
        if rng.random() < r.lookalikes:
            like = person[rng.integers(k)]
            own = person[k] - (person[k] @ like) * like
            person[k] = r.likeness * like + np.sqrt(1 - r.likeness**2) * own / np.linalg.norm(own)
    poses, common, base = directions(r.people, r.poses), directions(), directions()
    weight = 1 / np.arange(1, r.people + 1)  # few are seen often
    rows: list[tuple[int, int, int, int, Floats]] = []
    track = 0
    for shot in range(r.shots):
        many = min(r.people, 1 + rng.binomial(3, 0.35))
        who = rng.choice(r.people, many, replace=False, p=weight / weight.sum())
        length = int(rng.integers(3, 25))
        for p in who.tolist():
            others = [q for q in range(r.people) if q not in who]
            then = int(rng.choice(others)) if others and rng.random() < r.switched else p  # the tracker goes astray
            lean = directions() * r.track + (common * r.blur * rng.random() if rng.random() < r.blurred else 0)
            turn = poses[:, rng.integers(r.poses)]
            for t in range(length):
                if rng.random() < r.missed:
                    continue
                one = p if t < length / 2 else then
                e = person[one] + r.bias * base + r.pose * turn[one] + lean + r.face * directions()
                rows.append((shot, shot * 1000 + t, track, one, unit(e)))
            track += 1
    rows.sort(key=lambda row: (row[1], row[2]))
    shot_, frame_, track_, truth_, vectors = zip(*rows, strict=True)
    whole = (np.array(column, np.int64) for column in (track_, frame_, shot_, truth_))
    return Simulated(np.stack(vectors).astype(np.float32), *whole)
