"""From options to answers: the asker that they name, and many calls asked at once from plain, synchronous code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fabula.llm.answer import Answer, CallError, EndpointError
from fabula.llm.batch import Batcher
from fabula.llm.call import Call
from fabula.llm.client import Asker, Client, Note, forget
from fabula.llm.fake import Reply, echo, fake_lanes
from fabula.llm.options import EndpointOptions
from fabula.llm.record import Record, Recorder, Replay

Batches = Callable[[Client], Batcher]


@asynccontextmanager
async def open_asker(
    options: EndpointOptions, note: Note = forget, reply: Reply = echo, batches: Batches | None = None
) -> AsyncIterator[Asker]:
    """A replay, or a client with or without a record around it. `reply` is what the address fake: answers.

    With `batches` the client is asked through what that makes of it: `lambda client: Batcher(client, ledger)`.
    """
    if options.replay is not None:
        with Record(options.replay) as record:
            yield Replay(record)
        return
    make_lane = fake_lanes(reply) if options.is_fake else None
    async with Client(options, note, make_lane) as client, AsyncExitStack() as stack:
        asker: Asker = client if batches is None else await stack.enter_async_context(batches(client))
        if options.record is None:
            yield asker
            return
        with Record(options.record, append=True) as record:
            yield Recorder(asker, record)


def ask_all(
    calls: Iterable[Call], options: EndpointOptions, note: Note = forget, reply: Reply = echo
) -> list[Answer | CallError]:
    """The answer of each call, or why there is none, in their order. An endpoint that takes no call at all raises."""
    return asyncio.run(answer_all(list(calls), options, note, reply))


async def answer_all(
    calls: Sequence[Call], options: EndpointOptions, note: Note, reply: Reply
) -> list[Answer | CallError]:
    async with open_asker(options, note, reply) as asker:
        found: list[Answer | CallError] = [CallError("not asked", "server", 0)] * len(calls)

        async def one(i: int) -> None:
            try:
                found[i] = await asker.ask(calls[i])
            except EndpointError:
                raise
            except CallError as error:
                found[i] = error

        await work_through(range(len(calls)), one, options.concurrency)
        return found


def list_models(options: EndpointOptions) -> list[str]:
    """The names of the models that an endpoint offers; none where it does not say."""

    async def ask() -> list[str]:
        async with Client(options) as client:
            listed = await client.list_models() or []
            return [client.clean(entry["id"]) for entry in listed if isinstance(entry.get("id"), str)]

    return asyncio.run(ask())


async def work_through(jobs: Iterable[Any], work: Callable[[Any], Any], width: int) -> None:
    """Await `work` for every job, so many at once; jobs are taken when they can begin. The first error ends it."""
    some = iter(jobs)

    async def worker() -> None:
        for job in some:
            await work(job)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(width):
                group.create_task(worker())
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None


def first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """One of a group: what ends a program first, then whatever came first."""
    flat: list[BaseException] = []
    for error in errors.exceptions:
        flat.append(first_of(error) if isinstance(error, BaseExceptionGroup) else error)
    return next((e for e in flat if not isinstance(e, Exception)), flat[0])
