"""Is a judge to be relied on? The same pairs asked again, in another order, in other words, of another judge.

again      the same question once more (with the parameter seed, so that it is another call)
order      the candidate shown before the reference, where the judge says how
wording    the same instruction in other words, where the judge has some
exchanged  prediction and reference in each other's place: 0 shift of a symmetric judge
blanks     both texts with double blanks and a line break at the end
case       both in lower case, without a last full stop
judge      another judge or model
record     the same questions as another record answers them

Pairs are asked one by one and nothing is kept between them: the order in which pairs are asked cannot matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import Options, option
from fabula.core.registry import close_to
from fabula.diagnosis.voices import Beside, Change, Heard, Pair, Voice, check_read, hear, set_beside, tell_estimates
from fabula.llm.prices import Prices
from fabula.llm.record import Record
from fabula.llm.session import Session, asking
from fabula.stats.resampling import Resampling
from fabula.text.judges import judge as find_judge
from fabula.text.judges.fake import reply
from fabula.text.judges.installed import reading_from
from fabula.text.judges.options import JudgeOptions, find_model
from fabula.text.judges.scorer import session_of

MOST = 200  # pairs by default


def exchange(prediction: str, reference: str) -> tuple[str, str]:
    return reference, prediction


def widen(prediction: str, reference: str) -> tuple[str, str]:
    wide = ["  ".join(text.split(" ")) + "\n" for text in (prediction, reference)]
    return wide[0], wide[1]


def lower(prediction: str, reference: str) -> tuple[str, str]:
    low = [text.lower().rstrip(" .") for text in (prediction, reference)]
    return low[0], low[1]


CHANGES: Mapping[str, Change] = {"exchanged": exchange, "blanks": widen, "case": lower}
WAYS = ("again", "order", "wording", *CHANGES)


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Options):
    """Which judge is looked at, and beside what."""

    judge: str = option("fabula", "The judge: NAME, or NAME@MODEL (fabula list judges).", "-j", shows_default=True)
    against: tuple[str, ...] = option(
        (), "Other judges to compare with: NAME, or NAME@MODEL, comma separated.", parts=True
    )
    records: tuple[Path, ...] = option((), "More records of the same questions.", several=True)
    ways: tuple[str, ...] = option(
        (), f"Variations, comma separated: {', '.join(WAYS)}, none. Default: all.", "-w", parts=True
    )
    again: int = option(1, "Number of repeated judgements of each pair.", at_least=0, at_most=100, shows_default=True)
    most: int = option(MOST, "Maximum number of pairs; more are sampled.", at_least=1, shows_default=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", tuple(Path(r) for r in self.records))
        for way in self.ways:
            if way not in (*WAYS, "none"):
                raise SpecError(f"no way to vary a question is called {way!r}; {close_to(way, [*WAYS, 'none'])}")

    @property
    def varied(self) -> tuple[str, ...]:
        return () if "none" in self.ways else self.ways or WAYS


@dataclass(frozen=True, slots=True)
class Checked:
    """The judge as it is, compared with every other voice."""

    judge: str
    model: str
    prompt: str
    pairs: int
    of: int  # pairs that there were
    ids: int
    base: Heard
    beside: tuple[Beside, ...]
    how: Resampling
    calls: int
    asked: int
    record: str  # hash of all that was answered
    warnings: tuple[str, ...] = ()

    @property
    def read(self) -> int:
        """Pairs whose judgement could be read."""
        return self.base.asked - self.base.unread - self.base.missing


def name_voice(name: str, kind: str) -> Voice:
    """A voice from NAME or NAME@MODEL."""
    head, _, model = name.removeprefix("judge:").partition("@")
    return Voice(name, kind, find_judge(head), model)


def list_voices(base: Voice, options: CheckOptions) -> tuple[list[Voice], list[str]]:
    """The voices to set beside the judge's own, and what cannot be varied."""
    voices, notes = list[Voice](), list[str]()
    for way in options.varied:
        if way == "again":
            voices += [replace(base, name=f"again {n}", kind=way, again=n) for n in range(1, options.again + 1)]
        elif way in CHANGES:
            voices.append(replace(base, name=way, kind=way, change=CHANGES[way]))
        elif way in base.judge.variants:
            voices.append(replace(base, name=way, kind=way, judge=base.judge.varied(way)))
        else:
            notes.append(f"the judge {base.judge.name} has no other {way}; that is not varied")
    return [*voices, *(name_voice(other, "judge") for other in options.against)], notes


def draw_pairs(pairs: Sequence[Pair], most: int, seed: int) -> list[Pair]:
    """At most `most` distinct pairs, in their order."""
    distinct = list(dict.fromkeys(pairs))
    if not distinct:
        raise InputError("there are no pairs to judge", hint="pairs of stories are those that overlap in time")
    if len(distinct) <= most:
        return distinct
    return [distinct[k] for k in sorted(np.random.default_rng(seed).permutation(len(distinct))[:most].tolist())]


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """What a check would ask, before anything is spent. Tokens are counted on the long side."""

    pairs: int
    judgements: int
    calls: int  # the same question is asked once
    recorded: int  # of these, on record
    tokens_in: int
    tokens_out: int  # at the most
    cost: float | None  # None where no price is known


def plan_check(
    pairs: Sequence[Pair], options: CheckOptions, ask: JudgeOptions, how: Resampling, price: Sequence[str] = ()
) -> CheckPlan:
    """Count the calls of `check_judge` without sending them."""
    drawn = draw_pairs(pairs, options.most, how.seed)
    base, prices = name_voice(options.judge, "base"), Prices.parse(price)
    with reading_from(ask.judge_prompts):
        session = Session(ask.endpoint(), reply=reply)
        all_calls = [
            call
            for voice in (base, *list_voices(base, options)[0])
            for call in voice.calls(session, [pair for pair in drawn if voice.changes(pair)])
        ]
    calls = {call.key: call for call in all_calls}
    record_path = ask.judge_record
    recorded = set[str]()
    if record_path is not None and record_path.exists():
        with Record(record_path) as record:
            recorded = calls.keys() & record.places.keys()
    left = [call for key, call in calls.items() if key not in recorded]
    costs = [prices.cost(c.model, c.tokens, c.longest) for c in left if prices.known(c.model)]
    return CheckPlan(
        len(drawn),
        len(all_calls),
        len(calls),
        len(recorded),
        sum(call.tokens for call in left),
        sum(call.longest for call in left),
        sum(costs) if price and len(costs) == len(left) else None,
    )


def check_judge(
    pairs: Sequence[Pair],
    options: CheckOptions,
    ask: JudgeOptions,
    how: Resampling,
    progress: Progress = silent,
) -> Checked:
    """Ask every voice about the same pairs."""
    drawn = draw_pairs(pairs, options.most, how.seed)
    base = name_voice(options.judge, "base")
    voices, notes = list_voices(base, options)
    with ExitStack() as stack:
        session = stack.enter_context(session_of(ask))
        spent = stack.enter_context(session.count())
        heard, total = list[Heard](), 1 + len(voices)
        for k, voice in enumerate([base, *voices]):
            progress("judge", k, total)
            heard.append(hear(session, voice, drawn))
            check_read(heard[0])
        model = base.model or session.options.model
        progress("judge", total, total)
    if heard[0].missing == len(drawn):
        raise InputError(
            "the record holds none of these judgements",
            file=ask.judge_replay,
            hint="was it made with this judge, this model and these pairs?",
        )
    others = [*heard[1:], *(hear_record(path, replace(base, model=model), drawn) for path in options.records)]
    beside, found = list[Beside](), heard[0]
    for other in others:
        if not other.asked:
            notes.append(f"{other.voice.name}: changes none of these texts")
        elif other.missing == other.asked:
            notes.append(f"{other.voice.name}: not on record")
        else:
            beside.append(set_beside(found, other, drawn, how))
    notes += tell_estimates(
        (f"{b.name} {what}", e)
        for b in beside
        for what, e in (("equal", b.equal), ("shift", b.shift), ("|shift|", b.gap), ("alpha", b.alpha))
    )
    return Checked(
        options.judge,
        model,
        base.judge.prompt,
        len(drawn),
        len(set(pairs)),
        len({pair.id for pair in drawn}),
        found,
        tuple(beside),
        how,
        spent.calls,
        spent.distinct - spent.failed,
        spent.digest,
        tuple(notes),
    )


def hear_record(path: Path, base: Voice, pairs: Sequence[Pair]) -> Heard:
    """The same judge as another record has it, by its own model where it has one alone."""
    ask = JudgeOptions(judge_replay=path, judge_model=base.model)
    voice = replace(base, name=path.name, kind="record")
    with asking(ask.endpoint(), reply=reply) as session:
        found = hear(session, voice, pairs)
        if found.missing < len(pairs):
            return found
    model = find_model(path)
    with asking(replace(ask, judge_model=model).endpoint(), reply=reply) as session:
        return hear(session, replace(voice, name=f"{path.name} ({model})", model=model), pairs)
