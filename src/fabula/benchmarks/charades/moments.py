"""Charades-STA (Gao et al., ICCV 2017): `video start end##sentence`, a query per line; its id is its place, from 0."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabula.data.moments import Query
from fabula.documents.fields import Source
from fabula.io.format import MOMENTS, Format, HeadRule

LINE = re.compile(r"(\S+)\s+(-?\d+(?:\.\d+)?)\s+(-?\d+(?:\.\d+)?)\s*##(.*)")


def read_queries(source: Source) -> Iterator[Query]:
    for id, (at, line) in enumerate(source.document.texts()):
        match = LINE.fullmatch(line)
        if match is None:
            hint = "a line is `video start end##sentence`"
            raise source.wrong(f"saw {line[:60]!r}", None, at, hint)
        video, start, end, text = match.groups()
        yield Query(id, video, ((float(start), float(end)),), None, source.caption(text, "sentence", id))


FORMAT = Format(
    name="charades-sta",
    about="Charades-STA, lines of text: video start end##sentence; ids are places, from 0",
    known_by=(HeadRule(begins=rf"\s*{LINE.pattern}"),),
    main_task="grounding",
    holds="references",
    tasks=MOMENTS,
    pattern="*.txt",
    read_queries=read_queries,
    example="kite 0.0 10.5##a kite rises",
)
