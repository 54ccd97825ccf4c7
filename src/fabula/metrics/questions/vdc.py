"""VDC: what can be answered from a caption alone (Chai et al., AuroraCap, ICLR 2025).

    a_q = answer(caption, q);  d_q = match(q, right answer, a_q) = (agree?, 0 … 5)        for each question of a caption
    accuracy_i = share of q with d_q = yes;  score_i = mean of their scores;  accuracy, score = means over captions

A judge answers every question from the caption, and then says whether that agrees with the right answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.errors import InputError
from fabula.core.means import mean_in_order
from fabula.core.rows import Rows
from fabula.data.questions import ExamQuestion, Response
from fabula.metrics.base import Array, Row, Values
from fabula.metrics.questions._asking import ask_each
from fabula.metrics.questions._matches import READ, Agreement
from fabula.metrics.questions.base import QuestionMetric
from fabula.metrics.questions.prompts import Examination, examination
from fabula.text.judges.attempts import speaks_to_judge


@dataclass(frozen=True, kw_only=True)
class Metric(QuestionMetric):
    name: ClassVar[str] = "VDC"
    paper: ClassVar[str] = "Chai et al., ICLR 2025"
    needs: ClassVar[str] = "asked"
    fields: ClassVar[tuple[str, ...]] = ("accuracy", "score")
    primary: ClassVar[str] = "accuracy"
    scale: ClassVar[float] = 1.0  # the score lies between 0 and 5
    perfect_score: ClassVar[str] = "a judge decides, who may not find in a caption what it says"
    rules: ClassVar[Mapping[str, str]] = {
        "judge": "a language model answers from the caption and compares answers, asked in the words of {}",
        "read=fabula": "the last JSON object of an answer is read, whatever stands around it",
        "read=literal": "an answer must be a Python literal, so that JSON's true and null are none",
        "read=json": "an answer must be JSON or a Python literal",
        "numbers=text": "a score may be a number as text",
        "numbers=number": "a score that is text is none",
        "yes=fold": "'Yes' is yes, and so is ' yes '",
        "yes=lower": "'Yes' is yes, ' yes ' is no",
        "yes=exact": "only 'yes' is yes, 'Yes' is no",
        "questions=all": "every question of a caption counts",
        "questions=last": "of all questions of a caption only the last counts, whose judgement overwrites the others",
        "lacking=failed": "a judgement without pred or score is one that cannot be read",
        "lacking=skip": "a question whose judgement lacks pred or score is left out",
        "failed=zero": "a judgement that cannot be read counts as no, with a score of 0",
        "failed=drop": "a caption is left out where one of its judgements cannot be read",
        "failed=raise": "a judgement that cannot be read ends the run",
        "zeros=keep": "captions count whatever they score",
        "zeros=drop": "a caption is left out where its accuracy or its score is 0",
        "missing=zero": "an empty or missing caption counts 0",
        "missing=drop": "missing captions are left out, and empty ones are examined",
        "missing=judged": "empty and missing captions are examined like any other",
        "negative=keep": "scores below 0 count as they are",
        "negative=drop": "captions with a score below 0 are left out of the mean of scores",
        "undefined=zero": "the mean of nothing is 0",
        "undefined=nan": "the mean score of nothing is NaN, the accuracy 0",
    }

    judge: str = "fabula"
    read: Literal["fabula", "literal", "json"] = "fabula"
    numbers: Literal["text", "number"] = "text"
    yes: Literal["fold", "lower", "exact"] = "fold"
    questions: Literal["all", "last"] = "all"
    lacking: Literal["failed", "skip"] = "failed"
    failed: Literal["zero", "drop", "raise"] = "zero"
    zeros: Literal["keep", "drop"] = "keep"
    missing: Literal["zero", "drop", "judged"] = "zero"
    negative: Literal["keep", "drop"] = "keep"
    undefined: Literal["zero", "nan"] = "zero"

    def __post_init__(self) -> None:
        super().__post_init__()
        examination(self.name, self.judge)

    def about(self) -> Mapping[str, str]:
        return {"judge": self.exam.version}

    @property
    def exam(self) -> Examination:
        return examination(self.name, self.judge).located(self.prompts)

    # ── captions into rows ──────────────────────────────────────────────────────────────────────────────────────────

    def units(self, responses: Sequence[Response]) -> list[Row]:
        """All questions of a block at once, then all comparisons."""
        silent = [self.is_silent(r) for r in responses]
        pairs = [[] if quiet else self.choose(r) for r, quiet in zip(responses, silent, strict=True)]
        spared = sum(2 * (len(r.asked) - len(chosen)) for r, chosen in zip(responses, pairs, strict=True))
        self.judge_session.tell(spared=spared, attempts=sum(speaks_to_judge(r.answer or "") for r in responses))
        found = iter(self.examine([(r, pair) for r, chosen in zip(responses, pairs, strict=True) for pair in chosen]))
        rows = []
        for response, quiet, chosen in zip(responses, silent, pairs, strict=True):
            judged = [next(found) for _ in chosen]
            if None in judged and self.failed == "raise":
                problem = f"{judged.count(None)} of {len(judged)} judgements cannot be read"
                hint = "VDC(failed=zero) counts them as no, failed=drop leaves the caption out"
                raise InputError(problem, video=response.id, noun="item", hint=hint)
            rows.append(self.row(judged, quiet))
        return rows

    def is_silent(self, response: Response) -> bool:
        if self.missing == "judged" or (self.missing == "drop" and response.answer is not None):
            return False
        return not (response.answer or "").strip()

    def choose(self, response: Response) -> Sequence[ExamQuestion]:
        return response.asked if self.questions == "all" else response.asked[-1:]

    def examine(self, questions: Sequence[tuple[Response, ExamQuestion]]) -> list[Agreement | None]:
        """The judgement of each question."""
        session = self.judge_session
        exam, model = self.exam, session.model_of(self.judge)
        first = [exam.ask_first(model, r.answer or "", pair.question) for r, pair in questions]
        answers = ask_each(session, first, [str] * len(first))
        second = [
            exam.ask_second(model, pair.question, pair.answer, text or "")
            for (_, pair), text in zip(questions, answers, strict=True)
        ]
        return ask_each(session, second, [self.read_one] * len(second))

    def read_one(self, text: str) -> Agreement | None:
        found = READ[self.read](text, self.numbers)
        return None if found is not None and not found.whole and self.lacking == "failed" else found

    def row(self, judged: Sequence[Agreement | None], silent: bool) -> Row:
        read = [j if j is not None else Agreement() for j in judged if j is None or j.whole]
        n = len(read)
        accuracy = sum(self.agrees(j.pred) for j in read) / n if n else 0.0
        score = sum(j.score for j in read) / n if n else 0.0
        dropped = (None in judged and self.failed == "drop") or (silent and self.missing == "drop")
        dropped |= self.zeros == "drop" and not (accuracy and score)
        return {
            "accuracy": accuracy,
            "score": score,
            "questions": float(n),
            "failed": float(judged.count(None)),
            "counts": float(not dropped),
        }

    def agrees(self, pred: object) -> bool:
        if not isinstance(pred, str) or self.yes == "exact":
            return pred == "yes"
        return (pred.strip() if self.yes == "fold" else pred).lower() == "yes"

    # ── rows into numbers ───────────────────────────────────────────────────────────────────────────────────────────

    def combine(self, rows: Rows) -> Values:
        counted = rows["counts"] > 0
        scored = counted & (rows["score"] >= 0) if self.negative == "drop" else counted
        score = mean_in_order(rows["score"][scored]) if scored.any() or self.undefined == "zero" else float("nan")
        return {"accuracy": mean_in_order(rows["accuracy"][counted]), "score": score}

    def sums(self, rows: Rows) -> Array:
        counted = (rows["counts"] > 0).astype(np.float64)
        return np.stack([rows["accuracy"] * counted, counted], axis=1)
