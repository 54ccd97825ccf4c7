"""A call of a language model is a value: (model, prompt, inputs, parameters). Its key is their hash.

    key = BLAKE2b-128 of the JSON {"call": 1, "images", "model", "parameters", "prompt", "schema", "system"}, sorted

Nothing else is in the key: not the endpoint's address, not our version, not the time. So a store of answers stays
valid whatever else changes, and tests/llm/test_call.py holds keys that must never change. An image counts by the
SHA-256 of its bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]  # a JSON object that is sent, or comes back: its parts are looked into
LETTERS = 3  # characters that are a token at the least, of prose: estimates err on the long side
PICTURE = 1200  # tokens of an image, where nobody says


@dataclass(frozen=True, slots=True)
class Image:
    """A picture or a frame. Its bytes may be left out where an answer is only looked up."""

    digest: str
    data: bytes | None = field(default=None, repr=False, compare=False)
    kind: str = "image/jpeg"

    @classmethod
    def of(cls, data: bytes, kind: str = "image/jpeg") -> Image:
        return cls(hashlib.sha256(data).hexdigest(), data, kind)

    @property
    def url(self) -> str:
        """As a data URL."""
        assert self.data is not None, "an image is sent that was not loaded"
        return f"data:{self.kind};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True, slots=True)
class Call:
    """One question to one model."""

    model: str
    prompt: str
    images: tuple[Image, ...] = ()
    system: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)  # temperature, seed, max_tokens, …
    schema: Mapping[str, object] | None = None  # of a JSON answer, where one is wanted
    key: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", hash_call(self.to_dict()))

    def to_dict(self) -> Body:
        """All that the key is made of."""
        return {
            "model": self.model,
            "system": self.system,
            "prompt": self.prompt,
            "images": [[image.kind, image.digest] for image in self.images],
            "parameters": dict(self.parameters),
            "schema": None if self.schema is None else dict(self.schema),
        }

    def body(self, with_schema: bool = True) -> Body:
        """As POST /chat/completions takes it."""
        content: object = self.prompt
        if self.images:
            shown = [{"type": "image_url", "image_url": {"url": image.url}} for image in self.images]
            content = [{"type": "text", "text": self.prompt}, *shown]
        before = [{"role": "system", "content": self.system}] if self.system else []
        body: Body = {
            "model": self.model,
            "messages": [*before, {"role": "user", "content": content}],
            **self.parameters,
        }
        if self.schema is not None and with_schema:
            wanted = {"name": "answer", "schema": dict(self.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return body

    @property
    def tokens(self) -> int:
        """How many tokens it has at the most, about."""
        return count_tokens(self.prompt) + count_tokens(self.system) + PICTURE * len(self.images) + 16

    @property
    def longest(self) -> int:
        """How many tokens its answer may have; 0 where nothing bounds it."""
        return int(str(self.parameters.get("max_tokens") or self.parameters.get("max_completion_tokens") or 0))


def hash_call(call: Mapping[str, object]) -> str:
    """The key of a call by what `to_dict` says of it."""
    text = json.dumps({"call": 1, **call}, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def count_tokens(text: str) -> int:
    """An upper estimate for any tokeniser: a third of the characters; each one that is not ASCII counts whole."""
    wide = sum(1 for c in text if c > "\x7f") if not text.isascii() else 0
    return wide + -(-(len(text) - wide) // LETTERS)
