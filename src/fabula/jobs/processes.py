"""Jobs over processes of this machine, one for each processor; one that dies is replaced, and its job tried again.

The rows of most metrics are made in Python, which runs one thread at a time: processes are what uses two processors.
A worker is a fresh interpreter that is sent jobs and answers them. The program that called us is not imported again,
as multiprocessing's spawn would do, and nothing of it is forked.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, TypeVar

from fabula._kernels import processors
from fabula.core.errors import FabulaError
from fabula.jobs.runner import InProcess, attempt

RETRIES = 5  # of one job, for workers that die; an error of ours is not tried again
LOOKAHEAD = 2  # jobs given out for every worker
PAUSE = 0.5  # seconds between two looks at whether the parent is alive
START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from fabula.jobs.processes import serve; serve()"
)
THREADS = ("FABULA_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
J = TypeVar("J")
T = TypeVar("T")


class Processes:
    """The runner of this machine, over several processes."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or processors()
        self.running: list[Worker] = []

    @contextmanager
    def ready(self) -> Iterator[Processes]:
        if self.running:
            yield self
            return
        self.running = [Worker() for _ in range(self.workers)]
        try:
            yield self
        finally:
            for worker in self.running:
                worker.stop()
            self.running = []

    def map(self, work: Callable[[J], T], jobs: Iterable[J]) -> Iterator[tuple[int, T | FabulaError]]:
        rest = iter(jobs)
        first = list(islice(rest, 1))
        remaining = chain(first, rest)
        if not first or not can_travel((work, first[0])):
            yield from InProcess().map(work, remaining)
            return
        with self.ready(), ThreadPoolExecutor(self.workers) as pool:
            free: SimpleQueue[Worker] = SimpleQueue()
            for worker in self.running:
                free.put(worker)
            numbered, waiting = enumerate(remaining), dict[Future[T | FabulaError], int]()
            try:
                while True:
                    for i, job in islice(numbered, LOOKAHEAD * self.workers - len(waiting)):
                        waiting[pool.submit(ask_free, free, work, job)] = i
                    if not waiting:
                        return
                    for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                        yield waiting.pop(done), done.result()
            finally:
                for future in waiting:
                    future.cancel()
                if any(not future.cancelled() for future in waiting):  # we leave early, and wait for nobody
                    for worker in self.running:
                        worker.stop()


def can_travel(job: object) -> bool:
    """False for what cannot be pickled: a nested function, a metric defined in the main program."""
    try:
        return b"__main__" not in pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


def ask_free(free: SimpleQueue[Worker], work: Callable[[J], T], job: J) -> T | FabulaError:
    """The result of the first free worker."""
    worker = free.get()
    try:
        for _ in range(RETRIES + 1):
            with suppress(EOFError, OSError, pickle.UnpicklingError):
                answer: T | FabulaError | Failure = worker.ask(work, job)
                break
            worker.stop()
        else:
            return FabulaError(
                f"a worker died {RETRIES + 1} times over one job; finished rows are kept: use --resume to continue "
                "(out of memory? use fewer processors, with taskset)"
            )
    finally:
        free.put(worker)
    if isinstance(answer, Failure):
        raise RuntimeError(f"in a worker:\n{answer.traceback}")
    return answer


class Failure:
    """An unexpected error as text: the worker's traceback."""

    def __init__(self, traceback: str) -> None:
        self.traceback = traceback


class Worker:
    """A worker process, started at its first job and restarted after it dies."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, work: Callable[[J], T], job: J) -> Any:
        if self.process is None:
            command = [sys.executable, "-c", START]
            alone = {**dict.fromkeys(THREADS, "1"), **os.environ}  # no library starts threads of its own
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=alone)
            self.send(sys.path)
        self.send((work, job))
        assert self.process.stdout is not None
        return pickle.load(self.process.stdout)

    def send(self, something: object) -> None:
        assert self.process is not None and self.process.stdin is not None
        pickle.dump(something, self.process.stdin)
        self.process.stdin.flush()

    def stop(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    assert pipe is not None
                    pipe.close()
            process.wait()


def serve() -> None:
    """The worker's side: jobs from standard input, answers to standard output, until there are no more."""
    import threading
    import traceback

    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            work, job = pickle.load(sys.stdin.buffer)
            try:
                answer = attempt(work, job)
            except Exception:
                answer = Failure(traceback.format_exc())
            pickle.dump(answer, answers)
            answers.flush()


def end_with(parent: int) -> None:
    """End this process once its parent has ended, also by a signal that cannot be caught: nobody wants its answer."""
    import time

    while os.getppid() == parent:
        time.sleep(PAUSE)
    os._exit(1)
