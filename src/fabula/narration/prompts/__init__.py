"""What a model is asked about a film, one text file each, in our own words. A folder of one's own replaces any of them
(`--prompts DIR`). The hash of every text that was used stands in the record of a film and in its signature.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fabula.llm import prompts
from fabula.llm.prompts import Prompt

HOLES = re.compile(r"\n{3,}")
HERE = Path(__file__).parent
OF_WINDOW = ("duration", "start", "end", "blocks", "language")
OF_FILM = ("duration", "events", "language")
VARIABLES: dict[str, tuple[str, ...]] = {
    "rules": (),
    "dense": OF_WINDOW,
    "steps": OF_WINDOW,
    "chapters": OF_WINDOW,
    "descriptions": OF_WINDOW,
    "earlier": ("start", "events"),
    "lines": ("lines",),
    "signs": ("signs",),
    "people": ("people",),
    "cuts": ("cuts",),
    "gaps": ("gaps",),
    "language": ("language",),
    "title": OF_FILM,
    "join_chapters": OF_FILM,
}


def load_prompts(folder: Path | None = None) -> Mapping[str, Prompt]:
    """All prompts; those that the folder has stand in the place of ours."""
    return prompts.load_prompts(HERE, VARIABLES, folder)


def fill_prompt(prompt: Prompt, **values: object) -> str:
    """The text with its variables filled in; where one is empty, no hole is left."""
    return HOLES.sub("\n\n", prompt.fill(**values))
