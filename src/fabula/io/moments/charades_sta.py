"""Charades-STA (Gao et al., ICCV 2017): `video start end##sentence`, a query per line; its id is its place, from 0."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fabula.core.moments import Query
from fabula.io._fields import Source
from fabula.io._files import lines
from fabula.io._moments import MomentFormat

LINE = re.compile(r"(\S+)\s+(-?\d+(?:\.\d+)?)\s+(-?\d+(?:\.\d+)?)\s*##(.*)")


def queries(source: Source) -> Iterator[Query]:
    for id, (number, line) in enumerate(lines(source.path)):
        match = LINE.fullmatch(line)
        if match is None:
            hint = "a line is `video start end##sentence`"
            raise source.wrong(f"saw {line[:60]!r}", None, f"line {number}", hint)
        video, start, end, text = match.groups()
        yield Query(id, video, ((float(start), float(end)),), None, source.caption(text, "sentence", id))


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return LINE.match(text) is not None


MOMENTS = MomentFormat(
    name="charades-sta",
    about="Charades-STA, lines of text: video start end##sentence; ids are places, from 0",
    shape="text",
    sniff=sniff,
    queries=queries,
    example="kite 0.0 10.5##a kite rises",
)
