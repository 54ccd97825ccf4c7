"""Questions to a judge in rounds: all of a block at once, and those whose answers cannot be read again, some times.

The n-th try of a call has `seed: n` among its parameters, for the same call has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from fabula.llm.answer import Answer
from fabula.llm.call import Call
from fabula.llm.session import Session
from fabula.text.judges.scorer import check_answered

T = TypeVar("T")
EMPTY = "empty"  # an answer without a word is one, in which nothing can be read


def ask_each(
    session: Session, calls: Sequence[Call], read: Sequence[Callable[[str], T | None]], tries: int = 1
) -> list[T | None]:
    """What is read in the answer of each call; None where nothing is, after all tries. It is counted as unparsed."""
    found: list[T | None] = [None] * len(calls)
    left, sample = list(range(len(calls))), ""
    for n in range(tries):
        if not left:
            break
        answers = session.ask([try_again(calls[i], n) for i in left])
        check_answered([a for a in answers if isinstance(a, Answer) or a.kind != EMPTY])
        texts = {i: a.text for i, a in zip(left, answers, strict=True) if isinstance(a, Answer)}
        for i in left:
            found[i] = read[i](texts.get(i, ""))
        session.tell(words={(calls[i].prompt,): text for i, text in texts.items()})
        sample = next((text for i, text in texts.items() if found[i] is None), "")
        left = [i for i in left if found[i] is None]
    session.tell(unparsed=len(left), parsed=len(calls) - len(left), sample=sample)
    return found


def try_again(call: Call, n: int) -> Call:
    return replace(call, parameters={**call.parameters, "seed": n}) if n else call
