"""The judges of PLM-VideoBench (Cho et al., 2025), their prompts read from the user's own lmms-eval.

plm, plm-rcap   score = the field `score` of an answer that is JSON and nothing but JSON, / 10; not brought to 0 … 1
sgqa            1 where `pred` is "yes" in such an answer; where it is no JSON, 1 if "yes" or "Yes" occurs anywhere

An answer that is no JSON (a fence round it is enough) counts as a judgement that cannot be read; so does one in which
the published program ends: no object, no `score`, a score that is no number, or for `plm-rcap` no `explanation`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from fabula.text.judges.answers import SAMPLE
from fabula.text.judges.base import Judge
from fabula.text.judges.installed import read_function, take_messages

PACKAGE, PATH = "lmms-eval", "lmms_eval/tasks/plm_videobench/eval_utils.py"
PIP = "--no-deps lmms-eval==0.7.3"
CAPTIONS, CAPTIONS_HASH = "get_caption_judge_prompt", "9f8c9886781972ff"  # of the letters G, P
ANSWERS, ANSWERS_HASH = "get_sgqa_judge_prompt", "257aef97b1c8c875"  # of the letters Q, P, T
PARAMETERS = {"temperature": 0, "max_tokens": 256}


@lru_cache(maxsize=4)
def find_prompt(name: str, where: Path | None) -> Callable[..., Any]:
    """A function of the installed file that builds messages, or of the file in this folder."""
    found: Callable[..., Any] = read_function(PACKAGE, PATH, name, PIP, where).value
    return found


def ask_about(prediction: str, reference: str, folder: Path | None = None) -> tuple[str, str]:
    """A caption and what it should say → system, user."""
    messages = find_prompt(CAPTIONS, folder)(reference, prediction)
    return take_messages(messages, f"{PACKAGE} {PATH}:{CAPTIONS}")


def ask_about_answer(question: str, prediction: str, target: str, folder: Path | None = None) -> tuple[str, str]:
    """An answer to a question, and the right one → system, user."""
    messages = find_prompt(ANSWERS, folder)(question, prediction, target)
    return take_messages(messages, f"{PACKAGE} {PATH}:{ANSWERS}")


def read_strict(text: str, needed: tuple[str, ...] = ()) -> float | None:
    """The judgement, beyond 0 … 1 where the model goes there; None where there is none."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):  # 0 in the published program, in silence
        return None
    if not isinstance(answer, dict) or not {"score", *needed} <= answer.keys():
        return None
    score = answer["score"]
    if not isinstance(score, int | float):
        return None
    try:
        share = score / 10
    except OverflowError:
        return None
    return share if isfinite(share) else None


def read_verdict(text: str) -> float | None:
    """1 where the answer is said to be right; None where the published program ends."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return float("yes" in text or "Yes" in text)  # in "eyes" too
    return float(answer["pred"] == "yes") if isinstance(answer, dict) and "pred" in answer else None


JUDGES = (
    Judge(
        "plm",
        "PLM-VideoBench's: a JSON answer with a score from 0 to 10, read strictly, not brought to the scale",
        ask_about,
        read_strict,
        source=f"{PACKAGE} {PATH}",
        parameters=PARAMETERS,
        published=CAPTIONS_HASH,
        installed=True,
    ),
    Judge(
        "plm-rcap",
        "the same prompt, whose answer must have an explanation too",
        ask_about,
        lambda text: read_strict(text, ("explanation",)),
        source=f"{PACKAGE} {PATH}",
        parameters=PARAMETERS,
        published=CAPTIONS_HASH,
        installed=True,
    ),
)
ANSWER_JUDGE = Judge(
    "plm-sgqa",
    "PLM-VideoBench's: a JSON answer whose pred is yes; of other answers, those that say yes anywhere",
    ask_about_answer,
    read_verdict,
    source=f"{PACKAGE} {PATH}",
    parameters=PARAMETERS,
    published=ANSWERS_HASH,
    sample=SAMPLE,
    installed=True,
)
