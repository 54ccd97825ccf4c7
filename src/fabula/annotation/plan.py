"""Estimates calls, tokens, cost and time of a run, and summarises the progress of a store.

Tokens of a step are those of its prompt with the caption filled in, as `llm/call.py` counts them (on the long side),
and answers of the length that such answers have. How many keyframes a moment has is known only when its video has been
looked at: until then it is between one and the cap, and the plan says both ends; `probe` looks at some of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fabula.annotation.keyframes import FrameSampler
from fabula.annotation.moments import Moment
from fabula.annotation.prompts import VARIABLES
from fabula.annotation.recipe import ROLES, Recipe
from fabula.annotation.store import Store
from fabula.core.errors import InputError
from fabula.documents.fields import JsonDict
from fabula.llm import EndpointOptions
from fabula.llm.call import PICTURE, count_tokens
from fabula.llm.prices import Prices

# Tokens of an answer, and of what earlier answers put into a prompt, of this step.
WRITES = {
    "static_frame": 110,
    "static_fuse": 130,
    "dynamic_questions": 80,
    "dynamic_answers": 220,
    "dynamic_fuse": 90,
    "rewrite": 60,
    "disturb_static": 60,
    "disturb_dynamic": 60,
    "judge": 30,
}
SECONDS = 2.0  # that a call takes, where no run has shown it


@dataclass(slots=True)
class StepPlan:
    """One step of all moments."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


@dataclass(slots=True)
class Plan:
    """The cost of a run; `least`: one keyframe per moment, `most`: the maximum for every moment."""

    moments: int = 0
    answered: int = 0  # calls in the store
    frames: float = 0.0  # keyframes of a moment that `steps` reckons with
    probed: int = 0  # moments whose keyframes were counted
    priced: bool = False
    steps: dict[str, StepPlan] = field(default_factory=dict)
    least: StepPlan = field(default_factory=StepPlan)
    most: StepPlan = field(default_factory=StepPlan)
    seconds: float = 0.0  # at the set limits

    @property
    def total(self) -> StepPlan:
        return add(*self.steps.values())

    def to_dict(self) -> JsonDict:
        def as_dict(s: StepPlan) -> JsonDict:
            return {"calls": s.calls, "tokens_in": s.tokens_in, "tokens_out": s.tokens_out, "cost": s.cost}

        return {
            "moments": self.moments,
            "answered": self.answered,
            "keyframes": self.frames,
            "probed": self.probed,
            "priced": self.priced,
            "seconds": self.seconds,
            "total": as_dict(self.total),
            "least": as_dict(self.least),
            "most": as_dict(self.most),
            "steps": {name: as_dict(step) for name, step in self.steps.items()},
        }


def add(*parts: StepPlan) -> StepPlan:
    return StepPlan(*(sum(getattr(s, name) for s in parts) for name in ("calls", "tokens_in", "tokens_out", "cost")))


def plan(
    moments: Iterable[Moment],
    recipe: Recipe,
    endpoint: EndpointOptions,
    store: Store | None = None,
    sampler: FrameSampler | None = None,
    probe: int = 0,
) -> Plan:
    """Counted over the moments as they pass; none is kept but those that are looked at, evenly chosen."""
    count = words = 0
    looked: list[Moment] = []
    for m in moments:
        count += 1
        words += count_tokens(m.caption)
        keep_evenly(looked, m, count, probe)
    cap = 1 if recipe.options.blind else recipe.options.keyframes
    counts = count_keyframes(looked[:probe], recipe, sampler) if probe and sampler and not recipe.options.blind else []
    frames = sum(counts) / len(counts) if counts else (1 + cap) / 2
    prices = Prices.parse(endpoint.price)

    def of_step(name: str, keyframes: float) -> StepPlan:
        return plan_step(name, recipe, prices, (count, words, keyframes))

    out = Plan(moments=count, frames=frames, probed=len(counts))
    out.priced = all(map(prices.known, recipe.models.values()))
    out.steps = {name: of_step(name, frames) for name in recipe.steps}
    out.least = add(*(of_step(name, 1) for name in recipe.steps))
    out.most = add(*(of_step(name, cap) for name in recipe.steps))
    out.answered = int(store.rows("SELECT count(*) FROM answers")[0][0]) if store else 0
    taken = store.rows("SELECT avg(seconds) FROM answers")[0][0] if store and out.answered else SECONDS
    total = out.total
    waits = [total.calls * taken / endpoint.concurrency]
    waits += [total.calls * 60 / endpoint.rpm] if endpoint.rpm else []
    waits += [(total.tokens_in + total.tokens_out) * 60 / endpoint.tpm] if endpoint.tpm else []
    out.seconds = max(waits)
    return out


def keep_evenly(sample: list[Moment], one: Moment, count: int, wanted: int) -> None:
    """Every 2ᵏ-th moment, k growing so that between `wanted` and twice as many are held."""
    if not wanted:
        return
    step = 1
    while count > 2 * wanted * step:
        step *= 2
    if (count - 1) % step == 0:
        if len(sample) >= 2 * wanted:
            del sample[1::2]
        sample.append(one)


def count_keyframes(moments: Iterable[Moment], recipe: Recipe, sampler: FrameSampler) -> list[int]:
    counts = []
    for m in moments:
        try:
            counts.append(len(sampler.sample(m, recipe.options.keyframes, 1)["keys"]))
        except InputError:
            continue  # the run will say what is wrong with it
    return counts


def plan_step(name: str, recipe: Recipe, prices: Prices, size: tuple[int, int, float]) -> StepPlan:
    """`size`: moments, tokens of their captions, keyframes of each."""
    moments, words, frames = size
    calls = round(moments * frames) if name == "static_frame" else moments
    blank = count_tokens(recipe.prompts[name].fill(**dict.fromkeys(VARIABLES[name], "")))
    carried = {
        "static_fuse": WRITES["static_frame"] * frames,
        "dynamic_answers": WRITES["dynamic_questions"],
        "dynamic_fuse": WRITES["dynamic_questions"] + WRITES["dynamic_answers"],
        "judge": WRITES["static_fuse"] + WRITES["dynamic_fuse"],
    }.get(name, 0)
    shown = {"image": 1, "text": 0}.get(ROLES[name], recipe.options.video_frames)
    pictures = 0 if recipe.options.blind else shown * PICTURE
    tokens_in = round(calls * (blank + carried + pictures) + words * calls / max(moments, 1))
    tokens_out = calls * min(WRITES[name], recipe.options.max_tokens)
    return StepPlan(calls, tokens_in, tokens_out, prices.cost(recipe.models[ROLES[name]], tokens_in, tokens_out))


# ── how far ────────────────────────────────────────────────────────────────────────────────────────────────────────


def summarise(store: Store, recipe: str | None = None) -> JsonDict:
    """What a store holds: moments by state, calls by step with their tokens and price, failures by kind."""
    known = store.recipes()
    chosen = store.find_recipe(recipe) if recipe or len(known) == 1 else None
    states = store.states(chosen) if chosen else {}
    moments = store.count_moments()
    contents = store.rows("SELECT count(DISTINCT key) FROM moments")[0][0]
    question = (
        "SELECT step, count(*), total(tokens_in), total(tokens_out), total(price), total(seconds), "
        "sum(tokens_in IS NULL OR tokens_out IS NULL) FROM answers GROUP BY step ORDER BY step"
    )
    names = ("calls", "tokens_in", "tokens_out", "cost", "seconds", "uncounted")
    steps = {row[0]: dict(zip(names, row[1:], strict=True)) for row in store.rows(question)}
    failures = {
        kind: {"tries": count, "cost": cost, "uncounted": uncounted}
        for kind, count, cost, uncounted in store.rows(
            "SELECT kind, count(*), total(price), sum(tokens_in IS NULL AND kind != 'context') FROM attempts "
            "GROUP BY kind ORDER BY kind"
        )
    }
    if other := [name for name in (*steps, *failures) if not isinstance(name, str)]:
        raise store.damaged(other[0], "a step of its answers")
    return {
        "moments": moments,
        "contents": contents,
        "recipes": list(known),
        "recipe": chosen,
        "states": {**states, "pending": contents - sum(states.values())} if chosen else {},
        "steps": steps,
        "failures": failures,
        "batches": len(store.batches()),
        "failed": list_failed(store, chosen) if chosen else [],
        "cost": sum(s["cost"] for s in steps.values()) + sum(f["cost"] for f in failures.values()),
        "uncounted": sum(s["uncounted"] for s in steps.values()) + sum(f["uncounted"] for f in failures.values()),
    }


def list_failed(store: Store, recipe: str, most: int = 20) -> list[JsonDict]:
    """Some moments that failed, and why."""
    question = (
        "SELECT m.id, json_extract(o.document, '$.kind'), json_extract(o.document, '$.message') FROM outcomes o "
        "JOIN moments m ON m.key = o.moment WHERE o.recipe = ? AND o.state = 'failed' ORDER BY m.row LIMIT ?"
    )
    return [{"id": id, "kind": kind, "message": message} for id, kind, message in store.rows(question, (recipe, most))]
