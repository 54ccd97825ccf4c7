"""Tells the stories of many films: calls side by side, every answer stored as it comes, under a budget.

A work folder holds `answers.jsonl` (llm/store.py: a line for every call that was answered), `attempts.jsonl` (tries
that gave no answer), and a sealed record of every film that is finished. A run that was killed is started again by the
same command: finished films are taken as they are, and of the others every call that was answered is found by its key
and not asked again. A window whose call fails for good is noted; its film is written with what there is, and is asked
for that window by the next run.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from fabula.core.errors import FabulaError, InputError
from fabula.core.notes import Progress, ignore, silent
from fabula.documents.fields import JsonDict
from fabula.jobs.folder import Folder, begin
from fabula.llm import Answer, Call, CallError, EndpointError
from fabula.llm.answer import Attempt
from fabula.llm.ask import first_of, open_client, work_through
from fabula.llm.call import count_tokens
from fabula.llm.client import Client
from fabula.llm.fake import Reply, echo
from fabula.llm.ledger import Ledger
from fabula.llm.prices import Prices
from fabula.llm.store import AnswerStore
from fabula.media.base import hash_file, stamp
from fabula.media.film_times import FilmTimes, measure_times
from fabula.media.frame_sets import TimesDifferError, describe_film, sign_record
from fabula.media.pipeline import Stages
from fabula.narration.calls import Asking, WindowContext
from fabula.narration.companions import Companions, Library
from fabula.narration.frames import WindowFrames, find_cuts
from fabula.narration.joining import Joined, join_windows
from fabula.narration.reading import Happening, Reading, read_title, read_window
from fabula.narration.record import (
    VERSION,
    FilmStory,
    StepRecord,
    Usage,
    WindowRecord,
    count_outcomes,
    describe_event,
    digest_answers,
    sign_asking,
)
from fabula.narration.styles import Gap, close_chapters, find_gaps, place_descriptions
from fabula.narration.windows import Window, cut_windows

HOPELESS = 20  # calls in a row that failed for want of an answer, before the server is given up
PREPARERS = 2  # films whose shots are looked for at once
AHEAD = 1  # windows of a film that are decoded ahead
MARK, PORTRAIT, CARRIED = 12, 1200, 200  # tokens of a time or a box, of a portrait, of an event that is carried on
EVENTS = 300  # tokens of a window's events in the last call, for the budget
FILMS, BEGUN = "films", "begun"  # subfolders


class Stopped(Exception):  # noqa: N818  (never leaves this file)
    """No new call begins."""


@dataclass(frozen=True)
class Prepared:
    """A film that is ready to be asked about."""

    id: str
    path: Path
    film: FilmTimes
    windows: list[Window]
    cuts: list[float]
    gaps: list[Gap]
    companions: Companions
    sha256: str
    part: str  # its name in the work folder
    worst: float  # what its calls may cost
    shares: list[float]  # the same of each window, and of the last call


@dataclass(frozen=True)
class Narrated:
    """The stories of films, and what did not come of the others."""

    films: Mapping[str, FilmStory]
    left: Sequence[str] = ()  # films that were not finished
    refused: Mapping[str, str] = field(default_factory=dict)  # films that cannot be read, and why
    stopped: str | None = None  # why no further call began
    answered: int = 0  # calls that were answered in this run
    spent: float = 0.0  # with what earlier runs have spent
    warnings: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        return not self.left and all(film.complete for film in self.films.values())

    @property
    def unread(self) -> int:
        return sum(film.unread for film in self.films.values())


@dataclass
class Work:
    """One run over films."""

    asking: Asking
    library: Library
    folder: Path  # of answers and finished films
    reply: Reply = echo  # of the fake server
    progress: Progress = silent
    warn: Callable[[str], None] = ignore

    stopped: str | None = None
    fault: FabulaError | None = None
    answered: int = 0
    in_a_row: int = 0
    window_count: int = 0
    done: int = 0
    total: int = 0
    active: int = 0  # films that were begun and are not finished
    stories: dict[str, FilmStory] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    pending: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)
    client: Client = field(init=False)
    store: AnswerStore | None = field(init=False, default=None)
    ledger: Ledger = field(init=False)
    work: Folder | None = field(init=False, default=None)
    pool: ThreadPoolExecutor = field(init=False)
    changed: asyncio.Condition = field(init=False)
    preparing: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        o = self.asking.options
        prices = Prices.parse(o.price)
        if o.budget is not None and not prices.known(o.model):
            raise InputError("a budget without prices", hint="say what a million tokens cost: --price IN/OUT")
        is_replay = o.replay is not None
        attempts = None if is_replay else self.folder / "attempts.jsonl"
        self.ledger = Ledger(prices, o.model, None if is_replay else o.budget, attempts)

    def run(self, films: Mapping[str, Path]) -> Narrated:
        """The stories of films by id."""
        self.total = len(films)
        with ExitStack() as stack:
            if self.asking.options.replay is None:
                self.work, _ = begin(self.folder, {"tell": VERSION}, {}, resume=True)
                self.store = stack.enter_context(AnswerStore(self.answers_path, append=True))
                self.ledger.take_over(self.store)
            workers = min(len(films), self.asking.options.concurrency)
            self.pool = stack.enter_context(ThreadPoolExecutor(workers + PREPARERS, "fabula-frames"))
            run_to_end(self.work_on(films, workers))
        if self.fault is not None and not self.stories:
            raise self.fault
        stories = {id: self.stories[id] for id in films if id in self.stories}
        if stories and not any(film.answered for film in stories.values()):
            first = next(iter(stories.values()))
            raise EndpointError(f"not one call was answered; the first: {first.failure}")
        left = [id for id in films if id not in stories and id not in self.refused]
        notes = tuple(self.library.notes.lines())
        return Narrated(stories, left, self.refused, self.stopped, self.answered, self.ledger.spent, notes)

    @property
    def answers_path(self) -> Path:
        return self.asking.options.record or self.folder / "answers.jsonl"

    async def work_on(self, films: Mapping[str, Path], workers: int) -> None:
        self.changed, self.preparing = asyncio.Condition(), asyncio.Semaphore(PREPARERS)
        options = self.asking.options
        async with open_client(options, self.note, self.reply, store=self.store) as self.client:
            await work_through(self.order(films), self.tell_one, workers)

    def order(self, films: Mapping[str, Path]) -> Iterable[tuple[str, Path]]:
        """Films that an earlier run has begun come first."""
        return sorted(films.items(), key=lambda job: not self.count_begun(self.name_part(*job)))

    def name_part(self, id: str, path: Path) -> str:
        """Of a film as it is, asked as now: changed, or asked otherwise, it is another."""
        asking = sign_record(self.asking.describe())
        text = "\0".join((id, *map(str, stamp(path)), asking, self.library.of_film(id).digest))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def count_begun(self, part: str) -> int:
        """Calls of a film that were answered by an earlier run."""
        found = None if self.work is None else self.work.find(BEGUN, f"{part}.json")
        return 0 if found is None else int(found["calls"])

    # ── one film ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def tell_one(self, job: tuple[str, Path]) -> None:
        id, path = job
        finished = None if self.work is None else self.work.find(FILMS, f"{self.name_part(id, path)}.json")
        if finished is not None:
            self.stories[id] = FilmStory(id, path, finished)
        elif self.stopped is None:
            try:
                await self.tell_exactly(id, path)
            except Stopped:
                pass
            except InputError as error:
                if not self.asking.options.skip_bad or error.file != path:
                    raise
                self.refused[id] = " ".join(str(error.problem).split())
        self.done += 1
        self.show()

    async def tell_exactly(self, id: str, path: Path) -> None:
        """A film whose packets tell other times than its pictures is begun anew by its pictures."""
        try:
            await self.tell_film(await self.prepare(id, path, exact=False))
        except TimesDifferError:
            await self.tell_film(await self.prepare(id, path, exact=True))

    async def prepare(self, id: str, path: Path, exact: bool) -> Prepared:
        async with self.preparing:
            return await asyncio.get_running_loop().run_in_executor(self.pool, self.measure, id, path, exact)

    def measure(self, id: str, path: Path, exact: bool) -> Prepared:
        o = self.asking.options
        film = measure_times(path, exact)
        cuts = find_cuts(path, o.shots)
        windows = cut_windows(film.duration, o.window, o.overlap, cuts)
        companions = self.library.of_film(id)
        gaps = find_gaps(companions.lines, film.duration) if o.style == "descriptions" else []
        shares = [self.worst_of_window(film, window, companions) for window in windows]
        if not o.untitled:
            shares.append(self.ledger.worst(EVENTS * (len(windows) + 1), o.max_tokens))
        part = self.name_part(id, path)
        remaining = 1 - min(1.0, self.count_begun(part) / max(1, len(shares)))
        sha256 = hash_file(path, *stamp(path))
        worst = remaining * sum(shares)
        return Prepared(id, path, film, windows, cuts, gaps, companions, sha256, part, worst, shares)

    def worst_of_window(self, film: FilmTimes, window: Window, companions: Companions) -> float:
        """What the call of a window may cost, before its frames are decoded."""
        source = self.asking.source
        count = source.count(film, window)
        height, width = source.pictures.size(film.height, film.width, max(1, count))
        context = WindowContext(film.duration, companions)
        people = companions.people_of(window)
        words = count_tokens(self.asking.write_prompt(window, context, people)) + CARRIED * (
            1 + self.asking.options.carry
        )
        pictures = (self.asking.cost.of_pictures(height, width) + MARK) * count + PORTRAIT * len(people)
        return self.ledger.worst(words + pictures + MARK * len(people) * count, self.asking.options.max_tokens)

    async def tell_film(self, film: Prepared) -> None:
        await self.admit(film)
        self.active += 1
        try:
            story = await FilmWork(self, film).run()
        finally:
            self.active -= 1
            self.ledger.finish(film.id)
            async with self.changed:
                self.changed.notify_all()
        if self.work is not None and story.complete:
            self.work.put(story.record, FILMS, f"{film.part}.json")
        self.stories[film.id] = story

    async def admit(self, film: Prepared) -> None:
        """Wait until all of a film can be paid for. Stopped: it cannot, and no film under way will give money back."""
        async with self.changed:
            while not self.ledger.can_begin(film.id, film.worst):
                if not self.active or self.stopped is not None:
                    budget = self.ledger.budget or 0.0
                    why = f"the budget of {budget:g} does not reach for {film.id} (up to {film.worst:.4f})"
                    self.stopped = self.stopped or f"{why}; {self.ledger.spent:.4f} spent"
                    raise Stopped
                await self.changed.wait()

    # ── one call ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def ask(self, film: Prepared, call: Call, share: float) -> Answer:
        """The answer on record, or a new one. CallError: there is none. Stopped: none is asked for."""
        stored = None if self.store is None else self.store.get(call.key)
        if stored is not None:
            self.ledger.release(film.id, share)
            return stored
        if call.key in self.pending:
            return await asyncio.shield(self.pending[call.key])
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.pending[call.key] = future
        try:
            answer = await self.pay(film, call, share)
            future.set_result(answer)
            return answer
        except BaseException as error:
            future.set_exception(error if isinstance(error, FabulaError | Stopped) else Stopped())
            future.exception()  # seen, also where nobody waits for it
            raise
        finally:
            del self.pending[call.key]

    async def pay(self, film: Prepared, call: Call, share: float) -> Answer:
        if self.stopped is not None and self.fault is not None:
            raise Stopped
        if not self.ledger.can_ask(call):
            self.stop(f"the budget of {self.ledger.budget:g} does not reach further ({self.ledger.spent:.4f} spent)")
            raise Stopped
        worst = self.ledger.worst_of(call)
        self.ledger.release(film.id, share)
        self.ledger.under_way += worst
        try:
            answer = await self.client.ask(call)
        except EndpointError as error:
            self.stop(str(error), error)
            raise Stopped from None
        except CallError as error:
            self.in_a_row += error.kind in ("connection", "timeout", "server", "busy")
            if self.in_a_row >= HOPELESS:
                why = f"{self.in_a_row} calls in a row got no answer: {error}"
                self.stop(why, EndpointError(why, error.kind))
                raise Stopped from None
            raise
        finally:
            self.ledger.under_way -= worst
        self.ledger.pay(call, answer)
        self.answered += 1
        self.in_a_row = 0
        return answer

    def note(self, attempt: Attempt) -> None:
        self.ledger.note(attempt)

    def stop(self, why: str, fault: FabulaError | None = None) -> None:
        if self.fault is None:
            self.stopped, self.fault = why, fault

    def show(self, window: int = 0, windows: int = 0) -> None:
        """Progress: films, or the windows of the only one; with what was spent so far."""
        cost = f", {self.ledger.spent:.4f} spent" if self.ledger.prices.table else ""
        if self.total > 1:
            self.progress(f"films ({self.window_count:,} windows{cost})", self.done, self.total)
        elif windows:
            self.progress(f"windows ({self.answered:,} calls answered{cost})", window, windows)


@dataclass
class FilmWork:
    """One film: its windows, joined and finished."""

    run_of: Work
    film: Prepared
    usage: Usage = field(default_factory=Usage)
    texts: dict[str, str] = field(default_factory=dict)  # answers by the keys of their calls
    calls: int = 0

    async def run(self) -> FilmStory:
        options = self.run_of.asking.options
        async with self.walk() as frames:
            windows = await (self.tell_in_turn(frames) if options.carry else self.tell_at_once(frames))
        joined = join_windows([(w.window, w.events) for w in windows])
        last, title, joined = await self.finish(joined)
        return FilmStory(self.film.id, self.film.path, self.describe(windows, joined, last, title))

    @asynccontextmanager
    async def walk(self) -> AsyncIterator[AsyncIterator[WindowFrames]]:
        """The frames of window after window, decoded by a thread that is a little ahead."""
        asking, film = self.run_of.asking, self.film
        walker = Walker(Stages().ahead("decode", asking.source.walk(film.film, film.windows), depth=AHEAD))
        loop, pool = asyncio.get_running_loop(), self.run_of.pool

        async def windows() -> AsyncIterator[WindowFrames]:
            while (found := await loop.run_in_executor(pool, walker.next)) is not None:
                yield found

        try:
            yield windows()
        finally:
            await asyncio.shield(loop.run_in_executor(pool, walker.close))

    async def tell_in_turn(self, frames: AsyncIterator[WindowFrames]) -> list[WindowRecord]:
        """One window after the other, each told of the last events of the one before."""
        windows: list[WindowRecord] = []
        carry = self.run_of.asking.options.carry
        async for one in frames:
            before = sorted(windows[-1].events, key=lambda e: (e.end, e.start)) if windows else []
            earlier = sorted(before[-carry:], key=lambda e: (e.start, e.end))
            windows.append(await self.tell_window(one, earlier))
        return windows

    async def tell_at_once(self, frames: AsyncIterator[WindowFrames]) -> list[WindowRecord]:
        """All windows side by side, as many as the server may be asked for at once."""
        slots = asyncio.Semaphore(self.run_of.asking.options.concurrency)
        tasks: list[asyncio.Task[WindowRecord]] = []

        async def tell(one: WindowFrames) -> WindowRecord:
            try:
                return await self.tell_window(one, [])
            finally:
                slots.release()

        try:
            async with asyncio.TaskGroup() as group:
                async for one in frames:
                    await slots.acquire()
                    tasks.append(group.create_task(tell(one)))
                    del one
        except BaseExceptionGroup as errors:
            raise first_of(errors) from None
        return [task.result() for task in tasks]

    async def tell_window(self, frames: WindowFrames, earlier: Sequence[Happening]) -> WindowRecord:
        film, asking = self.film, self.run_of.asking
        sent, step = frames.to_dict(), StepRecord()
        if not frames.samples:
            step.reading = Reading((), changed={"no frame in the window": 1})
            return WindowRecord(frames.window, sent, step)
        context = WindowContext(film.film.duration, film.companions, film.id, earlier, film.cuts, film.gaps)
        share = film.shares[frames.window.index]
        for tried in range(asking.options.tries):
            if step.reading is not None:
                step.before.append(step.reading)
            try:
                answer = await self.ask(asking.ask_window(frames, context, tried), share, step)
            except CallError as error:
                if step.before:
                    step.reading = step.before.pop()
                    break
                step.failed = f"{error.kind}: {' '.join(str(error).split())}"
                break
            step.finish = answer.finish
            step.reading = read_window(answer.text, frames.window, film.film.duration)
            if not step.reading.is_empty:
                break
        self.run_of.window_count += 1
        self.run_of.show(frames.window.index + 1, len(film.windows))
        return WindowRecord(frames.window, sent, step)

    async def ask(self, call: Call, share: float, step: StepRecord) -> Answer:
        answer = await self.run_of.ask(self.film, call, share)
        if call.key not in self.texts:
            self.usage.add(answer)
        self.texts[call.key] = answer.text
        step.keys.append(call.key)
        self.calls += 1
        if self.run_of.work is not None and self.run_of.ledger.budget is not None:
            self.run_of.work.put({"calls": self.calls}, BEGUN, f"{self.film.part}.json")
        return answer

    # ── all windows ────────────────────────────────────────────────────────────────────────────────────────────────

    async def finish(self, joined: list[Joined]) -> tuple[StepRecord | None, str | None, list[Joined]]:
        """The last call: a title, and of chapters the joined ones."""
        asking, duration = self.run_of.asking, self.film.film.duration
        is_chapters = asking.options.style == "chapters"
        joined = close_chapters(joined, duration) if is_chapters else joined
        if asking.options.untitled or not joined:
            return None, None, joined
        step, title = StepRecord(), None
        listed = [Happening(e.start, e.end, e.caption) for e in joined]
        for tried in range(asking.options.tries):
            try:
                answer = await self.ask(asking.ask_film(listed, duration, tried), self.film.shares[-1], step)
            except CallError as error:
                step.failed = f"{error.kind}: {' '.join(str(error).split())}"
                break
            title = read_title(answer.text)
            if title is not None:
                whole = Window(0, 0.0, duration)
                step.reading = read_window(answer.text, whole, duration) if is_chapters else Reading(())
                break
        if is_chapters and step.reading is not None and step.reading.events:
            joined = join_chapters(joined, step.reading.events, duration)
        return step, title, joined

    def describe(
        self, windows: Sequence[WindowRecord], joined: Sequence[Joined], last: StepRecord | None, title: str | None
    ) -> JsonDict:
        film, asking = self.film, self.run_of.asking.describe()
        options = self.run_of.asking.options
        events, left_out = [describe_event(e) for e in joined], []
        if options.style == "descriptions":
            placed = place_descriptions(joined, film.gaps, options.pace)
            events = [describe_event(event, spoken) for spoken, event in placed.spoken]
            left_out = [describe_event(event) for event in placed.left_out]
        return {
            "tell": VERSION,
            "id": film.id,
            "file": film.path.name,
            "sha256": film.sha256,
            "seconds": film.film.duration,
            "film": describe_film(film.film),
            "asking": asking,
            "companions": film.companions.to_dict(),
            "cuts": film.cuts,
            "title": title,
            "events": events,
            **({"left out": left_out} if left_out else {}),
            "counts": {**count_outcomes(windows, last), "descriptions left out": len(left_out)},
            "usage": self.usage.to_dict(),
            "windows": [window.to_dict() for window in windows],
            "last call": None if last is None else {"calls": last.keys, "failed": last.failed},
            "signature": sign_asking(asking, film.sha256, film.companions.digest, windows),
            "answers": digest_answers(self.texts),
        }


def run_to_end(work: Coroutine[object, None, None]) -> None:
    """As asyncio.run; in a thread of its own where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1, "fabula-tell") as own:
        own.submit(asyncio.run, work).result()


def join_chapters(sections: Sequence[Joined], chapters: Sequence[Happening], duration: float) -> list[Joined]:
    """Chapters as the last call has them, their edges moved to those of the sections that they are made of."""
    edges = sorted({0.0, *(s.start for s in sections), duration})
    starts: dict[float, str] = {}
    for chapter in chapters:
        starts.setdefault(min(edges[:-1], key=lambda edge: abs(edge - chapter.start)), chapter.caption)
    if not starts:
        return list(sections)
    first = min(starts)
    starts = {0.0: starts.pop(first), **starts}
    bounds = [*sorted(starts), duration]
    return [
        Joined(a, b, starts[a], b - a, sorted({w for s in sections if s.start < b and s.end > a for w in s.windows}))
        for a, b in pairwise(bounds)
    ]


class Walker:
    """A generator that is walked by one thread after the other, and closed when none is in it."""

    def __init__(self, items: Generator[WindowFrames, None, None]) -> None:
        self.items, self.lock = items, threading.Lock()

    def next(self) -> WindowFrames | None:
        with self.lock:
            return next(self.items, None)

    def close(self) -> None:
        with self.lock:
            self.items.close()
