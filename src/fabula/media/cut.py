"""A store of whole films cut into clips: what MICap's task reads as `frame` and `action` (learn/identity/clips.py).

Feature k of a film stands for [k/rate, (k + 1)/rate) seconds. A clip has those whose middle lies in it; a clip so short
that there is none has the one in whose stretch its own middle lies.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fabula.core.errors import InputError
from fabula.media.people.streams import check_clip, read_clips
from fabula.media.stores.features import Features, Frames, write_features


def cut_features(x: Frames, rate: float, start: float, end: float) -> Frames:
    """The features of a clip. [T, C] → [n, C], n at least 1"""
    middle = (np.arange(len(x)) + 0.5) / rate
    inside = (start <= middle) & (middle < end)
    if not inside.any():
        inside[min(int((start + end) / 2 * rate), len(x) - 1)] = True
    return x[inside]


def cut_store(store: str | Path, clips: str | Path, out: str | Path, overwrite: bool = False) -> int:
    """A store with a key a clip, of a store with a key a film; returns how many clips there are."""
    films = Features(store)
    recipe = films.recipe or {}
    fps, stride = (n if isinstance(n, int | float) else 0 for n in (recipe.get("fps"), recipe.get("stride")))
    if not (1e-6 < fps < 1e6 and 1e-6 < stride < 1e6):
        raise InputError(
            "the store does not say how many features a second it has",
            file=store,
            hint="make it by fabula features extract",
        )
    durations = films.metadata.get("durations", {})
    every, seen_ids = read_clips(clips), set[str]()
    cut: dict[str, Frames] = {}
    for clip in every:
        check_clip(clip, seen_ids)
        if clip.video not in films:
            raise InputError("the store has no such film", file=store, video=clip.video, hint="check the clips")
        if clip.start >= durations.get(clip.video, np.inf):
            raise InputError(
                f"begins at {clip.start:g} s; its film has {durations[clip.video]:g} s",
                file=clips,
                video=clip.id,
                noun="clip",
                hint="check its times",
            )
        cut[clip.id] = cut_features(films[clip.video], fps / stride, clip.start, clip.end)
    metadata = {k: v for k, v in films.metadata.items() if k not in ("durations", "videos", "left_out")}
    lengths = {clip.id: clip.end - clip.start for clip in every}
    return write_features(out, cut.items(), {**metadata, "durations": lengths}, overwrite)
