"""One client for a whole run, called from synchronous code; it counts and hashes its calls.

    with asking(options):                      # the scoring run names the judge
        answers = current().ask(calls)         # a metric asks; the same call is sent once per run
        with current().count() as usage: …     # what a metric needs: usage.calls, usage.distinct, usage.unparsed

The record's hash covers the calls' keys and the answers' texts, sorted by key: the same answers give the same hash,
whether they are fetched, recorded or replayed, and in any order.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.llm.answer import Answer, CallError, EndpointError
from fabula.llm.ask import open_client, work_through
from fabula.llm.call import Call
from fabula.llm.client import Client, Note, ignore
from fabula.llm.fake import Reply, echo
from fabula.llm.options import EndpointOptions

T = TypeVar("T")
DIGITS = 16  # of the record's hash


@dataclass(slots=True)
class Usage:
    """Counts of calls and answers while `Session.count` runs."""

    calls: int = 0  # judgements that are needed
    spared: int = 0  # judgements that cannot change the number, and are not asked for
    parsed: int = 0  # answers that hold a judgement
    unparsed: int = 0  # answers that hold none
    sample: str = ""  # the first answer without a judgement
    failed: int = 0  # calls without an answer
    attempts: int = 0  # texts that try to instruct the judge
    texts: dict[str, str] = field(default_factory=dict)  # answers by the calls' keys

    @property
    def distinct(self) -> int:
        """Distinct calls, sent or found on record."""
        return len(self.texts) + self.failed

    @property
    def digest(self) -> str:
        digest = hashlib.sha256()
        for key in sorted(self.texts):
            digest.update(f"{key}\0{self.texts[key]}\0".encode())
        return digest.hexdigest()[:DIGITS]


class Session:
    """Asks from any thread. Its own thread keeps the connections and the record open until `close`."""

    def __init__(self, options: EndpointOptions, note: Note = ignore, reply: Reply = echo) -> None:
        self.options, self.note, self.reply = options, note, reply
        self.progress: Progress = silent
        self.known: dict[str, Answer] = {}
        self.counting: list[Usage] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        self.stack = AsyncExitStack()
        self.client: Client | None = None

    def ask(self, calls: Sequence[Call]) -> list[Answer | CallError]:
        """The answer or the error of each call, in their order. EndpointError: the endpoint refuses every call."""
        new = {call.key: call for call in calls if call.key not in self.known}
        failed = self.run(self.ask_new(list(new.values()))) if new else {}
        self.known.update({key: found for key, found in failed.items() if isinstance(found, Answer)})
        answers = [self.known.get(call.key) or failed[call.key] for call in calls]
        for usage in self.counting:
            usage.calls += len(calls)
            usage.failed += len({c.key for c, a in zip(calls, answers, strict=True) if isinstance(a, CallError)})
            pairs = zip(calls, answers, strict=True)
            usage.texts.update({call.key: answer.text for call, answer in pairs if isinstance(answer, Answer)})
        return answers

    async def ask_new(self, calls: Sequence[Call]) -> dict[str, Answer | CallError]:
        if self.client is None:
            self.client = await self.stack.enter_async_context(open_client(self.options, self.note, self.reply))
        client, found = self.client, dict[str, Answer | CallError]()

        async def one(call: Call) -> None:
            try:
                found[call.key] = await client.ask(call)
            except EndpointError:
                raise
            except CallError as error:
                found[call.key] = error

        async def counted(call: Call) -> None:
            await one(call)
            self.progress(f"asking {self.options.model}", len(found), len(calls))

        await work_through(calls, counted, self.options.concurrency)
        return found

    @contextmanager
    def count(self) -> Iterator[Usage]:
        """Count what is asked inside the block; blocks may be nested."""
        usage = Usage()
        self.counting.append(usage)
        try:
            yield usage
        finally:
            self.counting.remove(usage)

    def model_of(self, judge: str) -> str:
        """The model in a judge's name (`fabula@model`), or else the model of the run."""
        return judge.partition("@")[2] or self.options.model

    def tell(self, unparsed: int = 0, spared: int = 0, attempts: int = 0, parsed: int = 0, sample: str = "") -> None:
        """Add the results of reading the answers to the counts; `sample`: an answer that could not be read."""
        for usage in self.counting:
            usage.parsed += parsed
            usage.sample = usage.sample or sample
            usage.unparsed += unparsed
            usage.spared += spared
            usage.attempts += attempts

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            self.thread = threading.Thread(target=self.loop.run_forever, name="fabula-judge", daemon=True)
            self.thread.start()
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        if self.loop is None:
            return
        try:
            self.run(self.stack.aclose())
            self.run(self.loop.shutdown_asyncgens())
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            if self.thread is not None:
                self.thread.join()
            self.loop.close()
            self.loop = None


session_in_use: ContextVar[Session | None] = ContextVar("session", default=None)


@contextmanager
def asking(options: EndpointOptions, note: Note = ignore, reply: Reply = echo) -> Iterator[Session]:
    """A session for everything inside the block."""
    session = Session(options, note, reply)
    token = session_in_use.set(session)
    try:
        yield session
    finally:
        session_in_use.reset(token)
        session.close()


def current() -> Session:
    """The session of the surrounding `asking` block."""
    found = session_in_use.get()
    if found is None:
        raise SpecError("this needs a judge, and none is named; set --judge-url and --judge-model, or --judge-replay")
    return found
