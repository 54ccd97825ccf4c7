"""Which rule about answers can be gamed: right answers are spoiled in known ways, and scored as each metric would.

    r = ŝ/s      s: the right answers · ŝ: the same spoiled, mean over copies; both folded over all items

silent        half of the answers are empty                         an honest rule gives about ½
hopeless      half of the answers say that nothing can be told      ½
over-judged   the judge gives every judgement twice                 not above 1; 0 where the count is checked
dealt anew    options are shuffled, answers keep their letter       1 / number of options
reordered     options are shuffled, answers are their words         1: words have no place
bracket       every answer is "("                                   0

The judge is the one that counts words in common (address fake:), asked in our own words: rules are tried here, not
judges (`fabula judge stress` tries those). Intervals are percentiles over draws of items.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.core.registry import close_to
from fabula.core.rows import Rows
from fabula.data.questions import Response, letter
from fabula.diagnosis.stress import Cell, Stress, tell_cells
from fabula.llm.options import EndpointOptions
from fabula.llm.session import asking
from fabula.metrics.questions import QuestionMetric, Responses
from fabula.stats.choose import choose_percentile
from fabula.stats.resampling import Resampling
from fabula.text.judges.fake import reply

NOTHING = "Nothing can be told."
Chance = np.random.Generator
Way = Callable[[Sequence[Response], Chance], list[Response]]


def answer_rightly(metric: QuestionMetric, response: Response) -> Response:
    """With the answer that the metric should like best."""
    if metric.needs == "gold":
        return replace(response, answer=f"({letter(response.right or 0)})")
    if response.asked and metric.needs == "asked":
        return replace(
            response, answer=" ".join(f"{a.question.rstrip('?.')} {a.answer.rstrip('.')}." for a in response.asked)
        )
    return replace(response, answer=response.references[0])


def spoil_half(answer: str) -> Way:
    def spoil(responses: Sequence[Response], chance: Chance) -> list[Response]:
        hit = set(chance.permutation(len(responses))[: len(responses) // 2].tolist())
        return [replace(r, answer=answer) if k in hit else r for k, r in enumerate(responses)]

    return spoil


def deal(responses: Sequence[Response], chance: Chance) -> list[Response]:
    """Options in another order; the right one moves, the answer does not."""
    found = []
    for r in responses:
        order = chance.permutation(len(r.options)).tolist()
        at = order.index(r.right) if r.right in order else 0
        found.append(replace(r, options=tuple(r.options[k] for k in order), gold=letter(at)) if order else r)
    return found


def reorder(responses: Sequence[Response], chance: Chance) -> list[Response]:
    """Options in another order, and the words of the right one as the answer, without its letter."""
    return [
        replace(r, answer=r.options[r.right] if r.options and r.right is not None else r.answer)
        for r in deal(responses, chance)
    ]


WAYS: Mapping[str, tuple[str, Way]] = {  # what a metric must need for it, "" for all
    "silent": ("", spoil_half("")),
    "hopeless": ("", spoil_half(NOTHING)),
    "over-judged": ("references", lambda responses, chance: list(responses)),
    "dealt anew": ("gold", deal),
    "reordered": ("gold", reorder),
    "bracket": ("gold", lambda responses, chance: [replace(r, answer="(") for r in responses]),
}


def repeat(body: dict[str, Any]) -> str:
    """The judge's answer with every judgement twice."""
    answer = reply(body)
    found = json.loads(answer) if answer.startswith("{") else {}
    judged = found.get("events") or []
    return json.dumps({"events": judged * 2}) if judged and isinstance(judged[0], dict) else answer


def stress_answers(
    wanted: Sequence[QuestionMetric],
    responses: Sequence[Response],
    *,
    changes: Sequence[str] | None = None,
    copies: int = 3,
    how: Resampling,
    progress: Progress = silent,
) -> Stress:
    """Every way of spoiling, under every metric."""
    for way in changes or ():
        if way not in WAYS:
            raise SpecError(f"no perturbation of answers is called {way!r}; {close_to(way, list(WAYS))}")
    names = list(changes or WAYS)
    cells: dict[str, dict[str, Cell | None]] = {}
    for k, metric in enumerate(wanted):
        progress("stress", k, len(wanted))
        own = replace(metric, judge="fabula") if metric.uses_llm else metric  # type: ignore[call-arg]
        answered = [answer_rightly(own, r) for r in responses if own.can_read(replace(r, answer="-"))]
        if not answered:
            raise InputError(f"{metric.name} finds nothing in this file that an answer could be held against")
        base = score(own, answered)
        cells[str(metric)] = {
            way: spoil(own, answered, base, (way, copies), how) if WAYS[way][0] in ("", own.needs) else None
            for way in names
        }
    progress("stress", len(wanted), len(wanted))
    signatures = {str(m): m.signature({"items": len(responses)}) for m in wanted}
    return Stress(cells, signatures, len(responses), copies, how.seed, how, tell_cells(cells, "items"))


def score(metric: QuestionMetric, responses: Sequence[Response], twice: bool = False) -> Rows:
    with asking(EndpointOptions(url="fake:", model="fake"), reply=repeat if twice else reply):
        return metric.table(Responses(responses))


def spoil(
    metric: QuestionMetric, answered: Sequence[Response], base: Rows, way: tuple[str, int], how: Resampling
) -> Cell | None:
    """What is left of the score, with an interval over draws of items."""
    name, copies = way
    tables = [
        score(metric, WAYS[name][1](answered, np.random.default_rng([how.seed, k])), name == "over-judged")
        for k in range(copies)
    ]
    whole = np.arange(len(base))
    ratio = share(metric, base, tables, whole)
    if np.isnan(ratio):
        return None
    rng = np.random.default_rng(how.seed)
    drawn = [share(metric, base, tables, rng.integers(0, len(base), len(base))) for _ in range(how.resamples)]
    chosen = choose_percentile(np.array(drawn), len(base), how)
    return Cell(ratio, chosen.interval, len(base), 0, {}, chosen.method, chosen.reason)


def share(metric: QuestionMetric, base: Rows, tables: Sequence[Rows], at: NDArray[np.int64]) -> float:
    before = metric.fold(base.take(at))[metric.primary]
    after = [metric.fold(t.take(at[at < len(t)]))[metric.primary] for t in tables]
    return float(np.mean(after)) / before if before else float("nan")
