"""A prompt: variables in, system and user message out; and the two that an examination takes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from fabula.core.errors import FabulaError
from fabula.llm.call import Call
from fabula.text.judges.base import DIGITS, hash_prompt
from fabula.text.judges.installed import Found, folder


def read_copy(read: Callable[..., Found], *args: object) -> Any:
    """What `read` finds in the user's copy of a program; looked up once."""
    return find_once(folder.get(), read, *args)


@lru_cache(maxsize=32)
def find_once(where: Path | None, read: Callable[..., Found], *args: object) -> Any:
    return read(*args).value


@dataclass(frozen=True)
class Prompt:
    """One question to a judge. `sample` are the variables by which its hash is made."""

    build: Callable[..., tuple[str, str]]  # variables → system, user
    sample: tuple[object, ...]
    published: str = ""  # its hash as published, where it is somebody else's

    @property
    def hash(self) -> str:
        """Of both messages; of one that stands alone, of its text."""
        system, user = self.build(*self.sample)
        if system:
            return hash_prompt(system, user)
        return hashlib.sha256(json.dumps(user, ensure_ascii=False).encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Examination:
    """Two prompts, the first's answers being what the second is about."""

    name: str
    first: Prompt
    second: Prompt
    source: str = "ours"  # or the program whose copy the prompts are read from
    parameters: Mapping[str, object] = field(default_factory=lambda: {"temperature": 0, "max_tokens": 2048})

    def ask_first(self, model: str, *variables: object) -> Call:
        return self.ask(self.first, model, *variables)

    def ask_second(self, model: str, *variables: object) -> Call:
        return self.ask(self.second, model, *variables)

    def ask(self, prompt: Prompt, model: str, *variables: object) -> Call:
        system, user = prompt.build(*variables)
        return Call(model, user, system=system, parameters=self.parameters)

    @property
    def version(self) -> str:
        """What a signature says of it; a published prompt that cannot be found has no hash."""
        hashes = []
        for prompt in (self.first, self.second):
            try:
                hashed = prompt.hash
            except FabulaError:
                return f"{self.source},not-found"
            known = "" if not prompt.published else ",published" if prompt.published == hashed else ",not-the-published"
            hashes.append(f"{hashed}{known}")
        settings = ",".join(f"{k}={v}" for k, v in sorted(self.parameters.items()))
        return f"prompts={'+'.join(hashes)}" + (f",{settings}" if settings else "")


def quote(*texts: tuple[str, str]) -> str:
    """Texts under their names, between marks that no text can hold: a hash of all of them."""
    fence = hashlib.sha256("\0".join(text for _, text in texts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return "\n\n".join(f"[{name} {fence}]\n{text}\n[END {name} {fence}]" for name, text in texts)
