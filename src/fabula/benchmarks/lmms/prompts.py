"""lmms-eval's two prompts for VDC, read from the user's own install: written in sglang's form, never imported."""

from __future__ import annotations

from pathlib import Path

from fabula.metrics.questions.prompts.base import Examination, Prompt, read_copy
from fabula.metrics.questions.prompts.quoted import called
from fabula.text.judges.installed import read_quoted

PACKAGE, PATH = "lmms-eval", "lmms_eval/tasks/vdc/utils.py"
PIP = "--no-deps lmms-eval==0.7.3"
MESSAGES = called("system", "user")


def answer(caption: str, question: str, folder: Path | None = None) -> tuple[str, str]:
    found = read_copy(folder, read_quoted, PACKAGE, PATH, "gener_pred_response", ("pred_cap", "q"), MESSAGES, PIP)
    system, user = found(caption, question)
    return system, user


def match(question: str, right: str, said: str, folder: Path | None = None) -> tuple[str, str]:
    found = read_copy(folder, read_quoted, PACKAGE, PATH, "gener_pred_score", ("qa",), MESSAGES, PIP)
    system, user = found({"question": question, "answer": right, "pred_answer": said})
    return system, user


QUESTION_JUDGE = Examination(
    "lmms",
    Prompt(answer, ("C", "Q"), "89ca5fc49d446d83"),
    Prompt(match, ("Q", "A", "R"), "61e3fe88a59a7c3c"),
    source=f"{PACKAGE} {PATH}",
    parameters={"max_tokens": 256},
)
