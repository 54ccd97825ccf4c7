"""Candidates with their references inline, one item a line: {"id", "cand", "refs"}; also SPICE's input, a JSON list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.data.stories import Item
from fabula.documents.fields import Source, is_plain
from fabula.io.format import Format

SHAPE = '{"id": id, "cand": text, "refs": [text, …]}'
SPICE = {"id": "image_id", "cand": "test", "refs": "refs"}  # what SPICE's input calls them


def read_items(entries: Iterable[tuple[str, Any]], source: Source) -> Iterator[Item]:
    """Items from entries; an error names the place and the id."""
    seen: set[str | int] = set()
    for at, entry in entries:
        entry = source.mapping(entry, at, hint=f"an item is {SHAPE}")
        names = SPICE if "test" in entry and "cand" not in entry else {n: n for n in SPICE}
        id = source.identity(source.entry(entry, names["id"], at=at), f"{at} {names['id']}")
        if id in seen:
            raise source.wrong(f"the id {id!r} stands twice", None, at, "ids must differ")
        seen.add(id)
        where_cand, where_refs = f"{at} {names['cand']}", f"{at} {names['refs']}"
        candidate = source.caption(source.entry(entry, names["cand"], id, at), where_cand, id)
        references = source.listing(source.entry(entry, names["refs"], id, at), where_refs, id)
        if not references:
            raise source.wrong("no references", id, where_refs, "give at least one, or leave the item out")
        if not all(map(is_plain, references)):
            references = [source.caption(r, f"{where_refs}[{k}]", id) for k, r in enumerate(references)]
        yield Item(id, candidate, tuple(references))


FORMATS = (
    Format(
        name="pairs",
        about=f"candidates with their references inline, an item a line: {SHAPE}",
        holds="either",
        tasks=("captions",),
        pattern="*.jsonl",
        read_items=read_items,
        example='{"id": 1, "cand": "a kite rises", "refs": ["a kite is rising"]}',
    ),
    Format(
        name="spice",
        about='SPICE\'s input, the same as a list: [{"image_id": id, "test": text, "refs": [text, …]}, …]',
        holds="either",
        tasks=("captions",),
        read_items=read_items,
        example='[{"image_id": 1, "test": "a kite rises", "refs": ["a kite is rising"]}]',
    ),
)
