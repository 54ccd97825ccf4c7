"""A corpus in shards: rows are made a shard at a time, by whatever runner, and a run that broke off goes on.

What a work folder (jobs/folder.py) holds besides its manifest:

    pieces/00003.*               the inputs, cut into shards: see split.py
    facts.json                   what was noticed while reading all of them
    survey/00007.json            what meets what in a shard
    statistics/METRIC/00007.json corpus statistics, counted shard by shard; all.json: merged
    rows/METRIC/00007.npz        the rows of a shard

Every one is sealed (jobs/folder.py): one that is damaged counts as absent, and its part is done again.

A video is in the shard of its id's stem, so that all spellings of an id come together, and all that follows (ids
reconciled, missing videos found, rows made) happens within a shard. `place` counts stories through, reference sets
first: rows sorted by it stand in the order of a run in memory, so that every fold gives the same digits.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.core.notes import NAMED, Notes, Progress, name_id, silent
from fabula.core.rows import Rows
from fabula.data.ids import reconcile
from fabula.data.stories import Corpus, Story
from fabula.evaluate import split
from fabula.evaluate.split import PREDICTIONS, Cut, Record
from fabula.io.pieces import Piece
from fabula.jobs.folder import SIZE, Folder, read_regular
from fabula.jobs.runner import Runner, run_pass
from fabula.metrics import Metric
from fabula.metrics.stories import Stories
from fabula.text import forget

SHARD = 1 << 20  # bytes of input in a shard, about: 10 to 20 MB in the memory of who scores it
FEWEST, MOST = 8, 4096  # shards
FACTS = "facts.json"


# ── rows on disk ────────────────────────────────────────────────────────────────────────────────────────────────────


def load_rows(folder: Folder, metric: Metric, shards: int) -> Rows:
    """The rows of all shards in the order of a run in memory."""
    parts = [
        p for job in jobs(folder, shards, ()) if (p := unpack(folder, job.file("rows", "npz", metric))) is not None
    ]
    if len(parts) < shards:
        problem = f"{shards - len(parts)} of {shards} shards have no rows of {metric.name}"
        raise InputError(problem, file=folder.path, hint="run it again with --resume")
    full = [(places, rows) for places, rows in parts if len(rows)]
    if not full:
        return Rows.of([])
    order = np.argsort(np.concatenate([places for places, _ in full]), kind="stable")
    return Rows.joined([rows for _, rows in full]).take(order)


def shards_for(size: int) -> int:
    """How many shards for an input of so many bytes: the input alone decides, so that any runner can go on."""
    return min(max(FEWEST, -(-size // SHARD)), MOST)


def key(metric: Metric) -> str:
    """A folder name for the rows of a metric, from every choice it makes."""
    choices = "|".join([metric.full(), *(f"{k}:{v}" for k, v in metric.about().items())])
    return (
        f"{re.sub(r'[^A-Za-z0-9_]', '_', metric.name)}-{hashlib.blake2b(choices.encode(), digest_size=8).hexdigest()}"
    )


def pack(folder: Folder, parts: tuple[str, ...], places: NDArray[np.int64], rows: Rows) -> bytes:
    """Rows as numpy's .npz, ids as the bytes of a JSON list; the archive's comment, which comes last, is the seal."""
    ids = np.frombuffer(json.dumps(list(rows.keys)).encode(), dtype=np.uint8)
    out = io.BytesIO()
    columns: dict[str, Any] = {f"column {n}": column for n, column in rows.columns.items()}
    np.savez(out, places=places, ids=ids, refset=rows.refset, **columns)
    with zipfile.ZipFile(out, "a") as archive:
        archive.comment = bytes(2 * SIZE)
    body = out.getvalue()[: -2 * SIZE]
    return body + folder.seal(parts, [body]).encode()


def unpack(folder: Folder, parts: tuple[str, ...]) -> tuple[NDArray[np.int64], Rows] | None:
    """None where the file is not there or not as it was written."""
    data = read_regular(folder.at(*parts))
    if data is None or data[-2 * SIZE :] != folder.seal(parts, [data[: -2 * SIZE]]).encode():
        return None
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        columns = {n.removeprefix("column "): file[n] for n in file.files if n.startswith("column ")}
        return file["places"], Rows(tuple(json.loads(file["ids"].tobytes())), file["refset"], columns)


# ── the work on one shard ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Job:
    """One shard, and what is wanted of it. Small: it travels to the machine that does the work."""

    folder: Folder
    shard: int
    metrics: tuple[Metric, ...]

    def file(self, room: str, ending: str, metric: Metric | None = None) -> tuple[str, ...]:
        """Where it lies in the work folder."""
        inner = () if metric is None else (key(metric),)
        return room, *inner, f"{self.shard:05}.{ending}"


@dataclass(slots=True)
class Shard:
    """The stories of a shard, ids reconciled."""

    sets: list[Corpus]
    preds: Corpus
    places: dict[str, int]  # of a video's first appearance among the references
    placed: dict[int, dict[str, int]]  # set → id as it was given → place
    renamed: dict[int, list[str]]  # set → ids that were given otherwise
    twice: list[tuple[int, int, int, int, str]]  # place, line, and those of its first appearance; id


def read_shards(folder: Folder, shards: Iterable[int], outline: bool = False) -> Shard:
    """One shard, or several at once; of an outline, the events are only counted."""
    facts = folder.get(FACTS)
    names: list[str] = facts["names"]  # of the reference sets, then of the predictions
    stories: dict[int, dict[str, Story]] = {k: {} for k in (*range(len(names) - 1), PREDICTIONS)}
    first: dict[int, dict[str, Record]] = {k: {} for k in stories}
    twice = []
    found = split.read_records(folder, len(facts["pieces"]), shards, outline)
    for record in sorted(found, key=lambda r: r.place):
        k, id = facts["pieces"][record.piece][0], record.story.id
        if id in stories[k]:
            twice.append((record.place, record.line, first[k][id].place, first[k][id].line, id))
        else:
            stories[k][id], first[k][id] = record.story, record
    placed = {k: {id: r.place for id, r in members.items()} for k, members in first.items()}
    corpora = {k: Corpus(members, name=names[k]) for k, members in stories.items()}
    sets = [corpora[0], *(reconcile(corpora[k], corpora[0], Notes()) for k in range(1, len(names) - 1))]
    preds = reconcile(corpora[PREDICTIONS], [v for ref in sets for v in ref], Notes())
    known = {**dict(enumerate(sets)), PREDICTIONS: preds}
    renamed = {k: [id for id in corpora[k] if id not in known[k]] for k in known}
    places: dict[str, int] = {}
    for k, ref in enumerate(sets):
        for video, place in zip(ref, placed[k].values(), strict=True):
            places.setdefault(video, place)
    return Shard(sets, preds, places, placed, renamed, twice)


def survey_shard(job: Job) -> int:
    """First pass: what meets what, and the statistics of the metrics that need some."""
    folder, target = job.folder, job.file("survey", "json")
    waiting = [m for m in job.metrics if m.needs_statistics and not folder.holds(*job.file("statistics", "json", m))]
    surveyed = folder.holds(*target)
    if surveyed and not waiting:
        return job.shard
    shard = read_shards(folder, [job.shard], outline=not waiting)
    if not surveyed:
        folder.put(describe(shard), *target)
    for metric in waiting:
        put_statistics(folder, metric.count_statistics(shard.sets), *job.file("statistics", "json", metric))
    return job.shard


def describe(shard: Shard) -> dict[str, object]:
    """Counts, and for each kind of remark how often and the first places."""
    sets, preds = shard.sets, shard.preds
    videos = {v: place for v, place in shard.places.items() if any(len(r[v]) for r in sets if v in r)}
    predicted = dict(zip(preds, shard.placed[PREDICTIONS].values(), strict=True))
    empty = [
        (place, v)
        for k, ref in enumerate(sets)
        for v, place in zip(ref, shard.placed[k].values(), strict=True)
        if not len(ref[v])
    ]
    missing = [(place, v) for v, place in videos.items() if v not in preds]
    unknown = [(place, v) for v, place in predicted.items() if v not in videos]
    renamed = {str(k): [(shard.placed[k][id], id) for id in ids] for k, ids in shard.renamed.items()}
    return {
        "counts": {
            "videos": len(videos),
            "missing": len(missing),
            "unparsed": 0,
            "unknown": len(unknown),
            "references": sum(ref.events for ref in sets),
            "predictions": sum(len(preds[v]) for v in videos if v in preds),
        },
        "twice": shard.twice[:1],
        "first": [take_first((p, v) for v, p in group.items())[:1] for group in (predicted, videos)],
        "remarks": {
            kind: [len(group), take_first(group)]
            for kind, group in {"empty": empty, "missing": missing, "unknown": unknown, **renamed}.items()
        },
    }


def take_first(some: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """The first places that a warning would name."""
    found: dict[str, tuple[int, str]] = {}
    for place, id in sorted(some):
        if len(found) == NAMED:
            break
        found.setdefault(name_id(id), (place, id))
    return list(found.values())


def score_shard(job: Job) -> int:
    """Second pass: the rows that are not there yet. Its sentences are its own: the next shard need not hold them."""
    folder = job.folder
    waiting = [m for m in job.metrics if unpack(folder, job.file("rows", "npz", m)) is None]
    if not waiting:
        return job.shard
    shard = read_shards(folder, [job.shard])
    stories = Stories(shard.sets, shard.preds)
    for metric in waiting:
        counted = merged_statistics(folder, *merged_file(metric)) if metric.needs_statistics else None
        rows = metric.table(replace(stories, statistics=counted))
        places = np.array([shard.places[str(v)] for v in rows.keys], dtype=np.int64)
        parts = job.file("rows", "npz", metric)
        folder.put_bytes([pack(folder, parts, places, rows)], *parts)
    forget()
    return job.shard


def put_statistics(folder: Folder, counted: object, *parts: str) -> None:
    """Sorted: counts of a set come in another order in every process, and the same run should write the same bytes."""
    folder.put({"statistics": json.loads(json.dumps(counted, sort_keys=True))}, *parts)


def merged_file(metric: Metric) -> tuple[str, str, str]:
    return "statistics", key(metric), "all.json"


@lru_cache(maxsize=4)
def merged_statistics(folder: Folder, *parts: str) -> object:
    """Loaded once by each process, not once a shard. The folder's mark tells two runs apart."""
    return folder.get(*parts)["statistics"]


# ── all shards ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The surveys of all shards together."""

    counts: dict[str, int]
    twice: list[tuple[int, int, int, int, str]]  # in the order in which a reader would have met them
    first_predicted: str | None
    first_video: str | None
    remarks: dict[str, tuple[int, list[str]]]  # kind → how many, the first ids

    def note(self, kind: str, text: str, notes: Notes) -> None:
        count, ids = self.remarks[kind]
        for id in ids:
            notes.add(text, name_id(id), count=0)
        if count:
            notes.add(text, count=count)


def split_all(cuts: Sequence[Cut], runner: Runner, progress: Progress = silent) -> list[split.PieceSurvey]:
    """The inputs, piece by piece, and what was noticed in each. A corpus, and a file read whole, are cut up here."""
    apart = [cut for cut in cuts if isinstance(cut.piece, Piece)]
    for cut in cuts:
        if not isinstance(cut.piece, Piece):
            split.split_piece(cut)
    if apart:
        run_pass(split.split_piece, "pieces", apart, runner, progress)
    return [split.PieceSurvey.of(cut.folder.get(*cut.file("json"))["seen"]) for cut in cuts]


def survey_all(
    folder: Folder, shards: int, metrics: Sequence[Metric], runner: Runner, progress: Progress = silent
) -> Surveyed:
    """First pass over all shards; statistics merged."""
    todo = jobs(folder, shards, metrics)
    run_pass(survey_shard, "survey", todo, runner, progress)
    parts = [folder.get(*job.file("survey", "json")) for job in todo]
    for metric in metrics:
        if metric.needs_statistics and not folder.holds(*merged_file(metric)):
            counted = [folder.get(*job.file("statistics", "json", metric))["statistics"] for job in todo]
            put_statistics(folder, metric.merge_statistics(counted), *merged_file(metric))
    heads = [sorted(map(tuple, (x for p in parts for x in p["first"][side]))) for side in (0, 1)]
    return Surveyed(
        counts={n: sum(p["counts"][n] for p in parts) for n in parts[0]["counts"]},
        twice=sorted(tuple(t) for p in parts for t in p["twice"]),
        first_predicted=heads[0][0][1] if heads[0] else None,
        first_video=heads[1][0][1] if heads[1] else None,
        remarks={
            kind: (
                sum(p["remarks"][kind][0] for p in parts),
                [id for _, id in take_first((place, id) for p in parts for place, id in p["remarks"][kind][1])],
            )
            for kind in parts[0]["remarks"]
        },
    )


def score_all(
    folder: Folder, shards: int, metrics: Sequence[Metric], runner: Runner, progress: Progress = silent
) -> None:
    """Second pass over all shards."""
    run_pass(score_shard, "shards", jobs(folder, shards, metrics), runner, progress)


def jobs(folder: Folder, shards: int, metrics: Sequence[Metric]) -> list[Job]:
    return [Job(folder, i, tuple(metrics)) for i in range(shards)]
