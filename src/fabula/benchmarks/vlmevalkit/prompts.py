"""VLMEvalKit's prompts for DREAM-1K and VDC, read from the user's clone (it is no package)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabula.metrics.questions.prompts.base import Examination, Prompt, read_copy
from fabula.metrics.questions.prompts.quoted import assigned
from fabula.text.judges.installed import fill, read_constant, read_quoted

HOME = "github.com/open-compass/VLMEvalKit"
DREAM = "vlmeval/dataset/dream.py"
VDC = "vlmeval/dataset/utils/vdc.py"
PROMPT = assigned("prompt")


def fill_constant(folder: Path | None, path: str, name: str, **values: str) -> str:
    return fill(read_copy(folder, read_constant, HOME, path, name), f"{path}:{name}", **values)


def extract(text: str, folder: Path | None = None) -> tuple[str, str]:
    return "", fill_constant(folder, DREAM, "EXTRACTION_PROMPT", caption=text)


def relate(text: str, events: Sequence[str] | str, folder: Path | None = None) -> tuple[str, str]:
    told = events if isinstance(events, str) else str(list(events))
    return "", fill_constant(folder, DREAM, "RELATIONSHIP_PROMPT", prediction=text, events=told)


def answer(caption: str, question: str, folder: Path | None = None) -> tuple[str, str]:
    user = fill_constant(folder, VDC, "USER_GENER_PRED_PROMPT", pred_cap=caption, q=question)
    return read_copy(folder, read_constant, HOME, VDC, "SYSTEM_GENER_PRED_PROMPT"), user


def match(question: str, right: str, said: str, folder: Path | None = None) -> tuple[str, str]:
    found = read_copy(folder, read_quoted, HOME, VDC, "prepare_score_prompt", ("item",), PROMPT)
    item = {"question": question, "answer": right, "pred_response": said}
    return read_copy(folder, read_constant, HOME, VDC, "SYSTEM_CAL_SCORE_PROMPT"), found(item)[0]


EVENT_JUDGE = Examination(
    "vlmevalkit",
    Prompt(extract, ("C",), "57c282162e1f9417"),
    Prompt(relate, ("P", "E"), "51df7a98f4347618"),
    source=f"{HOME} {DREAM}",
    parameters={"temperature": 0, "max_tokens": 2048},
)
QUESTION_JUDGE = Examination(
    "vlmevalkit",
    Prompt(answer, ("C", "Q"), "a2baa71b7f8b9a0f"),
    Prompt(match, ("Q", "A", "R"), "efebbaae939d5732"),
    source=f"{HOME} {VDC}",
    parameters={"temperature": 0},
)
