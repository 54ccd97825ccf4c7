"""Jobs on a Ray cluster: one task a piece or a shard, tried again where its worker dies.

A task writes into the work folder and returns a number: nothing large travels. A task that is tried again writes the
same files again, so a dead worker changes nothing. Tasks are Ray's own, without Ray Data: docs/engines.md says why.
"""

from __future__ import annotations

import importlib.util
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from types import ModuleType
from typing import TypeVar

from fabula.core.errors import FabulaError, MissingExtra
from fabula.documents.fields import JsonDict
from fabula.jobs.runner import attempt

RETRIES = 5  # of one job, for workers that die; an error of ours is not tried again
LOOKAHEAD = 4  # jobs given out for every processor of the cluster; the others wait here, where they cost nothing
PATIENCE = 10  # seconds
STORE = 100 << 20  # bytes of shared memory for what travels, which is next to nothing
J = TypeVar("J")
T = TypeVar("T")


class Ray:
    """A cluster of this machine, started and stopped for the run; with an address, the one that is there.

    Where the program has already called ray.init, that cluster is used and left as it was.
    """

    def __init__(self, address: str | None = None, **options: object) -> None:
        if importlib.util.find_spec("ray") is None:
            raise MissingExtra("--engine ray", "ray")
        self.address, self.options = address, options

    def ready(self) -> AbstractContextManager[ModuleType]:
        return cluster(self.address, self.options)

    def map(self, work: Callable[[J], T], jobs: Iterable[J]) -> Iterator[tuple[int, T | FabulaError]]:
        with self.ready() as ray:
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(single_threaded(work))
            numbered = enumerate(jobs)
            waiting: dict[object, int] = {}
            try:
                while True:
                    room = LOOKAHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))) - len(waiting)
                    waiting |= {task.remote(job): i for i, job in islice(numbered, room)}
                    if not waiting:
                        return
                    (ready,), _ = ray.wait(list(waiting), num_returns=1)
                    yield waiting.pop(ready), ray.get(ready)
            except ray.exceptions.RayTaskError:
                raise  # nothing that a user can mend
            except ray.exceptions.RayError as error:
                reason = str(error).strip().partition("\n")[0]
                raise FabulaError(
                    f"Ray gave up ({reason}); finished rows are kept: use --resume to continue"
                ) from error
            finally:
                for rest in waiting:
                    ray.cancel(rest, force=True)


def single_threaded(work: Callable[[J], T]) -> Callable[[J], T | FabulaError]:
    """The work of one of many workers: its kernels start no threads of their own."""

    def one(job: J) -> T | FabulaError:
        os.environ.setdefault("FABULA_THREADS", "1")
        return attempt(work, job)

    return one


@contextmanager
def cluster(address: str | None, options: JsonDict) -> Iterator[ModuleType]:
    """Ray, initialised. A cluster of our own listens on the loopback alone and reports to nobody."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    if ray.is_initialized():
        yield ray
        return
    quiet: JsonDict = {"logging_level": "ERROR", "log_to_driver": False}
    own = {
        "address": "local",
        "include_dashboard": False,
        "object_store_memory": STORE,
        "_node_ip_address": "127.0.0.1",
    }
    try:
        check_address(ray, address or "")
        ray.init(**(quiet | ({"address": address} if address else own) | options))
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise FabulaError(
            f"Ray cannot be reached at {address or 'this machine'} ({reason}); check --address"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def check_address(ray: ModuleType, address: str) -> None:
    """OSError: no server listens at host:port. Ray itself would retry for minutes."""
    named = re.fullmatch(r"(?:ray://)?\[?([^\[\]/]+)\]?:(\d{1,5})", address)
    if named is None:
        return  # auto, or whatever else Ray may know
    host, port = named[1], int(named[2])
    hosts = (
        [host, ray.util.get_node_ip_address()] if host in ("localhost", "127.0.0.1", "::1") else [host]
    )  # as Ray does
    for i, one in enumerate(hosts):
        try:
            socket.create_connection((one, port), timeout=PATIENCE).close()
            return
        except (OSError, OverflowError):
            if i + 1 == len(hosts):
                raise
