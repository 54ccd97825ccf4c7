"""How a benchmark's questions are put to a model: text files in our own words, by kind of question and form of answer.

KIND.txt is the default of a kind, KIND_FORM.txt another form of the same question: `--prompt FORM` takes it, and a file
of one's own takes the place of either. The hash of the text stands in the signature.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fabula.core.errors import SpecError
from fabula.core.registry import close_to
from fabula.documents.fields import JsonDict
from fabula.llm.prompts import FIELD, Prompt, read_prompt

HERE = Path(__file__).parent
Kind = Literal["grounding", "highlights", "options", "free", "dense"]
VARIABLES: dict[Kind, tuple[str, ...]] = {
    "grounding": ("query", "duration"),
    "highlights": ("query", "duration"),
    "options": ("question", "options", "duration"),
    "free": ("question", "options", "duration"),
    "dense": ("duration",),
}
NEEDED: dict[Kind, str] = {"grounding": "query", "highlights": "query", "options": "question", "free": "question"}
SECONDS: JsonDict = {"type": "number"}
SCHEMAS: dict[str, JsonDict] = {  # of the prompts that ask for JSON
    "grounding_json": {
        "type": "object",
        "properties": {"start": SECONDS, "end": SECONDS},
        "required": ["start", "end"],
        "additionalProperties": False,
    }
}


def list_prompts(kind: Kind) -> list[str]:
    """The forms in which a kind of question can be put; the first is the default, which has no name of its own."""
    return ["default", *sorted(path.stem.partition("_")[2] for path in HERE.glob(f"{kind}_*.txt"))]


def find_prompt(kind: Kind, wanted: str | None) -> Prompt:
    """The default of a kind, a form by its name, or a file."""
    if wanted is None or wanted == "default":
        return load(kind, HERE / f"{kind}.txt")
    if wanted in list_prompts(kind):
        return load(kind, HERE / f"{kind}_{wanted}.txt")
    path = Path(wanted)
    if not path.suffix and not path.is_file():
        near = close_to(wanted, list_prompts(kind))
        raise SpecError(f"no prompt for {kind} is called {wanted!r}, and no file; {near}")
    return load(kind, path)


def load(kind: Kind, path: Path) -> Prompt:
    prompt = read_prompt(path, VARIABLES[kind])
    needed = NEEDED.get(kind)
    if needed is not None and needed not in {found["name"] for found in FIELD.finditer(prompt.text)}:
        raise SpecError(f"{path}: {{{needed}}} does not stand in it, so that every question would be the same")
    return prompt
