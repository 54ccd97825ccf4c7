"""Runners execute jobs. A job is a function of one value; a runner returns its result or its error.

InProcess   one after the other, here                      Processes (processes.py)   all processors of this machine
Ray (ray.py)   a cluster

A pass over many jobs is the same on every runner: where some fail, no new one begins, and the first of them says why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
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


def run_pass(work: Callable[[J], object], name: str, jobs: Sequence[J], runner: Runner, progress: Progress) -> None:
    """One pass over all jobs."""
    failed: dict[int, FabulaError] = {}
    progress(name, 0, len(jobs))
    for done, (i, answer) in enumerate(runner.map(work, (job for job in jobs if not failed)), 1):
        if isinstance(answer, FabulaError):
            failed[i] = answer
        progress(name, done, len(jobs))
    if failed:
        raise failed[min(failed)]


def runner_for(size: int) -> Runner:
    """The runner of this machine for an input of so many bytes: processes where they are worth their start."""
    if size < SMALL or processors() < 2 or not sys.executable:
        return InProcess()
    from fabula.jobs.processes import Processes

    return Processes()


def runner_named(name: str, address: str | None = None) -> Runner:
    """local or ray."""
    if name == "ray":
        from fabula.jobs.ray import Ray

        return Ray(address)
    if name != "local":
        raise SpecError(f"no engine is called {name!r}; there are: local, ray")
    if address is not None:
        raise SpecError("--address names a Ray cluster; say --engine ray")
    return InProcess()
