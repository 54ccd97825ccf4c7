"""fabula.moments: a trained retriever that is asked for moments by sentences; videos are encoded once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.api.train import need_learn

if TYPE_CHECKING:
    from fabula.learn.retrieval.finder import Finder


def moments(run: str | Path, *, device: str = "cpu", extract: Any = None, read: Any = None) -> Finder:
    """The model of a run or checkpoint of `fabula train vcmr`, to be asked.

        m = fabula.moments("runs/xml")
        v = m.encode(frames, "film")
        m.find(v, "a man pours oil")

    `extract` makes features of a video file: path → ([F, C], frames per second). `read` makes features of words, where
    the model was trained on them: text → [L, E].
    """
    need_learn()
    from fabula.learn.retrieval.finder import Finder

    return Finder(run, device=device, extract=extract, read=read)
