"""A run in shards, for workers elsewhere (`--engine ray`): each writes a store of its own, and all become one.

    FILE               the store, read by all and written by nobody meanwhile
    FILE.shards/0007   what the worker of the eighth shard did; taken over at the end, or by the next run

A worker has its share of the limits and of the budget. A call that moments of two shards need may be made by both.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fabula.annotation.keyframes import FrameSampler
from fabula.annotation.recipe import Recipe
from fabula.annotation.run import Work
from fabula.annotation.steps import Scorer
from fabula.annotation.store import Store, lock_file
from fabula.core.notes import Progress
from fabula.documents.fields import JsonDict
from fabula.jobs.runner import Runner, run_jobs
from fabula.llm import EndpointOptions


def nobody() -> None:
    """The scorer of runs that have none."""


@dataclass(frozen=True)
class Shard:
    """A stretch of the moments, and all that its worker must know."""

    store: Path
    number: int
    after: int  # rows
    until: int
    recipe: Recipe
    endpoint: EndpointOptions
    budget: float | None
    make_sampler: Callable[[], FrameSampler | None]
    make_scorer: Callable[[], Scorer | None] = nobody

    @property
    def path(self) -> Path:
        return shard_folder(self.store) / f"{self.number:04d}.sqlite"


def shard_folder(store: Path) -> Path:
    return store.with_name(store.name + ".shards")


def work_on(shard: Shard) -> JsonDict:
    """The worker's side."""
    with Store(shard.store, asleep=True) as known, Store(shard.path, work=True) as own:
        own.add_moments(known.moments(after=shard.after, until=shard.until))
        work = Work(own, shard.recipe, shard.endpoint, shard.make_sampler(), shard.budget, known, shard.make_scorer())
        pending = known.moments(shard.recipe.hash, shard.after, shard.until)
        work.run(own.without(shard.recipe.hash, pending))
        return {"made": work.answered, "failed": work.failed, "stopped": work.stopped}


def run_shards(
    path: Path,
    work: Work,
    runner: Runner,
    workers: int,
    make_sampler: Callable[[], FrameSampler | None],
    progress: Progress,
    make_scorer: Callable[[], Scorer | None] = nobody,
) -> JsonDict:
    """All pending moments of the store, which the caller has closed; it is locked meanwhile."""
    take_over_shards(path)
    with Store(path, work=True) as store:
        store.put_recipe(work.recipe.hash, work.recipe.to_dict())
        last = store.last_row()
        store.change("PRAGMA journal_mode = DELETE")  # one file, as it is read elsewhere
    count = max(1, min(workers, last))
    budget = None if work.budget is None else max(0.0, work.budget - work.spent) / count
    edges = [last * i // count for i in range(count + 1)]
    share = divide(work.endpoint, count)
    shards = [
        Shard(path, i, edges[i], edges[i + 1], work.recipe, share, budget, make_sampler, make_scorer)
        for i in range(count)
    ]
    shard_folder(path).mkdir(exist_ok=True)
    lock = lock_file(path)
    totals: JsonDict = {"made": 0, "failed": 0, "stopped": None}
    try:
        for done, answer in enumerate(run_jobs(work_on, shards, runner), 1):
            progress("shards", done, count)
            totals["made"] += answer["made"]
            totals["failed"] += answer["failed"]
            totals["stopped"] = totals["stopped"] or answer["stopped"]
    finally:
        if lock is not None:
            os.close(lock)
        take_over_shards(path)
    return totals


def divide(endpoint: EndpointOptions, count: int) -> EndpointOptions:
    """A worker's share of the limits."""
    return replace(
        endpoint,
        concurrency=max(1, endpoint.concurrency // count),
        rpm=endpoint.rpm and endpoint.rpm / count,
        tpm=endpoint.tpm and endpoint.tpm / count,
    )


def take_over_shards(path: Path) -> None:
    """What workers did becomes part of the store; their files go."""
    folder = shard_folder(path)
    if not folder.is_dir():
        return
    with Store(path, work=True) as store:
        store.change("PRAGMA journal_mode = WAL")
        for shard in sorted(folder.glob("*.sqlite")):
            store.take_over(shard)
            for part in folder.glob(shard.name + "*"):
                part.unlink()
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
