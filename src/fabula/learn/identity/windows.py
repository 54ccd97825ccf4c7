"""Videosets of any length: windows of clips, one after the other, with people carried from window to window.

MICap (Raajesh et al., CVPR 2024) tells a set of five clips and stops there (its limitation C). Here a longer set is
told window by window, and memory stays that of one window. A person of a window is a person of the set

    by text    where windows overlap: blanks that were filled before are given, and who is named there keeps his number
    by face    elsewhere: the faces that the model looked at when it named him have a mean; the nearest mean of a person
               known so far, within `face_eps` cosine distance, is who he is; otherwise he is new
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fabula.core.notes import Progress, silent
from fabula.learn.identity.videosets import Batch, Floats, Videoset

if TYPE_CHECKING:
    from fabula.learn.identity.clips import Videosets

ALIKE = 0.5  # a token is somebody known where it looks at the same faces, at least so much as it would at its own
OVERLAP = 2  # clips of the window before that are given again to a window whose blanks are filled
Answer = tuple[str, tuple[str, ...] | None, tuple[str, ...] | None]  # set, an id a blank, a caption a clip


def tell_sets(
    model: Any, data: Videosets, units: Sequence[int], batch_size: int = 8, watch: Progress = silent
) -> list[Answer]:
    """Blanks filled and captions told, as the data are used for and the model was trained for; one answer a set."""
    fills = data.use in ("fitb", "both") and "fitb" in model.passes
    tells = data.use in ("caption", "both") and "caption" in model.passes
    device = next(model.parameters()).device
    names = [data.windows[i][0] for i in units]
    short = [name for name in names if len(data.clips(name)) <= data.config.clips]
    made: dict[str, Answer] = {}
    for i in range(0, len(short), batch_size):
        some = short[i : i + batch_size]
        sets = [data.window(name, range(len(data.clips(name)))) for name in some]
        batch = data.collate(sets).to(device)
        filled = [people_of(row, model.config) for row in model.fill(batch)] if fills else [None] * len(some)
        said = model.tell(batch) if tells else [None] * len(some)
        for name, ids, row in zip(some, filled, said, strict=True):
            told = None if row is None else tuple(data.pieces.decode(row, len(data.clips(name))))
            made[name] = (name, ids, told)
        watch("predicting", len(made), len(names))
    for name in names:
        if name not in made:
            ids = fill_long(model, data, name) if fills else None
            made[name] = (name, ids, tell_long(model, data, name, batch_size) if tells else None)
            watch("predicting", len(made), len(names))
    return [made[name] for name in names]


def people_of(tokens: Sequence[int], config: Any) -> tuple[str, ...]:
    """P1, P2, …; over the whole vocabulary a blank may be filled with a word, which is then its own person."""
    known = range(config.blank + 1, config.start)
    return tuple(f"P{t - config.blank}" if t in known else f"token{t}" for t in tokens)


@dataclass
class People:
    """The people of a long set: faces that were seen, and who was named when they were looked at.

    Faces are grouped by themselves, so that a name that was wrong once does not spoil a face for ever: a cluster of a
    window is the known face whose mean is nearest, within `eps` cosine distance, each of a window another (or the face
    of its number, where the data number people). Who was named then has the votes of the faces that were looked at.
    """

    eps: float
    sums: list[Floats] = field(default_factory=list)  # by face: the sum of the means of its clusters
    numbered: dict[int, int] = field(default_factory=dict)  # the data's number of a person → face
    votes: list[dict[int, float]] = field(default_factory=list)  # person k is P(k + 1): face → attention

    def meet(self, means: Sequence[Floats], numbers: Sequence[int] | None = None) -> list[int]:
        """The face that each cluster of a window is; unknown ones are new."""
        if numbers is not None:
            for number, mean in zip(numbers, means, strict=True):
                if number not in self.numbered:
                    self.numbered[number] = len(self.sums)
                    self.sums.append(np.zeros_like(mean))
            faces = [self.numbered[number] for number in numbers]
        else:
            close = {
                (i, f): cosine(mean, known)
                for i, mean in enumerate(means)
                for f, known in enumerate(self.sums)
                if cosine(mean, known) >= 1 - self.eps
            }
            found = pair_off(close)
            faces = [found.get(i, -1) for i in range(len(means))]
            for i, face in enumerate(faces):
                if face < 0:
                    faces[i] = len(self.sums)
                    self.sums.append(np.zeros_like(means[i]))
        for face, mean in zip(faces, means, strict=True):
            self.sums[face] = self.sums[face] + mean
        return faces

    def numbers_of(self, k: int) -> dict[int, float]:
        """The data's numbers of the faces that were looked at when person k was named, and how much."""
        number = {face: n for n, face in self.numbered.items()}
        return {number[f]: share for f, share in self.votes[k].items() if f in number}

    def name(self, looks: Mapping[int, Mapping[int, float]], known: Mapping[int, int]) -> dict[int, int]:
        """Who each token of a window is: as known, or whose face was looked at, or somebody new.

        looks: token → face → share of attention, at most 1 in all.  P(k | token) ∝ Σ_f look(f) · votes_k(f) / Σ votes_k
        """
        person = dict(known)
        alike: dict[tuple[int, int], float] = {}
        for token, look in looks.items():
            if token in known:
                continue
            for k, votes in enumerate(self.votes):
                if k not in known.values() and (total := sum(votes.values())):
                    shared = sum(share * votes.get(f, 0.0) for f, share in look.items()) / total
                    if shared >= ALIKE * sum(share * share for share in look.values()):
                        alike[token, k] = shared
        person |= pair_off(alike)
        for token, look in looks.items():
            if token not in person:
                person[token] = len(self.votes)
                self.votes.append({})
            votes = self.votes[person[token]]
            for f, share in look.items():
                votes[f] = votes.get(f, 0.0) + share
        return person


def pair_off(alike: Mapping[tuple[int, int], float]) -> dict[int, int]:
    """The most alike first, each one once."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for i, j in sorted(alike, key=lambda pair: (-alike[pair], pair)):
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs


def cosine(a: Floats, b: Floats) -> float:
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))


def name_people(
    people: People, known: Mapping[int, int], one: Videoset, batch: Batch, seen: tuple[Any, str]
) -> dict[int, int]:
    """Person tokens of a window as people of the set: known by text, or found by face, or new."""
    model, part = seen
    row = batch.tokens[0][model.is_person(batch.tokens[0]) & batch.token_mask[0]].tolist()
    tokens = [t for t in dict.fromkeys(row) if t != model.config.blank]
    looks: dict[int, dict[int, float]] = {token: {} for token in tokens}
    if "face" in model.inputs and bool(batch.face_mask.any()):
        A, memory = model.look(batch, part)
        look = (A[0, :, memory.streams["face"]] * batch.face_mask[0]).double()  # [L, F]
        real = batch.face_mask[0]
        cluster = batch.face_cluster[0][real]
        faces = batch.face[0][real]
        faces = faces / faces.norm(dim=-1, keepdim=True).clamp(min=1e-12)
        K = int(cluster.max()) + 1
        means = torch.zeros(K, faces.shape[1], device=faces.device).index_add(0, cluster, faces).cpu().numpy()
        numbers = given_numbers(one, K) if model.config.face_clusters == "set" else None
        film = people.meet([unit(m) for m in means], numbers)
        for token in tokens:
            weight = look[batch.tokens[0] == token][:, real].mean(0)  # [F]
            share = torch.zeros(K, dtype=weight.dtype, device=weight.device).index_add(0, cluster, weight)
            share = share / share.sum().clamp(min=1e-12)
            for c, value in enumerate(share.tolist()):
                looks[token][film[c]] = looks[token].get(film[c], 0.0) + value
    return people.name(looks, known)


def given_numbers(one: Videoset, K: int) -> list[int] | None:
    """Whom the data say each cluster of a window is, where they do."""
    if not one.numbered:
        return None
    every = dict.fromkeys(int(p) for clip in one.clips for p in clip.person)
    return list(every)[:K]  # clusters are numbered by first appearance


def unit(x: Floats) -> Floats:
    made: Floats = x / max(float(np.linalg.norm(x)), 1e-12)
    return made


def fill_long(model: Any, data: Videosets, name: str) -> tuple[str, ...]:
    """The blanks of a long set, window by window, the last clips of one given again to the next."""
    config, device = data.config, next(model.parameters()).device
    people, filled, upto = People(config.face_eps), list[list[int]](), 0
    for window in windows(len(data.clips(name)), config.clips, min(OVERLAP, config.clips - 1)):
        one = data.window(name, window)
        batch = data.collate([one]).to(device)
        blanks = model.is_person(batch.tokens[0]).nonzero()[:, 0].tolist()
        clip_of = [int(batch.token_clip[0, t]) + window.start for t in blanks]
        given = [k for c in range(window.start, upto) for k in filled[c]]
        local: dict[int, int] = {}
        known = torch.zeros_like(batch.token_mask)
        for t, k in zip(blanks, given, strict=False):
            if local.setdefault(k, len(local) + 1) <= config.people:
                batch.tokens[0, t], known[0, t] = config.blank + local[k], True
        chosen = model.fill(batch, known)[0]
        free = [t for t in blanks if not known[0, t]]
        batch.tokens[0, torch.tensor(free, dtype=torch.long)] = torch.tensor(chosen, dtype=torch.long, device=device)
        known_as = {config.blank + v: k for k, v in local.items() if v <= config.people}
        person = name_people(people, known_as, one, batch, (model, "fitb"))
        filled += [[] for _ in range(window.stop - upto)]
        for t, c in zip(blanks, clip_of, strict=True):
            if c >= upto:
                filled[c].append(person[int(batch.tokens[0, t])])
        upto = window.stop
    return tuple(f"P{k + 1}" for row in filled for k in row)


def tell_long(model: Any, data: Videosets, name: str, batch_size: int) -> tuple[str, ...]:
    return tell_film(model, data, name, batch_size)[0]


def tell_film(
    model: Any, data: Videosets, name: str, batch_size: int, watch: Progress = silent
) -> tuple[tuple[str, ...], People]:
    """Captions of a long set: windows side by side, people joined by their faces; and whose faces were looked at."""
    config, device = data.config, next(model.parameters()).device
    people, told = People(config.face_eps), list[str]()
    every = list(windows(len(data.clips(name)), config.clips, 0))
    for i in range(0, len(every), batch_size):
        sets = [data.window(name, window) for window in every[i : i + batch_size]]
        for one, row in zip(sets, model.tell(data.collate(sets).to(device)), strict=True):
            batch = data.collate([Videoset(one.name, one.clips, row)]).to(device)
            person = name_people(people, {}, one, batch, (model, "caption"))
            told += say(data, row, person, len(one.clips))
        watch(f"telling {name}", min(i + batch_size, len(every)), len(every))
    return tuple(told), people


def say(data: Videosets, row: Sequence[int], person: dict[int, int], clips: int) -> list[str]:
    """Captions with the set's own numbers, which may be more than the model knows."""
    import re

    base = data.config.blank
    number = {f"P{token - base}": f"P{k + 1}" for token, k in person.items()}
    return [re.sub(r"\bP\d+\b", lambda m: number.get(m[0], m[0]), text) for text in data.pieces.decode(row, clips)]


def windows(clips: int, size: int, overlap: int) -> Iterator[range]:
    """0 … size, and so on with so many clips again; the last ends with the set."""
    first = 0
    while True:
        yield range(first, min(first + size, clips))
        if first + size >= clips:
            return
        first += size - overlap
