"""A command in a process of its own: wall time, processor time and peak memory, from a warm cache and compiled modules.

A *side* is a checkout with its Python: ours, or the version before. What a script prints as its last line may be its
own measure, {"seconds", "cpu", "amount"}, where the start of the interpreter should not count.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale import memory, tree

CLI = "from fabula.verbs.command_line import main; main()"
ENOUGH = 60.0  # seconds that a side runs on one work before it is not run again
ONE_THREAD = {"OMP_NUM_THREADS": "1", "FABULA_THREADS": "1"}  # for programs that run a model
NOT_HERE = 3  # how a process ends whose tool is not on this machine


class NotMeasured(RuntimeError):  # noqa: N818  (reads better than NotMeasuredError)
    """A process that gave no figure, and why."""


@dataclass(frozen=True)
class Cost:
    """Seconds, and bytes: the largest process of all that ran, or the sum over all of them where it was watched."""

    wall: float
    cpu: float
    peak: int
    amount: float = 0.0  # captions or bytes that were worked on, where a rate is told
    said: str = ""

    @property
    def scores(self) -> dict[str, float]:
        """The numbers of the JSON that it printed, if it printed some: a metric's value, and its parts behind a dot."""
        for text in (self.said, *self.said.splitlines()[-1:]):
            with suppress(ValueError, TypeError, KeyError, AttributeError):
                return flat(json.loads(text)["scores"])
        return {}

    def figures(self) -> dict[str, float]:
        """What is written down of a run."""
        return {"wall": self.wall, "cpu": self.cpu, "peak": self.peak, "amount": self.amount}


def flat(scores: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, x in scores.items():
        parts = x if isinstance(x, Mapping) else {"value": x}
        numbers = {k: float(v) for k, v in parts.items() if isinstance(v, int | float)}
        found |= {name if k == "value" else f"{name}.{k}": v for k, v in numbers.items()}
    return found


@dataclass(frozen=True)
class Side:
    """A checkout of Fabula and the Python that runs it."""

    name: str
    folder: Path
    python: str
    compiled: Path

    @classmethod
    def of(cls, name: str, folder: Path, compiled: Path, python: str | None = None) -> Side:
        """Refuses a Python whose fabula is another checkout's: the two would be the same."""
        folder = folder.resolve()
        side = cls(name, folder, python or str(folder / ".venv" / "bin" / "python"), compiled / name)
        if not Path(side.python).exists():
            raise NotMeasured(f"{folder} has no .venv; install it there: python -m venv .venv && pip install -e .")
        found = Path(side.run(["-c", "import fabula; print(fabula.__file__)"]).said.strip()).resolve()
        if folder not in found.parents:
            raise NotMeasured(
                f"the Python of {folder} runs the fabula of {found.parent}; install it there: pip install -e ."
            )
        return side

    def run(
        self,
        arguments: Sequence[str],
        *,
        watched: bool = False,
        longest: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Cost:
        env = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self.compiled), **(env or {})}
        return measure([self.python, *arguments], env, watched=watched, longest=longest)

    def commit(self) -> str:
        return commit(self.folder, "src")


def commit(folder: Path, part: str = ".") -> str:
    """What is checked out, and whether a part of it was changed since."""
    git = ["git", "-C", str(folder)]
    told = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no", "--", part], capture_output=True, text=True
    )
    return (told.stdout.strip() or "no commit") + (" with changes" if changed.stdout.strip() else "")


def measure(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    watched: bool = False,
    longest: float | None = None,
) -> Cost:
    """Run it to its end, or until it took too long. `wait4` counts all that it waited for: workers and Java, too."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **(env or {})},
            start_new_session=True,  # to be ended with all that it started
        )
        watch = Watch(child.pid) if watched else None
        alarm = threading.Timer(longest, os.killpg, (child.pid, signal.SIGKILL)) if longest else None
        if alarm:
            alarm.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            at_once = watch.done() if watch else 0
            if alarm:
                alarm.cancel()
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        said, erred = out.read().decode(), err.read().decode(errors="replace").strip()
    if longest and wall >= longest and child.returncode == -signal.SIGKILL:
        raise NotMeasured(f"not done after {longest:.0f} s, and stopped")
    if child.returncode:
        told = (said if child.returncode == NOT_HERE else erred).strip().splitlines() or [f"exit {child.returncode}"]
        raise NotMeasured(told[-1][:300])
    peak = max(at_once, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024))  # a short run is over between looks
    own = own_measure(said)
    cpu = used.ru_utime + used.ru_stime
    return Cost(own.get("seconds", own.get("wall", wall)), own.get("cpu", cpu), peak, own.get("amount", 0.0), said)


def own_measure(said: str) -> dict[str, Any]:
    """What a script measured itself, in the last line it printed."""
    with suppress(ValueError, IndexError):
        found = json.loads(said.splitlines()[-1])
        if isinstance(found, dict) and {"seconds", "wall"} & found.keys():
            return found
    return {}


class Watch(threading.Thread):
    """The memory of a process and all that descend from it, five times a second; shared pages count once."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.over, self.peak = pid, threading.Event(), 0
        self.start()

    def run(self) -> None:
        while not self.over.wait(0.2):
            self.peak = max(self.peak, 1024 * sum(memory(pid).get("Pss", 0) for pid in tree(self.pid)))

    def done(self) -> int:
        self.over.set()
        self.join()
        return self.peak


def turns(
    sides: Mapping[str, Callable[[], Cost]], runs: int, enough: Mapping[str, float], warm: Sequence[str] = ()
) -> dict[str, list[Cost] | NotMeasured]:
    """Every run of each side, the sides in turn; a first run of those in `warm` fills their cache and does not count.

    A side that has run for more than `enough` seconds (by its name; ENOUGH) is not run again.
    """
    found: dict[str, list[Cost] | NotMeasured] = {name: [] for name in sides}
    spent = dict.fromkeys(sides, 0.0)
    for k in range(runs + 1):
        for name, run in sides.items():
            done, limit = found[name], enough.get(name, ENOUGH)
            if isinstance(done, NotMeasured) or spent[name] > limit or (k == 0 and name not in warm):
                continue
            began = time.perf_counter()
            try:
                cost = run()
            except NotMeasured as why:
                found[name] = why
                continue
            took = time.perf_counter() - began
            if k > 0 or took > 2 * limit:  # a first run that takes so long is all there is
                done.append(cost)
                spent[name] += took
    return found
