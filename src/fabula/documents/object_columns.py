"""Stories that are plain Python objects, straight into columns: no text is made of them and no file.

truth    {video: {timestamps, sentences?, duration?}}
results  {"results": {video: [{timestamp, sentence?}]}, …}
lines    [{id, events: [{start, end, caption?, score?}], duration?}]
tuples   {video: [(start, end, caption?)]}

Plain is what documents/columns.py calls so, with no field beside these. Whatever is not goes the way of files, which
takes it or says what is wrong with it. Columns are looked at whole: `set(map(type, column))` costs a tenth of a loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from copy import deepcopy
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.data.stories import Columns, Corpus, Story
from fabula.documents.columns_twin import NotPlainError, pass_over, require, take_text
from fabula.documents.fields import LONGEST_CAPTION, is_encodable
from fabula.documents.files import pause_collector

OF_TRUTH = {"timestamps", "sentences", "duration"}
OF_RESULT = {"timestamp", "sentence"}
OF_LINE = {"id", "events", "duration"}
OF_EVENT = {"start", "end", "caption", "score"}
NUMBERS = {int, float}


def read_plain_stories(value: Any, name: str) -> Corpus | None:
    """A corpus of this name; None where the object is not plain stories."""
    with pause_collector(), suppress(NotPlainError, ValueError, OverflowError, RecursionError):
        if type(value) is list:
            return read_lines(value, name, "fabula")
        if type(value) is not dict or not value:
            return None
        if "results" in value:
            return read_results(value, name)
        first = next(iter(value.values()))
        return read_truth(value, name) if type(first) is dict else read_tuples(value, name, "fabula")
    return None


def read_truth(value: dict[Any, Any], name: str) -> Corpus:
    entries = list(value.values())
    check_fields(entries, OF_TRUTH, {"timestamps"})
    times = [entry["timestamps"] for entry in entries]
    check_types(times, {list})
    texts = [entry["sentences"] if "sentences" in entry else [None] * len(entry["timestamps"]) for entry in entries]
    check_types(texts, {list})
    require(list(map(len, times)) == list(map(len, texts)))
    require(not any(None in entry["sentences"] for entry in entries if "sentences" in entry))
    spans = take_spans(list(chain.from_iterable(times)))
    captions = take_captions(list(chain.from_iterable(texts)))
    return gather(value, times, Columns(spans, captions, None), take_durations(entries), name, "activitynet")


def read_results(value: dict[Any, Any], name: str) -> Corpus:
    require(type(value["results"]) is dict and bool(value["results"]))
    header = {key: inner for key, inner in value.items() if key != "results"}
    for key, inner in header.items():
        take_text(key)
        pass_over(inner)
    events = list(value["results"].values())
    check_types(events, {list})
    flat = list(chain.from_iterable(events))
    check_fields(flat, OF_RESULT, {"timestamp"})
    columns = Columns(take_spans([event["timestamp"] for event in flat]), take_texts(flat, "sentence"), None)
    durations = repeat(None, len(events))
    return gather(value["results"], events, columns, durations, name, "submission", deepcopy(header))


def read_lines(value: list[Any], name: str, format: str) -> Corpus:
    check_fields(value, OF_LINE, {"id", "events"})
    ids = [line["id"] for line in value]
    check_types(ids, {str})
    require(len(set(ids)) == len(ids))
    events = [line["events"] for line in value]
    check_types(events, {list})
    flat = list(chain.from_iterable(events))
    check_fields(flat, OF_EVENT, {"start", "end"})
    columns = Columns(pair_up(flat, "start", "end"), take_texts(flat, "caption"), take_scores(flat))
    return gather(ids, events, columns, take_durations(value), name, format)


def read_tuples(value: dict[Any, Any], name: str, format: str) -> Corpus:
    events = list(value.values())
    check_types(events, {list, tuple})
    flat = list(chain.from_iterable(events))
    check_types(flat, {list, tuple})
    require(bool(flat) and set(map(len, flat)) <= {2, 3})
    captions = [event[2] if len(event) == 3 else None for event in flat]
    require(all(len(event) == 2 for event, caption in zip(flat, captions, strict=True) if caption is None))
    columns = Columns(pair_up(flat, 0, 1), take_captions(captions), None)
    return gather(value, events, columns, repeat(None, len(events)), name, format)


def gather(
    ids: Iterable[str],
    events: list[Any],
    columns: Columns,
    durations: Iterable[float | None],
    name: str,
    format: str,
    header: dict[str, object] | None = None,
) -> Corpus:
    """Each video as a part of the columns."""
    starts = np.cumsum([0, *map(len, events)]).tolist()
    videos = list(map(take_text, ids))
    require(bool(videos) and "timestamps" not in videos)  # what ground truth is known by
    stories = map(Story.of_columns, videos, repeat(columns), starts, starts[1:], durations)
    return Corpus(dict(zip(videos, stories, strict=True)), name=name, format=format, external=header or {})


# ── columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_types(values: Iterable[Any], kinds: set[type]) -> None:
    require(set(map(type, values)) <= kinds)


def check_fields(entries: list[Any], known: set[str], needed: set[str]) -> None:
    """Each a dict that has these fields and no unknown ones; there are few orders in which fields stand."""
    check_types(entries, {dict})
    for fields in set(map(tuple, entries)):
        require(needed.issubset(fields) and known.issuperset(fields))


def take_spans(spans: list[Any]) -> NDArray[np.float64]:
    """[N, 2], of finite numbers."""
    check_types(spans, {list})
    require(set(map(len, spans)) <= {2})
    return freeze(take_numbers(list(chain.from_iterable(spans))))


def pair_up(events: list[Any], start: Any, end: Any) -> NDArray[np.float64]:
    """The same, of two fields of each event."""
    return freeze(take_numbers([second for event in events for second in (event[start], event[end])]))


def freeze(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    spans = numbers.reshape(-1, 2)
    spans.setflags(write=False)
    return spans


def take_numbers(values: list[Any]) -> NDArray[np.float64]:
    check_types(values, NUMBERS)
    made = np.array(values, np.float64)
    require(bool(np.isfinite(made).all()))
    return made


def take_texts(events: list[dict[str, Any]], field: str) -> list[str | None]:
    """The captions of events; an event may have none, but not None."""
    captions = [event.get(field) for event in events]
    if None in captions:
        require(not any(field in event for event, text in zip(events, captions, strict=True) if text is None))
    return take_captions(captions)


def take_captions(captions: list[Any]) -> list[str | None]:
    """Text of a length that readers take, or None where an event has no caption."""
    check_types(captions, {str, type(None)})
    texts = captions if None not in captions else [text for text in captions if text is not None]
    if not all(map(str.isascii, texts)):
        require(all(map(is_encodable, texts)))
    if max(map(len, texts), default=0) * 4 > LONGEST_CAPTION:
        require(all(len(text.encode()) <= LONGEST_CAPTION for text in texts))
    return captions


def take_durations(entries: list[dict[str, Any]]) -> list[float | None]:
    durations = [entry.get("duration") for entry in entries]
    there = [seconds for seconds in durations if seconds is not None]
    if len(there) < len(durations):
        require(not any("duration" in entry for entry in entries if entry.get("duration") is None))
    require(bool((take_numbers(there) > 0).all()))
    return [None if seconds is None else float(seconds) for seconds in durations]


def take_scores(events: list[dict[str, Any]]) -> NDArray[np.float64] | None:
    if not any("score" in event for event in events):
        return None
    take_numbers([event["score"] for event in events if "score" in event])
    return np.array([event.get("score", np.nan) for event in events], np.float64)
