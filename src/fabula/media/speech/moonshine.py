"""Moonshine tiny (Jeffries et al., 2024): English speech to text, from the wheel moonshine-voice 0.1.0.

    16,000 samples a second ─ encoder ─▶ a vector every 24 ms ─ decoder ─▶ one token after the other, the likeliest

The wheel carries the weights (MIT); its later versions download theirs, so this one is pinned. ONNX Runtime runs them,
not the wheel's own library: that gives no probabilities, which are what tells invented words from heard ones.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, MissingExtra
from fabula.media.base import hash_file, stamp
from fabula.media.extractors.onnx import open_session
from fabula.media.people.base import find_in_wheel
from fabula.media.speech.sound import RATE, Samples

VERSION = "0.1.0"
PACKAGE, FOLDER = "moonshine_voice", ("assets", "tiny-en")
FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")
START, STOP = 1, 2  # tokens
TOKENS_A_SECOND = 6.5  # as its authors bound the decoder
SHORTEST = 0.3  # seconds of sound that the encoder takes
SPACE = "▁"  # of the tokeniser's pieces


@dataclass(frozen=True)
class Decoding:
    """A text and how likely the decoder found each of its tokens."""

    text: str
    tokens: tuple[int, ...]
    logs: NDArray[np.float64]  # of the tokens' probabilities, the last that of the end


class Moonshine:
    """Encoder, decoder and tokeniser; loaded once in a process."""

    def __init__(self, threads: int = 1) -> None:
        encoder, decoder, tokeniser = find_weights()
        self.encoder = open_session(encoder, threads, "cpu")
        self.decoder = open_session(decoder, threads, "cpu")
        self.path = decoder
        self.pieces = read_pieces(tokeniser)
        inputs = self.decoder.get_inputs()
        self.outputs = [one.name for one in self.decoder.get_outputs()]
        self.past = {
            one.name: np.zeros((1, one.shape[1], 0, one.shape[3]), np.float32)
            for one in inputs
            if one.name.startswith("past_key_values")
        }

    def encode(self, samples: Samples) -> NDArray[np.float32]:
        """[1, L, C]"""
        feed = {"input_values": samples[None], "attention_mask": np.ones((1, len(samples)), np.int64)}
        encoded: NDArray[np.float32] = self.run(self.encoder, None, feed)[0]
        return encoded

    def decode(self, samples: Samples) -> Decoding:
        """The likeliest text, token by token."""
        short = math.ceil(SHORTEST * RATE) - len(samples)
        if short > 0:
            samples = np.concatenate([samples, np.zeros(short, np.float32)])
        most = math.ceil(TOKENS_A_SECOND * len(samples) / RATE) + 2
        tokens: list[int] = []
        logs: list[float] = []
        steps = Steps(self, self.encode(samples), len(samples))
        token = START
        while token != STOP and len(tokens) < most:
            scores = steps.next(token)
            token = int(scores.argmax())
            logs.append(float(scores[token]))
            if token != STOP:
                tokens.append(token)
        return Decoding(self.spell(tokens), tuple(tokens), np.array(logs))

    def spell(self, tokens: Sequence[int]) -> str:
        raw = b"".join(self.pieces[token] for token in tokens if token < len(self.pieces))
        return " ".join(raw.decode("utf-8", "replace").replace(SPACE, " ").split())

    def run(self, session: Any, outputs: list[str] | None, feed: dict[str, Any]) -> list[Any]:
        try:
            found: list[Any] = session.run(outputs, feed)
        except Exception as error:  # its own classes, one for each code
            problem = f"these weights cannot be run ({' '.join(str(error).split())[:120]})"
            raise InputError(problem, file=self.path, hint=f"install moonshine-voice=={VERSION} again") from None
        return found


class Steps:
    """The decoder's steps over one piece of sound, with what it remembers of earlier tokens."""

    def __init__(self, model: Moonshine, encoded: NDArray[np.float32], samples: int) -> None:
        self.model, self.past = model, dict(model.past)
        self.fixed = {
            "encoder_hidden_states": encoded,
            "encoder_attention_mask": np.ones((1, samples), np.int64),
        }
        self.began = False

    def next(self, token: int) -> NDArray[np.float64]:
        """Log-probabilities of what follows this token."""
        feed = {
            **self.fixed,
            **self.past,
            "input_ids": np.array([[token]], np.int64),
            "use_cache_branch": np.array([self.began]),
        }
        found = dict(zip(self.model.outputs, self.model.run(self.model.decoder, None, feed), strict=True))
        for name, value in found.items():
            if name.startswith("present") and not (self.began and ".encoder." in name):
                self.past[name.replace("present", "past_key_values")] = value
        self.began = True
        scores = found["logits"][0, -1].astype(np.float64)
        scores -= scores.max()
        logs: NDArray[np.float64] = scores - math.log(np.exp(scores).sum())
        return logs


@functools.lru_cache(maxsize=1)
def load_moonshine() -> Moonshine:
    """One a process."""
    return Moonshine()


def find_weights() -> list[Path]:
    """The files of the wheel, which is not imported."""
    found = [find_in_wheel(PACKAGE, *FOLDER, name) for name in FILES]
    if any(path is None for path in found):
        raise MissingExtra(f"hearing speech (moonshine-voice=={VERSION}, Linux with glibc 2.34 or later)", "speech")
    return [path for path in found if path is not None]


def weights_digest() -> str | None:
    """SHA-256 of encoder and decoder, one after the other; None where they are not installed."""
    try:
        found = find_weights()
    except MissingExtra:
        return None
    return "+".join(hash_file(path, *stamp(path))[:16] for path in found[:2])


def read_pieces(path: Path) -> list[bytes]:
    """The tokeniser's pieces: each a length (one byte, or two from 128 on) and so many bytes."""
    return list(walk_pieces(path.read_bytes()))


def walk_pieces(raw: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(raw):
        size, at = raw[at], at + 1
        if size >= 128:
            size, at = raw[at] * 128 + size - 128, at + 1
        yield raw[at : at + size]
        at += size
