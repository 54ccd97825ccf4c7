"""A judge as a caption scorer: asks for the wanted pairs alone, the same pair once; NaN where nothing can be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.llm.answer import Answer, CallError
from fabula.llm.session import Session
from fabula.text._scorer import Block, Scorer, Wanted
from fabula.text.judges import judge
from fabula.text.judges.attempts import speaks_to_judge
from fabula.text.judges.fake import reply
from fabula.text.judges.options import JudgeOptions

HEAD = "judge"


class JudgeScorer:
    """Scores by what a model says of each pair. A new one for every use: what it said belongs to its run."""

    alone = True

    def __init__(self, named: str = "", session: Session | None = None) -> None:
        self.session = session
        name, _, self.model = named.partition("@")
        folder = None if session is None else session.prompts
        self.judge = judge(name).located(folder) if name else None
        self.name = f"{HEAD}:{named}" if named else HEAD

    def of(self, named: str, session: Session | None = None) -> JudgeScorer:
        """The scorer of this judge, NAME or NAME@MODEL, who asks this session."""
        return JudgeScorer(named, session)

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
        if self.session is None:
            raise SpecError(f"{self.name} asks a model, and none is named; say --judge-url and --judge-model")
        model = self.model or self.session.options.model
        calls = {pair: self.judge.call(model, *pair) for pair in dict.fromkeys(pairs)}
        answers = self.session.ask([calls[pair] for pair in pairs]) if pairs else []
        check_answered(answers)
        words: dict[tuple[str, ...], str] = {
            pair: a.text for pair, a in zip(pairs, answers, strict=True) if isinstance(a, Answer)
        }
        read = {text: self.judge.read(text) for text in set(words.values())}
        values = [read[words[pair]] for pair in pairs]
        unread = [words[pair] for pair, value in zip(pairs, values, strict=True) if value is None]
        attempts = sum(speaks_to_judge(text) for text in {candidate for candidate, _ in pairs})
        sample = unread[0] if unread else ""
        self.session.tell(len(unread), spared, attempts, len(values) - len(unread), sample, words)
        return [float("nan") if v is None else v for v in values]


def open_session(ask: JudgeOptions, progress: Progress = silent) -> Session:
    """The session that the options of a judge name; its connections are opened when it is first asked."""
    prompts = ask.judge_prompts
    if prompts is not None and not prompts.is_dir():
        raise InputError("no such folder", file=prompts, hint="--judge-prompts names a clone of a repository")
    return Session(ask.endpoint(), reply=reply, prompts=prompts, progress=progress)


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
