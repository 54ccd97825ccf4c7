"""A judge as a caption scorer: asks for the wanted pairs alone, the same pair once; NaN where nothing can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.llm.answer import Answer, CallError
from fabula.llm.session import Session, asking, current, session_in_use
from fabula.text._scorer import Block, Scorer, Wanted
from fabula.text.judges import judge
from fabula.text.judges.attempts import speaks_to_judge
from fabula.text.judges.fake import reply
from fabula.text.judges.installed import reading_from
from fabula.text.judges.options import JudgeOptions

HEAD = "judge"
last_session: list[Session] = []  # the session that was asked last: pages draw pairs when a run is over


class JudgeScorer:
    """Scores by what a model says of each pair. A new one for every use: what it said belongs to its run."""

    alone = True

    def __init__(self, named: str = "") -> None:
        self.named = named
        name, at, model = named.partition("@")
        self.judge = judge(name) if name else None
        self.model = model if at else ""
        self.name = f"{HEAD}:{named}" if named else HEAD

    def of(self, named: str) -> JudgeScorer:
        """The scorer of this judge: NAME, or NAME@MODEL."""
        return JudgeScorer(named)

    @property
    def version(self) -> str:
        return "as its judge" if self.judge is None else self.judge.version

    def within(self, references: Sequence[str]) -> Scorer:
        return self

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        return self.pairs_many([(candidates, references)])[0]

    def pairs_many(self, blocks: Sequence[Block], wanted: Wanted | None = None) -> list[NDArray[np.float64]]:
        shapes = [(len(candidates), len(references)) for candidates, references in blocks]
        total = sum(c * r for c, r in shapes)
        chosen = np.ones(total, bool) if wanted is None else wanted
        pairs = [(c, r) for candidates, references in blocks for c in candidates for r in references]
        found = np.zeros(total)
        found[chosen] = self.judge_pairs([pairs[k] for k in np.flatnonzero(chosen).tolist()], total - int(chosen.sum()))
        ends = np.cumsum([c * r for c, r in shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(found, ends), shapes, strict=True)]

    def judge_pairs(self, pairs: Sequence[tuple[str, str]], spared: int = 0) -> list[float]:
        """What the judge says of (candidate, reference) pairs; NaN where nothing can be read in its answer."""
        assert self.judge is not None, "text.scorer names the judge"
        session = find_session()
        model = self.model or session.options.model
        calls = {pair: self.judge.call(model, *pair) for pair in dict.fromkeys(pairs)}
        if session_in_use.get() is None and any(call.key not in session.known for call in calls.values()):
            current()  # says that nobody can be asked
        answers = session.ask([calls[pair] for pair in pairs]) if pairs else []
        check_answered(answers)
        read = {a.text: self.judge.read(a.text) for a in answers if isinstance(a, Answer)}
        values = [read[a.text] if isinstance(a, Answer) else None for a in answers]
        unread = [a.text for a, v in zip(answers, values, strict=True) if v is None and isinstance(a, Answer)]
        tried = sum(speaks_to_judge(text) for text in {candidate for candidate, _ in pairs})
        session.tell(len(unread), spared, tried, len(values) - len(unread), unread[0] if unread else "")
        return [float("nan") if v is None else v for v in values]


@contextmanager
def session_of(ask: JudgeOptions) -> Iterator[Session]:
    """The session of the caller, where one is open; else that which the options name, for everything within."""
    open_now = session_in_use.get()
    if open_now is not None:
        yield open_now
        return
    with reading_from(ask.judge_prompts), asking(ask.endpoint(), reply=reply) as session:
        yield session


def find_session() -> Session:
    """The session of this run; its answers stay known after the run."""
    open_now = session_in_use.get()
    if open_now is not None:
        last_session[:] = [open_now]
        return open_now
    return last_session[0] if last_session else current()


def check_answered(answers: Sequence[Answer | CallError]) -> None:
    """A call without an answer is no judgement: the run stops, and what was answered is on record."""
    failed = [a for a in answers if isinstance(a, CallError)]
    if not failed:
        return
    if failed[0].kind == "replay":
        problem = f"the record lacks {len(failed)} of {len(answers)} judgements that are needed here"
        raise InputError(problem, hint=f"{failed[0].message}; was it made with this model, this judge and these files?")
    problem = f"{len(failed)} of {len(answers)} judgements got no answer ({failed[0].message})"
    raise InputError(problem, hint="run it again with the same --judge-record: what was answered is not asked again")
