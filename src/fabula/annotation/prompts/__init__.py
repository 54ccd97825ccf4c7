"""The prompts, one text file each, in our own words, with the variables and answer formats of VERIFIED (Chen et al.,
NeurIPS 2024, Listings 2–9); `judge.txt` is ours. A folder of one's own replaces any of them (`--prompts DIR`).

    {name}     a variable; whatever is put there is never looked at again, so braces in it stay braces
    {{ }}      braces

The hash of a text stands in every output: captions of another prompt are other captions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fabula.llm import prompts
from fabula.llm.prompts import Prompt

HERE = Path(__file__).parent
QA = tuple(f"{letter}{i}" for letter in "qa" for i in range(1, 6))
VARIABLES: dict[str, tuple[str, ...]] = {
    "static_frame": ("query",),
    "static_fuse": ("original_description", "keyframe_number", "attribute_content"),
    "dynamic_questions": ("original_description",),
    "dynamic_answers": ("duration", "frame_number", "description", "questions"),
    "dynamic_fuse": ("original", "st", "ed", *QA, "dynamic_description"),
    "rewrite": ("original",),
    "disturb_static": ("original",),
    "disturb_dynamic": ("original",),
    "judge": ("frame_number", "caption_number", "captions"),
}


def load_prompts(folder: Path | None = None) -> Mapping[str, Prompt]:
    """All prompts; those that the folder has stand in the place of ours."""
    return prompts.load_prompts(HERE, VARIABLES, folder)
