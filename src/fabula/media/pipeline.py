"""Work on a video as stages side by side: each has a thread, takes what the stage before it gives, and keeps its order.

    stages = Stages()
    pictures = stages.ahead("decode", video)                   # decoded ahead of whoever takes them
    faces = stages.ahead("detect", pictures, detect)           # in a second thread
    for found in faces: …                                      # here

FFmpeg, ONNX Runtime and torch let other threads run while they work, so two processors have something to do with one
video. A stage is at most a few items ahead (bounded memory) and works on one item after the other, so that the results
are the same as without threads. An error comes out behind all that was finished before it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Any, Generic, TypeVar, overload

AHEAD = 4  # items that a stage has ready
T = TypeVar("T")
U = TypeVar("U")


@dataclass
class Stages:
    """The seconds that each stage has worked, waiting left out; and those of the clock since it was begun."""

    seconds: dict[str, float] = field(default_factory=dict)
    frames: int = 0  # pictures decoded
    began: float = field(default_factory=time.perf_counter)

    def wall(self) -> float:
        return time.perf_counter() - self.began

    def add(self, seconds: Mapping[str, float], frames: int = 0) -> None:
        """The account of one more video, from wherever it was looked at."""
        self.frames += frames
        for name, took in seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + took

    def line(self) -> str:
        """`1,055 frames decoded, 34 frames/s: decode 21 %, embed 79 %`"""
        rate = f", {self.frames / max(self.wall(), 1e-9):,.0f} frames/s: {share_of(self.seconds)}"
        return f"{self.frames:,} frames decoded{rate if self.frames else ''}"

    @overload
    def ahead(self, name: str, items: Iterable[T], *, depth: int = AHEAD) -> Generator[T, None, None]: ...
    @overload
    def ahead(
        self, name: str, items: Iterable[T], work: Callable[[T], U], *, depth: int = AHEAD
    ) -> Generator[U, None, None]: ...
    def ahead(
        self, name: str, items: Iterable[T], work: Callable[[T], U] | None = None, *, depth: int = AHEAD
    ) -> Generator[T | U, None, None]:
        """The items, or what `work` makes of each, by a thread that is up to `depth` of them ahead.

        Without `work` the stage is what makes the items."""
        if work is None:
            return ahead(self.timed(name, items), depth)
        return ahead(self.worked(name, items, work), depth)

    def timed(self, name: str, items: Iterable[T]) -> Iterator[T]:
        source = iter(items)
        try:
            while True:
                with self.clock(name):
                    item = next(source, END)
                if item is END:
                    return
                yield item  # type: ignore[misc]  # END is no item
        finally:
            close(source)

    def worked(self, name: str, items: Iterable[T], work: Callable[[T], U]) -> Iterator[U]:
        source = iter(items)
        try:
            for item in source:
                with self.clock(name):
                    result = work(item)
                yield result
        finally:
            close(source)

    @contextlib.contextmanager
    def clock(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began


END = object()


@dataclass(frozen=True)
class Fault:
    """What a thread met, for whoever takes its items."""

    error: BaseException


class Ahead(Generic[T]):
    """The thread of a stage, and its queue."""

    def __init__(self, items: Iterator[T], depth: int) -> None:
        self.items = items
        self.queue: Queue[object] = Queue(depth)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.produce, name="fabula-stage", daemon=True)

    def produce(self) -> None:
        try:
            for item in self.items:
                self.queue.put(item)
                if self.stopped.is_set():
                    return
            self.queue.put(END)
        except BaseException as error:  # raised by whoever takes the items
            self.queue.put(Fault(error))
        finally:
            close(self.items)

    def stop(self) -> None:
        """No further item is wanted: the thread ends after the one it works on."""
        self.stopped.set()
        while self.thread.is_alive():
            with contextlib.suppress(Empty):
                self.queue.get_nowait()
            self.thread.join(0.01)


def ahead(items: Iterator[T], depth: int = AHEAD) -> Generator[T, None, None]:
    """The items, made by a thread that is up to `depth` of them ahead; by this one where no thread can be had."""
    stage = Ahead(items, depth)
    try:
        stage.thread.start()
    except RuntimeError:
        yield from items
        return
    try:
        while (item := stage.queue.get()) is not END:
            if isinstance(item, Fault):
                raise item.error
            yield item  # type: ignore[misc]  # neither END nor a fault
    finally:
        stage.stop()


def close(items: Iterator[Any]) -> None:
    """What a generator has opened is closed by the thread that walked over it."""
    if (end := getattr(items, "close", None)) is not None:
        end()


def share_of(seconds: Mapping[str, float]) -> str:
    """Where the time went: `decode 61 %, embed 37 %, write 2 %`."""
    total = sum(seconds.values()) or 1.0
    return ", ".join(f"{what} {100 * took / total:.0f} %" for what, took in seconds.items())
