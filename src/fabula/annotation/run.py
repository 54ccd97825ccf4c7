"""Annotates many moments at once: resumable, under a budget, each answer stored as it arrives.

A call is looked up in the store first; one that two moments need at the same time is made once. A call that fails for
good fails its moment, and the others go on. Where nothing can succeed (no money, no key, an endpoint that is gone) no
new call begins, those under way are waited for, since they are paid for, and the run ends with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from fabula.annotation import fake
from fabula.annotation.keyframes import Frames, FrameSampler
from fabula.annotation.moments import Moment
from fabula.annotation.recipe import Recipe
from fabula.annotation.steps import FrameSet, Scorer, annotate
from fabula.annotation.store import Store
from fabula.core.errors import FabulaError, InputError
from fabula.core.notes import Progress, silent
from fabula.documents.fields import JsonDict
from fabula.llm import Answer, Call, CallError, EndpointError, EndpointOptions, Image
from fabula.llm.answer import Attempt
from fabula.llm.ask import open_client, work_through
from fabula.llm.batch import WAIT, Batcher
from fabula.llm.client import Client, HttpClient
from fabula.llm.fake import Reply
from fabula.llm.prices import Prices

HOPELESS = 20  # calls in a row that failed for want of an answer, before the endpoint is given up
DECODERS = 2  # moments whose video is decoded at once
UNBOUNDED = 4096  # tokens of an answer that nothing bounds, for the budget


class Stopped(Exception):  # noqa: N818  (never leaves this file)
    """No new call begins."""


@dataclass(frozen=True, slots=True)
class Batching:
    """Settings of batches: moments at once, seconds between polls."""

    moments: int = 500
    pause: float = 30.0
    longest: float = WAIT  # seconds that a batch is waited for


@dataclass
class Work:
    """One run over a store."""

    store: Store
    recipe: Recipe
    endpoint: EndpointOptions
    sampler: FrameSampler | None = None  # None: no frames are shown
    budget: float | None = None
    known: Store | None = None  # another store that is asked for answers, and not written
    scorer: Scorer | None = None  # chooses in the judge's place
    batch: Batching | None = None  # through the endpoint's batch interface
    reply: Reply = fake.reply  # of the fake endpoint
    progress: Progress = silent

    # what comes of it
    stopped: str | None = None  # why no new call begins
    fault: FabulaError | None = None
    answered: int = 0  # calls answered in this run
    failed: int = 0  # moments
    reserved: float = 0.0  # money that calls under way may cost
    spent: float = 0.0
    in_a_row: int = 0
    threads: int = 0  # at work beside the loop
    under_way: dict[str, asyncio.Future[str]] = field(default_factory=dict)
    steps: dict[str, tuple[str, str]] = field(default_factory=dict)  # key → step, model, of calls under way
    client: Client = field(init=False)
    decoding: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.prices = Prices.parse(self.endpoint.price)
        self.hash = self.recipe.hash
        self.spent = self.store.spent()
        if self.budget is not None and not all(map(self.prices.known, self.recipe.models.values())):
            raise InputError("a budget without prices", hint="say what a million tokens cost: --price IN/OUT")

    def run(self, moments: Iterable[Moment] | None = None) -> None:
        """Annotate these moments, or all pending ones."""
        self.store.put_recipe(self.hash, self.recipe.to_dict())
        asyncio.run(self.work(self.store.moments(self.hash) if moments is None else moments))
        if self.fault is not None:
            raise self.fault

    async def work(self, moments: Iterable[Moment]) -> None:
        self.decoding = asyncio.Semaphore(DECODERS)
        total = self.store.count_moments()
        done = total - self.store.count_moments(self.hash)
        width = self.batch.moments if self.batch else self.endpoint.concurrency
        async with open_client(self.endpoint, self.note, self.reply, self.batches()) as self.client:

            async def one(moment: Moment) -> None:
                nonlocal done
                if self.stopped is None:
                    await self.settle(moment)
                    done += 1
                    self.progress("moments", min(done, total), total)

            await work_through(moments, one, width)

    def batches(self) -> Callable[[HttpClient], Batcher] | None:
        if self.batch is None:
            if left := len(self.store.batches()):
                raise InputError(
                    f"{left} batches were sent from this store and not fetched",
                    file=self.store.path,
                    hint="continue with --batch, or discard them with --forget-batches",
                )
            return None
        how = self.batch
        return lambda client: Batcher(client, self.store, lambda: self.threads > 0, how.pause, how.longest)

    # one moment

    async def settle(self, moment: Moment) -> None:
        """Annotate a moment and store its outcome, unless the run stops."""
        try:
            state, document = await self.attempt(moment)
        except Stopped:
            return
        except EndpointError as error:
            self.stop(str(error), error)
            return
        except (CallError, InputError) as error:
            kind = error.kind if isinstance(error, CallError) else "video"
            state, document = "failed", {"kind": kind, "message": str(error)}
            self.failed += 1
        self.store.put_outcome(moment.key, self.hash, state, document)

    async def attempt(self, moment: Moment) -> tuple[str, JsonDict]:
        frames = Pictures(self, moment)
        while True:
            frame_set = await frames.frame_set()
            try:
                ask = partial(self.ask, frames=frames)
                return await annotate(moment, frame_set, self.recipe, ask, self.scorer)
            except StaleError:
                continue  # the pictures are other bytes than they were: asked anew with these

    # one call

    async def ask(self, step: str, call: Call, frames: Pictures) -> str:
        stored = self.store.get(call.key) or (self.known.get(call.key) if self.known else None)
        if stored is not None:
            return stored.text
        if call.key in self.under_way:
            return await asyncio.shield(self.under_way[call.key])
        call = await frames.load(call)
        if call.key in self.under_way:  # somebody was quicker
            return await asyncio.shield(self.under_way[call.key])
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.under_way[call.key] = future
        try:
            answer = await self.pay(step, call)
            future.set_result(answer.text)
            return answer.text
        except BaseException as error:
            future.set_exception(error if isinstance(error, FabulaError | Stopped) else Stopped())
            future.exception()  # seen, also where nobody waits for it
            raise
        finally:
            del self.under_way[call.key]

    async def pay(self, step: str, call: Call) -> Answer:
        """A new answer, with its cost."""
        if self.stopped is not None:
            raise Stopped
        worst = self.prices.cost(call.model, call.tokens, call.longest or UNBOUNDED)
        if self.budget is not None and self.spent + self.reserved + worst > self.budget:
            self.stop(f"the budget of {self.budget:g} does not reach further ({self.spent:.4f} spent)")
            raise Stopped
        self.reserved += worst
        self.steps[call.key] = (step, call.model)
        try:
            answer = await self.client.ask(call)
        except CallError as error:
            self.in_a_row += error.kind in ("connection", "timeout", "server", "busy")
            if self.in_a_row >= HOPELESS and not isinstance(error, EndpointError):
                raise EndpointError(f"{self.in_a_row} calls in a row got no answer: {error}", error.kind) from None
            raise
        finally:
            self.reserved -= worst
            del self.steps[call.key]
        price = self.prices.cost(call.model, answer.tokens_in, answer.tokens_out)
        self.store.put(call, answer, step, price)
        self.spent += price
        self.answered += 1
        self.in_a_row = 0
        return answer

    def note(self, attempt: Attempt) -> None:
        """Log a failed attempt."""
        step, model = self.steps.get(attempt.key, ("", ""))
        price = self.prices.cost(model, attempt.tokens_in, attempt.tokens_out)
        self.spent += price
        self.store.note(attempt, step, model, price)

    def stop(self, why: str, fault: FabulaError | None = None) -> None:
        if self.stopped is None:
            self.stopped, self.fault = why, fault


class StaleError(Exception):
    """A frame has changed since its call was built."""


class Pictures:
    """The frames of a moment, decoded only when a call needs them."""

    def __init__(self, work: Work, moment: Moment) -> None:
        self.work, self.moment = work, moment
        self.data: dict[str, bytes] = {}
        o = work.recipe.options
        self.kinds = {"keys": f"keys/{o.keyframes}", "even": f"even/{o.video_frames}"}  # as the store has them
        self.lock = asyncio.Lock()

    async def frame_set(self) -> FrameSet:
        if self.work.sampler is None:
            return FrameSet()
        stored = self.work.store.get_frames(self.moment.key)
        if any(kind not in stored for kind in self.kinds.values()):
            await self.decode()
            stored = self.work.store.get_frames(self.moment.key)
        keys, even = (tuple((t, Image(d)) for t, d in stored[kind]) for kind in self.kinds.values())
        return FrameSet(keys, even)

    async def decode(self) -> None:
        sampler, o = self.work.sampler, self.work.recipe.options
        assert sampler is not None
        self.work.threads += 1  # also while it waits for its turn
        try:
            async with self.work.decoding:
                found: dict[str, Frames] = await asyncio.to_thread(
                    sampler.sample, self.moment, o.keyframes, o.video_frames
                )
        finally:
            self.work.threads -= 1
        images = {kind: [(t, Image.of(data)) for t, data in frames] for kind, frames in found.items()}
        self.data = {image.digest: image.data or b"" for frames in images.values() for _, image in frames}
        digests = {self.kinds[kind]: [(t, image.digest) for t, image in frames] for kind, frames in images.items()}
        self.work.store.put_frames(self.moment.key, digests)

    async def load(self, call: Call) -> Call:
        """The call with its pictures."""
        if not call.images:
            return call
        async with self.lock:
            if not self.data:
                await self.decode()
        if any(image.digest not in self.data for image in call.images):
            raise StaleError
        return call.load(self.data)
