"""Captionsets of a run as its page shows them (Raajesh et al., CVPR 2024, Fig. 3, 8, 9 and 10): frames, truth, answers,
and where each blank looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.core.notes import Notes, name_id
from fabula.documents.safe_open import read_bytes
from fabula.io.media import VIDEOS, find_media
from fabula.learn.identity.attention import FaceShares
from fabula.learn.identity.windows import answer_sets
from fabula.learn.identity.wordpiece import WHO, fill_blanks
from fabula.report.captionsets import LOOKS, Look, ShownClip, ShownSet
from fabula.text.identity import renumber_ids

if TYPE_CHECKING:
    from fabula.learn.identity.clips import Videosets
    from fabula.learn.models.micap import Model

PICTURES = (".jpg", ".jpeg", ".png")


def find_frames(folder: Path | None, clips: Sequence[str], notes: Notes) -> dict[str, bytes]:
    """A picture of each clip that the folder has: CLIP.jpg or .png as it is, of CLIP.mp4 the middle."""
    if folder is None:
        return {}
    found = find_media(folder, clips, (*PICTURES, *VIDEOS))
    for clip in clips:
        if clip not in found:
            notes.add(f"{{n}} clips are not in {folder.name or folder}", name_id(clip))
    return {clip: take_picture(path) for clip, path in found.items()}


def take_picture(path: Path) -> bytes:
    if path.suffix.lower() in PICTURES:
        return read_bytes(path)
    from fabula.media.frames import take_middle

    return take_middle(path)


def show_sets(
    model: Model,
    data: Videosets,
    units: Sequence[int],
    shares: Mapping[int, FaceShares],
    films: Path | None,
    notes: Notes,
) -> list[ShownSet]:
    """Some captionsets with what the model answers; `shares` is where their blanks look, by unit."""
    every = list(dict.fromkeys(clip for unit in units for clip in data.clips(data.windows[unit][0])))
    frames = find_frames(films, every, notes)
    shown = []
    for unit, (name, filled, captions) in zip(units, answer_sets(model, data, units), strict=True):
        clips = data.clips(name)
        nothing: Sequence[str | None] = [None] * len(clips)
        truth = renumber_ids(data.captions(name)) or nothing
        given = nothing if filled is None else fill_blanks(data.captions(name), renumber_ids(filled))[0]
        own = nothing if captions is None else renumber_ids(captions)
        looks = list_looks(shares[unit], data.captions(name), renumber_ids(filled)) if filled and unit in shares else {}
        rows = zip(clips, truth, given, own, strict=True)
        shown.append(ShownSet(name, tuple(
            ShownClip(clip, frames.get(clip), right, said, text, looks.get(k, ()))
            for k, (clip, right, said, text) in enumerate(rows)
        )))  # fmt: skip
    return shown


def list_looks(shares: FaceShares, captions: Sequence[str], filled: Sequence[str]) -> dict[int, tuple[Look, ...]]:
    """By clip: where each of its blanks looks."""
    pairs, by_pair = shares.by_cluster_and_clip()
    if not pairs:
        return {}
    looks: dict[int, tuple[Look, ...]] = {}
    at = [k for k, caption in enumerate(captions) for _ in WHO.finditer(caption)]
    for number, (clip, who, row) in enumerate(zip(at, filled, by_pair, strict=True), 1):
        most = sorted(range(len(pairs)), key=lambda k: -row[k])[:LOOKS]
        faces = tuple((f"person {pairs[k][0]} in clip {pairs[k][1] + 1}", float(row[k])) for k in most)
        looks[clip] = (*looks.get(clip, ()), Look(f"blank {number}, {who}:", faces))
    return looks
