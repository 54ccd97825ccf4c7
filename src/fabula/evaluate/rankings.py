"""Rows of moment metrics on this machine: rankings come in a stream, are scored in blocks and forgotten.

Memory is bounded by the queries and their rows, whatever the number of answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native
from fabula.core.errors import InputError, shown
from fabula.core.notes import Notes, Progress, name_id, silent
from fabula.core.rows import Rows
from fabula.data.moments import Id, Query, Ranking, Rankings, VideoNumbers
from fabula.metrics.moments import Block, MomentMetric

Ints = NDArray[np.int64]
ANSWERS = 1 << 18  # how many answers a block gathers
QUERIES = 1 << 12  # and how many queries, at most
SEARCHED = ("VCMR", "VR")  # the lists whose answers must find the video first


@dataclass(slots=True)
class Scored:
    """What one pass over the rankings gives."""

    rows: dict[MomentMetric, Rows] = field(default_factory=dict)
    absent: dict[MomentMetric, str] = field(default_factory=dict)  # metric → what the predictions lack for it
    missing: int = 0  # queries that no list answers, of the list that lacks most
    unknown: int = 0  # rankings of queries that there are not
    empty: int = 0  # rankings without a window
    answers: int = 0


@dataclass(slots=True)
class Listed:
    """One list of the predictions while it is read: what waits to be scored, and what was."""

    name: str
    metrics: list[MomentMetric]
    seen: NDArray[np.bool_]  # [Q] which queries were answered
    waiting: list[tuple[int, Ranking]] = field(default_factory=list)
    held: int = 0  # answers that wait
    parts: dict[MomentMetric, list[tuple[Sequence[int], Rows]]] = field(default_factory=dict)
    again: dict[int, list[Ranking]] = field(default_factory=dict)  # answers that may have to be joined, by query
    windows: bool = False  # did any ranking have a window, any a saliency
    saliency: bool = False

    @property
    def joins(self) -> bool:
        """True where a metric wants all answers to a query, should there be several."""
        return any(metric.repeated == "join" for metric in self.metrics)


@dataclass(frozen=True, slots=True)
class Reading:
    """What goes with a stream of rankings: the numbers of the videos that it names, remarks, and how strict to be."""

    numbers: VideoNumbers = field(default_factory=VideoNumbers)
    notes: Notes = field(default_factory=Notes)
    strict: bool = False
    progress: Progress = silent


def moment_rows(
    metrics: Sequence[MomentMetric],
    queries: Mapping[Id, Query],
    answers: Iterable[tuple[str, Ranking | Rankings]],
    reading: Reading | None = None,
) -> Scored:
    """Rows of every metric from one pass over (list, ranking) pairs; the list is "" where there is only one, and
    many rankings may come at once. Without video numbers all rankings are about their query's own video.
    """
    reading = Reading() if reading is None else reading
    numbers, notes, progress = reading.numbers, reading.notes, reading.progress
    order = list(queries.values())
    place_of = {id: i for i, id in enumerate(queries)}
    lists: dict[str, Listed] = {}
    done: dict[str, int] = {}  # queries scored of each list
    out = Scored()
    what = metrics[0].name if len(metrics) == 1 else "moments"
    progress(what, 0, len(order))

    def take(listed: Listed, at: Sequence[int], block: Block) -> None:
        score_block(listed, at, block, reading)
        read = listed.metrics[0].read(block)
        out.answers += len(read.spans)
        out.empty += int((read.counts == 0).sum())
        done[listed.name] = done.get(listed.name, 0) + len(block)
        progress(what, max(done.values()), len(order))

    def flush(listed: Listed) -> None:
        at, rankings = [place for place, _ in listed.waiting], [ranking for _, ranking in listed.waiting]
        listed.waiting, listed.held = [], 0
        if any(m.answers in SEARCHED for m in listed.metrics):
            for ranking in rankings:
                if ranking.videos is None and len(ranking.spans):
                    text = "{n} rankings name no video and count as found in the right one: VCMR and VR judge no search"
                    notes.add(text, name_id(ranking.id))
        listed.saliency |= any(ranking.saliency is not None for ranking in rankings)
        take(listed, at, Block.of_rankings([order[place] for place in at], rankings, numbers))

    for name, rankings_of_list in answers:
        listed = lists.get(name)
        if listed is None:
            readers = [m for m in metrics if name in ("", m.answers)]
            listed = lists[name] = Listed(
                name, readers, np.zeros(len(order), dtype=bool), parts={m: [] for m in readers}
            )
        if not listed.metrics:
            continue
        if isinstance(rankings_of_list, Rankings) and not listed.joins:
            at = [place for id in rankings_of_list.ids if (place := place_of.get(id)) is not None]
            if len(set(at)) == len(rankings_of_list.ids) and not listed.seen[at].any():
                listed.seen[at] = True
                there = [order[place] for place in at]
                take(listed, at, Block.of_answers(there, rankings_of_list, numbers))
                continue
        for ranking in rankings_of_list if isinstance(rankings_of_list, Rankings) else (rankings_of_list,):
            place = place_of.get(ranking.id)
            if place is None:
                place = find_twin(ranking.id, place_of, notes)
            if place is None:
                out.unknown += 1
                text = "{n} rankings answer queries that are not in the references and are not scored"
                notes.add(text, name_id(ranking.id))
                continue
            if listed.seen[place]:
                note_repeated(ranking.id, listed, notes)
            listed.seen[place] = True
            if listed.joins:
                listed.again.setdefault(place, []).append(ranking)
            listed.waiting.append((place, ranking))
            listed.held += len(ranking.spans)
            if listed.held >= ANSWERS or len(listed.waiting) >= QUERIES:
                flush(listed)
    for listed in lists.values():
        if listed.waiting:
            flush(listed)
        join_repeated(listed, order, numbers)
    for metric in metrics:
        collect(metric, lists, queries, numbers, out)
    progress(what, len(order), len(order))
    return out


def note_repeated(id: Id, listed: Listed, notes: Notes) -> None:
    """A query is answered again: said, or refused where one of the metrics has no rule for it."""
    if any(metric.repeated == "error" for metric in listed.metrics):
        where, hint = f"list {listed.name}" if listed.name else None, "keep one of the two"
        raise InputError("this query is answered twice", video=id, noun="query", field=where, hint=hint)
    notes.add("{n} answers repeat a query of their list (see repeated=… in each signature)", name_id(id))


def join_repeated(listed: Listed, order: Sequence[Query], numbers: VideoNumbers) -> None:
    """What was answered several times, scored once more with the answers laid end to end; later rows count."""
    again = {place: rankings for place, rankings in listed.again.items() if len(rankings) > 1}
    if not again:
        return
    queries = [order[place] for place in again]
    for metric in listed.metrics:
        if metric.repeated == "join":
            top = metric.param("top")
            joined = [lay_end_to_end(rankings, top) for rankings in again.values()]
            whole = metric if top is None else metric.with_params({"top": "none"})
            listed.parts[metric].append((list(again), whole.rows(Block.of_rankings(queries, joined, numbers), None)))


def lay_end_to_end(rankings: Sequence[Ranking], top: int | None) -> Ranking:
    """The first `top` answers of each. Scores are kept where all have them."""
    scores = [None if r.scores is None else r.scores[:top] for r in rankings if len(r)]
    known = [s for s in scores if s is not None]
    return Ranking(
        rankings[0].id,
        np.concatenate([r.spans[:top] for r in rankings]),
        np.concatenate(known) if known and len(known) == len(scores) else None,
    )


def keep_last(at: Ints) -> Ints:
    """Where each query's last row stands, in the order of the queries."""
    order = np.argsort(at, kind="stable")
    last = np.append(np.diff(at[order]) > 0, True) if len(at) else np.zeros(0, dtype=bool)
    last_answers: Ints = order[last]
    return last_answers


def find_twin(id: Id, places: Mapping[Id, int], notes: Notes) -> int | None:
    """An id that is text on one side and a number on the other still means one query: its place."""
    other: Id | None = str(id) if isinstance(id, int) else int(id) if id.isascii() and id.isdigit() else None
    if other is None or other not in places or str(other) != str(id):
        return None
    notes.add("{n} query ids were matched though one file writes them as text, the other as numbers", name_id(id))
    return places[other]


def score_block(listed: Listed, at: Sequence[int], block: Block, reading: Reading) -> None:
    """A block of queries, whose places are `at`, through every metric of the list."""
    listed.windows |= len(block.spans) > 0 or block.texts is not None
    if any(m.needs == "windows" for m in listed.metrics):
        note_oddities(listed.metrics[0].read(block), listed, reading)
    for metric in listed.metrics:
        listed.parts[metric].append((at, metric.rows(block, None)))


def note_oddities(block: Block, listed: Listed, reading: Reading) -> None:
    """Say what is odd about the windows; with strict, refuse what is no stretch of time."""
    notes, (faulty, rising, unscored) = reading.notes, oddities(block)
    for i in faulty.tolist():
        id = block.queries[int(block.of[i])].id
        if reading.strict:
            start, end = block.spans[i].tolist()
            problem_text = f"a window that is reversed, zero-length or negative, [{start:g}, {end:g}]"
            hint = "mend the predictions, or leave --strict out"
            raise InputError(problem_text, video=id, noun="query", field=f"window {int(block.place[i])}", hint=hint)
        notes.add(
            "{n} predicted windows are reversed, zero-length or negative; the first two match nothing", name_id(id)
        )
    remarks = {"{n} queries list answers in another order than their scores (see order=… in each signature)": rising}
    if any(m.param("order", "file") == "score" for m in listed.metrics):
        remarks["{n} queries have answers without a score; they stay in the order of the file"] = unscored
        level_text = (
            "{n} queries give all their answers one score; they rank by start (order=file takes the list's order)"
        )
        remarks[level_text] = level(block)
    for text, at in remarks.items():
        for i in at.tolist():
            notes.add(text, name_id(block.queries[i].id))


def level(block: Block) -> Ints:
    """Queries with several answers, all of one score."""
    moves = (np.diff(block.scores) != 0) & (np.diff(block.of) == 0)  # what is no number moves
    found: Ints = np.flatnonzero((block.counts > 1) & (np.bincount(block.of[1:][moves], minlength=len(block)) == 0))
    return found


def oddities(block: Block) -> tuple[Ints, Ints, Ints]:
    """Windows that are no stretch of time; queries whose scores rise; queries with an answer that has no score."""
    kernels = native()
    if kernels is None:
        return oddities_python(block)
    return cast(tuple[Ints, Ints, Ints], kernels.oddities(block.counts, block.spans, block.listed_scores))


def oddities_python(block: Block) -> tuple[Ints, Ints, Ints]:
    """The specification of the kernel."""
    start, end = block.spans[:, 0], block.spans[:, 1]
    rising = (np.diff(block.scores) > 0) & (np.diff(block.of) == 0)
    return (
        np.flatnonzero(~((start >= 0) & (start < end))),
        np.unique(block.of[1:][rising]),
        np.unique(block.of[np.isnan(block.scores)]),
    )


def collect(
    metric: MomentMetric, lists: Mapping[str, Listed], queries: Mapping[Id, Query], numbers: VideoNumbers, out: Scored
) -> None:
    """The metric's rows in the order of the references, with those of queries that nobody answered."""
    found = [listed for listed in lists.values() if metric in listed.parts]
    if len(found) > 1:
        hint = f"it has {', '.join(shown(listed.name) for listed in found)}"
        raise InputError(f"the predictions answer {metric.name} in more than one list", hint=hint)
    if not found and lists:
        out.absent[metric] = f"the predictions have no list {metric.answers}"
        return
    listed = found[0] if found else Listed("", [], np.zeros(len(queries), dtype=bool))
    if metric.needs == "saliency" and lists and not listed.saliency:
        out.absent[metric] = "the predictions have no saliency"
        return
    if metric.needs != "saliency" and listed.saliency and not listed.windows:
        out.absent[metric] = "the predictions have no windows"
        return
    ids = list(queries)
    lost = np.flatnonzero(~listed.seen).tolist()
    if len(lost) > out.missing:
        out.missing = len(lost)
    if lost and metric.missing == "error":
        hint = f"give an answer, or say how to count: {metric.name}(missing=zero) or {metric.name}(missing=drop)"
        problem = f"{metric}: {len(lost)} of {len(ids)} queries have no answer"
        raise InputError(problem, video=ids[lost[0]], noun="query", hint=hint)
    parts = list(listed.parts.get(metric, []))
    if metric.missing == "zero":
        for start in range(0, len(lost), QUERIES):
            part_rows = lost[start : start + QUERIES]
            block = Block.of_rankings([queries[ids[i]] for i in part_rows], [None] * len(part_rows), numbers)
            parts.append((part_rows, metric.rows(block, None)))
    at = np.concatenate([np.zeros(0, dtype=np.int64), *(np.array(places, dtype=np.int64) for places, _ in parts)])
    if parts:
        rows = Rows.joined([part_rows for _, part_rows in parts])
        rows = rows if (np.diff(at) > 0).all() else rows.take(keep_last(at))
    else:
        rows = Rows((), np.zeros(0, dtype=np.int64), {}, unit="query", clusters=())
    out.rows[metric] = metric.group(rows, queries)
