"""The words of a cue without their markup: HTML and ASS in SubRip files, the cue text of WebVTT (W3C, 2019).

What is taken away is counted by kind, never in silence. Styles go, voices become the speaker, `<br>` a new line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from fabula.documents.fields import SURROGATE
from fabula.io.subtitles.cues import respell_timings

# of SubRip: the tags that players know; other words in angle brackets are words
KNOWN = "i|b|u|s|em|strong|strike|font|span|c|v|lang|ruby|rt|rp|br|p|div|small|big|sub|sup|tt"
TIMED = r"(?:\d+:)?\d+:\d+\.\d+"  # of karaoke
SRT_TAG = re.compile(rf"<(/?)\s*({KNOWN}|{TIMED})((?:\.[^\s<>]*)?(?:\s[^<>]*)?)/?>", re.IGNORECASE)
VTT_TAG = re.compile(rf"<(/?)({TIMED}|[A-Za-z][^\s.<>/]*|(?=[.>]))((?:\.[^\s<>]*)?(?:\s[^<>]*)?)/?>")
OVERRIDE = re.compile(r"\{(?:\\[^{}]*|[yYcCfFsSpP]:[^{}]*)\}")  # of ASS and MicroDVD
ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
NESTED = re.compile(r"[<{&]")  # what markup begins with
ROUNDS = 20  # of markup that appears when other markup is taken away; then its beginnings go
STYLES = {"i", "b", "u", "s", "em", "strong", "strike", "font", "span", "c", "small", "big", "sub", "sup", "tt", "lang"}
STYLES |= {"ruby", "rp", "p", "div"}

STYLED, TIMES, READINGS, OTHERS, OVERRIDES, ENTITIES = (
    "cues hold styles (italics, colours), which are not kept",
    "cues hold times of single words, which are not kept",
    "cues hold readings beside their characters (<rt>), which are not kept",
    "cues hold tags that are none of the format's; the tags are not kept, their words are",
    "cues hold commands of ASS or MicroDVD, which are not kept",
    "cues hold entities (&amp;), which were read as the characters they name",
)


@dataclass(slots=True)
class Words:
    """What a cue says: by whom, and which kinds of markup were in it."""

    parts: list[tuple[str | None, str]] = field(default_factory=list)  # speaker, text
    kinds: set[str] = field(default_factory=set)


def tidy_lines(text: str) -> str:
    """Lines without blanks at their ends, and no empty ones; what no file of text holds becomes U+FFFD."""
    if not text.isascii() or "\0" in text:
        text = SURROGATE.sub("\ufffd", text.replace("\0", "\ufffd").replace("\ufeff", ""))
    return "\n".join(line for part in text.splitlines() if (line := part.strip()))


def unescape(text: str) -> tuple[str, bool]:
    found = ENTITY.sub(lambda m: html.unescape(m[0]), text)
    return found, found != text


def read_srt_words(raw: str) -> Words:
    """The words of a SubRip cue; entities are read, as players do."""
    return read_words(raw, SRT_TAG, entities_are_markup=True)


def read_vtt_words(raw: str) -> Words:
    """The words of a WebVTT cue: every tag is one, entities are its way to write & and <."""
    return read_words(raw, VTT_TAG, entities_are_markup=False)


def read_words(raw: str, tag: re.Pattern[str], entities_are_markup: bool) -> Words:
    found = Words()
    plain = OVERRIDE.sub("", raw) if "{" in raw else raw
    if "\\N" in plain:
        plain = plain.replace("\\N", "\n")
    if plain != raw:
        found.kinds.add(OVERRIDES)
    speaker: str | None = None
    pieces: list[str] = []
    at, reading = 0, False

    def close() -> None:
        text, decoded = unescape("".join(pieces))
        if decoded and entities_are_markup:
            found.kinds.add(ENTITIES)
        pieces.clear()
        if text := tidy_lines(text):
            found.parts.append((speaker, text))

    for match in tag.finditer(plain):
        if not reading:
            pieces.append(plain[at : match.start()])
        at = match.end()
        ends, name = bool(match[1]), match[2].lower()
        if name == "v":
            close()
            speaker = None if ends else name_speaker(match[3])
        elif name == "br":
            pieces.append("\n")
        elif name == "rt":
            reading = not ends
            found.kinds.add(READINGS)
        elif name == "ruby" and ends:
            reading = False
        elif name[:1].isdigit():
            found.kinds.add(TIMES)
        else:
            found.kinds.add(STYLED if name in STYLES or not name else OTHERS)
    if not reading:
        pieces.append(plain[at:])
    close()
    return found


def name_speaker(rest: str) -> str | None:
    """The name behind `<v.loud`, its blanks made one each."""
    if rest.startswith("."):
        rest = re.sub(r"^\S*", "", rest)
    return " ".join(tidy_lines(unescape(rest)[0]).split()) or None


def clean_ass(text: str) -> str:
    """The words of a line of ASS or SSA, as decoders of embedded tracks give it: `{\\i1}Hello\\Nworld`."""
    plain = OVERRIDE.sub("", text).replace("\\N", "\n").replace("\\n", "\n").replace("\\h", " ")
    return tidy_lines(plain)


# ── words into markup ───────────────────────────────────────────────────────────────────────────────────────────────


def write_srt_words(text: str) -> tuple[str, bool]:
    """The words as SubRip can hold them, and whether they had to change: it has no way to write `<i>` or `-->`."""
    return settle(text, respell_timings, read_srt_words)


def write_vtt_words(text: str) -> tuple[str, bool]:
    """The words with & < > escaped; they change only where they hold commands of ASS."""
    return settle(text, escape_vtt, read_vtt_words)


def escape_vtt(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def settle(text: str, write: Callable[[str], str], read: Callable[[str], Words]) -> tuple[str, bool]:
    """Words in markup that is read as these words; what would be read otherwise changes, and then comes True."""
    wanted = first = tidy_lines(text)
    rounds = 0
    while True:
        written = write(wanted)
        back = "\n".join(words for _, words in read(written).parts)
        if back == wanted:
            return written, wanted != first
        rounds += 1
        wanted = back if rounds < ROUNDS else NESTED.sub("", back)
