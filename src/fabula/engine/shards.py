"""A corpus in shards: rows are made a shard at a time, by whatever engine, and a run that broke off goes on.

A work folder holds all there is to know of a run; every file in it is written whole or not at all:

    manifest.json                what was read and how: another input is refused
    pieces/00003.*               the inputs, cut into shards: see split.py
    facts.json                   what was noticed while reading; with it the pieces are complete
    survey/00007.json            what meets what in a shard
    statistics/METRIC/00007.json corpus statistics, counted shard by shard; all.json: merged
    rows/METRIC/00007.npz        the rows of a shard

A video is in the shard of its id's stem, so that all spellings of an id come together, and all that follows (ids
reconciled, missing videos found, rows made) happens within a shard. `place` counts stories through, reference sets
first: rows sorted by it stand in the order of the local engine, so that every fold gives the same digits.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.core.notes import NAMED, Notes, named
from fabula.core.nouns import Corpus, Story
from fabula.core.rows import Rows
from fabula.engine import split
from fabula.engine.local import Progress, silent, story_rows
from fabula.engine.split import PREDICTIONS, Cut, Record
from fabula.io import Piece
from fabula.io.files import dump_json, write_bytes
from fabula.io.ids import reconcile
from fabula.metrics._paragraph import Paragraph
from fabula.metrics._story import StoryMetric

Measure = StoryMetric | Paragraph
SHARD = 1 << 20  # bytes of input in a shard, about: 10 to 20 MB in the memory of who scores it
FEWEST, MOST = 8, 4096  # shards
SMALL = 4 << 20  # bytes of input that one process has done before others have started

J = TypeVar("J")
T = TypeVar("T")


class Engine(Protocol):
    """Where the work on pieces and shards is done."""

    def map(self, work: Callable[[J], T], jobs: Iterable[J]) -> Iterator[tuple[int, T | FabulaError]]:
        """Which job, and what `work` returned or why it could not, in any order. Jobs are taken when they can begin."""

    def ready(self) -> AbstractContextManager[object]:
        """Whatever must be running is kept running meanwhile, over several passes."""


class Here:
    """The engine of this process: one job after the other."""

    def map(self, work: Callable[[J], T], jobs: Iterable[J]) -> Iterator[tuple[int, T | FabulaError]]:
        for i, job in enumerate(jobs):
            yield i, attempt(work, job)

    def ready(self) -> AbstractContextManager[object]:
        return nullcontext()


def attempt(work: Callable[[J], T], job: J) -> T | FabulaError:
    try:
        return work(job)
    except FabulaError as error:
        return error


# ── the folder ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Work:
    """A work folder."""

    folder: Path

    def path(self, *parts: str) -> Path:
        return self.folder.joinpath(*parts)

    def begin(self, inputs: dict[str, Any], shards: int, resume: bool) -> int:
        """The number of shards. A folder that holds a run is taken up again only when told so, for the same inputs."""
        manifest = self.path("manifest.json")
        if manifest.exists():
            if not resume:
                hint = "say --resume to go on with it, or name another folder with --work"
                raise InputError("holds an earlier run", file=self.folder, hint=hint)
            kept = loaded(manifest)
            other = sorted(k for k in {*inputs, *kept["inputs"]} if kept["inputs"].get(k) != inputs.get(k))
            if other:
                hint = "give what the run began with, or name another folder with --work"
                raise InputError(f"holds a run that differs in: {', '.join(other)}", file=self.folder, hint=hint)
            return int(kept["shards"])
        try:
            if self.folder.exists() and any(not f.name.startswith(".manifest") for f in self.folder.iterdir()):
                hint = "--work takes a new folder, an empty one, or that of an earlier run"
                raise InputError("is not empty and holds no earlier run", file=self.folder, hint=hint)
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"cannot be used as a work folder ({error.strerror or error})"
            raise InputError(problem, file=self.folder, hint="name another with --work") from None
        dump_json(manifest, {"inputs": inputs, "shards": shards}, indent=2)
        return shards

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = loaded(self.path("facts.json"))
        return found

    def rows(self, metric: Measure, shards: int) -> Rows:
        """The rows of all shards in the order of the local engine."""
        parts = [p for i in range(shards) if (p := unpacked(self.path("rows", key(metric), f"{i:05}.npz"))) is not None]
        if len(parts) < shards:
            problem = f"{shards - len(parts)} of {shards} shards have no rows of {metric.name}"
            raise InputError(problem, file=self.folder, hint="run it again with --resume")
        full = [(places, rows) for places, rows in parts if len(rows)]
        if not full:
            return Rows.of([])
        order = np.argsort(np.concatenate([places for places, _ in full]), kind="stable")
        keys = [k for _, rows in full for k in rows.keys]
        columns = {n: np.concatenate([rows[n] for _, rows in full])[order] for n in full[0][1].columns}
        refset = np.concatenate([rows.refset for _, rows in full])[order]
        return Rows(tuple(keys[i] for i in order), refset, columns)


def loaded(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "every machine must see the work folder; where it is broken, name another with --work"
        raise InputError(f"cannot be read ({error})", file=path, hint=hint) from None


def shards_for(size: int) -> int:
    """How many shards for an input of so many bytes: the input alone decides, so that any engine can go on."""
    return min(max(FEWEST, -(-size // SHARD)), MOST)


def key(metric: Measure) -> str:
    """A folder name for the rows of a metric, from every choice it makes."""
    choices = "|".join([metric.full(), *(f"{k}:{v}" for k, v in metric.about().items())])
    return (
        f"{re.sub(r'[^A-Za-z0-9_]', '_', metric.name)}-{hashlib.blake2b(choices.encode(), digest_size=8).hexdigest()}"
    )


def packed(places: NDArray[np.int64], rows: Rows) -> bytes:
    """Rows as numpy's .npz, which carries a checksum; ids as the bytes of a JSON list."""
    ids = np.frombuffer(json.dumps(list(rows.keys)).encode(), dtype=np.uint8)
    out = io.BytesIO()
    columns: dict[str, Any] = {f"column {n}": column for n, column in rows.columns.items()}
    np.savez(out, places=places, ids=ids, refset=rows.refset, **columns)
    return out.getvalue()


def unpacked(path: Path) -> tuple[NDArray[np.int64], Rows] | None:
    """None where the file is not there or not whole."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            columns = {n.removeprefix("column "): file[n] for n in file.files if n.startswith("column ")}
            keys = tuple(json.loads(file["ids"].tobytes()))
            return file["places"], Rows(keys, file["refset"], columns)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


# ── the work on one shard ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Job:
    """One shard, and what is wanted of it. Small: it travels to the machine that does the work."""

    folder: Path
    shard: int
    metrics: tuple[Measure, ...]

    @property
    def work(self) -> Work:
        return Work(self.folder)

    def file(self, room: str, ending: str, metric: Measure | None = None) -> Path:
        inner = [] if metric is None else [key(metric)]
        return self.work.path(room, *inner, f"{self.shard:05}.{ending}")


@dataclass(slots=True)
class Shard:
    """The stories of a shard, ids reconciled."""

    sets: list[Corpus]
    preds: Corpus
    places: dict[str, int]  # of a video's first appearance among the references
    placed: dict[int, dict[str, int]]  # set → id as it was given → place
    renamed: dict[int, list[str]]  # set → ids that were given otherwise
    twice: list[tuple[int, int, int, int, str]]  # place, line, and those of its first appearance; id


def read(work: Work, shards: Iterable[int], outline: bool = False) -> Shard:
    """One shard, or several at once; of an outline, the events are only counted."""
    facts = work.facts
    names: list[str] = facts["names"]  # of the reference sets, then of the predictions
    stories: dict[int, dict[str, Story]] = {k: {} for k in (*range(len(names) - 1), PREDICTIONS)}
    first: dict[int, dict[str, Record]] = {k: {} for k in stories}
    twice = []
    found = split.records(work.folder, len(facts["pieces"]), shards, outline)
    for record in sorted(found, key=lambda r: r.place):
        k, id = facts["pieces"][record.piece][0], record.story.id
        if id in stories[k]:
            twice.append((record.place, record.line, first[k][id].place, first[k][id].line, id))
        else:
            stories[k][id], first[k][id] = record.story, record
    placed = {k: {id: r.place for id, r in some.items()} for k, some in first.items()}
    given = {k: Corpus(some, name=names[k]) for k, some in stories.items()}
    sets = [given[0], *(reconcile(given[k], given[0], Notes()) for k in range(1, len(names) - 1))]
    preds = reconcile(given[PREDICTIONS], [v for ref in sets for v in ref], Notes())
    told = {**dict(enumerate(sets)), PREDICTIONS: preds}
    renamed = {k: [id for id in given[k] if id not in told[k]] for k in told}
    places: dict[str, int] = {}
    for k, ref in enumerate(sets):
        for video, place in zip(ref, placed[k].values(), strict=True):
            places.setdefault(video, place)
    return Shard(sets, preds, places, placed, renamed, twice)


def survey(job: Job) -> int:
    """First pass: what meets what, and the statistics of the metrics that need some."""
    target = job.file("survey", "json")
    waiting = [m for m in job.metrics if isinstance(m, StoryMetric)]
    waiting = [m for m in waiting if not job.file("statistics", "json", m).exists()]
    if target.exists() and not waiting:
        return job.shard
    shard = read(job.work, [job.shard], outline=not any(map(counts, waiting)))
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        dump_json(target, surveyed(shard))
    for metric in waiting:
        path = job.file("statistics", "json", metric)
        path.parent.mkdir(parents=True, exist_ok=True)
        dump_json(path, metric.statistics(shard.sets))
    return job.shard


def counts(metric: StoryMetric) -> bool:
    """Whether it has statistics that must look at the stories."""
    return type(metric).statistics is not StoryMetric.statistics


def surveyed(shard: Shard) -> dict[str, Any]:
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
        "first": [firsts((p, v) for v, p in some.items())[:1] for some in (predicted, videos)],
        "remarks": {
            kind: [len(some), firsts(some)]
            for kind, some in {"empty": empty, "missing": missing, "unknown": unknown, **renamed}.items()
        },
    }


def firsts(some: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """The first places that a warning would name."""
    found: dict[str, tuple[int, str]] = {}
    for place, id in sorted(some):
        if len(found) == NAMED:
            break
        found.setdefault(named(id), (place, id))
    return list(found.values())


def score(job: Job) -> int:
    """Second pass: the rows that are not there yet."""
    waiting = [m for m in job.metrics if unpacked(job.file("rows", "npz", m)) is None]
    shard = read(job.work, [job.shard]) if waiting else None
    for metric in waiting if shard else ():
        assert shard is not None
        merged = job.work.path("statistics", key(metric), "all.json")
        statistics = merged_statistics(merged, merged.stat().st_mtime_ns) if merged.exists() else None
        rows = story_rows(metric, shard.sets, shard.preds, statistics=statistics)
        path = job.file("rows", "npz", metric)
        path.parent.mkdir(parents=True, exist_ok=True)
        places = np.array([shard.places[str(v)] for v in rows.keys], dtype=np.int64)
        write_bytes(path, [packed(places, rows)])
    return job.shard


@lru_cache(maxsize=4)
def merged_statistics(path: Path, changed: int) -> Any:
    """Loaded once by each process, not once a shard."""
    return loaded(path)


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
            notes.add(text, named(id), count=0)
        if count:
            notes.add(text, count=count)


def split_all(cuts: Sequence[Cut], engine: Engine, progress: Progress = silent) -> list[split.Seen]:
    """The inputs, piece by piece, and what was noticed in each. A corpus, and a file read whole, are cut up here."""
    apart = [cut for cut in cuts if isinstance(cut.piece, Piece)]
    for cut in cuts:
        if not isinstance(cut.piece, Piece):
            split.split(cut)
    if apart:
        run(split.split, "pieces", apart, engine, progress)
    return [split.Seen.of(loaded(cut.file("json"))) for cut in cuts]


def survey_all(
    work: Work, shards: int, metrics: Sequence[Measure], engine: Engine, progress: Progress = silent
) -> Surveyed:
    """First pass over all shards; statistics merged."""
    run(survey, "survey", jobs(work, shards, metrics), engine, progress)
    parts = [loaded(work.path("survey", f"{i:05}.json")) for i in range(shards)]
    for metric in metrics:
        merged = work.path("statistics", key(metric), "all.json")
        if isinstance(metric, StoryMetric) and not merged.exists():
            counted = [loaded(work.path("statistics", key(metric), f"{i:05}.json")) for i in range(shards)]
            if any(part is not None for part in counted):
                dump_json(merged, metric.merge(counted))
    heads = [sorted(map(tuple, (x for p in parts for x in p["first"][side]))) for side in (0, 1)]
    return Surveyed(
        counts={n: sum(p["counts"][n] for p in parts) for n in parts[0]["counts"]},
        twice=sorted(tuple(t) for p in parts for t in p["twice"]),
        first_predicted=heads[0][0][1] if heads[0] else None,
        first_video=heads[1][0][1] if heads[1] else None,
        remarks={
            kind: (
                sum(p["remarks"][kind][0] for p in parts),
                [id for _, id in firsts((place, id) for p in parts for place, id in p["remarks"][kind][1])],
            )
            for kind in parts[0]["remarks"]
        },
    )


def score_all(work: Work, shards: int, metrics: Sequence[Measure], engine: Engine, progress: Progress = silent) -> None:
    """Second pass over all shards."""
    run(score, "shards", jobs(work, shards, metrics), engine, progress)


def jobs(work: Work, shards: int, metrics: Sequence[Measure]) -> list[Job]:
    return [Job(work.folder, i, tuple(metrics)) for i in range(shards)]


def run(work: Callable[[J], int], name: str, jobs: Sequence[J], engine: Engine, progress: Progress) -> None:
    """One pass. Where jobs fail, no new one begins, and the first of those that failed says why, on every engine."""
    failed: dict[int, FabulaError] = {}
    progress(name, 0, len(jobs))
    for done, (i, said) in enumerate(engine.map(work, (job for job in jobs if not failed)), 1):
        if isinstance(said, FabulaError):
            failed[i] = said
        progress(name, done, len(jobs))
    if failed:
        raise failed[min(failed)]


def engine_for(size: int) -> Engine:
    """The local engine for an input of so many bytes: processes where they are worth their start."""
    from fabula.engine.crew import Crew, processors

    return Crew() if size >= SMALL and processors() > 1 and sys.executable else Here()


def engine_named(name: str, address: str | None = None) -> Engine:
    """local or ray."""
    if name == "ray":
        from fabula.engine.ray import Ray

        return Ray(address)
    if name != "local":
        raise SpecError(f"no engine is called {name!r}; there are: local, ray")
    if address is not None:
        raise SpecError("--address names a Ray cluster; say --engine ray")
    return Here()
