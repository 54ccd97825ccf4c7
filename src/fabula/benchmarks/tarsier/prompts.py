"""tarsier's two prompts for DREAM-1K (Wang et al., 2024), read from the user's clone: one message each, no system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabula.metrics.questions.prompts.base import Examination, Prompt, read_copy
from fabula.metrics.questions.prompts.quoted import keyed
from fabula.text.judges.installed import read_quoted

HOME = "github.com/bytedance/tarsier"
PATH = "evaluation/metrics/evaluate_dream_gpt.py"


def extract(text: str, folder: Path | None = None) -> tuple[str, str]:
    return "", read_copy(folder, read_quoted, HOME, PATH, "call_azure_gpt_api_for_events", ("caption",), keyed)(text)[0]


def relate(text: str, events: Sequence[str], folder: Path | None = None) -> tuple[str, str]:
    found = read_copy(folder, read_quoted, HOME, PATH, "call_azure_gpt_api", ("prediction", "events"), keyed)
    return "", found(text, list(events))[0]


EVENT_JUDGE = Examination(
    "tarsier",
    Prompt(extract, ("C",), "be21bf403ff76aba"),
    Prompt(relate, ("P", ["E"]), "bf8ae5a20129a0c7"),
    source=f"{HOME} {PATH}",
    parameters={},
)
