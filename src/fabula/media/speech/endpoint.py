"""Any OpenAI-compatible `/v1/audio/transcriptions`: whisper.cpp, faster-whisper-server, vLLM, the vendors' own.

    a stretch of a film as WAV ─▶ verbose_json: segments with start, end, text, avg_logprob, no_speech_prob, a language

Client, key, limits and retries are those of fabula.llm. What is sent is only sound in which the gate hears speech.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import math
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fabula.core.errors import shown
from fabula.llm.answer import ReplyError
from fabula.llm.client import HttpClient
from fabula.llm.options import EndpointOptions
from fabula.llm.wire import Request, as_failure, read_json
from fabula.media.speech.codes import short_code
from fabula.media.speech.sound import RATE, Samples


@dataclass(frozen=True)
class Segment:
    """A line as the endpoint gives it; seconds from the start of what was sent."""

    start: float
    end: float
    text: str
    log: float | None = None  # mean log-probability of its tokens
    silent: float | None = None  # probability that nothing is said


@dataclass(frozen=True)
class Reply:
    segments: tuple[Segment, ...]
    language: str | None = None


@dataclass
class Endpoint:
    """An open connection; `with open_endpoint(options) as endpoint: reply = endpoint.hear(samples)`."""

    options: EndpointOptions
    language: str | None
    client: HttpClient
    runner: asyncio.Runner = field(repr=False)

    def hear(self, samples: Samples) -> Reply:
        """What is said in this sound. CallError: the endpoint gives no answer."""
        return self.runner.run(self.client.persist(lambda: self.send(samples)))

    async def send(self, samples: Samples) -> Reply:
        body, boundary = build_form(
            {
                "model": self.options.model,
                "response_format": "verbose_json",
                "timestamp_granularities[]": "segment",
                "temperature": "0",
                **({"language": self.language} if self.language else {}),
            },
            pack_wav(samples),
        )
        headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
        async with self.client.limits.slot(0):
            reply = await self.client.fetch_good(Request("POST", "/audio/transcriptions", body, headers))
        try:
            return read_reply(read_json(reply.body, self.client.secret), len(samples) / RATE)
        except ReplyError as error:
            raise as_failure(error) from None


@contextmanager
def open_endpoint(options: EndpointOptions, language: str | None = None) -> Iterator[Endpoint]:
    """Connected while the block lasts."""
    with asyncio.Runner() as runner:
        client = runner.run(HttpClient(options).__aenter__())
        try:
            yield Endpoint(options, language, client, runner)
        finally:
            runner.run(client.__aexit__(None, None, None))


def pack_wav(samples: Samples) -> bytes:
    """One channel of 16 bits."""
    raw = io.BytesIO()
    with wave.open(raw, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return raw.getvalue()


def build_form(fields: dict[str, str], sound: bytes) -> tuple[bytes, str]:
    """A form with a file, and its boundary: the same sound makes the same bytes."""
    boundary = f"fabula-{hashlib.blake2b(sound, digest_size=16).hexdigest()}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = 'Content-Disposition: form-data; name="file"; filename="sound.wav"\r\nContent-Type: audio/wav'
    parts += [f"--{boundary}\r\n{head}\r\n\r\n".encode(), sound, f"\r\n--{boundary}--\r\n".encode()]
    return b"".join(parts), boundary


def read_reply(document: object, duration: float) -> Reply:
    """The segments of a reply of verbose_json. ReplyError: it has none where it has text."""
    if not isinstance(document, dict):
        raise ReplyError(f"the reply is {shown(document, 80)}; expected an object with segments")
    segments = document.get("segments")
    if segments is None and not str(document.get("text") or "").strip():
        segments = []
    if not isinstance(segments, list):
        raise ReplyError("the reply has no segments: this endpoint or model does not know verbose_json", "length")
    language = document.get("language")
    found = [read_segment(one, duration) for one in segments]
    return Reply(
        tuple(sorted((one for one in found if one.text), key=lambda one: (one.start, one.end))),
        short_code(language) if isinstance(language, str) else None,
    )


def read_segment(entry: Any, duration: float) -> Segment:
    if not isinstance(entry, dict):
        raise ReplyError(f"a segment of the reply is {shown(entry, 80)}")
    start, end = read_number(entry.get("start")), read_number(entry.get("end"))
    text = entry.get("text")
    if start is None or end is None or not isinstance(text, str):
        raise ReplyError(f"a segment of the reply lacks start, end or text: {shown(entry, 80)}")
    start, end = (min(max(0.0, time), duration) for time in (start, end))
    return Segment(
        start,
        max(start, end),
        " ".join(text.encode("utf-8", "replace").decode().replace("\0", "\ufffd").split()),
        read_number(entry.get("avg_logprob")),
        read_number(entry.get("no_speech_prob")),
    )


def read_number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None
