"""Asks everything that a benchmark asks: films decoded ahead, calls side by side, every answer stored as it comes.

The record is a store of answers (llm/store.py): a line for every call that was answered, with its frames. A run that
was killed is started again by the same command: a call that is on record is not sent again, and a film whose calls are
all on record is not decoded. A call that fails for good leaves its question without an answer, and the next run asks it
again. With `--budget` no call starts whose worst cost does not fit into what is left.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from fabula.asking.answers import AnswerText, check_target, write_answers
from fabula.asking.bench import BenchFile, Groups, Inquiry, group_films, read_bench
from fabula.asking.options import AskOptions
from fabula.asking.settings import FilmShown, Settings, sign_run
from fabula.asking.sources import RecordedFilms, name_film, open_film
from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.core.notes import Notes, Progress, ignore, name_id, silent
from fabula.llm import Answer, Call, CallError, EndpointError
from fabula.llm.ask import first_of, open_client
from fabula.llm.client import Client
from fabula.llm.fake import Reply, echo
from fabula.llm.ledger import Ledger
from fabula.llm.options import NOBODY, UNNAMED
from fabula.llm.prices import Prices
from fabula.llm.store import AnswerStore
from fabula.media.extract import find_videos

HOPELESS = 20  # calls in a row without an answer, before the server is given up
DECODERS = 2  # films that are decoded at once
AHEAD = 3  # films that are decoded before they are needed
Job = tuple[int, Inquiry, Call]
Jobs = Sequence[tuple[int, Inquiry]]


@dataclass(frozen=True)
class AskResult:
    """What came of a run."""

    bench: BenchFile
    answers: Mapping[int, AnswerText]  # by the place of the question
    signature: str
    settings: str  # the same in words
    failed: Mapping[int, str] = field(default_factory=dict)  # questions whose call got no answer, and why
    calls: int = 0  # answered in this run
    tokens_in: int = 0  # of all answers, as the server counts
    tokens_out: int = 0
    spent: float = 0.0  # with what earlier runs have spent
    stopped: str | None = None  # why no further call began
    warnings: tuple[str, ...] = ()

    @property
    def texts(self) -> dict[str | int, str]:
        """Answers by the ids of their questions."""
        return {self.bench.inquiries[place].id: answer.text for place, answer in sorted(self.answers.items())}

    @property
    def left(self) -> int:
        """Questions without an answer."""
        return len(self.bench.inquiries) - len(self.answers)

    @property
    def finished(self) -> bool:
        return self.stopped is None and not self.failed


def ask_bench(
    path: str | Path,
    options: AskOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    reply: Reply = echo,
) -> AskResult:
    """The answers to a benchmark file; with `options.out` they are written."""
    options.check_server()
    bench = limit_bench(read_bench(path, options.task, options.format), options.limit)
    with ExitStack() as stack:
        if options.replay is not None:
            store = stack.enter_context(AnswerStore(options.replay))
            done = replay(bench, options, store)
        else:
            settings = Settings(options, bench.kinds)
            settings.check()
            if options.out is not None:
                check_target(options.out, settings.signature, options.overwrite)
            films = find_videos(options.videos, warn)
            store = stack.enter_context(AnswerStore(find_record(options), append=find_record(options) is not None))
            done = BenchRun(bench, settings, films, store, find_attempts(options), progress, reply).run()
    if options.out is not None and done.answers:
        check_target(options.out, done.signature.partition("-")[0], options.overwrite)
        write_answers(options.out, bench, done.answers, done.signature)
    for line in done.warnings:
        warn(line)
    return done


def limit_bench(bench: BenchFile, limit: int | None) -> BenchFile:
    return replace(bench, inquiries=bench.inquiries[:limit])


def find_record(options: AskOptions) -> Path | None:
    """The record of a run: the one that is named, or the one beside its answers."""
    if options.record is not None or options.out is None:
        return options.record
    return options.out.with_name(f"{options.out.stem}.record.jsonl")


def find_attempts(options: AskOptions) -> Path | None:
    """Where tries that gave no answer are noted: they may have cost money."""
    record = find_record(options)
    return None if record is None else record.with_name(f"{record.name.removesuffix('.jsonl')}.attempts.jsonl")


# ── without a network ──────────────────────────────────────────────────────────────────────────────────────────────


def replay(bench: BenchFile, options: AskOptions, store: AnswerStore) -> AskResult:
    """The answers that a record has: neither the server nor the films are needed."""
    recorded = RecordedFilms.read(store)
    settings = Settings(complete_options(options, recorded), bench.kinds)
    settings.check()
    notes = Notes()
    notes.extend(bench.notes)
    films = recorded.ids(settings)
    if not films:
        problem = f"it holds no film whose frames were taken as {settings.describe_source()}"
        raise InputError(problem, file=store.path, hint="say --frames, --side, --quality, --layout as the run had them")
    answers: dict[int, AnswerText] = {}
    shown: dict[str, str] = {}
    tally = [0, 0]
    for id, jobs in group_films(bench, films, True, notes).items():
        film = recorded.find(settings, id)
        assert film is not None
        for place, inquiry in jobs:
            answer = store.get(settings.build_call(inquiry, film).key)
            if answer is None:
                notes.add("{n} questions are not answered in the record", name_id(inquiry.id))
                continue
            answers[place] = AnswerText(answer.text, film.seconds)
            shown[id] = film.frames.signature
            tally[0] += answer.tokens_in or 0
            tally[1] += answer.tokens_out or 0
    if not answers:
        hint = "say --prompt, --model, --layout as the run had them"
        raise InputError("it holds no answer to any of these questions", file=store.path, hint=hint)
    signature = sign_run(settings, shown)
    return AskResult(
        bench, answers, signature, settings.line(), tokens_in=tally[0], tokens_out=tally[1], warnings=(*notes.lines(),)
    )


def complete_options(options: AskOptions, recorded: RecordedFilms) -> AskOptions:
    """Server and model as the record has them, where nobody names them."""
    changes: dict[str, object] = {}
    for name, unnamed, known in (("server", NOBODY, recorded.servers), ("model", UNNAMED, recorded.models)):
        if (options.server_name if name == "server" else options.model) == unnamed and known:
            if len(known) > 1:
                problem = f"the record has answers of several: {', '.join(known)}"
                raise SpecError(f"--{name} is not named, and {problem}")
            changes[name] = next(iter(known))
    return replace(options, **changes)  # type: ignore[arg-type]


# ── asking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class BenchRun:
    """One run over a benchmark."""

    bench: BenchFile
    settings: Settings
    films: Mapping[str, Path]
    store: AnswerStore
    attempts: Path | None = None
    progress: Progress = silent
    reply: Reply = echo  # of the fake server

    answers: dict[int, AnswerText] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)  # film → signature of its frames
    stopped: str | None = None
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    in_a_row: int = 0
    notes: Notes = field(default_factory=Notes)
    flying: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)
    client: Client = field(init=False)
    ledger: Ledger = field(init=False)
    pool: ThreadPoolExecutor = field(init=False)
    recorded: RecordedFilms = field(init=False)

    def __post_init__(self) -> None:
        o = self.settings.options
        prices = Prices.parse(o.price)
        if o.budget is not None and not prices.known(o.model):
            raise InputError("a budget without prices", hint="say what a million tokens cost: --price IN/OUT")
        self.ledger = Ledger(prices, o.model, o.budget, self.attempts)

    def run(self) -> AskResult:
        self.notes.extend(self.bench.notes)
        groups = group_films(self.bench, self.films, self.settings.options.skip_bad, self.notes)
        self.ledger.take_over(self.store)
        self.recorded = RecordedFilms.read(self.store)
        self.check_record()
        with ThreadPoolExecutor(DECODERS, "fabula-frames") as self.pool:
            asyncio.run(self.work(groups))
        if not self.answers and self.failed:
            raise EndpointError(f"not one call was answered; the first: {next(iter(self.failed.values()))}")
        return AskResult(
            self.bench,
            self.answers,
            sign_run(self.settings, self.shown_in_order(groups)),
            self.settings.line(),
            self.failed,
            self.calls,
            self.tokens_in,
            self.tokens_out,
            self.ledger.spent,
            self.stopped,
            tuple(self.notes.lines()),
        )

    def check_record(self) -> None:
        """Refuse a record of another server: its answers would be signed as this one's."""
        name = self.settings.options.server_name
        others = [server for server in self.recorded.servers if server != name]
        if others:
            problem = f"it holds answers of the server {others[0]}, not {name}"
            hint = "name another --record or --out, or the same server with --server NAME"
            raise InputError(problem, file=self.store.path, hint=hint)

    def shown_in_order(self, groups: Groups) -> dict[str, str]:
        """Films with an answer, in the order of the benchmark."""
        return {id: self.shown[id] for id, jobs in groups.items() if any(place in self.answers for place, _ in jobs)}

    async def work(self, groups: Groups) -> None:
        width = self.settings.options.concurrency
        queue: asyncio.Queue[Job | None] = asyncio.Queue(width)
        seconds: dict[int, float] = {}

        async def feed() -> None:
            async for film, jobs in self.prepare(groups):
                self.shown[film.id] = film.frames.signature
                for place, inquiry in jobs:
                    seconds[place] = film.seconds
                    await queue.put((place, inquiry, self.settings.build_call(inquiry, film)))
            for _ in range(width):
                await queue.put(None)

        async def answer() -> None:
            while (job := await queue.get()) is not None:
                await self.answer(job, seconds[job[0]])

        async with open_client(self.settings.options, self.ledger.note, self.reply, store=self.store) as self.client:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(feed())
                    for _ in range(width):
                        group.create_task(answer())
            except BaseExceptionGroup as errors:
                raise first_of(errors) from None

    async def prepare(self, groups: Groups) -> AsyncIterator[tuple[FilmShown, Jobs]]:
        """Film after film with its frames, a few ahead of whoever asks about them."""
        loop, waiting = asyncio.get_running_loop(), iter(groups.items())
        ahead: deque[tuple[Jobs, asyncio.Future[FilmShown | None]]] = deque()

        def begin() -> None:
            for id, jobs in waiting:
                ahead.append((jobs, loop.run_in_executor(self.pool, self.open, id, jobs)))
                return

        for _ in range(AHEAD):
            begin()
        while ahead and self.stopped is None:
            jobs, future = ahead.popleft()
            film = await future
            begin()
            if film is not None:
                yield film, jobs

    def open(self, id: str, jobs: Jobs) -> FilmShown | None:
        """A film's frames: from the record where it has every answer about them."""
        path = self.films[id]
        recorded = self.recorded.find_current(self.settings, id, path)
        if recorded is not None:
            keys = (self.settings.build_call(inquiry, recorded).key for _, inquiry in jobs)
            if all(key in self.store.places for key in keys):
                return recorded
        try:
            return open_film(self.settings, id, path)
        except FabulaError as error:
            if not self.settings.options.skip_bad:
                raise name_film(error, path) from None
            text = "{n} questions are left out, for their films cannot be read"
            self.notes.add(text, f"{id}: {error}", len(jobs))
            return None

    async def answer(self, job: Job, seconds: float) -> None:
        place, _, call = job
        try:
            answer = await self.find_answer(call)
        except EndpointError:
            raise
        except CallError as error:
            self.failed[place] = f"{error.kind}: {' '.join(str(error).split())}"
            return
        if answer is None:
            return
        self.answers[place] = AnswerText(answer.text, seconds)
        self.tokens_in += answer.tokens_in or 0
        self.tokens_out += answer.tokens_out or 0
        cost = f", {self.ledger.spent:.4f} spent" if self.ledger.prices.table else ""
        self.progress(
            f"asking {self.settings.options.model} ({self.calls:,} calls{cost})",
            len(self.answers),
            len(self.bench.inquiries),
        )

    async def find_answer(self, call: Call) -> Answer | None:
        """The answer on record, or a new one; None: no call begins any more."""
        stored = self.store.get(call.key)
        if stored is not None:
            return stored
        if call.key in self.flying:
            return await asyncio.shield(self.flying[call.key])
        if self.stopped is not None:
            return None
        if not self.ledger.can_ask(call):
            spent = f"{self.ledger.spent:.4f} spent"
            self.stopped = f"the budget of {self.ledger.budget:g} does not reach further ({spent})"
            return None
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.flying[call.key] = future
        try:
            answer = await self.ask(call)
            future.set_result(answer)
            return answer
        except BaseException as error:
            future.set_exception(error if isinstance(error, FabulaError) else CallError("stopped", "stopped"))
            future.exception()  # looked at, also where nobody waits for it
            raise
        finally:
            del self.flying[call.key]

    async def ask(self, call: Call) -> Answer:
        worst = self.ledger.worst_of(call)
        self.ledger.under_way += worst
        try:
            answer = await self.client.ask(call)
        except EndpointError:
            raise
        except CallError as error:
            self.in_a_row += error.kind in ("connection", "timeout", "server", "busy")
            if self.in_a_row >= HOPELESS:
                raise EndpointError(f"{self.in_a_row} calls in a row got no answer: {error}", error.kind) from None
            raise
        finally:
            self.ledger.under_way -= worst
        self.ledger.pay(call, answer)
        self.calls += 1
        self.in_a_row = 0
        return answer
