"""Fabula's own lines as Parquet: a row a video; `id`, `duration`, `events`: a list of {start, end, caption, score}.

A field that is null is a field that is absent. Everything else is checked as the lines of a .jsonl are.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, MissingExtra
from fabula.data.stories import Corpus, Story
from fabula.documents.safe_open import Meter, name_failures

GROUP = 10_000  # videos that are written together, and can be read apart
BATCH = 1_000  # videos in memory while reading


def import_arrow(what: str) -> tuple[Any, Any]:
    """pyarrow and its Parquet; `what` is what needs them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(f"{what} .parquet", "parquet") from None
    return pyarrow, pyarrow.parquet


@contextmanager
def open_parquet(place: Path, path: Path) -> Iterator[Any]:
    """The file at `place`; an error calls it `path`."""
    pa, parquet = import_arrow("reading")
    try:
        with name_failures(path), parquet.ParquetFile(place, pre_buffer=False) as file:
            yield file
    except (pa.ArrowException, ValueError, OverflowError) as error:  # of its text, too: bytes that are no UTF-8
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"not Parquet that can be read ({reason})", file=path, hint="write it again") from None


def count_groups(path: Path) -> list[int]:
    """How many rows each group has."""
    with open_parquet(path, path) as file:
        return [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]


def read_rows(
    place: Path, path: Path, first: int = 0, last: int | None = None, before: int = 0
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of the groups `first` to `last` with their numbers, streamed; `before` rows come before them."""
    with open_parquet(place, path) as file:
        groups = range(first, file.num_row_groups if last is None else last)
        batches = file.iter_batches(BATCH, row_groups=list(groups), use_threads=False) if len(groups) else ()
        objects = (row for batch in watch_batches(batches, path) for row in batch.to_pylist())
        yield from enumerate(map(drop_nulls, objects), before + 1)


def watch_batches(batches: Iterable[Any], path: Path) -> Iterator[Any]:
    """The batches as they pass by: a few bytes of Parquet may be a million rows."""
    meter = Meter(path)
    for batch in batches:
        meter.add(batch.nbytes)
        yield batch


def drop_nulls(row: dict[str, Any]) -> dict[str, Any]:
    cells = {name: value for name, value in row.items() if value is not None}
    if isinstance(events := cells.get("events"), list):
        cells["events"] = [
            {n: x for n, x in event.items() if x is not None} if isinstance(event, dict) else event for event in events
        ]
    return cells


def pack_corpus(corpus: Corpus, path: Path) -> bytes:
    """The corpus as a Parquet file."""
    pa, parquet = import_arrow("writing")
    number, text = pa.float64(), pa.string()
    event = pa.struct([("start", number), ("end", number), ("caption", text), ("score", number)])
    schema = pa.schema([("id", text), ("duration", number), ("events", pa.list_(event))])
    out, stories = io.BytesIO(), iter(corpus.values())
    try:
        with parquet.ParquetWriter(out, schema) as writer:
            while batch := list(islice(stories, GROUP)):
                writer.write_table(pa.Table.from_pylist(list_rows(batch), schema), row_group_size=GROUP)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise InputError(f"cannot be written ({error})", file=path, hint="Parquet holds text that is UTF-8") from None
    return out.getvalue()


def list_rows(stories: Sequence[Story]) -> list[dict[str, Any]]:
    return [
        {
            "id": s.id,
            "duration": s.duration,
            "events": [
                {"start": e.segment.start, "end": e.segment.end, "caption": e.caption, "score": e.score}
                for e in s.events
            ],
        }
        for s in stories
    ]
