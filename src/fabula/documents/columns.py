"""Stories of a JSON text as columns, by the kernel; its specification is documents/columns_twin.py.

The whole text is plain or none of it. Plain is what every reader of stories takes without a word: times that are finite
numbers, captions of reasonable length, nothing missing, no key twice, no half characters. Whatever is not
goes the way of the standard library, which takes it or says what is wrong with it.

kinds   truth    {video: {timestamps, sentences?, duration?}}                       benchmarks/activitynet
        results  {"results": {video: [{timestamp, sentence?}]}, …}                   benchmarks/activitynet
        pdvc     the same, with proposal_score? and vid_duration?                    benchmarks/pdvc
        lines    {id, events: [{start, end, caption?, score?}], duration?}, each     io/stories/fabula_jsonl.py

Fields beside these are counted by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native
from fabula.data.stories import Columns, Story
from fabula.documents.fields import Source
from fabula.documents.files import DECODER

BOM = b"\xef\xbb\xbf"
HEAD = 1 << 16  # bytes in which a submission says that it is one
OF_PDVC = frozenset({"proposal_score", "vid_duration", "raw_box", "sentence_score", "query_id", "pred_event_count"})
FIRST_EVENT = rb'"results"\s*:\s*\{\s*"[^"\\]*"\s*:\s*\[\s*\{([^}]*)'
DEEPEST = 64  # lists and objects in each other, of what nobody keeps
MOST_FIELDS = 64  # of an object that nobody keeps, or beside those that are kept
MOST_NAMES = 256  # of fields that nobody keeps, in all of a text
WHOSE = {  # what fields that nobody keeps are fields of
    "truth": ("videos", ""),
    "results": ("", "predicted events"),
    "pdvc": ("", "predicted events"),
    "lines": ("videos", "events"),
}
Counts = list[tuple[str, int]]


class Read(NamedTuple):
    """V stories of N events."""

    ids: list[str]  # [V]
    starts: NDArray[np.int64]  # [V + 1] where the events of each begin
    durations: NDArray[np.float64]  # [V] NaN where there is none
    spans: NDArray[np.float64]  # [N, 2]
    captions: list[str | None]  # [N]
    scores: NDArray[np.float64]  # [N] NaN where there is none; [0] where no event has one
    lines: NDArray[np.int64]  # [V] of lines: how many come before
    of_videos: Counts  # fields that are not kept
    of_events: Counts
    events_first: bool  # whether the first of them was an event's
    header: dict[str, Any]  # of results: what else the root has
    first_fields: list[str]  # of results: those of the first event

    def stories(self) -> Iterator[Story]:
        """Each as a part of the columns."""
        self.spans.setflags(write=False)
        columns = Columns(self.spans, self.captions, self.scores if len(self.scores) else None)
        starts = self.starts.tolist()
        durations = [None if x != x else x for x in self.durations.tolist()]
        return map(Story.of_columns, self.ids, repeat(columns), starts, starts[1:], durations)

    def count_unused(self, kind: str, source: Source) -> None:
        """Tell the fields that are not kept, in the order in which they were first seen."""
        of_videos, of_events = WHOSE[kind]
        sides = [(of_videos, dict(self.of_videos)), (of_events, dict(self.of_events))]
        for whose, counts in reversed(sides) if self.events_first else sides:
            if counts:
                source.count_unused({whose: counts})


def scan_stories(text: bytes, at: int, kind: str) -> Read | None:
    """The stories of a text from byte `at` on; None where it is not plain, or without the kernel."""
    kernels = native()
    if kernels is None:
        return None
    found = kernels.stories(text, at, kind)
    if found is None:
        return None
    *columns, outer, fields = found
    header = {key: DECODER.decode(text[first:last].decode()) for key, first, last in outer}
    return Read._make((*columns, header, fields))


# ── a document ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Plain:
    """A document that is plain; no other than the readers of this room ask for it."""

    kind: str
    read: Read

    @cached_property
    def sample(self) -> dict[str, Any]:
        """A small document that is taken for the same format as the whole."""
        if self.kind == "truth":
            return {self.read.ids[0]: {"timestamps": []}}
        first = {self.read.ids[0]: [dict.fromkeys(self.read.first_fields)]} if self.read.first_fields else {}
        return {**self.read.header, "results": first}

    def stories(self, source: Source) -> Iterator[Story]:
        self.read.count_unused(self.kind, source)
        return self.read.stories()


def read_plain(data: bytes, kinds: Sequence[str]) -> Plain | None:
    """The document as the first of these kinds that it is plain in."""
    for kind in kinds:
        read = scan_stories(data, len(BOM) if data.startswith(BOM) else 0, kind)
        if read is not None and read.ids and len(set(read.ids)) == len(read.ids):
            if kind != "truth" and "timestamps" in read.ids:  # what ground truth is known by
                return None
            return Plain(kind, read)
    return None


def guess_kinds(data: bytes) -> tuple[str, ...]:
    """What a document may be, by how it begins; who reads it as that sees whether it is."""
    if b'"results"' not in data[:HEAD]:
        return ("truth",)
    first = re.search(FIRST_EVENT, data[:HEAD])
    is_pdvc = first is not None and any(b'"%b"' % name.encode() in first[1] for name in OF_PDVC)
    return ("pdvc" if is_pdvc else "results", "truth")
