"""The checks that formats of moments share: ids, windows, rows of answers, marks of clips; slow, and naming faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.core.notes import name_id
from fabula.data.moments import Id, Queries, Query, Saliency, Span
from fabula.documents.fields import VAST, Source, describe_value, plain_caption
from fabula.documents.records import Odd, Shape, Table, parse_odd_line, read_line_records

LONGEST_ANSWER = 20_000  # characters
NO_WINDOWS = np.zeros((0, 2))  # of an answer whose words are still to be read


def read_id(entry: dict[str, Any], key: str, at: str, source: Source) -> Id:
    id = entry.get(key)
    if type(id) is int or type(id) is str:
        return id
    return source.identity(source.entry(entry, key, at=at), f"{at} {key}")


def read_window(value: Any, at: str, id: Id, source: Source) -> Span:
    """[start, end] in seconds. Order and sign are judged later, where it is known what to do about them."""
    if type(value) is list and len(value) == 2 and type(value[0]) is float and type(value[1]) is float:
        start, end = value
        if -VAST < start < VAST and -VAST < end < VAST:
            return start, end
    segment = source.segment(value, at, id)
    return segment.start, segment.end


def read_windows(value: Any, at: str, id: Id, source: Source) -> tuple[Span, ...]:
    """A list of windows; at least one."""
    listed = source.listing(value, at, id, "windows are [[start, end], …] in seconds")
    if not listed:
        raise source.wrong("no window", id, at, "a query without an answer cannot be scored: leave it out")
    return tuple(read_window(w, f"{at}[{i}]", id, source) for i, w in enumerate(listed))


def read_duration(entry: Mapping[str, Any], id: Id, source: Source) -> float | None:
    value = entry.get("duration")
    if value is None or (type(value) is float and 0 < value < VAST):
        return value
    return source.duration(value, id)


def read_text(entry: Mapping[str, Any], key: str, id: Id, source: Source) -> str | None:
    value = entry.get(key)
    return value if value is None else plain_caption(value) or source.caption(value, key, id)


def read_words(value: Any, at: str, id: Id, source: Source) -> str:
    """An answer in words; one that is too long is "", for the expressions of evaluators would take for ever."""
    text = source.text(value, at, id)
    if len(text) > LONGEST_ANSWER:
        source.notes.add(f"{{n}} answers of more than {LONGEST_ANSWER:,} characters are not read", name_id(id))
        return ""
    return text


def read_type(entry: Mapping[str, Any]) -> str | None:
    """TVR's v, t or vt; anything but text is none."""
    value = entry.get("type")
    return value if isinstance(value, str) else None


def check_grade(grade: float, at: str, id: Id, source: Source) -> float:
    """How good an answer is: 0 to 4 in TVR-Ranking; beyond 100 a gain of 2^grade says nothing."""
    if not 0 <= grade <= 100:
        raise source.wrong(f"a grade of {grade:g}", id, at, "it is a number from 0 on, as 0 to 4")
    return grade


def read_rows(value: Any, shape: str, least: int, at: str, id: Id, source: Source) -> Table:
    """Rows of numbers, slowly: each is looked at, and the first that is none is named. [N, C]

    Rows longer than the shortest lose what is beyond it: published evaluators ignore further columns.
    """
    out: list[list[float]] = []
    for i, row in enumerate(source.listing(value, at, id, f"it is a list of {shape}")):
        cells = source.listing(row, f"{at}[{i}]", id, f"a row is {shape}")
        if len(cells) < least:
            raise source.wrong(f"a row of {len(cells)}", id, f"{at}[{i}]", f"a row is {shape}")
        out.append([source.number(c, f"{at}[{i}][{j}]", id) for j, c in enumerate(cells)])
    width = min(map(len, out), default=0)
    return np.array([row[:width] for row in out], dtype=np.float64).reshape(len(out), width)


def split_rows(
    rows: Table, at: str, id: Id, source: Source, shape: str
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """[start, end] or [start, end, score] rows as spans [N, 2] and scores [N]."""
    if len(rows) and rows.shape[1] < 2:
        raise source.wrong(f"a row of {rows.shape[1]}", id, f"{at}[0]", f"a row is {shape}")
    if not len(rows):
        return np.zeros((0, 2)), None
    return rows[:, :2], rows[:, 2] if rows.shape[1] > 2 else None


def read_saliency(value: Any, at: str, id: Id, source: Source) -> NDArray[np.float64]:
    """One number per clip."""
    listed = source.listing(value, at, id, "it is a list of numbers, one per clip")
    if all(type(v) is float for v in listed):
        numbers = np.array(listed, dtype=np.float64)
        if np.isfinite(numbers).all():
            return numbers
    return np.array([source.number(v, f"{at}[{i}]", id) for i, v in enumerate(listed)], dtype=np.float64)


def read_entries(source: Source, key: str, shape: str) -> Iterator[tuple[str, Id, dict[str, Any]]]:
    """The objects of a file of lines: where each stands, its id, which is under `key`, and itself."""
    for at, entry in source.document.entries():
        yield check_entry(at, entry, source, key, shape)


def check_entry(at: str, entry: Any, source: Source, key: str, shape: str) -> tuple[str, Id, dict[str, Any]]:
    entry = check_object(entry, at, source, shape)
    return at, read_id(entry, key, at, source), entry


def read_plain_queries(
    source: Source, keys: Mapping[str, str], fields: Shape, slow: Callable[[str, Id, dict[str, Any]], Query], shape: str
) -> Iterator[Query | Queries]:
    """The queries of a file of lines: those that are plain many at a time, the others through `slow`.

    `keys` says what the file calls id, video, windows, duration, text, type.
    """
    for some in read_line_records(source.document, fields):
        if isinstance(some, Odd):
            for number, entry in parse_odd_line(some, source.document):
                yield slow(*check_entry(source.document.place(number), entry, source, keys["id"], shape))
            continue
        nothing = [None] * some.n
        windows, counts = some[keys["windows"]]
        durations = some[keys["duration"]]
        ids = some[keys["id"]]
        for i in np.flatnonzero(durations <= 0).tolist():
            source.duration(float(durations[i]), ids[i])
        types = some[keys["type"]] if "type" in keys else nothing
        yield Queries(ids, some[keys["video"]], windows, counts, durations, some[keys["text"]], types)


def check_object(entry: Any, at: str, source: Source, shape: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise source.wrong(f"expected an object, saw {describe_value(entry)}", None, at, f"it is {shape}")
    return entry


def read_marks(entry: Mapping[str, Any], id: Id, source: Source) -> Saliency | None:
    """The marks of the relevant clips; None where the data set has none."""
    if "saliency_scores" not in entry:
        return None
    clips = source.listing(source.entry(dict(entry), "relevant_clip_ids", id), "relevant_clip_ids", id)
    rows = source.listing(entry["saliency_scores"], "saliency_scores", id)
    if len(clips) != len(rows):
        raise refuse_marks(len(rows), len(clips), id, source)
    for i, clip in enumerate(clips):
        if type(clip) is not int or clip < 0:
            problem = f"expected a clip's number, saw {clip!r}"
            raise source.wrong(problem, id, f"relevant_clip_ids[{i}]", "clips are counted from 0")
    marks = []
    for i, row in enumerate(rows):
        cells = source.listing(row, f"saliency_scores[{i}]", id, "a row is one mark per annotator")
        if len(cells) != len(rows[0]) or not cells:
            problem = f"{len(cells)} marks where the first clip has {len(rows[0])}"
            raise source.wrong(problem, id, f"saliency_scores[{i}]", "every clip has one mark per annotator")
        marks.append(tuple(source.number(c, f"saliency_scores[{i}]", id) for c in cells))
    return Saliency(tuple(clips), tuple(marks))


def refuse_marks(rows: int, clips: int, id: Id, source: Source) -> InputError:
    problem = f"{rows} rows for {clips} relevant clips"
    return source.wrong(problem, id, "saliency_scores", "give a row for each of relevant_clip_ids")
