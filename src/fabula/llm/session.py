"""One asker for a whole run: plain code asks it block after block, and what was asked is counted and hashed.

    with asking(options):                      # who runs a scoring says where the judge is
        answers = current().ask(calls)         # who needs a judgement; the same call is made once in a run
        with current().count() as spent: …     # what a metric took: spent.calls, spent.distinct, spent.unparsed

The record's hash is of the calls' keys and the answers' texts in the order of the keys: the same answers give the same
hash, whether they were asked for, found on record or replayed, in whatever order they came.
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
from fabula.llm.ask import open_asker, work_through
from fabula.llm.call import Call
from fabula.llm.client import Asker, Note, forget
from fabula.llm.fake import Reply, echo
from fabula.llm.options import EndpointOptions

T = TypeVar("T")
DIGITS = 16  # of the record's hash


@dataclass(slots=True)
class Spent:
    """What was asked while it counted."""

    calls: int = 0  # judgements that were needed
    spared: int = 0  # that were not, since they could not move the number
    parsed: int = 0  # answers that hold a judgement
    unparsed: int = 0  # answers that hold none
    sample: str = ""  # the first of those
    failed: int = 0  # calls without an answer
    attempts: int = 0  # texts within calls that try to tell the model what to answer
    texts: dict[str, str] = field(default_factory=dict)  # by key, of the calls that were made

    @property
    def distinct(self) -> int:
        """Calls that were made, or found on record: the same one counts once."""
        return len(self.texts) + self.failed

    @property
    def digest(self) -> str:
        told = hashlib.sha256()
        for key in sorted(self.texts):
            told.update(f"{key}\0{self.texts[key]}\0".encode())
        return told.hexdigest()[:DIGITS]


class Session:
    """Asks from any thread; its own thread keeps the connections and the record open until it is closed."""

    def __init__(self, options: EndpointOptions, note: Note = forget, reply: Reply = echo) -> None:
        self.options, self.note, self.reply = options, note, reply
        self.progress: Progress = silent
        self.known: dict[str, Answer] = {}
        self.counting: list[Spent] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        self.stack = AsyncExitStack()
        self.asker: Asker | None = None

    def ask(self, calls: Sequence[Call]) -> list[Answer | CallError]:
        """The answer of each call, or why there is none, in their order. An endpoint that takes no call raises."""
        new = {call.key: call for call in calls if call.key not in self.known}
        failed = self.run(self.ask_new(list(new.values()))) if new else {}
        self.known.update({key: found for key, found in failed.items() if isinstance(found, Answer)})
        answers = [self.known.get(call.key) or failed[call.key] for call in calls]
        for spent in self.counting:
            spent.calls += len(calls)
            spent.failed += len({c.key for c, a in zip(calls, answers, strict=True) if isinstance(a, CallError)})
            told = zip(calls, answers, strict=True)
            spent.texts.update({call.key: answer.text for call, answer in told if isinstance(answer, Answer)})
        return answers

    async def ask_new(self, calls: Sequence[Call]) -> dict[str, Answer | CallError]:
        if self.asker is None:
            self.asker = await self.stack.enter_async_context(open_asker(self.options, self.note, self.reply))
        asker, found = self.asker, dict[str, Answer | CallError]()

        async def one(call: Call) -> None:
            try:
                found[call.key] = await asker.ask(call)
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
    def count(self) -> Iterator[Spent]:
        """What is asked within; counts may lie within each other."""
        spent = Spent()
        self.counting.append(spent)
        try:
            yield spent
        finally:
            self.counting.remove(spent)

    def model_of(self, judge: str) -> str:
        """The model that a judge names for itself (`fabula@model`), or that of the run."""
        return judge.partition("@")[2] or self.options.model

    def tell(self, unparsed: int = 0, spared: int = 0, attempts: int = 0, parsed: int = 0, sample: str = "") -> None:
        """Who reads the answers says what they were worth; `sample` is one that could not be read."""
        for spent in self.counting:
            spent.parsed += parsed
            spent.sample = spent.sample or sample
            spent.unparsed += unparsed
            spent.spared += spared
            spent.attempts += attempts

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


here: ContextVar[Session | None] = ContextVar("session", default=None)


@contextmanager
def asking(options: EndpointOptions, note: Note = forget, reply: Reply = echo) -> Iterator[Session]:
    """A session for everything within."""
    session = Session(options, note, reply)
    token = here.set(session)
    try:
        yield session
    finally:
        here.reset(token)
        session.close()


def current() -> Session:
    """The session of this run."""
    found = here.get()
    if found is None:
        raise SpecError("this asks a judge, and none was named; say --judge-url and --judge-model, or --judge-replay")
    return found
