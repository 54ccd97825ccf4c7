"""Many queries of a file: read from lines of several kinds, answered as lines that `fabula score --task moments` reads.

    {"id": 7, "text": "a dog jumps", "video": "a.mp4", "windows": [[2, 5]]}           Fabula's lines
    {"id": 8, "text": "a whale", "windows": []}    or    {"id": 8, "text": "a whale", "present": false}

QVHighlights' qid, query, relevant_windows, TVR's desc_id, desc, ts and VERIFIED's fig_desc, time are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.data.moments import Id, Ranking, VideoNumbers
from fabula.documents.files import check_path, read_objects
from fabula.io.moments import write_rankings
from fabula.library import calibrate
from fabula.library.calibrate import Calibration, Sample
from fabula.library.find import Searcher, SearchResult
from fabula.library.query import parse
from fabula.report.drawing.panels import Figure

IDS = ("id", "qid", "desc_id")
TEXTS = ("text", "query", "desc", "fig_desc")
WINDOWS = ("windows", "relevant_windows", "ts", "time")


@dataclass(frozen=True)
class LabelledQuery:
    """One line."""

    id: Id
    text: str
    present: bool | None = None  # None: the line does not say


def read_queries_file(path: str | Path, pictures: bool = True) -> list[LabelledQuery]:
    """The queries of a file; each is parsed before any is asked, so that a slip in the last costs no time."""
    source = check_path(path)
    out: list[LabelledQuery] = []
    ids: set[Id] = set()
    for number, line in read_objects(source):
        one = read_line(line, source, number)
        if one.id in ids:
            raise InputError("stands twice", file=source, video=one.id, noun="query", hint="give each its own id")
        ids.add(one.id)
        try:
            parse(one.text, pictures=pictures)
        except Exception as error:
            raise InputError(str(error), file=source, video=one.id, noun="query") from None
        out.append(one)
    if not out:
        raise InputError("no query in it", file=source, hint='a line is {"id": 1, "text": "a dog jumps"}')
    return out


def read_line(line: object, source: Path, number: int) -> LabelledQuery:
    at = f"line {number}"
    hint = 'a line is {"id": 1, "text": "a dog jumps"}'
    if not isinstance(line, dict):
        raise InputError(f"a {type(line).__name__}, not an object", file=source, field=at, hint=hint)
    id = next((line[key] for key in IDS if key in line), None)
    text = next((line[key] for key in TEXTS if key in line), None)
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise InputError("no id", file=source, field=at, hint=hint)
    if not isinstance(text, str):
        raise InputError("no text", file=source, field=at, hint=hint)
    present = line.get("present")
    if present is None:
        windows = next((line[key] for key in WINDOWS if key in line), None)
        present = None if windows is None else bool(windows)
    if not isinstance(present, bool | None):
        raise InputError(f"present is {present!r}", file=source, field=at, hint="it is true or false")
    return LabelledQuery(id, text, present)


def answer(
    searcher: Searcher, queries: Sequence[LabelledQuery], progress: Progress = silent, **settings: Any
) -> Iterator[tuple[LabelledQuery, SearchResult]]:
    """Each query with its answer, in order."""
    for n, one in enumerate(queries):
        yield one, searcher.find(parse(one.text), **settings)
        progress("queries", n + 1, len(queries))


def as_ranking(id: Id, found: SearchResult, numbers: VideoNumbers) -> Ranking:
    """An answer as a line of predictions holds it; one of nothing has no windows."""
    spans = np.array([(m.start, m.end) for m in found.moments], dtype=np.float64).reshape(-1, 2)
    videos = np.array([numbers[m.video] for m in found.moments], dtype=np.int64)
    return Ranking(id, spans, np.array([m.score for m in found.moments], dtype=np.float64), videos)


def measure(
    searcher: Searcher, queries: Sequence[LabelledQuery], source: object, progress: Progress = silent
) -> tuple[Sample, int]:
    """The best moments' scores of queries that say whether they have an answer; and how many had no score at all,
    which are answered with nothing whatever a calibration says."""
    for one in queries:
        if one.present is None:
            raise InputError(
                "does not say if it has an answer",
                file=source,
                video=one.id,
                noun="query",
                hint='say "present": true or false, or give windows, [] where there is none',
            )
        if not parse(one.text).plain:
            raise InputError(
                "is not one text",
                file=source,
                video=one.id,
                noun="query",
                hint="calibrate on plain texts; for other queries the probability is a guess",
            )
    rows = []
    for n, one in enumerate(queries):
        if (best := searcher.best_score(parse(one.text))) is not None:
            rows.append((*best, one.present))
        progress("queries", n + 1, len(queries))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return Sample(table[:, 0], table[:, 1], table[:, 2] > 0), len(queries) - len(rows)


def answer_queries(
    searcher: Searcher, asked: Sequence[LabelledQuery], out: str | Path, progress: Progress = silent, **settings: Any
) -> tuple[int, int]:
    """Write the answers as `fabula score --task moments` reads them; how many, and how many with nothing."""
    numbers, nothing = VideoNumbers(), 0

    def rankings() -> Iterator[Ranking]:
        nonlocal nothing
        for one, found in answer(searcher, asked, progress, **settings):
            nothing += found.nothing
            yield as_ranking(one.id, found, numbers)

    write_rankings(rankings(), numbers, out)
    return len(asked), nothing


@dataclass(frozen=True)
class Calibrated:
    """A calibration, and how it does on the queries that it was not fitted to."""

    calibration: Calibration
    figure: Figure
    ece: float
    refused: float  # share of held-out queries without an answer to which "nothing" is said at .5
    lost: float  # share of those with one
    held_out: int
    unknown: int  # queries of which the embedder knows no word


def calibrate_store(searcher: Searcher, queries: str | Path, progress: Progress = silent, seed: int = 0) -> Calibrated:
    """Fit a calibration to half of the queries, test it on the other half and save it with the store."""
    rows = read_queries_file(queries)
    if searcher.store.folder is None:
        raise SpecError("a calibration is kept in the store's folder; calibrate a copy in a folder")
    sample, unknown = measure(searcher, rows, queries, progress)
    rng = np.random.default_rng(seed)
    half = np.zeros(len(sample.present), bool)
    for kind in (True, False):  # half of each kind
        at = rng.permutation(np.flatnonzero(sample.present == kind))
        half[at[: len(at) // 2]] = True
    fitted, left = calibrate.fit(sample.take(half), searcher.store.recipe, seed), sample.take(~half)
    p = fitted.many(left.score, left.lift)
    trade = calibrate.trade_off(p, left.present, [0.5])[0]
    ece = calibrate.calibration_error(p, left.present)
    held_out = {"ece": ece, "refused at .5": trade.refused, "lost at .5": trade.lost, "queries": len(p)}
    fitted = replace(fitted, about={**fitted.about, "held out": held_out, "unknown": unknown})
    fitted.save(searcher.store.folder / calibrate.FILE)
    figure = calibrate.draw(p, left.present, "Calibration on queries that were held out")
    return Calibrated(fitted, figure, ece, trade.refused, trade.lost, len(p), unknown)
