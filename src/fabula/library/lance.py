"""Rows of Lance tables in a folder, read by lancedb's engine alone.

The package lancedb loads pandas and a client of web services before anything else: seconds of processor time that a
single question does not need. Its engine, the compiled module inside, opens a table and reads rows by itself. Where the
engine is missing, or is called in another way than this lancedb's, tables are opened by the package: the same rows.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cached_property
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from fabula.media.base import Array

if TYPE_CHECKING:
    import asyncio

    import pyarrow as pa

NAME = "lancedb._lancedb"  # of the engine: the package finds it under this name
LOCK = threading.Lock()
T = TypeVar("T")


class Query(Protocol):
    """Rows that are asked for, by the names that lancedb has for it."""

    def select(self, columns: Any) -> Self: ...
    def to_arrow(self) -> pa.Table: ...


class RowQuery(Query, Protocol):
    def where(self, where: str) -> Self: ...
    def limit(self, limit: int) -> Self: ...
    def with_row_id(self, with_row_id: bool) -> Self: ...
    def to_batches(self) -> Any: ...


class Table(Protocol):
    """What is read of a table: of ours, and of lancedb's own."""

    @property
    def version(self) -> int: ...
    def checkout(self, version: int) -> None: ...
    def list_versions(self) -> list[dict[str, Any]]: ...
    def search(self) -> RowQuery: ...
    def take_row_ids(self, row_ids: list[int]) -> Query: ...


class Base:
    """The tables of a folder. Every look at one sees the last commit, unless a version was checked out."""

    def __init__(self, where: str, engine: ModuleType) -> None:
        async def connect() -> Any:
            return await engine.connect(where, read_consistency_interval=0.0)

        self.inner = LOOP.run(connect)

    def open_table(self, name: str) -> EngineTable:
        async def open_one() -> Any:
            return await self.inner.open_table(name)

        return EngineTable(LOOP.run(open_one))


class EngineTable:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def version(self) -> int:
        async def ask() -> int:
            return int(await self.inner.version())

        return LOOP.run(ask)

    def checkout(self, version: int) -> None:
        async def move() -> None:
            await self.inner.checkout(version)

        LOOP.run(move)

    def list_versions(self) -> list[dict[str, Any]]:
        """`version` and `timestamp` of each, the moment of its commit as a number."""

        async def ask() -> list[dict[str, Any]]:
            return list(await self.inner.list_versions())

        return LOOP.run(ask)

    def search(self) -> EngineQuery:
        return EngineQuery(self.inner.query())

    def take_row_ids(self, row_ids: list[int]) -> TakenRows:
        return TakenRows(self.inner.take_row_ids(row_ids))


class TakenRows:
    """Rows by their places."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def select(self, columns: Sequence[str]) -> Self:
        self.inner.select_columns(list(columns))
        return self

    async def execute(self) -> Any:
        return await self.inner.execute()

    def to_arrow(self) -> pa.Table:
        import pyarrow as pa

        async def read() -> Any:
            stream = await self.execute()
            return pa.Table.from_batches([batch async for batch in stream], stream.schema)

        return LOOP.run(read)


class EngineQuery(TakenRows):
    """All rows, or those of a filter."""

    def where(self, where: str) -> Self:
        self.inner.where(where)
        return self

    def limit(self, limit: int) -> Self:
        self.inner.limit(limit)
        return self

    def with_row_id(self, with_row_id: bool) -> Self:
        if with_row_id:
            self.inner.with_row_id()
        return self

    async def execute(self) -> Any:
        return await self.inner.execute(None, None)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        stream = LOOP.run(self.execute)

        async def read() -> Any:
            return await anext(stream, None)

        while (batch := LOOP.run(read)) is not None:
            yield batch


class Loop:
    """The engine answers on an event loop; ours has a thread of its own, so that any thread may ask."""

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        import asyncio

        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="fabula-lance", daemon=True).start()
        return loop

    def run(self, ask: Callable[[], Awaitable[T]]) -> T:
        import asyncio

        with LOCK:
            loop = self.loop
        waiting = asyncio.run_coroutine_threadsafe(as_coroutine(ask), loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise


async def as_coroutine(ask: Callable[[], Awaitable[T]]) -> T:
    return await ask()


LOOP = Loop()


def numbers(column: Any) -> Array:
    """A column of numbers, of a table or a batch. Arrow's own `to_numpy` would load pandas first."""
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    found: Array = np.from_dlpack(whole)
    return found


def find_engine() -> ModuleType | None:
    """lancedb's compiled module, without the package around it; None where there is none."""
    with LOCK:
        if NAME in sys.modules:
            return sys.modules[NAME]
        package = importlib.util.find_spec("lancedb")
        found = None if package is None else PathFinder.find_spec(NAME, package.submodule_search_locations)
        if found is None or found.loader is None:
            return None
        try:
            module = importlib.util.module_from_spec(found)
            found.loader.exec_module(module)
        except ImportError:
            return None
        sys.modules[NAME] = module  # for the package, where it is loaded later
        return module


def open_base(where: str) -> Base | None:
    """The tables of a folder for reading; None where the package must open them."""
    engine = find_engine()
    try:
        return None if engine is None else Base(where, engine)
    except (AttributeError, TypeError):  # an engine that is called otherwise
        return None
