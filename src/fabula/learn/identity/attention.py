"""Where MICap looks (Raajesh et al., CVPR 2024, supplement, Fig. 4 and 5): attention of the last decoder layer.

Fig. 4   captions are generated; rows are tokens, people (PT) apart from others (CT); columns are summed by stream
Fig. 5   blanks are filled in; rows are blanks, columns faces, normalised over faces; then summed by cluster and clip,
         and by cluster
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from fabula.learn.identity.videosets import Videoset

if TYPE_CHECKING:
    from fabula.learn.identity.clips import Videosets
    from fabula.learn.models.micap import Model

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class StreamShares:
    """Fig. 4: a row a videoset that has tokens of the kind; its columns add up to 1."""

    streams: tuple[str, ...]
    people: Shares  # [n, streams]
    others: Shares


@dataclass(frozen=True)
class FaceShares:
    """Fig. 5 of one videoset: rows are blanks and add up to 1."""

    ids: tuple[int, ...]  # who was filled in
    faces: Shares  # [blanks, faces]
    cluster: NDArray[np.int64]  # [faces]
    clip: NDArray[np.int64]  # [faces]

    def by_cluster(self) -> Shares:
        """[blanks, clusters]"""
        shares = np.zeros((len(self.faces), int(self.cluster.max(initial=-1)) + 1))
        np.add.at(shares.T, self.cluster, self.faces.T)
        return shares

    def by_cluster_and_clip(self) -> tuple[list[tuple[int, int]], Shares]:
        """The pairs (cluster, clip) there are, and [blanks, pairs]."""
        pairs = sorted(set(zip(self.cluster.tolist(), self.clip.tolist(), strict=True)))
        place = np.array(
            [pairs.index(p) for p in zip(self.cluster.tolist(), self.clip.tolist(), strict=True)], np.int64
        )
        shares = np.zeros((len(self.faces), len(pairs)))
        np.add.at(shares.T, place, self.faces.T)
        return pairs, shares


def share_streams(model: Model, data: Videosets, units: Sequence[int], batch_size: int = 8) -> StreamShares:
    """Fig. 4, for captions that the model generates."""
    device = next(model.parameters()).device
    people, others, streams = list[Shares](), list[Shares](), tuple[str, ...]()
    for i in range(0, len(units), batch_size):
        sets = [data[k] for k in units[i : i + batch_size]]
        rows = model.generate(data.collate(sets).to(device))
        captioned = [Videoset(one.name, one.clips, row) for one, row in zip(sets, rows, strict=True)]
        batch = data.collate(captioned).to(device)
        A, memory = model.look(batch, "caption")
        streams = tuple(memory.streams)
        by_stream = torch.stack([A[:, :, place].sum(-1) for place in memory.streams.values()], -1)  # [B, L, streams]
        person = model.is_person(batch.tokens) & batch.token_mask
        other = batch.token_mask & ~person
        other[:, 0] = False  # START is not chosen
        for columns, mask in ((people, person), (others, other)):
            for row, chosen in zip(by_stream, mask, strict=True):
                if bool(chosen.any()):
                    share = row[chosen].sum(0).double().cpu().numpy()
                    columns.append(share / share.sum())
    return StreamShares(streams, np.array(people).reshape(-1, len(streams)), np.array(others).reshape(-1, len(streams)))


def share_faces(model: Model, data: Videosets, unit: int) -> FaceShares:
    """Fig. 5, of blanks that the model fills itself."""
    device = next(model.parameters()).device
    batch = data.collate([data[unit]]).to(device)
    chosen = model.fill(batch)[0]
    tokens = batch.tokens.clone()
    blanks = model.is_person(tokens[0]) & batch.token_mask[0]
    tokens[0, blanks] = torch.tensor(chosen, dtype=torch.long, device=device)
    A, memory = model.look(replace(batch, tokens=tokens), "fitb")
    real = batch.face_mask[0]
    faces = A[0, blanks][:, memory.streams["face"]][:, real].double().cpu().numpy()
    faces = faces / np.maximum(faces.sum(-1, keepdims=True), 1e-300)
    cluster, clip = (t[0, real].cpu().numpy() for t in (batch.face_cluster, batch.face_clip))
    return FaceShares(tuple(chosen), faces, cluster, clip)
