"""The same predictions under every judge on record: what differs, and which videos and judgements are responsible.

A seat is a judge (or a protocol that asks one), a model, and the record that holds what it said. A record holds a judge
if it holds the calls that the judge would make here: nothing is sent, and nothing is taken for what it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fabula import metrics
from fabula.benchmarks import Protocol
from fabula.core.errors import FabulaError, InputError
from fabula.core.notes import Notes, Progress, silent
from fabula.data.result import Result
from fabula.diagnosis._rules import Apart, apart
from fabula.diagnosis.pairs import read_pairs
from fabula.diagnosis.protocols import applies, every_protocol
from fabula.diagnosis.voices import UNITS, Heard, Pair, Voice, hear
from fabula.evaluate import stories
from fabula.evaluate.inputs import Readable
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.request import Request, run_request
from fabula.evaluate.score import Cache
from fabula.evaluate.tasks import find_task
from fabula.llm.session import Session
from fabula.stats.bootstrap import Interval, bootstrap
from fabula.stats.choose import choose_difference
from fabula.stats.resampling import Resampling
from fabula.stats.sample import samples
from fabula.text.judges import room as judge_room
from fabula.text.judges.base import Judge
from fabula.text.judges.options import JudgeOptions, list_models

METRIC = {"dense": "SODA_c", "captions": "TextScore"}  # whose caption scorer a judge becomes
NAMED = 5  # judgements that differ most


@dataclass(frozen=True, slots=True)
class Seat:
    """One judge's numbers, or why there are none."""

    name: str
    record: Path
    model: str
    judge: str  # or the protocol that asks
    prompt: str
    result: Result | None
    refused: str = ""
    heard: Heard | None = None  # pair by pair, of a judge of captions

    @property
    def facts(self) -> dict[str, str]:
        """What may differ from seat to seat."""
        seat_facts = {"judge": self.judge, "prompt": self.prompt, "model": self.model, "record": self.record.name}
        if self.result is not None:
            signature = next(iter(self.result.scores.values())).signature
            signed = dict(part.partition(":")[::2] for part in signature.split("|")[1:])
            seat_facts |= {k: signed[k] for k in ("unparsed", "failed") if k in signed}
        return seat_facts


@dataclass(frozen=True, slots=True)
class Disputed:
    """A judgement that two seats give otherwise."""

    pair: Pair
    here: float
    there: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A seat beside the first."""

    here: Seat
    there: Seat
    metric: str
    value: float
    base: float
    interval: Interval | None  # of value − base, by drawing videos or items for both at once
    ci_method: str
    reason: str  # why the interval is a bounded one, or none
    facts: dict[str, tuple[str, str]]  # what differs: here, there
    most: tuple[Apart, ...]  # the videos or items, most different first
    judgements: int  # that both gave and that could be read
    differing: int
    disputed: tuple[Disputed, ...]  # most different first


@dataclass(frozen=True, slots=True)
class Panel:
    """All seats, the first of them the one that others are set beside."""

    task: str
    seats: tuple[Seat, ...]
    pairs: tuple[Pair, ...]
    how: Resampling
    warnings: tuple[str, ...] = ()

    def differences(self) -> Iterator[Difference]:
        scored = [seat for seat in self.seats if seat.result is not None]
        for seat in scored[1:]:
            yield differ(seat, scored[0], self.pairs, self.how)


def differ(here: Seat, there: Seat, pairs: Sequence[Pair], how: Resampling) -> Difference:
    assert here.result is not None and there.result is not None
    (label, score), (other, base) = (next(iter(seat.result.scores.items())) for seat in (here, there) if seat.result)
    ours = here.result.metrics[label], here.result.rows[label]
    theirs = there.result.metrics[other], there.result.rows[other]
    sampled = samples([(ours[1], ours[0]), (theirs[1], theirs[0])])
    theta = bootstrap(sampled, how.resamples, how.seed)
    chosen = choose_difference(sampled[1], sampled[0], theta[0] - theta[1], how)
    facts = {
        k: (here.facts.get(k, ""), there.facts.get(k, ""))
        for k in dict.fromkeys([*here.facts, *there.facts])
        if here.facts.get(k, "") != there.facts.get(k, "")
    }
    both, disputed = dispute(here, there, pairs)
    return Difference(
        here,
        there,
        label,
        score.value,
        base.value,
        chosen.interval,
        chosen.method,
        chosen.reason.format(units=UNITS) + (": a bounded interval" if chosen.method and chosen.reason else ""),
        facts,
        tuple(apart(ours, theirs, ours[0].primary)),
        both,
        len(disputed),
        tuple(disputed[:NAMED]),
    )


def dispute(here: Seat, there: Seat, pairs: Sequence[Pair]) -> tuple[int, list[Disputed]]:
    """How many judgements both gave, and those in which they differ."""
    if here.heard is None or there.heard is None:
        return 0, []
    x, y = here.heard.values, there.heard.values
    both = np.isfinite(x) & np.isfinite(y)
    gap = np.where(both, np.abs(x - y), 0.0)
    order = [k for k in np.argsort(-gap, kind="stable").tolist() if gap[k] > 1e-9]
    return int(both.sum()), [Disputed(pairs[k], float(x[k]), float(y[k])) for k in order]


def panel(
    predictions: Readable,
    refs: Sequence[Readable],
    records: Sequence[Path],
    task: str | None = None,
    options: ScoreOptions | None = None,
    progress: Progress = silent,
) -> Panel:
    """Every judge of every record, and every protocol that asks one, as far as the records hold what they need."""
    options, notes = options or ScoreOptions(), Notes()
    if task is None:
        read = stories.read_side(predictions, notes, options.format, "predictions")
        task = "dense" if read.captioned else "procedure"
    request = Request(predictions=predictions, refs=refs, options=options, progress=progress)
    pairs, remarks = read_pairs(predictions, refs, options) if find_task(task).name in METRIC else ([], [])
    distinct = tuple(dict.fromkeys(pairs))
    seats: list[Seat] = []
    for record in records:
        for model in list_models(record):
            seats += hold_seats(request, find_task(task).name, distinct, record, model, notes)
    if not any(seat.result for seat in seats):
        reasons = "; ".join(seat.refused for seat in seats) or "was it made with these files?"
        raise InputError("no record holds what a judge would be asked here", file=records[0], hint=reasons)
    return Panel(
        task, tuple(seats), distinct, Resampling(resamples=2000, method="percentile"), (*remarks, *notes.lines())
    )


def hold_seats(
    request: Request, task: str, pairs: Sequence[Pair], record: Path, model: str, notes: Notes
) -> Iterator[Seat]:
    """The seats that one model of one record takes."""
    endpoint = JudgeOptions(judge_replay=record, judge_model=model).endpoint()
    with Session(endpoint) as session:
        request = replace(request, judge=session)
        for judge in every_judge(notes) if pairs else ():
            heard = hear(session, Voice(judge.name, "judge", judge, model), pairs)
            if heard.missing < len(pairs):
                yield score_judge(request, task, judge, Seat("", record, model, judge.name, judge.prompt, None), heard)
        for protocol in every_protocol(notes):
            if applies(protocol, task) and any(metric.uses_llm for metric in protocol.metrics):
                seat = score_protocol(request, session, task, protocol, record, model)
                if seat is not None:
                    yield seat


def every_judge(notes: Notes) -> Iterator[Judge]:
    """Ours and those of other packages; of those whose prompt cannot be had here, a line."""
    every = [*judge_room.all(), *(judge for _, judge in judge_room.others(notes.add))]
    for judge in every:
        try:
            _ = judge.prompt
        except FabulaError as error:
            notes.add(f"{judge}: {error}")
            continue
        yield judge


def score_judge(request: Request, task: str, judge: Judge, seat: Seat, heard: Heard) -> Seat:
    name = f"judge:{judge.name}@{seat.model} ({seat.record.name})"
    metric = metrics.metric(METRIC[task]).with_params({"text": f"judge:{judge.name}@{seat.model}"})
    try:
        result = run_request(replace(request, metrics=[metric], cache=Cache()), task)
    except FabulaError as error:
        return replace(seat, name=name, refused=str(error), heard=heard)
    return replace(seat, name=name, result=result, heard=heard)


def score_protocol(
    request: Request, session: Session, task: str, protocol: Protocol, record: Path, model: str
) -> Seat | None:
    """None where the record holds nothing of it."""
    asking_ones = [metric for metric in protocol.metrics if metric.uses_llm]
    own = replace(request, protocol=protocol, metrics=asking_ones, cache=Cache())
    seat = Seat(f"{protocol.name}@{model} ({record.name})", record, model, protocol.name, "", None)
    with session.count() as spent:
        try:
            return replace(seat, result=run_request(own, task))
        except FabulaError as error:
            return replace(seat, refused=str(error)) if spent.texts else None
