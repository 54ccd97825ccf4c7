"""Videosets of any length: windows of clips, one after the other, with people carried from window to window.

MICap (Raajesh et al., CVPR 2024) tells a set of five clips and stops there (its limitation C). Here a longer set is
told window by window, and memory stays that of one window. A person of a window is a person of the set

    by text    where windows overlap: blanks that were filled before are given, and who is named there keeps his number
    by face    elsewhere: the faces that the model looked at when it named him have a mean; the nearest mean of a person
               known so far, within `face_eps` cosine distance, is who he is; otherwise he is new
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fabula.core.notes import Progress, silent
from fabula.learn.identity.videosets import Batch, Floats, Videoset

if TYPE_CHECKING:
    from fabula.learn.identity.clips import Videosets

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
class Cast:
    """The people of a long set, by the mean of their faces."""

    eps: float
    sums: list[Floats | None] = field(default_factory=list)  # person k is P(k + 1); None: no face was seen

    def find(self, face: Floats | None, taken: set[int]) -> int:
        """Who this is: the nearest person not taken in this window, or a new one."""
        best, near = -1, 1 - self.eps
        for k, mean in enumerate(self.sums):
            if face is not None and mean is not None and k not in taken and (close := cosine(face, mean)) >= near:
                best, near = k, close
        if best < 0:
            self.sums.append(None)
            best = len(self.sums) - 1
        self.see(best, face)
        return best

    def see(self, k: int, face: Floats | None) -> None:
        if face is not None:
            known = self.sums[k]
            self.sums[k] = face if known is None else known + face


def cosine(a: Floats, b: Floats) -> float:
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))


def faces_of(model: Any, one: Videoset, batch: Batch, part: str) -> dict[int, Floats]:
    """Person token → the mean face of the cluster that was looked at most when this person was named."""
    if not len(one.clips) or "face" not in model.inputs or not bool(batch.face_mask.any()):
        return {}
    A, memory = model.look(batch, part)
    look = A[0, :, memory.streams["face"]] * batch.face_mask[0]  # [L, F]
    cluster, real = batch.face_cluster[0], batch.face_mask[0]
    found: dict[int, Floats] = {}
    for token in set(batch.tokens[0][model.is_person(batch.tokens[0])].tolist()) - {model.config.blank}:
        weight = look[batch.tokens[0] == token].sum(0)  # [F]
        share = torch.zeros(int(cluster.max()) + 1, device=weight.device).index_add(0, cluster, weight)
        mine = (cluster == share.argmax()) & real
        face = batch.face[0][mine]
        found[token] = (face / face.norm(dim=-1, keepdim=True).clamp(min=1e-12)).mean(0).cpu().numpy()
    return found


def fill_long(model: Any, data: Videosets, name: str) -> tuple[str, ...]:
    """The blanks of a long set, window by window, the last clips of one given again to the next."""
    config, device = data.config, next(model.parameters()).device
    cast, filled, upto = Cast(config.face_eps), list[list[int]](), 0
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
        person = name_people(cast, {config.blank + v: k for k, v in local.items()}, free, one, (model, batch, "fitb"))
        filled += [[] for _ in range(window.stop - upto)]
        for t, c in zip(blanks, clip_of, strict=True):
            if c >= upto:
                filled[c].append(person[int(batch.tokens[0, t])])
        upto = window.stop
    return tuple(f"P{k + 1}" for row in filled for k in row)


def tell_long(model: Any, data: Videosets, name: str, batch_size: int) -> tuple[str, ...]:
    """Captions of a long set: windows side by side, people joined by their faces."""
    config, device = data.config, next(model.parameters()).device
    cast, told = Cast(config.face_eps), list[str]()
    every = list(windows(len(data.clips(name)), config.clips, 0))
    for i in range(0, len(every), batch_size):
        sets = [data.window(name, window) for window in every[i : i + batch_size]]
        for one, row in zip(sets, model.tell(data.collate(sets).to(device)), strict=True):
            batch = data.collate([Videoset(one.name, one.clips, row)]).to(device)
            free = model.is_person(batch.tokens[0]).nonzero()[:, 0].tolist()
            person = name_people(cast, {}, free, one, (model, batch, "caption"))
            told += say(data, row, person, len(one.clips))
    return tuple(told)


def say(data: Videosets, row: Sequence[int], person: dict[int, int], clips: int) -> list[str]:
    """Captions with the set's own numbers, which may be more than the model knows."""
    import re

    base = data.config.blank
    number = {f"P{token - base}": f"P{k + 1}" for token, k in person.items()}
    return [re.sub(r"\bP\d+\b", lambda m: number.get(m[0], m[0]), text) for text in data.pieces.decode(row, clips)]


def name_people(
    cast: Cast, known: dict[int, int], free: Sequence[int], one: Videoset, seen: tuple[Any, Batch, str]
) -> dict[int, int]:
    """Person tokens of a window as people of the set: known by text, or found by face, or new."""
    model, batch, part = seen
    faces = faces_of(model, one, batch, part)
    person = dict(known)
    for token, k in known.items():
        cast.see(k, faces.get(token))
    for token in dict.fromkeys(batch.tokens[0, torch.tensor(list(free), dtype=torch.long)].tolist() if free else []):
        if token not in person:
            person[token] = cast.find(faces.get(token), set(person.values()))
    return person


def windows(clips: int, size: int, overlap: int) -> Iterator[range]:
    """0 … size, and so on with so many clips again; the last ends with the set."""
    first = 0
    while True:
        yield range(first, min(first + size, clips))
        if first + size >= clips:
            return
        first += size - overlap
