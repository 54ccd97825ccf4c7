"""Prompts that ship as text files, one each; a folder of the user's own replaces any of them (`--prompts DIR`).

{name}     a variable; whatever is put there is never looked at again, so braces in it stay braces
{{ }}      braces
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
Variables = Mapping[str, tuple[str, ...]]  # of each prompt


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


def load_prompts(home: Path, variables: Variables, folder: Path | None = None) -> Mapping[str, Prompt]:
    """The prompts of a package; those that the user's folder has stand in the place of ours."""
    prompts = {name: Prompt(name, (home / f"{name}.txt").read_text(encoding="utf-8")) for name in variables}
    if folder is None:
        return prompts
    if not folder.is_dir():
        raise InputError("no such folder", file=folder, hint="--prompts names a folder of .txt files")
    own = sorted(folder.glob("*.txt"))
    if not own:
        raise InputError(
            "holds no prompt",
            file=folder,
            hint=f"its files are called {', '.join(f'{name}.txt' for name in variables)}",
        )
    for path in own:
        if path.stem not in variables:
            raise SpecError(f"{path}: no prompt is called {path.stem!r}; {close_to(path.stem, [*variables])}")
        prompts[path.stem] = read_prompt(path, variables[path.stem])
    return prompts


def read_prompt(path: Path, known: tuple[str, ...]) -> Prompt:
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
    for mark in FIELD.finditer(text):
        line = text.count("\n", 0, mark.start()) + 1
        hint = f"there are {', '.join(f'{{{name}}}' for name in known) or 'none'}; a brace is written twice"
        if mark[0] in "{}":
            raise InputError("a brace without its other", file=path, field=f"line {line}", hint=hint)
        if mark["name"] is not None and mark["name"] not in known:
            raise InputError(f"no variable is called {mark[0]}", file=path, field=f"line {line}", hint=hint)
    return Prompt(path.stem, text)
