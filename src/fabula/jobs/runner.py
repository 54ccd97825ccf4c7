"""Runners execute jobs. A job is a function of one value; a runner returns its result or its error.

InProcess   one after the other, here                      Processes (processes.py)   all processors of this machine
Ray (ray.py)   a cluster

A pass over many jobs is the same on every runner: where some fail, no new one begins, and the first of them says why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import takewhile
from typing import Protocol, TypeVar

from fabula._kernels import processors
from fabula.core.errors import FabulaError, SpecError
from fabula.core.notes import Progress

SMALL = 4 << 20  # bytes of input that one process has done before others have started

J = TypeVar("J")
T = TypeVar("T")


class Runner(Protocol):
    """Where jobs are done."""

    def map(self, work: Callable[[J], T], jobs: Iterable[J]) -> Iterator[tuple[int, T | FabulaError]]:
        """Which job, and what `work` returned or why it could not, in any order. Jobs are taken when they can begin."""

    def ready(self) -> AbstractContextManager[object]:
        """Keep workers alive inside the block, over several passes."""


class InProcess:
    """Runs the jobs in this process, one after the other."""

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


def run_jobs(work: Callable[[J], T], jobs: Iterable[J], runner: Runner) -> Iterator[T]:
    """What jobs return, as it comes. Once one fails, no new one begins; at the end the first failure is raised."""
    failed: dict[int, FabulaError] = {}
    for i, answer in runner.map(work, takewhile(lambda _: not failed, jobs)):
        if isinstance(answer, FabulaError):
            failed[i] = answer
        else:
            yield answer
    if failed:
        raise failed[min(failed)]


def run_pass(
    work: Callable[[J], object],
    name: str,
    jobs: Iterable[J],
    runner: Runner,
    progress: Progress,
    is_done: Callable[[J], bool] = lambda job: False,
) -> None:
    """One pass over the jobs that an earlier run has not done."""
    todo = [job for job in jobs if not is_done(job)]
    progress(name, 0, len(todo))
    for done, _ in enumerate(run_jobs(work, todo, runner), 1):
        progress(name, done, len(todo))


def runner_for(size: int) -> Runner:
    """The runner of this machine for an input of so many bytes: processes where they are worth their start."""
    if size < SMALL or processors() < 2 or not sys.executable:
        return InProcess()
    from fabula.jobs.processes import Processes

    return Processes()


def runner_named(name: str, address: str | None = None, processes: int | None = 1) -> Runner:
    """local, in so many processes (None: one for each processor), or ray."""
    if name == "ray":
        from fabula.jobs.ray import Ray

        return Ray(address)
    if name != "local":
        raise SpecError(f"no engine is called {name!r}; there are: local, ray")
    if address is not None:
        raise SpecError("--address names a Ray cluster; say --engine ray")
    if processes == 1:
        return InProcess()
    from fabula.jobs.processes import Processes

    return Processes(processes)
