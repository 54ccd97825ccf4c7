"""VERIFIED's queries (Chen et al., NeurIPS 2024) with the coarse caption as their text: must be named.

The same files as fig.py, whose format is the one that is recognised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from fabula.benchmarks.verified import fig
from fabula.data.moments import Id, Queries, Query
from fabula.documents.fields import Source
from fabula.documents.records import Shape
from fabula.io.moments.fields import read_plain_queries, read_text

QUERY = '{"desc_id", "video", "duration", "time": [start, end], "cog_desc"}'
KEYS = fig.KEYS | {"text": "cog_desc"}
SWAPPED = {"cog_desc": "text", "fig_desc": "skip"}
PLAIN = Shape(tuple((name, SWAPPED.get(name, kind)) for name, kind in fig.PLAIN.fields))


def read_queries(source: Source) -> Iterator[Query | Queries]:
    return read_plain_queries(source, KEYS, PLAIN, partial(read_query, source), QUERY)


def read_query(source: Source, at: str, id: Id, entry: dict[str, Any]) -> Query:
    query = fig.read_query(source, at, id, entry)
    return query._replace(text=read_text(entry, "cog_desc", id, source))


FORMAT = replace(
    fig.FORMAT,
    name="verified-cog",
    about="VERIFIED's queries with the coarse caption as their text",
    guess=False,
    read_queries=read_queries,
    example='{"desc_id": 1, "video": "kite", "duration": 30.5, "time": [0, 10.5], "cog_desc": "a kite rises"}',
)
