"""A call of a language model is a value: (model, prompt, inputs, parameters). Its key is their hash.

    key = BLAKE2b-128 of the JSON {"call": 1, "images", "model", "parameters", "prompt", "schema", "system"}, sorted

What is asked is a prompt with pictures behind it, or a sequence of parts: texts, pictures and videos in any order. A
sequence has "parts" in the key besides; one that is a text with pictures behind it is that prompt, with its key.

Nothing else is in the key: not the endpoint's address, not our version, not the time, not the provenance. So a store
of answers stays valid whatever else changes, and tests/llm/test_call.py holds keys that must never change. An image
counts by the SHA-256 of its bytes, and so does a video, or by its address where nobody has its bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Body = dict[str, Any]  # a JSON object that is sent, or comes back: its parts are looked into
LETTERS = 3  # characters that are a token at the least, of prose: estimates err on the long side
PICTURE = 1200  # tokens of an image, where nobody says


@dataclass(frozen=True, slots=True)
class Text:
    """Words between pictures."""

    text: str

    def to_list(self) -> list[object]:
        return ["text", self.text]

    def to_body(self) -> Body:
        return {"type": "text", "text": self.text}

    @property
    def tokens(self) -> int:
        return count_tokens(self.text)

    @property
    def weight(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True)
class Image:
    """A picture or a frame. Its bytes may be left out where an answer is only looked up."""

    digest: str
    data: bytes | None = field(default=None, repr=False, compare=False)
    kind: str = "image/jpeg"
    tokens: int = field(default=PICTURE, repr=False, compare=False)  # about, at the most

    @classmethod
    def of(cls, data: bytes, kind: str = "image/jpeg", tokens: int = PICTURE) -> Image:
        return cls(hashlib.sha256(data).hexdigest(), data, kind, tokens)

    @property
    def base64(self) -> str:
        assert self.data is not None, "an image is sent that was not loaded"
        return base64.b64encode(self.data).decode()

    @property
    def url(self) -> str:
        """As a data URL."""
        return f"data:{self.kind};base64,{self.base64}"

    def load(self, data: Mapping[str, bytes]) -> Image:
        """With its bytes, by digest."""
        return replace(self, data=data[self.digest]) if self.data is None else self

    def to_list(self) -> list[object]:
        return ["image", self.kind, self.digest]

    def to_body(self) -> Body:
        return {"type": "image_url", "image_url": {"url": self.url}}

    @property
    def weight(self) -> int:
        return len(self.data or b"") * 4 // 3


@dataclass(frozen=True, slots=True)
class VideoPart:
    """A film that the server decodes: its bytes, its address, or pictures cut before that travel as one video."""

    digest: str = ""  # SHA-256 of its bytes; nothing where nobody has them
    address: str = ""  # as the server reads it: http://, https:// or file://
    data: bytes | None = field(default=None, repr=False, compare=False)
    images: tuple[Image, ...] = ()  # in place of a film
    kind: str = "video/mp4"
    tokens: int = field(default=PICTURE, repr=False, compare=False)  # about, at the most

    @classmethod
    def of(cls, data: bytes, kind: str = "video/mp4", tokens: int = PICTURE) -> VideoPart:
        return cls(hashlib.sha256(data).hexdigest(), data=data, kind=kind, tokens=tokens)

    @classmethod
    def of_images(cls, images: Sequence[Image]) -> VideoPart:
        """Pictures as one video, as vLLM takes them."""
        return cls(images=tuple(images), kind="video/jpeg", tokens=sum(image.tokens for image in images))

    @property
    def url(self) -> str:
        if self.images:
            return f"data:{self.kind};base64,{','.join(image.base64 for image in self.images)}"
        if self.address:
            return self.address
        assert self.data is not None, "a video is sent that was not loaded"
        return f"data:{self.kind};base64,{base64.b64encode(self.data).decode()}"

    def load(self, data: Mapping[str, bytes]) -> VideoPart:
        """With its bytes, and those of its pictures, by digest."""
        own = data.get(self.digest, self.data) if self.digest else self.data
        return replace(self, data=own, images=tuple(image.load(data) for image in self.images))

    def to_list(self) -> list[object]:
        if self.images:
            return ["video", self.kind, [image.digest for image in self.images]]
        return ["video", self.kind, self.digest] if self.digest else ["video", self.kind, "", self.address]

    def to_body(self) -> Body:
        return {"type": "video_url", "video_url": {"url": self.url}}

    @property
    def weight(self) -> int:
        return len(self.data or b"") * 4 // 3 + sum(image.weight for image in self.images) + len(self.address)


Part = Text | Image | VideoPart


@dataclass(frozen=True, slots=True)
class Call:
    """One question to one model."""

    model: str
    prompt: str = ""
    images: tuple[Image, ...] = ()
    system: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)  # temperature, seed, max_tokens, …
    schema: Mapping[str, object] | None = None  # of a JSON answer, where one is wanted
    parts: tuple[Part, ...] = ()  # in place of prompt and images
    # where its pictures are from: goes on record beside the answer, and is no part of the key
    provenance: Mapping[str, object] | None = field(default=None, repr=False, compare=False)
    key: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if self.parts:
            assert not self.prompt and not self.images, "a call has parts, or a prompt with images"
            text, *rest = self.parts
            images = tuple(part for part in rest if isinstance(part, Image))
            if isinstance(text, Text) and len(images) == len(rest):  # the same request as ever: the same key
                object.__setattr__(self, "prompt", text.text)
                object.__setattr__(self, "images", images)
                object.__setattr__(self, "parts", ())
        object.__setattr__(self, "key", hash_call(self.to_dict()))

    @property
    def sequence(self) -> tuple[Part, ...]:
        """What is asked, part by part."""
        return self.parts or (Text(self.prompt), *self.images)

    @property
    def pictures(self) -> tuple[Image, ...]:
        """Every picture, also those that travel as a video."""
        found: list[Image] = []
        for part in self.sequence:
            found += [part] if isinstance(part, Image) else part.images if isinstance(part, VideoPart) else ()
        return tuple(found)

    def load(self, data: Mapping[str, bytes]) -> Call:
        """The call with the bytes of its pictures and videos, by digest. KeyError: one of a picture is not there."""
        parts = tuple(part if isinstance(part, Text) else part.load(data) for part in self.parts)
        return replace(self, parts=parts, images=tuple(image.load(data) for image in self.images))

    def to_dict(self) -> Body:
        """All that the key is made of."""
        document: Body = {
            "model": self.model,
            "system": self.system,
            "prompt": self.prompt,
            "images": [[image.kind, image.digest] for image in self.images],
            "parameters": dict(self.parameters),
            "schema": None if self.schema is None else dict(self.schema),
        }
        return document | ({"parts": [part.to_list() for part in self.parts]} if self.parts else {})

    def body(self, with_schema: bool = True) -> Body:
        """As POST /chat/completions takes it."""
        content: object = self.prompt
        if self.parts or self.images:
            content = [part.to_body() for part in self.sequence]
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
        return sum(part.tokens for part in self.sequence) + count_tokens(self.system) + 16

    @property
    def weight(self) -> int:
        """Bytes of its request, about."""
        return sum(part.weight for part in self.sequence) + 2000

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
