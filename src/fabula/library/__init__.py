"""A library of videos that can be asked: an index of clips that resumes, and what finds moments in it.

manifest.py   what a store says of itself        store.py   its two Lance tables, read and written
embedders/    pictures and words as vectors      index.py   from a folder of videos to a store, again and again
query.py      what is asked                      find.py    moments that answer it: stage.py, nearest.py, spans.py
calibrate.py  when to say "nothing"              sheet.py   answers as a page
lance.py      rows read without lancedb's package

    from fabula.library import Store
    ids, matrix, video, start, end = Store.open("store").vectors()

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Embedder", "Moment", "Query", "SearchResult", "Searcher", "Store", "Video", "embedder", "parse"]

if TYPE_CHECKING:
    from fabula.library.embedders import embedder
    from fabula.library.embedders.base import Embedder
    from fabula.library.find import Moment, Searcher, SearchResult
    from fabula.library.query import Query, parse
    from fabula.library.store import Store, Video

HOMES = {
    "Embedder": "embedders.base",
    "SearchResult": "find",
    "Moment": "find",
    "Query": "query",
    "Searcher": "find",
    "Store": "store",
    "Video": "store",
    "embedder": "embedders",
    "parse": "query",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
