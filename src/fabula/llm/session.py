"""One client for a whole run, called from synchronous code; it counts and hashes its calls.

    with Session(options) as session:          # the scoring run names the judge, and binds metrics to it
        answers = session.ask(calls)           # a metric asks; the same call is sent once per run
        with session.count() as usage: …       # what a metric needs: usage.calls, usage.distinct, usage.unparsed

The record's hash covers the calls' keys and the answers' texts, sorted by key: the same answers give the same hash,
whether they are fetched, recorded or replayed, and in any order.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeVar

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.llm.answer import Answer, CallError, EndpointError
from fabula.llm.ask import open_client, work_through
from fabula.llm.call import Call
from fabula.llm.client import Client, Note, ignore
from fabula.llm.fake import Reply, echo
from fabula.llm.options import EndpointOptions
from fabula.llm.store import AnswerStore

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
    words: dict[tuple[str, ...], str] = field(default_factory=dict)  # the same by the texts that were asked about

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
    """Asks from any thread. Its own thread keeps the connections and the record open until `close`.

    A session that is closed still has the answers that it got. `prompts`: the folder of the user's copies of programs
    whose prompts are asked.
    """

    def __init__(
        self,
        options: EndpointOptions,
        note: Note = ignore,
        reply: Reply = echo,
        prompts: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        self.options, self.note, self.reply, self.prompts, self.progress = options, note, reply, prompts, progress
        self.store: AnswerStore | None = None
        self.counting: list[Usage] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        self.stack = AsyncExitStack()
        self.client: Client | None = None
        self.closed = False

    def ask(self, calls: Sequence[Call]) -> list[Answer | CallError]:
        """The answer or the error of each call, in their order. EndpointError: the endpoint refuses every call."""
        known = {} if self.store is None else self.store.known
        new = {call.key: call for call in calls if call.key not in known}
        if new and self.closed:
            raise SpecError("the run that asked this judge is over, and these calls were not among its own")
        found = self.run(self.ask_new(list(new.values()))) if new else {}
        answers = [found.get(call.key) or known[call.key] for call in calls]
        pairs = list(zip(calls, answers, strict=True))
        texts = {call.key: answer.text for call, answer in pairs if isinstance(answer, Answer)}
        for usage in self.counting:
            usage.calls += len(calls)
            usage.failed += len({call.key for call, _ in pairs if call.key not in texts})
            usage.texts.update(texts)
        return answers

    async def ask_new(self, calls: Sequence[Call]) -> dict[str, Answer | CallError]:
        if self.client is None:
            self.store = AnswerStore.of(self.options, in_memory=True)
            opened = open_client(self.options, self.note, self.reply, store=self.store)
            self.client = await self.stack.enter_async_context(opened)
        client, found = self.client, dict[str, Answer | CallError]()

        async def one(call: Call) -> None:
            try:
                found[call.key] = await client.ask(call)
            except EndpointError:
                raise
            except CallError as error:
                found[call.key] = error
            self.progress(f"asking {self.options.model}", len(found), len(calls))

        await work_through(calls, one, self.options.concurrency)
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

    def tell(
        self,
        unparsed: int = 0,
        spared: int = 0,
        attempts: int = 0,
        parsed: int = 0,
        sample: str = "",
        words: Mapping[tuple[str, ...], str] | None = None,
    ) -> None:
        """Add the results of reading the answers to the counts.

        `sample`: an answer that could not be read. `words`: what was answered about which texts.
        """
        for usage in self.counting:
            usage.parsed += parsed
            usage.sample = usage.sample or sample
            usage.unparsed += unparsed
            usage.spared += spared
            usage.attempts += attempts
            usage.words.update(words or {})

    def run(self, work: Coroutine[object, None, T]) -> T:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True
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
