"""The readable twin of the kernel of documents/columns.py: the text parsed by the standard library, and judged.

Without the kernel, stories are read by the readers that know what to say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Set
from typing import Any

import numpy as np

from fabula.documents.columns import MOST_FIELDS, MOST_NAMES, WHOSE, Read
from fabula.documents.fields import LONGEST_CAPTION
from fabula.documents.files import TwiceError, build_object
from fabula.documents.object_columns import NotPlainError, pass_over, require, take_text


def parse_whole(digits: str) -> int:
    value = int(digits)
    require(math.isfinite(float(value)))
    return value


def parse_real(digits: str) -> float:
    value = float(digits)
    require(math.isfinite(value))
    return value


def refuse_constant(name: str) -> None:
    raise NotPlainError


STRICT = json.JSONDecoder(
    object_pairs_hook=build_object, parse_int=parse_whole, parse_float=parse_real, parse_constant=refuse_constant
)


def scan_stories_python(text: bytes, at: int, kind: str) -> Read | None:
    """The specification of the kernel."""
    if kind not in WHOSE:
        raise ValueError(f"no kind of stories is called {kind}")
    if not 0 <= at <= len(text):
        raise ValueError("the first byte is none of the text")
    reader = Reader(kind)
    try:
        words = text[at:].decode()
        if kind == "lines":
            reader.take_lines(words)
        elif kind == "truth":
            reader.take_truth(STRICT.decode(words))
        else:
            reader.take_results(STRICT.decode(words))
    except (NotPlainError, TwiceError, ValueError, OverflowError, RecursionError):  # of ValueErrors, JSON's and UTF-8's
        return None
    return reader.read()


OF_RESULTS = {"sentence", "timestamp"}
OF_PDVC = OF_RESULTS | {"proposal_score", "vid_duration"}


class Reader:
    """Collects columns, and refuses what is not plain."""

    def __init__(self, kind: str) -> None:
        self.pdvc = kind == "pdvc"
        self.ids: list[str] = []
        self.starts, self.lines = [0], list[int]()
        self.durations, self.spans, self.scores = list[float](), list[tuple[float, float]](), list[float]()
        self.captions: list[str | None] = []
        self.of_videos, self.of_events = Unused(), Unused()
        self.header: dict[str, Any] = {}
        self.first_fields: list[str] = []

    def read(self) -> Read:
        scored = any(x == x for x in self.scores)
        first, second = self.of_events.first, self.of_videos.first
        return Read(
            self.ids,
            np.array(self.starts, np.int64),
            np.array(self.durations, np.float64),
            np.array(self.spans, np.float64).reshape(-1, 2),
            self.captions,
            np.array(self.scores if scored else [], np.float64),
            np.array(self.lines, np.int64),
            list(self.of_videos.counts.items()),
            list(self.of_events.counts.items()),
            first is not None and (second is None or first < second),
            self.header,
            self.first_fields,
        )

    def take_story(self, id: str, duration: float) -> None:
        self.ids.append(take_text(id))
        self.durations.append(duration)
        self.starts.append(len(self.captions))

    def take_truth(self, document: Any) -> None:
        for id, entry in take_object(document).items():
            times = take_list(take_object(entry).get("timestamps"))
            self.spans += map(take_span, times)
            self.captions += take_captions(entry["sentences"], times) if "sentences" in entry else [None] * len(times)
            self.scores += [math.nan] * len(times)
            self.of_videos.count(entry, {"timestamps", "sentences", "duration"}, len(self.ids))
            self.take_story(id, take_duration(entry))

    def take_results(self, document: Any) -> None:
        root = take_object(document)
        self.header = {key: value for key, value in root.items() if key != "results"}
        require(len(self.header) <= MOST_FIELDS)
        for key, value in self.header.items():
            take_text(key)
            pass_over(value)
        for id, events in take_object(root.get("results")).items():
            lengths = {duration for event in take_list(events) if not math.isnan(duration := self.take_event(event))}
            require(len(lengths) < 2)
            self.take_story(id, min(lengths, default=math.nan))

    def take_event(self, event: Any) -> float:
        """One predicted event; PDVC's says how long the video is."""
        if not self.captions:
            self.first_fields = list(take_object(event))
        self.spans.append(take_span(take_object(event).get("timestamp")))
        self.captions.append(take_caption(event["sentence"]) if "sentence" in event else None)
        scored = self.pdvc and "proposal_score" in event
        self.scores.append(take_number(event["proposal_score"]) if scored else math.nan)
        self.of_events.count(event, OF_PDVC if self.pdvc else OF_RESULTS, len(self.ids))
        return take_duration(event, "vid_duration") if self.pdvc else math.nan

    def take_lines(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if line.strip(" \t\r"):
                self.take_line(STRICT.decode(line), number)

    def take_line(self, line: Any, number: int) -> None:
        self.of_videos.count(take_object(line), {"id", "duration", "events"}, len(self.ids))
        for event in take_list(line.get("events")):
            self.spans.append((take_number(take_object(event).get("start")), take_number(event.get("end"))))
            self.captions.append(take_caption(event["caption"]) if "caption" in event else None)
            self.scores.append(take_number(event["score"]) if "score" in event else math.nan)
            self.of_events.count(event, {"start", "end", "caption", "score"}, len(self.ids))
        self.lines.append(number)
        self.take_story(line.get("id"), take_duration(line))


class Unused:
    """How often each field was seen that nobody keeps."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.first: int | None = None  # the story in which the first was seen

    def count(self, entry: dict[str, Any], known: Set[str], story: int) -> None:
        if entry.keys() <= known:
            return
        others = [key for key in entry if key not in known]
        require(len(others) <= MOST_FIELDS)
        for key in others:
            self.first = story if self.first is None else self.first
            self.counts[take_text(key)] = self.counts.get(key, 0) + 1
            pass_over(entry[key])
        require(len(self.counts) <= MOST_NAMES)


def take_object(value: Any) -> dict[str, Any]:
    if type(value) is dict:
        return value
    raise NotPlainError


def take_list(value: Any) -> list[Any]:
    if type(value) is list:
        return value
    raise NotPlainError


def take_caption(value: Any) -> str:
    text = take_text(value)
    require(len(text) * 4 <= LONGEST_CAPTION or len(text.encode()) <= LONGEST_CAPTION)
    return text


def take_captions(value: Any, times: list[Any]) -> list[str]:
    require(len(take_list(value)) == len(times))
    return list(map(take_caption, value))


def take_number(value: Any) -> float:
    if type(value) is float or type(value) is int:
        number = float(value)
        if math.isfinite(number):
            return number
    raise NotPlainError


def take_span(value: Any) -> tuple[float, float]:
    start, end = take_list(value)  # ValueError where they are not two
    return take_number(start), take_number(end)


def take_duration(entry: dict[str, Any], key: str = "duration") -> float:
    """NaN where there is none."""
    if key not in entry:
        return math.nan
    seconds = take_number(entry[key])
    require(seconds > 0)
    return seconds
