"""The steps from a moment's coarse caption to its fine one (VERIFIED, Chen et al., NeurIPS 2024, §3).

    statics     each keyframe: background, attributes, description  → fused into N_s ≥ 3 candidates
    dynamics    N_qa ≥ 5 questions from the caption alone → answers and a description D~ → N_d ≈ 3 candidates
    choice      c(V, q) of every candidate that may stand; the highest is the caption

Every step asks through `ask(step, call)`, which knows what was asked before, and is otherwise a function of what came
out of the steps before it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from fabula.annotation import parsers
from fabula.annotation.candidates import Candidate, Dropped, screen
from fabula.annotation.moments import Moment
from fabula.annotation.recipe import REWRITES, Recipe
from fabula.documents.fields import JsonDict
from fabula.llm import Call, CallError, EndpointError, Image

SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("original", "1", "2", "3")},
    "required": ["original", "1", "2", "3"],
    "additionalProperties": False,
}
DIGITS = 5  # of an evaluator's scores that are kept: the last ones are another processor's
LASTING = {"refused", "context", "length"}  # kinds of failure that another try does not mend
T = TypeVar("T")


class Ask(Protocol):
    """Returns the answer's text. CallError: there is none."""

    def __call__(self, step: str, call: Call) -> Awaitable[str]: ...


class Scorer(Protocol):
    """c(V, q) without a call: a noise evaluator that was trained (learn/noise/scorer.py)."""

    def score(self, moment: Moment, captions: Sequence[str]) -> list[float]:
        """Of each caption, in their order; InputError where the moment cannot be seen."""


@dataclass(frozen=True, slots=True)
class FrameSet:
    """The frames of a moment: one per shot, and evenly spaced ones."""

    keys: tuple[tuple[float, Image], ...] = ()
    even: tuple[tuple[float, Image], ...] = ()


@dataclass(slots=True)
class Trail:
    """The calls and audits that lead to an outcome."""

    moment: Moment
    recipe: Recipe
    ask: Ask
    calls: list[list[str]] = field(default_factory=list)  # [step, key]
    audits: list[JsonDict] = field(default_factory=list)
    lost: list[list[str]] = field(default_factory=list)  # [branch, why]
    failure: CallError | None = None  # of the first branch that was lost

    async def read(
        self, step: str, prompt: str, parse: Callable[[str], T], fine: Callable[[T], bool], images: Sequence[Image] = ()
    ) -> T:
        """Ask; if the answer cannot be parsed, ask again with the next seed."""
        tried = 0
        while True:
            schema = SCHEMA if step == "static_fuse" else None
            parameters = self.recipe.parameters(tried)
            call = Call(self.recipe.models[role(step)], prompt, tuple(images), "", parameters, schema)
            text = await self.ask(step, call)
            found = parse(text)
            self.calls.append([step, call.key])
            audit = found[1] if isinstance(found, tuple) else found.audit  # type: ignore[attr-defined]
            self.audits.append({"step": step, "call": call.key, **audit.to_dict()})
            tried += 1
            if fine(found) or tried >= self.recipe.options.tries:
                return found

    def prompt(self, step: str, **values: object) -> str:
        return self.recipe.prompts[step].fill(**values)


def role(step: str) -> str:
    from fabula.annotation.recipe import ROLES

    return ROLES[step]


async def annotate(
    moment: Moment, frame_set: FrameSet, recipe: Recipe, ask: Ask, scorer: Scorer | None = None
) -> tuple[str, JsonDict]:
    """The state and the outcome of a moment: done, or empty if every candidate is rejected.

    CallError where a call failed that may succeed another time, or where one failed and nothing came of the others.
    """
    trail = Trail(moment, recipe, ask)
    branches = await together(
        attempt_branch(trail, "static", enrich_statics(trail, frame_set)),
        attempt_branch(trail, "dynamic", enrich_dynamics(trail, frame_set)),
    )
    accepted, dropped = screen([pair for branch in branches for pair in branch], moment.caption)
    accepted = await (ask_judge(trail, frame_set, accepted) if scorer is None else evaluate(scorer, moment, accepted))
    chosen = choose(accepted)
    if chosen is None and trail.failure is not None:
        raise trail.failure
    rewrites = await ask_rewrites(trail) if recipe.options.rewrites else {}
    document = {
        "chosen": None if chosen is None else as_dict(chosen),
        "candidates": [as_dict(c) for c in accepted],
        "dropped": [as_dict(d) for d in dropped],
        "frames": {"keys": [t for t, _ in frame_set.keys], "even": [t for t, _ in frame_set.even]},
        "calls": sorted(trail.calls),
        "audits": sorted(trail.audits, key=lambda a: (a["step"], a["call"])),
        "lost": sorted(trail.lost),
        **({"rewrites": rewrites} if rewrites else {}),
    }
    return ("done" if chosen else "empty"), document


async def together(*awaitables: Awaitable[T]) -> list[T]:
    """All at once; where one fails the others are waited for, since their answers are paid for."""
    done = await asyncio.gather(*awaitables, return_exceptions=True)
    for result in done:
        if isinstance(result, BaseException):
            raise result
    return [result for result in done if not isinstance(result, BaseException)]


async def attempt_branch(trail: Trail, branch: str, work: Awaitable[Sequence[str]]) -> list[tuple[str, str]]:
    """The candidates of a branch; none where a call of it can never succeed."""
    try:
        return [(text, branch) for text in await work]
    except EndpointError:
        raise
    except CallError as error:
        if error.kind not in LASTING:
            raise
        trail.lost.append([branch, f"{error.kind}: {error}"])
        trail.failure = trail.failure or error
        return []


async def enrich_statics(trail: Trail, frame_set: FrameSet) -> Sequence[str]:
    query = trail.moment.caption
    prompt = trail.prompt("static_frame", query=query)

    async def look(images: Sequence[Image]) -> parsers.FrameRead:
        return await trail.read(
            "static_frame",
            prompt,
            lambda text: parsers.parse_frame(text, query),
            lambda found: bool(found.background or found.objects),
            images,
        )

    looks: list[Sequence[Image]] = [[image] for _, image in frame_set.keys] or [[]]
    frames = await together(*(look(images) for images in looks))
    descriptions = "\n\n".join(
        f"Frame {i}\nBackground: {f.background}\nObjects Attributes: {f.objects}\nDescription: {f.description}"
        for i, f in enumerate(frames, 1)
    )
    fuse = trail.prompt(
        "static_fuse", original_description=query, keyframe_number=len(frames), attribute_content=descriptions
    )
    found = await trail.read("static_fuse", fuse, parsers.parse_variants, lambda items: bool(items.texts))
    return found.texts


async def enrich_dynamics(trail: Trail, frame_set: FrameSet) -> Sequence[str]:
    m = trail.moment
    ask = trail.prompt("dynamic_questions", original_description=m.caption)
    questions = (await read_items(trail, "dynamic_questions", ask)).texts[:5]
    numbered = "\n".join(f"{i}. {q}" for i, q in enumerate(questions, 1))
    images = [image for _, image in frame_set.even]
    show = trail.prompt(
        "dynamic_answers",
        duration=f"{m.end - m.start:g}",
        frame_number=len(images),
        description=m.caption,
        questions=numbered or "(none)",
    )
    heard = await trail.read(
        "dynamic_answers",
        show,
        lambda text: parsers.parse_replies(text, len(questions)),
        lambda found: bool(found.description or any(found.replies)),
        images,
    )
    pairs = {f"q{i}": q for i, q in enumerate(questions, 1)} | {f"a{i}": a for i, a in enumerate(heard.replies, 1)}
    blanks = {f"{letter}{i}": "-" for letter in "qa" for i in range(1, 6)}
    fuse = trail.prompt(
        "dynamic_fuse",
        original=m.caption,
        st=f"{m.start:g}",
        ed=f"{m.end:g}",
        dynamic_description=heard.description,
        **{**blanks, **{name: text or "-" for name, text in pairs.items()}},
    )
    return (await read_items(trail, "dynamic_fuse", fuse)).texts


async def read_items(trail: Trail, step: str, prompt: str) -> parsers.Items:
    expected = parsers.EXPECTED[step]
    return await trail.read(
        step, prompt, lambda text: parsers.parse_list(text, expected), lambda items: bool(items.texts)
    )


async def evaluate(scorer: Scorer, moment: Moment, candidates: list[Candidate]) -> list[Candidate]:
    """c(V, q): what the noise evaluator says."""
    if not candidates:
        return candidates
    scores = await asyncio.to_thread(scorer.score, moment, [c.text for c in candidates])
    return [replace(c, score=round(score, DIGITS)) for c, score in zip(candidates, scores, strict=True)]


async def ask_judge(trail: Trail, frame_set: FrameSet, candidates: list[Candidate]) -> list[Candidate]:
    """c(V, q): the judge's mark out of 100; none where nobody judges."""
    if trail.recipe.options.scorer != "judge" or not candidates:
        return candidates
    images = [image for _, image in frame_set.even]
    numbered = "\n".join(f"{i}. {c.text}" for i, c in enumerate(candidates, 1))
    prompt = trail.prompt("judge", frame_number=len(images), caption_number=len(candidates), captions=numbered)
    try:
        marks, _ = await trail.read(
            "judge",
            prompt,
            lambda text: parsers.parse_marks(text, len(candidates)),
            lambda found: all(mark is not None for mark in found[0]),
            images,
        )
    except EndpointError:
        raise
    except CallError as error:
        if error.kind not in LASTING:
            raise
        trail.lost.append(["judge", f"{error.kind}: {error}"])
        return candidates
    return [replace(c, score=mark) for c, mark in zip(candidates, marks, strict=True)]


def choose(candidates: Sequence[Candidate]) -> Candidate | None:
    """The highest score; the first of equals, and of those without one."""
    return max(candidates, key=lambda c: -math.inf if c.score is None else c.score, default=None)


async def ask_rewrites(trail: Trail) -> JsonDict:
    """q⁺, q^{s−} and q^{d−} of the coarse caption, screened."""
    original = trail.moment.caption
    found = await together(*(read_items(trail, step, trail.prompt(step, original=original)) for step in REWRITES))
    positives, dropped = screen([(text, REWRITES[0]) for text in found[0].texts], original)
    out: JsonDict = {REWRITES[0]: [c.text for c in positives]}
    for step, items in zip(REWRITES[1:], found[1:], strict=True):
        accepted, more = screen([(text, step) for text in items.texts], original, [c.text for c in positives])
        out[step] = [c.text for c in accepted]
        dropped += more
    return out | {"dropped": [as_dict(d) for d in dropped]}


def as_dict(one: Candidate | Dropped) -> JsonDict:
    names = ("text", "branch", "score") if isinstance(one, Candidate) else ("text", "branch", "why")
    return {name: getattr(one, name) for name in names}
