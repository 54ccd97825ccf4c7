"""AuroraCap's two prompts for VDC (Chai et al., ICLR 2025), read from the user's clone: written in sglang's form."""

from __future__ import annotations

from pathlib import Path

from fabula.metrics.questions.prompts.base import Examination, Prompt, read_copy
from fabula.metrics.questions.prompts.quoted import called
from fabula.text.judges.installed import read_quoted

HOME = "github.com/rese1f/aurora"
PATH = "post_eval/process_vdc_result.py"
MESSAGES = called("system", "user")


def answer(caption: str, question: str, folder: Path | None = None) -> tuple[str, str]:
    found = read_copy(folder, read_quoted, HOME, PATH, "gener_pred_response", ("pred_cap", "q"), MESSAGES)
    system, user = found(caption, question)
    return system, user


def match(question: str, right: str, said: str, folder: Path | None = None) -> tuple[str, str]:
    found = read_copy(folder, read_quoted, HOME, PATH, "gener_pred_score", ("qa",), MESSAGES)
    system, user = found({"question": question, "answer": right, "response": said})
    return system, user


QUESTION_JUDGE = Examination(
    "aurora",
    Prompt(answer, ("C", "Q"), "89ca5fc49d446d83"),
    Prompt(match, ("Q", "A", "R"), "61e3fe88a59a7c3c"),
    source=f"{HOME} {PATH}",
    parameters={"max_tokens": 256},
)
