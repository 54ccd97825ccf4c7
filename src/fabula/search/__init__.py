"""A library of videos that can be asked: an index of clips that resumes, and what finds moments in it.

manifest.py   what a store says of itself        store.py   its two Lance tables, read and written
embedders/    pictures and words as vectors      index.py   from a folder of videos to a store, again and again

    from fabula.search import Store
    ids, matrix, video, start, end = Store.open("store").vectors()

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.rooms import lazy_room

__all__ = ["Embedder", "Store", "Video", "embedder"]

if TYPE_CHECKING:
    from fabula.search.embedders import embedder
    from fabula.search.embedders.base import Embedder
    from fabula.search.store import Store, Video

lazy_room(
    __name__,
    {
        "Embedder": "embedders.base",
        "Store": "store",
        "Video": "store",
        "embedder": "embedders",
    },
)
