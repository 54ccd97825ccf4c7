"""What a judge of checklists is: how points and a caption are put to a model, and how its counts are read.

messages(checklist, caption) = (system, user)
read(answer, checklist) = {dimension: how many points are told} · {} where they cannot be counted · None: no judgement
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from fabula.data.stories import Checklist
from fabula.llm.answer import Answer
from fabula.llm.call import Call
from fabula.llm.session import Session
from fabula.text.judges.base import describe_prompt, hash_prompt
from fabula.text.judges.scorer import check_answered

Counts = Mapping[str, int]
Question = tuple[Checklist, str]  # the points, and the caption


@dataclass(frozen=True)
class ChecklistJudge:
    """A prompt, its parse rule, and how often it is asked again."""

    name: str
    about: str
    messages: Callable[[Checklist, str], tuple[str, str]]
    read: Callable[[str, Checklist], Counts | None]
    tries: int = 2
    source: str = "ours"
    parameters: Mapping[str, float | str] = field(default_factory=lambda: {"temperature": 0})
    published: str = ""  # hash of the prompt as published, where it is somebody else's

    def call(self, model: str, question: Question, attempt: int = 0) -> Call:
        """Another try is another call: a judge that is asked the same gives the same answer on record."""
        system, user = self.messages(*question)
        again = {"seed": int(self.parameters.get("seed", 0)) + attempt} if attempt else {}
        return Call(model, user, system=system, parameters={**self.parameters, **again})

    @cached_property
    def prompt(self) -> str:
        """The hash by which a signature names the prompt."""
        return hash_prompt(*self.messages((("segment_detail_caption", ("G",)),), "P"))

    @property
    def version(self) -> str:
        return f"{describe_prompt(self.prompt, self.published, self.parameters)},tries={self.tries}"


def count_points(
    judge: ChecklistJudge, session: Session, model: str, questions: Sequence[Question]
) -> list[Counts | None]:
    """What the judge counts for each question; None where no try gave a judgement."""
    found: list[Counts | None] = [None] * len(questions)
    todo = list(range(len(questions)))
    for attempt in range(judge.tries):
        if not todo:
            break
        answers = session.ask([judge.call(model, questions[k], attempt) for k in todo])
        check_answered(answers)
        for k, answer in zip(todo, answers, strict=True):
            if isinstance(answer, Answer):
                found[k] = judge.read(answer.text, questions[k][0])
        unread = [a.text for k, a in zip(todo, answers, strict=True) if found[k] is None and isinstance(a, Answer)]
        session.tell(sample=unread[0] if unread else "")
        todo = [k for k in todo if found[k] is None]
    return found


class OpenJudge(NamedTuple):
    """A judge that is known by name, and opened where it is wanted."""

    name: str
    open: Callable[[], ChecklistJudge]
