"""What may come out of an input: data, or a FabulaError in one line; no warning, no hang; the same by both kernels.

A `Case` is files and options for a target. `judge` runs it by the compiled kernels and by their Python twins and gives
the faults that it saw; a fault has a key by which two inputs with the same fault are known.
"""

from __future__ import annotations

import base64
import json
import math
import re
import resource
import shutil
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import fabula
from fabula import _kernels
from fabula.core.errors import FabulaError

PACKAGE = Path(fabula.__file__).parent
LONGEST = 500  # characters of a message
BREAKS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SECONDS = 10.0  # of processor time for one input by one kernel
GROWTH = 600_000  # kilobytes that the process may grow by over one input of a few kilobytes
CLOSE = 1e-9
KERNELS = ("native", "python") if _kernels.NATIVE is not None else ("python",)


@dataclass(frozen=True, slots=True)
class Case:
    """An input: files by their names in a folder, and options that JSON can hold."""

    target: str
    files: Mapping[str, bytes]
    options: Mapping[str, Any]

    def size(self) -> int:
        return sum(map(len, self.files.values())) + len(json.dumps(self.options, default=str))

    def to_dict(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "options": dict(self.options),
            "files": {n: show(d) for n, d in self.files.items()},
        }

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Case:
        files = {
            n: d.encode() if isinstance(d, str) else base64.b64decode(d["base64"]) for n, d in kept["files"].items()
        }
        return cls(kept["target"], files, kept["options"])


def show(data: bytes) -> Any:
    """Bytes as JSON holds them: text where they are text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


@dataclass(frozen=True, slots=True)
class Fault:
    """What an input did that no input may do."""

    kind: str  # raised, warned, long, lines, hang, memory, kernels, score, again, shuffled, exit, output, printed
    key: str  # where: inputs that agree in kind and key are taken for one find
    text: str  # the traceback, or what was seen

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.key}"


class Hang(BaseException):
    """The processor time of one input is over."""


class Wrong(Exception):  # noqa: N818  (an oracle's word, not an error of the program)
    """What came out is not what it should be."""

    def __init__(self, kind: str, key: str, text: str) -> None:
        super().__init__(text)
        self.fault = Fault(kind, key, text[:2000])


@dataclass(slots=True)
class Seen:
    """What one run of a case gave."""

    how: str = "read"  # or refused, or broken
    data: Any = None
    error: str = ""
    faults: list[Fault] = field(default_factory=list)


class Said(list[str]):
    """The lines that a run has to say to a person: each is looked at."""


def check_message(text: str, where: str) -> list[Fault]:
    out = []
    if len(text) > LONGEST:
        out.append(Fault("long", where, f"{len(text)} characters: {text[:300]} …"))
    if BREAKS.search(text):
        out.append(Fault("lines", where, repr(text[:600])))
    return out


def tail(error: BaseException, frames: int = 3) -> str:
    """Where it was raised: the last frames in the package, by file and function."""
    found = [
        f"{Path(f.filename).relative_to(PACKAGE).as_posix()}:{f.name}"
        for f in traceback.extract_tb(error.__traceback__)
        if Path(f.filename).is_relative_to(PACKAGE)
    ]
    return " > ".join(found[-frames:])


def short_place(file: str) -> str:
    """A source file without the folders that differ between machines."""
    path = Path(file)
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE).as_posix()
    return path.as_posix().rpartition("site-packages/")[2]


def template(text: str) -> str:
    """A message without what was seen: the words that are ours."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[-\d.,]+|/\S+", "_", text)[:80]


@contextmanager
def time_bound(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise Hang("".join(traceback.format_stack(frame, limit=6)))

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def observe(run: Callable[[Case, Path, Said], Any], case: Case, folder: Path, seconds: float = SECONDS) -> Seen:
    """One run, with all that it did wrong."""
    seen, said, stray = Seen(), Said(), list[Any]()
    hooks = sys.unraisablehook, threading.excepthook
    sys.unraisablehook = threading.excepthook = stray.append
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                with time_bound(seconds):
                    seen.data = run(case, folder, said)
            except FabulaError as error:
                seen.how, seen.error = "refused", f"{type(error).__name__}: {error}"
                seen.faults += check_message(str(error), tail(error, 2))
            except Wrong as error:
                seen.how = "broken"
                seen.faults.append(error.fault)
            except Hang as error:
                seen.how = "broken"
                seen.faults.append(Fault("hang", tail(error, 2) or "native", f"{seconds:g} s\n{error}"))
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                seen.how = "broken"
                told = "".join(traceback.format_exception(error)[-8:])
                seen.faults.append(Fault("raised", f"{type(error).__name__} {tail(error)}", told[-3000:]))
    finally:
        sys.unraisablehook, threading.excepthook = hooks
    for w in warned:
        place = short_place(w.filename)
        text = f"{w.category.__name__}: {w.message} at {place}:{w.lineno}"
        seen.faults.append(Fault("warned", f"{w.category.__name__} {place}:{w.lineno}", text))
    for hook in stray:
        error = getattr(hook, "exc_value", None)
        seen.faults.append(
            Fault("raised", f"unraisable {type(error).__name__} {tail(error) if error else ''}", repr(error))
        )
    for line in said:
        seen.faults += check_message(line, f"said: {template(line)}")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > GROWTH:
        seen.faults.append(Fault("memory", case.target, f"grew by {grown // 1024} MB"))
    return seen


@dataclass(frozen=True, slots=True)
class Target:
    """A way in: how inputs are made and what is done with them.

    `run(case, folder, said)` finds the case's files in the folder, gives data that can be compared, and puts whatever a
    person would be told into `said`.
    """

    name: str
    make: Callable[[Any], Case]
    run: Callable[[Case, Path, Said], Any]
    weight: float = 1.0
    both: float = 1.0  # how often the other kernel is asked, too
    seconds: float = SECONDS


def lay_out(case: Case, folder: Path) -> None:
    """A folder with the files of the case and nothing else."""
    for old in folder.iterdir():
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    for name, data in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def judge(target: Target, case: Case, folder: Path, both: bool = True) -> tuple[str, list[Fault]]:
    """How the case ended (read, refused, broken) and what was wrong with it."""
    seen: list[Seen] = []
    for kernel in KERNELS if both else KERNELS[:1]:
        lay_out(case, folder)
        with _kernels.using(kernel):
            seen.append(observe(target.run, case, folder, target.seconds))
    faults = {fault.name: fault for one in seen for fault in one.faults}
    if len(seen) == 2 and (apart := find_difference(*seen)):
        fault = Fault("kernels", f"{case.target}: {apart[0]}", apart[1])
        faults.setdefault(fault.name, fault)
    return seen[0].how, list(faults.values())


def find_difference(one: Seen, two: Seen) -> tuple[str, str] | None:
    """What the compiled kernels and the Python twins do not agree in: a word for it, and the two sides."""
    if "broken" in (one.how, two.how):
        return None
    if one.how != two.how:
        return (
            f"{one.how}/{two.how} {template(one.error or two.error)}",
            f"{one.error or 'read'}\n{two.error or 'read'}",
        )
    if one.how == "refused":
        if one.error != two.error:
            return "words", f"{one.error}\n{two.error}"
        return None
    if not same(one.data, two.data):
        return "data", f"{str(one.data)[:900]}\n{str(two.data)[:900]}"
    return None


def same(a: Any, b: Any) -> bool:
    """Equal, numbers to 1e-9, NaN being NaN. What a reader lets through may nest deeper than Python calls."""
    left = [(a, b)]
    while left:
        a, b = left.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if list(a) != list(b):
                return False
            left += [(a[k], b[k]) for k in a]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            left += zip(a, b, strict=True)
        elif isinstance(a, float) and isinstance(b, float):
            if not (a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)):
                return False
        elif a != b:
            return False
    return True


def plain(value: Any) -> Any:
    """What a reader gave, as something that can be compared: arrays as lists, NaN as a word."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return repr(value)
