"""Opens the client that the options name, and runs many jobs at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from fabula.llm.batch import Batcher
from fabula.llm.client import Client, HttpClient, Note, ignore
from fabula.llm.fake import Reply, echo, fake_connections
from fabula.llm.options import EndpointOptions
from fabula.llm.store import AnswerStore, StoredClient

MakeBatcher = Callable[[HttpClient], Batcher]
T = TypeVar("T")


@asynccontextmanager
async def open_client(
    options: EndpointOptions,
    note: Note = ignore,
    reply: Reply = echo,
    batches: MakeBatcher | None = None,
    store: AnswerStore | None = None,
) -> AsyncIterator[Client]:
    """An HTTP client, behind a store of answers where there is one: `store`, or the file that the options name.

    A replay has no HTTP client. `reply`: the answers of the address fake:. `batches` wraps the HTTP client:
    `lambda client: Batcher(client, ledger)`.
    """
    async with AsyncExitStack() as stack:
        own = AnswerStore.of(options) if store is None else store
        if own is not None:
            stack.enter_context(own)
        if options.replay is not None and own is not None:
            yield StoredClient(own)
            return
        open_connection = fake_connections(reply) if options.is_fake else None
        client = await stack.enter_async_context(HttpClient(options, note, open_connection))
        inner: Client = client if batches is None else await stack.enter_async_context(batches(client))
        yield inner if own is None else StoredClient(own, inner)


def list_models(options: EndpointOptions) -> list[str]:
    """The names of the models that an endpoint lists."""

    async def ask() -> list[str]:
        async with HttpClient(options) as client:
            listed = await client.list_models() or []
            return [client.clean(entry["id"]) for entry in listed if isinstance(entry.get("id"), str)]

    return asyncio.run(ask())


async def work_through(jobs: Iterable[T], work: Callable[[T], Awaitable[None]], width: int) -> None:
    """Await `work` for every job, `width` at a time; jobs are drawn when they can start. The first error ends it."""
    queue = iter(jobs)

    async def worker() -> None:
        for job in queue:
            await work(job)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(width):
                group.create_task(worker())
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None


def first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """One error of a group: one that ends the program (KeyboardInterrupt), else the first."""
    flat: list[BaseException] = []
    for error in errors.exceptions:
        flat.append(first_of(error) if isinstance(error, BaseExceptionGroup) else error)
    return next((e for e in flat if not isinstance(e, Exception)), flat[0])
