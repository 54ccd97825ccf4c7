"""Verdict: the share of answers to open questions that a judge finds right (SGQA: Cho et al., PerceptionLM, 2025).

accuracy   mean over questions of the judge's verdict, 1 or 0; 0 where none can be read
loose      share of questions with a judgement that is not JSON alone, as it was asked for

With several right answers one that is found right is enough. A question without an answer is not asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from fabula.core.rows import CROWDED
from fabula.data.questions import Response
from fabula.llm.answer import Answer
from fabula.llm.session import current
from fabula.metrics.base import Row
from fabula.metrics.questions.base import QuestionMetric
from fabula.text.judges.answers import AnswerJudge, answer_judge, is_json
from fabula.text.judges.scorer import check_answered


@dataclass(frozen=True, kw_only=True)
class Metric(QuestionMetric):
    name: ClassVar[str] = "Verdict"
    paper: ClassVar[str] = "Cho et al., PerceptionLM, 2025"
    needs: ClassVar[str] = "references"
    fields: ClassVar[tuple[str, ...]] = ("accuracy", "loose")
    primary: ClassVar[str] = "accuracy"
    shown: ClassVar[bool] = False
    perfect_score: ClassVar[str] = "where the judge does not find the right answer to be right"
    rules: ClassVar[Mapping[str, str]] = {
        "judge=fabula": "a judge of ours says whether an answer is right",
        "judge": "whether an answer is right is asked and read as {} does",
        "missing=wrong": "a question without an answer is wrong",
        "missing=drop": "questions without an answer are left out",
    }

    judge: str = "fabula"  # or NAME@MODEL
    missing: Literal["wrong", "drop"] = "wrong"

    def __post_init__(self) -> None:
        super().__post_init__()
        name, at, model = self.judge.partition("@")
        object.__setattr__(self, "judge", f"{answer_judge(name).name}{at}{model}")

    def can_read(self, response: Response) -> bool:
        return super().can_read(response) and (self.missing == "wrong" or response.answer is not None)

    def units(self, responses: Sequence[Response]) -> list[Row]:
        """Every answer with each right one; an answer without a verdict is told apart by the column of unread ones."""
        questions = [
            (i, r.question, r.answer, target)
            for i, r in enumerate(responses)
            for target in r.references
            if r.answer is not None
        ]
        answers = self.ask([(question, answer, target) for _, question, answer, target in questions])
        rows: list[Row] = [{"accuracy": 0.0, "loose": 0.0, CROWDED: 0.0} for _ in responses]
        for (i, *_), text in zip(questions, answers, strict=True):
            verdict = self.asker.read(text)
            rows[i]["accuracy"] = max(rows[i]["accuracy"], verdict or 0.0)
            rows[i]["loose"] = max(rows[i]["loose"], float(not is_json(text)))
            rows[i][CROWDED] += verdict is None
        unread = int(sum(row[CROWDED] for row in rows))
        sample = next((text for text in answers if self.asker.read(text) is None), "") if unread else ""
        current().tell(unparsed=unread, parsed=len(answers) - unread, sample=sample)
        return rows

    def ask(self, triples: Sequence[tuple[str, str, str]]) -> list[str]:
        """What the judge says of each question, answer and right answer."""
        session = current()
        model = session.model_of(self.judge)
        answers = session.ask([self.asker.call(model, *triple) for triple in triples])
        check_answered(answers)
        return [answer.text for answer in answers if isinstance(answer, Answer)]

    @property
    def asker(self) -> AnswerJudge:
        return answer_judge(self.judge.partition("@")[0])

    def about(self) -> Mapping[str, str]:
        return {f"judge:{self.asker.name}": self.asker.version}
