"""TVR's predictions (Lei et al., ECCV 2020): {"video2idx": {name: number}, "VCMR": [entry, …], "SVMR", "VR"}.

An entry is {"desc_id", "predictions": [[video, start, end, score], …]}, best first. The document is read twice as a
stream, once for its frame and once for its tables, so that memory stays small. `tvr_lines.py` reads entries as lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, shown
from fabula.core.moments import Id, Ranking, VideoNumbers
from fabula.io._fields import Source, kind
from fabula.io._files import load_json, parse_json
from fabula.io._moments import (
    Answers,
    MomentFormat,
    checked_rows,
    id_of,
    object_of,
    whole_numbers,
)
from fabula.io._tables import Table, held, key_pattern, pieces, skeleton

LISTS = ("VCMR", "SVMR", "VR")
ENTRY = '{"desc_id", "predictions": [[video, start, end, score], …]}'
ROW = "[video, start, end, score]"
DOCUMENT = f'{{"video2idx": {{name: number}}, "VCMR": [{ENTRY}, …], "SVMR": …, "VR": …}}'
KEY = key_pattern("predictions")
BEGINS = re.compile(r'\s*\{\s*"(video2idx|VCMR|SVMR|VR)"\s*:')


def answers(source: Source, numbers: VideoNumbers) -> Answers:
    """Every ranking of the document, list by list."""
    frame = skeleton(source.path, KEY)
    try:
        document = parse_json(frame, source.path)
    except InputError:  # the frame's lines are not the file's: the whole names the true place
        document = load_json(source.path)
    root = source.mapping(document, "the root", hint=f"TVR predictions are {DOCUMENT}")
    known = known_videos(root.get("video2idx"), numbers, source)
    entries = [
        (name, i, entry)
        for name in LISTS
        if name in root
        for i, entry in enumerate(source.listing(root[name], name, None, f"it is a list of {ENTRY}"))
    ]
    if not any(name in root for name in LISTS):
        raise source.wrong("no list of predictions", None, None, f"TVR predictions are {DOCUMENT}")
    source.unused(root, {"video2idx", *LISTS}, "the root")
    del document, root
    places = {}  # table number → entry number; what is no table is read where it stands
    for n, (name, i, entry) in enumerate(entries):
        entry = object_of(entry, f"{name}[{i}]", source, ENTRY)
        id = id_of(entry, "desc_id", f"{name}[{i}]", source)
        rows = source.entry(entry, "predictions", id, f"{name}[{i}]")
        if (k := held(rows)) is not None:
            places[k], rows = n, None
        entries[n] = (name, i, (id, rows))
    for name, _, (id, rows) in entries:
        if rows is not None:
            yield name, slow_ranking(id, rows, known, numbers, source)
    tables = (piece for piece in pieces(source.path, KEY) if not isinstance(piece, bytes))
    for k, table in enumerate(tables):
        if k in places:
            name, _, (id, _) = entries[places[k]]
            yield name, ranking(id, table, known, source)


@dataclass(frozen=True, slots=True)
class Known:
    """The file's numbers of videos, sorted, and ours for them."""

    theirs: NDArray[np.int64]
    ours: NDArray[np.int64]

    def translate(self, videos: NDArray[np.int64], id: Id, source: Source) -> NDArray[np.int64]:
        at = np.searchsorted(self.theirs, videos).clip(max=max(len(self.theirs) - 1, 0))
        unknown = self.theirs[at] != videos if len(self.theirs) else np.ones(len(videos), dtype=bool)
        if unknown.any():
            i = int(np.flatnonzero(unknown)[0])
            hint = f"video2idx holds {len(self.theirs)} videos"
            raise source.wrong(f"no video has the number {videos[i]}", id, f"predictions[{i}][0]", hint)
        found: NDArray[np.int64] = self.ours[at]
        return found


def known_videos(value: Any, numbers: VideoNumbers, source: Source) -> Known | None:
    """None where the file has no `video2idx`: then its rows must name their videos."""
    if value is None:
        return None
    found: dict[int, int] = {}
    for name, number in source.mapping(value, "video2idx", None, "it is {name: number}").items():
        place = f"video2idx {shown(name)}"
        if isinstance(number, list) and len(number) == 2:  # as in TVR's video2dur_idx: [duration, number]
            number = number[1]
        if type(number) is not int:
            raise source.wrong(f"expected a whole number, saw {kind(number)}", None, place, "it is {name: number}")
        if number in found:
            raise source.wrong(f"the number {number} is given to two videos", None, place, "numbers must differ")
        found[number] = numbers[name]
    theirs = np.array(sorted(found), dtype=np.int64)
    return Known(theirs, np.array([found[n] for n in theirs.tolist()], dtype=np.int64))


def slow_ranking(id: Id, value: Any, known: Known | None, numbers: VideoNumbers, source: Source) -> Ranking:
    """Rows that are no plain table: videos by name, rows of different lengths, or a fault to be named."""
    rows = source.listing(value, "predictions", id, f"it is a list of {ROW}")
    named = [isinstance(row, list) and bool(row) and isinstance(row[0], str) for row in rows]
    if rows and all(named):
        table = checked_rows([[0, *row[1:]] for row in rows], ROW, 3, "predictions", id, source)
        videos = np.array([numbers[row[0]] for row in rows], dtype=np.int64)
        return Ranking(id, table[:, 1:3], table[:, 3] if table.shape[1] > 3 else None, videos)
    return ranking(id, checked_rows(rows, ROW, 3, "predictions", id, source), known, source)


def ranking(id: Id, table: Table, known: Known | None, source: Source) -> Ranking:
    if not len(table):
        return Ranking(id, np.zeros((0, 2)), None, np.zeros(0, dtype=np.int64))
    if table.shape[1] < 3:
        raise source.wrong(f"a row of {table.shape[1]}", id, "predictions[0]", f"a row is {ROW}")
    if known is None:
        hint = "its numbers name no videos without it; add it, or put names where the numbers are"
        raise source.wrong("the file has no 'video2idx' before this", id, "predictions", hint)
    videos = known.translate(whole_numbers(table[:, 0], "predictions", id, source, "the number of a video"), id, source)
    return Ranking(id, table[:, 1:3], table[:, 3] if table.shape[1] > 3 else None, videos)


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return BEGINS.match(text) is not None


MOMENTS = MomentFormat(
    name="tvr-predictions",
    about="TVR predictions: {video2idx, VCMR: [{desc_id, predictions: [[video, start, end, score]]}], SVMR, VR}",
    shape="json",
    sniff=sniff,
    answers=answers,
)
