"""TVR's predictions (Lei et al., ECCV 2020): {"video2idx": {name: number}, "VCMR": [entry, …], "SVMR", "VR"}.

An entry is {"desc_id", "predictions": [[video, start, end, score], …]}, best first. The document is read twice as a
stream, once for its frame and once for its tables, so that memory stays small. `tvr_lines.py` reads entries as lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, shown
from fabula.core.moments import Id, Ranking, Rankings, VideoNumbers
from fabula.io._fields import Source, kind
from fabula.io._files import load_json, parse_json
from fabula.io._moments import (
    Answers,
    MomentFormat,
    checked_rows,
    id_of,
    object_of,
)
from fabula.io._tables import Table, Tables, marked, pieces, skeleton

LISTS = ("VCMR", "SVMR", "VR")
ENTRY = '{"desc_id", "predictions": [[video, start, end, score], …]}'
ROW = "[video, start, end, score]"
DOCUMENT = f'{{"video2idx": {{name: number}}, "VCMR": [{ENTRY}, …], "SVMR": …, "VR": …}}'
KEY = "predictions"
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
    owners: dict[int, tuple[str, Id]] = {}  # table number → whose it is
    for name, i, entry in entries:
        entry = object_of(entry, f"{name}[{i}]", source, ENTRY)
        id = id_of(entry, "desc_id", f"{name}[{i}]", source)
        rows = source.entry(entry, "predictions", id, f"{name}[{i}]")
        if (k := marked(rows)) is not None:
            owners[k] = name, id
        else:
            yield name, slow_ranking(id, rows, known, numbers, source)
    del entries
    for _, tables in pieces(source.path, KEY):
        yield from rankings([owners.get(tables.first + k) for k in range(len(tables))], tables, known, source)


@dataclass(frozen=True, slots=True)
class Known:
    """The file's numbers of videos, sorted, and ours for them."""

    theirs: NDArray[np.int64]
    ours: NDArray[np.int64]

    def translated(self, videos: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Our numbers for theirs; None where one is not whole, or names no video."""
        whole = videos.astype(np.int64)
        last = len(self.theirs) - 1
        if last < 0:
            return None
        if self.theirs[last] - self.theirs[0] == last:  # without gaps, as they mostly are
            at = (whole - self.theirs[0]).clip(0, last)
        else:
            at = np.searchsorted(self.theirs, whole).clip(max=last)
        return self.ours[at] if (self.theirs[at] == videos).all() else None


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


def rankings(owners: Sequence[tuple[str, Id] | None], tables: Tables, known: Known | None, source: Source) -> Answers:
    """The rankings of many tables at once; those that nobody owns stood elsewhere in the file."""
    widths = {columns for rows, columns in tables.shapes.tolist() if rows}
    width = widths.pop() if len(widths) == 1 else 0
    answers = tables.values.reshape(-1, width) if width else tables.values
    videos = known.translated(answers[:, 0]) if known is not None and width > 2 else None
    if videos is None:  # one by one, to name the first that is wrong
        for owner, table in zip(owners, tables, strict=True):
            if owner is not None:
                yield owner[0], ranking(owner[1], table, known, source)
        return
    spans, scores = answers[:, 1:3], answers[:, 3] if width > 3 else None
    lists = {None if owner is None else owner[0] for owner in owners}
    whole = Rankings(
        [-1 if owner is None else owner[1] for owner in owners], tables.shapes[:, 0], spans, scores, videos
    )
    if len(lists) == 1 and (name := lists.pop()) is not None:
        yield name, whole
        return
    for owner, one in zip(owners, whole, strict=True):
        if owner is not None:
            yield owner[0], one


def ranking(id: Id, table: Table, known: Known | None, source: Source) -> Ranking:
    if not len(table):
        return Ranking(id, np.zeros((0, 2)), None, np.zeros(0, dtype=np.int64))
    if table.shape[1] < 3:
        raise source.wrong(f"a row of {table.shape[1]}", id, "predictions[0]", f"a row is {ROW}")
    if known is None:
        hint = "its numbers name no videos without it; add it, or put names where the numbers are"
        raise source.wrong("the file has no 'video2idx' before this", id, "predictions", hint)
    videos = known.translated(table[:, 0])
    if videos is None:
        i = next(i for i, video in enumerate(table[:, 0]) if known.translated(np.array([video])) is None)
        hint = f"video2idx numbers {len(known.theirs)} videos"
        raise source.wrong(f"no video has the number {table[i, 0]:g}", id, f"predictions[{i}][0]", hint)
    return Ranking(id, table[:, 1:3], table[:, 3] if table.shape[1] > 3 else None, videos)


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return BEGINS.match(text) is not None


MOMENTS = MomentFormat(
    name="tvr-predictions",
    about="TVR predictions: {video2idx, VCMR: [{desc_id, predictions: [[video, start, end, score]]}], SVMR, VR}",
    shape="json",
    sniff=sniff,
    answers=answers,
    example='{"video2idx": {"kite": 0}, "VCMR": [{"desc_id": 1, "predictions": [[0, 0, 10.5, 0.9]]}]}',
)
