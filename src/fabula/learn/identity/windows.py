"""Videosets of any length: clip by clip, with people carried on; memory stays that of one window.

MICap (Raajesh et al., CVPR 2024) captions a set of five clips and stops there (its limitation C). Of a longer set the
first five are captioned at once, and then each clip in a window with clips that have captions: the one before it, and
those that show the same faces (`Film.anchors`). So the model itself identifies people again, from faces and text. A
person whom it names and who is in none of them is

a known one    if the people named before with attention to the same faces were one person
a new one      otherwise; there may be more people in a film than the model has tokens for in a window
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from fabula.core.notes import Progress, silent
from fabula.learn.identity.videosets import Batch, Floats, Videoset
from fabula.learn.identity.wordpiece import split_captions

if TYPE_CHECKING:
    from fabula.learn.identity.clips import Videosets
    from fabula.learn.models.micap import Config, Model

ALIKE = 0.5  # a token is somebody known where it looks at the same faces, at least so much as it would at its own
Answer = tuple[str, tuple[str, ...] | None, tuple[str, ...] | None]  # set, an id a blank, a caption a clip


def answer_sets(
    model: Model, data: Videosets, units: Sequence[int], batch_size: int = 8, watch: Progress = silent
) -> list[Answer]:
    """Fill blanks and write captions, as far as the data ask and the model was trained for it; one answer per set."""
    fills = data.use in ("fitb", "both") and "fitb" in model.passes
    tells = data.use in ("caption", "both") and "caption" in model.passes
    device = next(model.parameters()).device
    names = [data.windows[i][0] for i in units]
    short = [name for name in names if len(data.clips(name)) <= data.config.clips]
    answers: dict[str, Answer] = {}
    for i in range(0, len(short), batch_size):
        part = short[i : i + batch_size]
        sets = [data.window(name, range(len(data.clips(name)))) for name in part]
        batch = data.collate(sets).to(device)
        filled = [people_of(row, model.config) for row in model.fill(batch)] if fills else [None] * len(part)
        rows = model.generate(batch) if tells else [None] * len(part)
        for name, ids, row in zip(part, filled, rows, strict=True):
            captions = None if row is None else tuple(data.pieces.decode(row, len(data.clips(name))))
            answers[name] = (name, ids, captions)
        watch("predicting", len(answers), len(names))
    for name in names:
        if name not in answers:
            ids = fill_long(model, data, name) if fills else None
            answers[name] = (name, ids, caption_long(model, data, name) if tells else None)
            watch("predicting", len(answers), len(names))
    return [answers[name] for name in names]


def people_of(tokens: Sequence[int], config: Config) -> tuple[str, ...]:
    """P1, P2, …; over the whole vocabulary a blank may be filled with a word, which is then its own person."""
    known = range(config.blank + 1, config.start)
    return tuple(f"P{t - config.blank}" if t in known else f"token{t}" for t in tokens)


@dataclass
class People:
    """The people of a long set: their faces, and who was named while the model attended to each face.

    Faces are grouped by themselves, so that a name that was wrong once does not spoil a face for ever: a cluster of a
    clip is the known face whose mean is nearest, within `eps` cosine distance, each of a clip another (or the face of
    its number, where the data number people). Who was named has the votes of the faces that were looked at.
    """

    eps: float
    sums: list[Floats] = field(default_factory=list)  # by face: the sum of the means of its clusters
    numbered: dict[int, int] = field(default_factory=dict)  # the data's number of a person → face
    votes: list[dict[int, float]] = field(default_factory=list)  # person k is P(k + 1): face → attention

    def meet(self, means: Sequence[Floats], numbers: Sequence[int] | None = None) -> list[int]:
        """The face that each cluster of a clip is; unknown ones are new."""
        if numbers is None:
            alike = {(i, f): cosine(mean, known) for i, mean in enumerate(means) for f, known in enumerate(self.sums)}
            pairs = pair_off({pair: close for pair, close in alike.items() if close >= 1 - self.eps})
        else:
            pairs = {i: self.numbered[n] for i, n in enumerate(numbers) if n in self.numbered}
        faces = []
        for i, mean in enumerate(means):
            if i not in pairs:
                pairs[i] = len(self.sums)
                self.sums.append(np.zeros_like(mean))
                if numbers is not None:
                    self.numbered[numbers[i]] = pairs[i]
            self.sums[pairs[i]] = self.sums[pairs[i]] + mean
            faces.append(pairs[i])
        return faces

    def name(self, looks: Mapping[int, Mapping[int, float]], known: Mapping[int, int]) -> dict[int, int]:
        """Who each token of a window is: a known person, the person of the attended face, or a new one.

        looks: token → face → share of attention, 1 in all.   alike(token, k) = Σ_f look(f) · votes_k(f) / Σ votes_k
        """
        alike: dict[tuple[int, int], float] = {}
        for token, look in looks.items():
            least = ALIKE * sum(share * share for share in look.values())
            for k, votes in enumerate(self.votes) if token not in known else ():
                shared = sum(share * votes.get(f, 0.0) for f, share in look.items()) / max(sum(votes.values()), 1e-12)
                if k not in known.values() and shared > 0 and shared >= least:
                    alike[token, k] = shared
        person = {**pair_off(alike), **known}
        for token, look in looks.items():
            if token not in person:
                person[token] = len(self.votes)
                self.votes.append({})
            votes = self.votes[person[token]]
            for f, share in look.items():
                votes[f] = votes.get(f, 0.0) + share
        return person

    def numbers_of(self, k: int) -> dict[int, float]:
        """The data's numbers of the faces attended to when person k was named, with the attention."""
        number = {face: n for n, face in self.numbered.items()}
        return {number[f]: share for f, share in self.votes[k].items() if f in number}


def pair_off(alike: Mapping[tuple[int, int], float]) -> dict[int, int]:
    """Pair the most similar first, each one once."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for i, j in sorted(alike, key=lambda pair: (-alike[pair], pair)):
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs


def cosine(a: Floats, b: Floats) -> float:
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))


@dataclass
class Film:
    """A long set and its captions so far."""

    model: Model
    data: Videosets
    name: str
    part: str  # fitb or caption
    people: People = field(init=False)
    faces: list[NDArray[np.int64]] = field(default_factory=list)  # by clip: which face of the film each face is
    sizes: list[dict[int, float]] = field(default_factory=list)  # by clip: face → how large it is, the largest 1
    named: list[list[int]] = field(default_factory=list)  # by clip: who is named, one after another

    def __post_init__(self) -> None:
        self.people = People(self.data.config.face_eps)

    def windows(self) -> Iterator[tuple[list[int], int]]:
        """Clips of each window, new ones last; and how many have captions already."""
        N, clips = self.data.config.clips, len(self.data.clips(self.name))
        first = list(range(min(N, clips)))
        for k in first:
            self.look(k)
        yield first, 0
        for k in range(N, clips):
            self.look(k)
            before = [k - 1] if N > 1 else []
            chosen = [*self.anchors(k, N - 2), *before]
            yield [*chosen, k], len(chosen)

    def look(self, k: int) -> None:
        """Identify the people of clip k by their faces."""
        features, numbered = self.data.look([self.data.clips(self.name)[k]])
        clip = features[0]
        x = clip.face / np.maximum(np.linalg.norm(clip.face, axis=1, keepdims=True), 1e-12)
        order, which = list(dict.fromkeys(clip.person.tolist())), np.zeros(len(x), np.int64)
        for c, person in enumerate(order):
            which[clip.person == person] = c
        means = [x[which == c].sum(0) for c in range(len(order))]
        means = [mean / max(float(np.linalg.norm(mean)), 1e-12) for mean in means]
        film = self.people.meet(means, order if numbered else None)
        side = np.sqrt(np.abs((clip.box[:, 2] - clip.box[:, 0]) * (clip.box[:, 3] - clip.box[:, 1])))
        size = {face: float(side[which == c].mean()) for c, face in enumerate(film)}
        largest = max(size.values(), default=0.0) or 1.0
        self.faces.append(np.array([film[c] for c in which], np.int64))
        self.sizes.append({face: value / largest for face, value in size.items()})

    def anchors(self, k: int, most: int) -> list[int]:
        """Clips that have captions and show the faces of clip k, in their order.

        One after the other, the clip that shows most of what is not yet shown; of equal ones the earliest.
        """
        left, chosen = dict(self.sizes[k]), list[int]()
        pool = [c for c in range(k - 1) if self.named[c]]
        while pool and len(chosen) < most:
            shown = {c: sum(min(left.get(f, 0.0), size) for f, size in self.sizes[c].items()) for c in pool}
            best = max(pool, key=lambda c: (shown[c], -c))
            chosen.append(best)
            pool.remove(best)
            for f, size in self.sizes[best].items():
                if f in left:
                    left[f] = max(0.0, left[f] - size) / 2
        return sorted(chosen)

    def numbers(self, clips: Sequence[int]) -> dict[int, int]:
        """People of clips that have captions → their numbers in a window, by first appearance."""
        local: dict[int, int] = {}
        for c in clips:
            for k in self.named[c]:
                local.setdefault(k, len(local) + 1)
        return local

    def name_tokens(self, batch: Batch, clips: Sequence[int], known: Mapping[int, int]) -> dict[int, int]:
        """Who each person token of a window is; `known`: those of clips that have captions."""
        model = self.model
        tokens = batch.tokens[0][model.is_person(batch.tokens[0]) & batch.token_mask[0]].tolist()
        looks: dict[int, dict[int, float]] = {t: {} for t in dict.fromkeys(tokens) if t != model.config.blank}
        if "face" in model.inputs and bool(batch.face_mask.any()):
            A, memory = model.look(batch, self.part)
            real = batch.face_mask[0]
            look = A[0, :, memory.streams["face"]][:, real].double().cpu().numpy()  # [L, F]
            film = np.concatenate([self.faces[c] for c in clips])[: look.shape[1]]
            row = batch.tokens[0].cpu().numpy()
            for token in looks:
                weight = look[row == token].mean(0)  # [F]
                for f, w in zip(film.tolist(), (weight / max(weight.sum(), 1e-12)).tolist(), strict=True):
                    looks[token][f] = looks[token].get(f, 0.0) + w
        return self.people.name(looks, known)


def fill_long(model: Model, data: Videosets, name: str) -> tuple[str, ...]:
    """The blanks of a long set; those of clips that are filled are given again where they help."""
    config, device = data.config, next(model.parameters()).device
    film = Film(model, data, name, "fitb")
    for clips, overlap in film.windows():
        batch = data.collate([data.window(name, clips)]).to(device)
        local = film.numbers(clips[:overlap])
        known_numbers = iter(local[k] for c in clips[:overlap] for k in film.named[c])
        blanks = model.is_person(batch.tokens[0]).nonzero()[:, 0].tolist()
        where = [clips[min(int(batch.token_clip[0, t]), len(clips) - 1)] for t in blanks]
        known = torch.zeros_like(batch.token_mask)
        for t, number in zip(blanks, known_numbers, strict=False):
            if number <= config.people:
                batch.tokens[0, t], known[0, t] = config.blank + number, True
        free = [t for t in blanks if not known[0, t]]
        chosen = torch.tensor(model.fill(batch, known)[0], dtype=torch.long, device=device)
        batch.tokens[0, torch.tensor(free, dtype=torch.long)] = chosen
        person_of_token = {config.blank + number: k for k, number in local.items() if number <= config.people}
        person = film.name_tokens(batch, clips, person_of_token)
        film.named += [[] for _ in clips[overlap:]]
        for t, c in zip(blanks, where, strict=True):
            if c in clips[overlap:]:
                film.named[c].append(person[int(batch.tokens[0, t])])
    return tuple(f"P{k + 1}" for row in film.named for k in row)


def caption_long(model: Model, data: Videosets, name: str) -> tuple[str, ...]:
    return caption_film(model, data, name)[0]


def caption_film(model: Model, data: Videosets, name: str, watch: Progress = silent) -> tuple[tuple[str, ...], People]:
    """Captions of a long set, and its people; earlier captions are part of the input where they help."""
    config, device = data.config, next(model.parameters()).device
    film = Film(model, data, name, "caption")
    captions: list[list[int]] = []  # by clip: its tokens; people as −1 − k
    every = len(data.clips(name))
    for clips, overlap in film.windows():
        clips, begin, local = begin_captions(film, clips, overlap, captions, config)
        overlap = len(clips) - (1 if overlap else len(clips))
        one = data.window(name, clips)
        row = model.generate(data.collate([one]).to(device), [begin])[0]
        batch = data.collate([Videoset(one.name, one.clips, row)]).to(device)
        known = {config.blank + number: k for k, number in local.items()}
        person = film.name_tokens(batch, clips, known)
        for caption in split_captions(row, config, len(clips))[overlap:]:
            captions.append([-1 - person[t] if t in person else t for t in caption])
            film.named.append([-1 - t for t in captions[-1] if t < 0])
        watch(f"telling {name}", len(captions), every)
    return tuple(decode_caption(data, caption) for caption in captions), film.people


def begin_captions(
    film: Film, clips: list[int], overlap: int, captions: Sequence[Sequence[int]], config: Config
) -> tuple[list[int], tuple[int, ...], dict[int, int]]:
    """The tokens of the clips that have captions already; the earliest are left out if there is no room."""
    while True:
        local = film.numbers(clips[:overlap])
        row = [config.start]
        for c in clips[:overlap]:
            row += [*(config.blank + local[-1 - t] if t < 0 else t for t in captions[c]), config.sep]
        if not overlap or (len(local) < config.people and len(row) <= config.tokens * overlap // (overlap + 1)):
            return clips, tuple(row), local
        clips, overlap = clips[1:], overlap - 1


def decode_caption(data: Videosets, caption: Sequence[int]) -> str:
    """A caption with the set's own numbers, which may be more than the model knows."""
    blank = data.config.blank
    people = dict.fromkeys(-1 - t for t in caption if t < 0)
    token = {k: blank + 1 + i for i, k in enumerate(people)}
    number = {f"P{i + 1}": f"P{k + 1}" for i, k in enumerate(people)}
    text = data.pieces.decode([token[-1 - t] if t < 0 else t for t in caption], 1)[0]
    return re.sub(r"\bP\d+\b", lambda m: number.get(m[0], m[0]), text)
