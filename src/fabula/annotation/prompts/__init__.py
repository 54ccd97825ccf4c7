"""The prompts, one text file each, in our own words, with the variables and answer formats of VERIFIED (Chen et al.,
NeurIPS 2024, Listings 2–9); `judge.txt` is ours. A folder of one's own replaces any of them (`--prompts DIR`).

    {name}     a variable; whatever is put there is never looked at again, so braces in it stay braces
    {{ }}      braces

The hash of a text stands in every output: captions of another prompt are other captions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabula.core.errors import InputError, SpecError
from fabula.core.registry import close_to

FIELD = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}]*)\}|[{}]")
LONGEST = 100_000  # characters of a prompt
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


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text with variables."""

    name: str
    text: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def fill(self, **values: object) -> str:
        """The text with its variables filled in."""

        def put(found: re.Match[str]) -> str:
            return {"{{": "{", "}}": "}"}.get(found[0]) or str(values[found["name"]])

        return FIELD.sub(put, self.text).strip()


def load_prompts(folder: Path | None = None) -> Mapping[str, Prompt]:
    """All prompts; those that the folder has stand in the place of ours."""
    found = {name: Prompt(name, (HERE / f"{name}.txt").read_text(encoding="utf-8")) for name in VARIABLES}
    if folder is None:
        return found
    if not folder.is_dir():
        raise InputError("no such folder", file=folder, hint="--prompts names a folder of .txt files")
    own = sorted(folder.glob("*.txt"))
    if not own:
        raise InputError(
            "holds no prompt",
            file=folder,
            hint=f"its files are called {', '.join(f'{name}.txt' for name in VARIABLES)}",
        )
    for path in own:
        if path.stem not in VARIABLES:
            raise SpecError(f"{path}: no prompt is called {path.stem!r}; {close_to(path.stem, [*VARIABLES])}")
        found[path.stem] = read_prompt(path)
    return found


def read_prompt(path: Path) -> Prompt:
    """One that somebody wrote, its variables checked."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, hint="check its permissions") from None
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8", file=path, hint="save it as UTF-8") from None
    if not text.strip() or len(text) > LONGEST:
        raise InputError(f"a prompt of {len(text):,} characters", file=path, hint=f"it has 1 to {LONGEST:,}")
    known = VARIABLES[path.stem]
    for mark in FIELD.finditer(text):
        line = text.count("\n", 0, mark.start()) + 1
        hint = f"there are {', '.join(f'{{{name}}}' for name in known)}; a brace is written twice"
        if mark[0] in "{}":
            raise InputError("a brace without its other", file=path, field=f"line {line}", hint=hint)
        if mark["name"] is not None and mark["name"] not in known:
            raise InputError(f"no variable is called {mark[0]}", file=path, field=f"line {line}", hint=hint)
    return Prompt(path.stem, text)
