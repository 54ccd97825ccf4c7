"""Captions that speak to the judge instead of describing a video: known by some turns of phrase, counted, not removed.

What is found is an attempt for certain or nearly; what is not found may be one all the same.
"""

from __future__ import annotations

import re

SIGNS = (
    r"\b(?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}\b(?:instructions?|prompts?|rules|rubric|above)\b",
    r"[\"'`]?\bscore\b[\"'`]?\s{0,4}[:=]\s{0,4}[\"'`]?\d",  # an answer in the shape that is asked for
    r"\b(?:answer|reply|respond|output|return)\b[^.!?\n]{0,30}\b(?:10|ten|100|1\.0|full marks|score)\b",
    r"\[(?:END )?(?:CANDIDATE|REFERENCE)\b",  # a mark of ours
    r"<\|?(?:im_start|im_end|system|assistant|end_of_text|eot_id)\b",  # a mark of a chat template
    r"(?:^|\n)[ \t]{0,8}(?:system|assistant|user)[ \t]{0,4}:",
    r"\b(?:note|message|instructions?) (?:to|for) the (?:judge|grader|evaluator)\b",
)
SPEAKS = re.compile("|".join(SIGNS), re.I)
LONGEST = 1 << 14  # characters that are looked at


def speaks_to_judge(text: str) -> bool:
    """True where a caption tries to tell whoever grades it what to answer."""
    return SPEAKS.search(text[:LONGEST]) is not None
