"""What a judge is: how a pair is put to a language model, and how its answer is read. A value that prints itself.

messages("P", "G") = (system, user)      read(answer) = a number, 1 the best; None: there is no judgement in it
prompt = the first 16 hex digits of the SHA-256 of those two messages as sorted JSON
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from fabula.llm.call import Call

DIGITS = 16  # of the prompt's hash
Messages = Callable[..., tuple[str, str]]  # prediction, reference (or question, prediction, target) → system, user
Read = Callable[[str], float | None]


@dataclass(frozen=True)
class Judge:
    """A prompt and its parse rule."""

    name: str
    about: str  # one line for lists
    messages: Messages
    read: Read
    source: str = "ours"  # or the package and file whose installed copy the prompt is read from
    parameters: Mapping[str, object] = field(default_factory=lambda: {"temperature": 0, "max_tokens": 128})
    scale: str = "0 to 10"  # as the model is asked to say it
    published: str = ""  # hash of the prompt as published, where it is somebody else's
    schema: Mapping[str, object] | None = None  # of a JSON answer, where the endpoint can be held to one
    variants: Mapping[str, Messages] = field(default_factory=dict)  # the same question put otherwise: order, wording
    sample: tuple[str, ...] = ("P", "G")  # the texts by which the hash of its prompt is made
    installed: bool = False  # its messages are read from the user's copy of a program, and take the `folder` of one

    def call(self, model: str, *texts: str, again: int = 0) -> Call:
        """The one question about these texts; asked again, it has the parameter `seed`, and is another call."""
        system, user = self.messages(*texts)
        parameters = {**self.parameters, **({"seed": again} if again else {})}
        return Call(model, user, system=system, parameters=parameters, schema=self.schema)

    def located(self, folder: Path | None) -> Judge:
        """The judge whose prompt is looked for in this folder first."""
        if folder is None or not self.installed:
            return self
        return replace(self, messages=partial(self.messages, folder=folder))

    def varied(self, how: str) -> Judge:
        """The judge that asks the same in another way."""
        return replace(self, name=f"{self.name}/{how}", messages=self.variants[how], variants={})

    @cached_property
    def prompt(self) -> str:
        """The hash by which a signature names the prompt."""
        return hash_prompt(*self.messages(*self.sample))

    @property
    def version(self) -> str:
        """What a signature says of it, besides the model."""
        schema = ("schema",) if self.schema else ()
        return describe_prompt(self.prompt, self.published, self.parameters, *schema)

    def __str__(self) -> str:
        return f"judge:{self.name}"


def describe_prompt(prompt: str, published: str, parameters: Mapping[str, object], *more: str) -> str:
    """A prompt in a signature: its hash, whether it is the published one, how it is asked."""
    known = "" if not published else ",published" if published == prompt else ",not-the-published"
    return ",".join([f"prompt={prompt}{known}", *more, *(f"{k}={v}" for k, v in sorted(parameters.items()))])


def hash_prompt(system: str, user: str) -> str:
    """Of two messages with their variables filled in; an empty system message is none."""
    messages = ([{"role": "system", "content": system}] if system else []) + [{"role": "user", "content": user}]
    document = json.dumps(messages, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()[:DIGITS]
