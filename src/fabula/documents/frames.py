"""Rows of a frame (pandas, polars, Arrow) as the entries of a file: a row per event, window, caption, box or line.

columns                                          what a row is
video, start, end, caption, score, duration      an event; without times, a video without events
qid, start, end, score, video, query, duration   a window of a query: an answer, or a reference
image_id, caption                                a caption
image_id, bbox, caption, score                   a box; x, y, w, h in place of bbox
clip, ids                                        the people of a clip
anything else                                    a line, its columns the fields: id, answer; qid, pred_relevant_windows

The first column may be called id, video_id or vid as well. A cell that is null (None, NaN, NA) is a field that is
absent. Rows of one id stand in their order, wherever they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fabula.core.errors import InputError, MissingExtra, shown

VIDEOS = ("video", "video_id", "vid", "id")
QUERIES = ("qid", "query_id", "desc_id")
IMAGES = ("image_id", "id")
MOMENTS = ("moments", "highlights", "grounding")
WORDS = {"sentence": "caption", "text": "caption"}
TABLE = ("pandas", "polars", "pyarrow", "modin", "cudf", "duckdb", "narwhals", "ibis", "dask")


def is_frame(value: Any) -> bool:
    """A table with named columns."""
    if isinstance(value, Mapping | str | list | tuple):
        return False
    home = type(value).__module__.partition(".")[0]
    if home in TABLE:
        return any(hasattr(type(value), name) for name in ("columns", "column_names"))  # of a lazy frame costs to ask
    return hasattr(type(value), "__arrow_c_stream__") and not hasattr(type(value), "__array__")


def list_entries(frame: Any, called: str, role: str, task: str | None) -> Iterable[Any]:
    """The rows, pooled as the formats have them."""
    names, rows = read_rows(frame, called)
    return gather_rows(names, rows, called, role, task)


def gather_rows(
    names: list[str], rows: Iterable[Mapping[str, Any]], called: str, role: str, task: str | None
) -> Iterable[Any]:
    """Rows with these columns, put together by what they are about."""
    has = set(names)
    numbered = enumerate(map(drop_nulls, rows))
    if task == "identity" and {"clip", "ids"} <= has:
        return Gathering(called, "clip", ("clip",), names).labels(numbered)
    if {"start", "end"} <= has:
        if task in MOMENTS or not has.isdisjoint(QUERIES):
            return Gathering(called, "query", (*QUERIES, "id"), names).moments(numbered, role)
        return Gathering(called, "video", VIDEOS, names).stories(numbered)
    if {"x", "y", "w", "h"} <= has or "bbox" in has:
        return Gathering(called, "image", IMAGES, names).boxes(numbered, role)
    if "caption" in has and "boxes" not in has and not has.isdisjoint(IMAGES) and "answer" not in has:
        return Gathering(called, "image", IMAGES, names).captions(numbered)
    return (row for _, row in numbered)


def read_rows(frame: Any, called: str) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """The names of the columns, each once, and a dict per row."""
    try:
        if hasattr(frame, "collect") and hasattr(frame, "collect_schema"):  # polars: a query that has not run
            frame = frame.collect()
        home = type(frame).__module__.partition(".")[0]
        if home == "pandas":
            names = list(frame.columns)
            rows = (
                dict(zip(names, row, strict=True))
                for row in zip(*(column_cells(frame, i) for i in range(len(names))), strict=True)
            )
        elif home == "polars":
            names, rows = list(frame.columns), frame.iter_rows(named=True)
        else:
            table = frame if home == "pyarrow" and hasattr(frame, "column_names") else to_arrow(frame)
            names = list(table.column_names)
            rows = (
                (row for batch in table.to_batches() for row in batch.to_pylist())
                if hasattr(table, "to_batches")
                else iter(table.to_pylist())
            )
    except (InputError, MissingExtra):
        raise
    except Exception as error:
        problem = f"its rows cannot be read ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        raise InputError(problem, file=called, hint="give a frame with named columns") from error
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"a column called {shown(name)}", file=called, hint="names of columns are text")
        if names.count(name) > 1:
            raise InputError(f"the column {shown(name)} stands twice", file=called, hint="keep one of the two")
    return names, rows


def column_cells(frame: Any, i: int) -> list[Any]:
    """Of pandas, by place: two columns may share a name. NaN, NaT and NA of any kind of column are null."""
    column = frame.iloc[:, i]
    if column.dtype == object:  # lists stand there as well, which isna would look into
        return [None if is_null(cell) else cell for cell in column.tolist()]
    gone = column.isna().tolist()
    return [None if null else cell for cell, null in zip(column.tolist(), gone, strict=True)]


def is_null(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ in ("NAType", "NaTType")


def to_arrow(frame: Any) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtra("reading such a frame", "parquet") from None
    return pa.table(frame)


def drop_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: cell for name, cell in row.items() if cell is not None}


class Gathering:
    """Rows pooled by their id."""

    def __init__(self, called: str, noun: str, ids: Iterable[str], names: list[str]) -> None:
        self.called, self.noun = called, noun
        self.key = next((name for name in ids if name in names), None)
        if self.key is None:
            hint = f"name one of them {' or '.join(map(repr, ids))}; it has {', '.join(map(shown, names[:8]))}"
            raise InputError(f"no column says which {noun} a row is about", file=called, hint=hint)

    def take_id(self, n: int, row: dict[str, Any]) -> Any:
        """The row's id, taken out of it."""
        if self.key not in row:
            hint = "every row has one; drop the rows that are about nothing"
            raise InputError(f"the {self.noun}'s id is null", file=self.called, field=f"row {n} {self.key}", hint=hint)
        return row.pop(self.key)

    def agree(self, known: dict[str, Any], name: str, row: dict[str, Any], n: int, id: object) -> None:
        """A fact of the id, which all of its rows share."""
        value = row.pop(name, None)
        if value is None:
            return
        if known.setdefault(name, value) != value:
            problem = f"{shown(value)}, but {shown(known[name])} in an earlier row"
            raise InputError(
                problem, file=self.called, video=id, noun=self.noun, field=f"row {n} {name}", hint="one holds for all"
            )

    def stories(self, rows: Iterable[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
        """{id, duration, events}."""
        found: dict[Any, dict[str, Any]] = {}
        for n, row in rows:
            id = self.take_id(n, row)
            line = found.setdefault(hashable(id, self, n), {"id": to_text(id)})
            self.agree(line, "duration", row, n, id)
            rename(row, WORDS)
            line.setdefault("events", [])
            if row:
                line["events"].append(row)
        return list(found.values())

    def moments(self, rows: Iterable[tuple[int, dict[str, Any]]], role: str) -> list[dict[str, Any]]:
        """{id, windows}: of references with video, duration, text; of answers with the videos they name."""
        found: dict[Any, dict[str, Any]] = {}
        for n, row in rows:
            id = self.take_id(n, row)
            line = found.setdefault(hashable(id, self, n), {"id": id, "windows": []})
            rename(row, {"vid": "video", "vid_name": "video", "video_id": "video", "query": "text", "desc": "text"})
            window = [row.pop("start", None), row.pop("end", None)]
            if role == "references":
                for name in ("video", "duration", "text", "type"):
                    self.agree(line, name, row, n, id)
            else:
                window += [row.pop("score")] if "score" in row else []
                if "video" in row:
                    line.setdefault("videos", []).append(row.pop("video"))
                for name in ("duration", "text", "type"):
                    row.pop(name, None)
            if window != [None, None]:
                line["windows"].append(window)
            line |= {name: value for name, value in row.items() if name not in line}
        return list(found.values())

    def boxes(self, rows: Iterable[tuple[int, dict[str, Any]]], role: str) -> list[dict[str, Any]]:
        """An image a line: boxes, captions, and scores of predictions."""
        found: dict[Any, dict[str, Any]] = {}
        for n, row in rows:
            id = self.take_id(n, row)
            empty: dict[str, Any] = {"image_id": id, "boxes": [], "captions": []}
            line = found.setdefault(hashable(id, self, n), empty | ({"scores": []} if role == "predictions" else {}))
            for name in ("width", "height"):
                self.agree(line, name, row, n, id)
            box = row.pop("bbox", None)
            if box is None and not row.keys().isdisjoint("xywh"):
                box = [row.get(side) for side in "xywh"]
            if box is None and not row:
                continue
            line["boxes"].append(box)
            line["captions"].append(row.get("caption", row.get("sentence")))
            if role == "predictions":
                line["scores"].append(row.get("score"))
        return list(found.values())

    def labels(self, rows: Iterable[tuple[int, dict[str, Any]]]) -> dict[Any, Any]:
        """{clip: ids}; _ where a clip has no blank."""
        found: dict[Any, Any] = {}
        for n, row in rows:
            clip = hashable(self.take_id(n, row), self, n)
            if clip in found:
                hint = "keep one of the two rows"
                raise InputError(
                    "this clip stands twice", file=self.called, video=clip, noun="clip", field=f"row {n}", hint=hint
                )
            found[clip] = row.get("ids", "_")
        return found

    def captions(self, rows: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
        """{image_id, caption}."""
        return ({"image_id": self.take_id(n, row), **row} for n, row in rows)


def hashable(id: Any, whose: Gathering, n: int) -> Any:
    try:
        hash(id)
    except TypeError:
        problem = f"{shown(id)} is no id"
        raise InputError(
            problem, file=whose.called, field=f"row {n} {whose.key}", hint="ids are text or numbers"
        ) from None
    return id


def to_text(id: Any) -> Any:
    """Ids of videos are text in every format; a column of numbers holds them as numbers."""
    return str(id) if isinstance(id, int) and not isinstance(id, bool) else id


def rename(row: dict[str, Any], names: Mapping[str, str]) -> None:
    for old, new in names.items():
        if old in row and new not in row:
            row[new] = row.pop(old)
