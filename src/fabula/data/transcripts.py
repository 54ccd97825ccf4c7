"""Text of a film with its times: lines that are spoken, and signs that stand in the picture.

A line is one subtitle or one utterance; a sign is one text for as long as it stays on the screen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

SignKind = Literal["sign", "logo", "subtitle"]
"""sign: text in the scene or laid over it for a while; logo: small, near an edge, for most of the film;
subtitle: burnt-in lines, centred below (or above), each for a few seconds."""


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """What is said from `start` to `end`, in seconds."""

    start: float
    end: float
    text: str
    confidence: float | None = None  # from 0 to 1; None where the source has none, as subtitles
    speaker: str | None = None  # a turn's label, S1, S2 …, or the name that a subtitle file gives


@dataclass(frozen=True)
class Transcript:
    """The lines of one film, in the order of their times."""

    video: str
    lines: tuple[SpokenLine, ...]
    duration: float | None = None
    language: str | None = None  # ISO 639-1: "en"; None where it is not known
    source: str = ""  # what the lines are from: "subtitles film.srt", "moonshine-voice 0.1.0 tiny-en", "endpoint MODEL"
    about: dict[str, object] = field(default_factory=dict)  # settings, and what was left out and why


@dataclass(frozen=True, slots=True)
class Sign:
    """A text in the picture from `start` to `end`; `box` is left, top, right, bottom as fractions of the picture."""

    start: float
    end: float
    text: str
    confidence: float
    kind: SignKind = "sign"
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class SignList:
    """The signs of one film, in the order of their times."""

    video: str
    signs: tuple[Sign, ...]
    duration: float | None = None
    source: str = ""  # "rapidocr 3.10 …"
    about: dict[str, object] = field(default_factory=dict)
