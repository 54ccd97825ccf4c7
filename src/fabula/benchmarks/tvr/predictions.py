"""TVR's predictions (Lei et al., ECCV 2020): {"video2idx": {name: number}, "VCMR": [entry, …], "SVMR", "VR"}.

An entry is {"desc_id", "predictions": [[video, start, end, score], …]}, best first. The document is read as a stream,
so that memory stays small, twice where `video2idx` comes last. `tvr_lines.py` reads entries as lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native
from fabula.core.errors import InputError, shown
from fabula.core.notes import name_id
from fabula.data.moments import NOBODY, Id, Ranking, Rankings, VideoNumbers
from fabula.documents.fields import Source, describe_value
from fabula.documents.files import parse_json
from fabula.documents.records import Odd, Records, Shape, Table, Tables, find_mark, lift_tables, lookahead, read_members
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import check_object, read_id, read_rows

START = HeadRule(begins=r'\s*\{\s*"(video2idx|VCMR|SVMR|VR)"\s*:')
LISTS = ("VCMR", "SVMR", "VR")
ENTRY = '{"desc_id", "predictions": [[video, start, end, score], …]}'
ROW = "[video, start, end, score]"
DOCUMENT = f'{{"video2idx": {{name: number}}, "VCMR": [{ENTRY}, …], "SVMR": …, "VR": …}}'
KEY = "predictions"
PLAIN = Shape((("desc_id", "id"), ("desc", "skip"), (KEY, "table")), others=True)
FRAME = Shape((), others=True)  # entries skipped


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    """Every ranking of the document, list by list."""
    known, begun = find_known(source, numbers), False
    root: dict[str, object] = {}
    for name, value in lookahead(read_members(source.document, LISTS, PLAIN)):
        root[name] = None
        if isinstance(value, Records | Odd):
            begun = True
            yield from read_some(name, value, known, numbers, source)
        elif name in LISTS:
            source.listing(value, name, None, f"it is a list of {ENTRY}")
    if not begun:
        raise source.wrong("no list of predictions", None, None, f"TVR predictions are {DOCUMENT}")
    source.unused(root, {"video2idx", "note", *LISTS}, "the root")


def find_known(source: Source, numbers: VideoNumbers) -> Known | None:
    """`video2idx`, wherever it stands; the file is read up to there."""
    if not source.document.text.lstrip().startswith("{"):
        source.mapping(source.document.tree(), "the root", hint=f"TVR predictions are {DOCUMENT}")
    for name, value in read_members(source.document, LISTS, FRAME):
        if name == "video2idx":
            return read_known(value, numbers, source)
    return None


def read_some(name: str, some: Records | Odd, known: Known | None, numbers: VideoNumbers, source: Source) -> Answers:
    """The rankings of a run of plain entries; or of one that is not."""
    if isinstance(some, Records):
        if some.n:
            yield from build_rankings(name, some["desc_id"], Tables(0, *some[KEY]), known, source)
        return
    at = f"{name}[{some.place}]"
    left, values, shapes = lift_tables(some.text, KEY)
    try:
        entry = parse_json(left.decode(), source.document)
    except (InputError, UnicodeDecodeError):
        source.document.tree()  # says where in the file
        raise
    yield name, read_odd(entry, at, Tables(0, values, shapes), known, numbers, source)


def read_odd(
    entry: object, at: str, tables: Tables, known: Known | None, numbers: VideoNumbers, source: Source
) -> Ranking:
    """The ranking of an entry out of which plain tables have been lifted."""
    entry = check_object(entry, at, source, ENTRY)
    id = read_id(entry, "desc_id", at, source)
    rows = source.entry(entry, KEY, id, at)
    if (k := find_mark(rows)) is not None and k < len(tables):
        return build_ranking(id, list(tables)[k], known, source)
    return read_slowly(id, rows, known, numbers, source)


FARTHEST = 2**53  # numbers of videos stand among numbers of seconds: beyond this a float cannot tell two of them apart


@dataclass(frozen=True, slots=True)
class Known:
    """The file's numbers of videos, sorted, and ours for them."""

    theirs: NDArray[np.int64]
    ours: NDArray[np.int64]
    strangers: bool = False  # other numbers are NOBODY's instead of refused

    def translate(self, videos: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Our numbers for theirs; None where one is not whole, or names no video."""
        kernels = native()
        found = (translate_python if kernels is None else kernels.translated)(videos, self.theirs, self.ours)
        return cast("NDArray[np.int64] | None", found)


def translate_python(
    videos: NDArray[np.float64], theirs: NDArray[np.int64], ours: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """The specification of the kernel."""
    if len(theirs) != len(ours) or (theirs[:-1] >= theirs[1:]).any():
        raise ValueError("their numbers must rise, and have one of ours each")
    if not len(theirs) or not ((videos >= -(2.0**63)) & (videos < 2.0**63)).all():
        return None
    at = np.searchsorted(theirs, videos.astype(np.int64))
    return ours[at] if (at < len(theirs)).all() and (theirs[at] == videos).all() else None


def read_known(value: object, numbers: VideoNumbers, source: Source) -> Known | None:
    """None where the file has no `video2idx`: then its rows must name their videos."""
    if value is None:
        return None
    listed: dict[int, str] = {}
    for name, number in source.mapping(value, "video2idx", None, "it is {name: number}").items():
        place = f"video2idx {shown(name)}"
        if isinstance(number, list) and len(number) == 2:  # as in TVR's video2dur_idx: [duration, number]
            number = number[1]
        if type(number) is not int or not -FARTHEST < number < FARTHEST:
            raise source.wrong(
                f"expected a whole number, saw {describe_value(number)}", None, place, "it is {name: number}"
            )
        if number in listed:
            raise source.wrong(f"the number {number} is given to two videos", None, place, "numbers must differ")
        listed[number] = name
    if not numbers:
        numbers.adopt({name: number for number, name in listed.items()})
    theirs = np.array(sorted(listed), dtype=np.int64)
    ours = np.array([numbers[listed[n]] for n in theirs.tolist()], dtype=np.int64)
    return Known(theirs, ours, numbers.strangers)


def read_slowly(id: Id, value: object, known: Known | None, numbers: VideoNumbers, source: Source) -> Ranking:
    """Rows that are no plain table: videos by name, rows of different lengths, or a fault to be named."""
    rows = source.listing(value, "predictions", id, f"it is a list of {ROW}")
    named = [isinstance(row, list) and bool(row) and isinstance(row[0], str) for row in rows]
    if rows and all(named):
        table = read_rows([[0, *row[1:]] for row in rows], ROW, 3, "predictions", id, source)
        videos = np.array([numbers[row[0]] for row in rows], dtype=np.int64)
        return Ranking(id, table[:, 1:3], table[:, 3] if table.shape[1] > 3 else None, videos)
    return build_ranking(id, read_rows(rows, ROW, 3, "predictions", id, source), known, source)


def build_rankings(name: str, ids: Sequence[Id], tables: Tables, known: Known | None, source: Source) -> Answers:
    """The rankings of many tables at once."""
    widths = set(tables.shapes[tables.shapes[:, 0] > 0, 1].tolist())
    width = widths.pop() if len(widths) == 1 else 0
    answers = tables.values.reshape(-1, width) if width else tables.values
    videos = known.translate(answers[:, 0]) if known is not None and width > 2 else None
    if videos is None:  # one by one, to name the first that is wrong
        for id, table in zip(ids, tables, strict=True):
            yield name, build_ranking(id, table, known, source)
    else:
        scores = answers[:, 3] if width > 3 else None
        yield name, Rankings(ids, tables.shapes[:, 0], answers[:, 1:3], scores, videos)


def build_ranking(id: Id, table: Table, known: Known | None, source: Source) -> Ranking:
    if not len(table):
        return Ranking(id, np.zeros((0, 2)), None, np.zeros(0, dtype=np.int64))
    if table.shape[1] < 3:
        raise source.wrong(f"a row of {table.shape[1]}", id, "predictions[0]", f"a row is {ROW}")
    if known is None:
        hint = "its numbers name no videos without it; add it, or put names where the numbers are"
        raise source.wrong("the file has no 'video2idx' before this", id, "predictions", hint)
    videos = known.translate(table[:, 0])
    if videos is None and known.strangers:
        found = [known.translate(table[i : i + 1, 0]) for i in range(len(table))]
        videos = np.array([NOBODY if one is None else one[0] for one in found], dtype=np.int64)
        text = "{n} queries have answers whose number the file gives to no video; they count as wrong"
        source.notes.add(text, name_id(id))
    if videos is None:
        i = next(i for i, video in enumerate(table[:, 0]) if known.translate(np.array([video])) is None)
        hint = f"video2idx numbers {len(known.theirs)} videos"
        raise source.wrong(f"no video has the number {table[i, 0]:g}", id, f"predictions[{i}][0]", hint)
    return Ranking(id, table[:, 1:3], table[:, 3] if table.shape[1] > 3 else None, videos)


FORMAT = Format(
    name="tvr-predictions",
    about="TVR predictions: {video2idx, VCMR: [{desc_id, predictions: [[video, start, end, score]]}], SVMR, VR}",
    known_by=(START,),
    certain=(START,),
    main_task="moments",
    holds="predictions",
    tasks=MOMENTS,
    read_rankings=read_rankings,
    example='{"video2idx": {"kite": 0}, "VCMR": [{"desc_id": 1, "predictions": [[0, 0, 10.5, 0.9]]}]}',
)
