"""The cues of SubRip (.srt) and WebVTT (W3C, 2019) files, as they are found in the wild.

Nothing is judged here: a cue has its times as they are written, and its words with their markup. What had to be mended
to read it, and what was left out, is counted in the notes, each kind once, with the first places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fabula.core.errors import shown
from fabula.documents.fields import Source

# [-][hours:]minutes:seconds[,fraction], with blanks that translation programs put in
CLOCK = r"(-?)(?:(\d{1,10})\s*[:：]\s*)?(\d{1,4})\s*[:：]\s*(\d{1,4})(?:\s*[,.，．。:]\s*(\d{1,9}))?"
TIMING = re.compile(rf"\s*{CLOCK}\s*(-->|->|- ->|-- >|—>|–>)\s*{CLOCK}(?:(?=[^\d:.,])(.*))?", re.DOTALL)
STAMP = re.compile(r"\s*\d+[,.:，．。：]\d+[,.:，．。：]\d")
ARROW = re.compile(r"[-—– ]*> ?")
NUMBER = re.compile(r"\s*-?\d{1,12}(?:\.\d*)?\.?\s*")
TRIED = re.compile(r"\s*-?\d+\s*[:：].*-->|.*-->\s*-?\d+\s*[:：]")  # a timing line that cannot be read
BLOCKS = {"NOTE": "notes (NOTE)", "STYLE": "style blocks (STYLE)", "REGION": "regions (REGION)"}


@dataclass(frozen=True, slots=True)
class Cue:
    """One cue. The times may be negative or reversed, the text may be empty."""

    start: float
    end: float
    text: str  # with its markup; lines end in \n
    line: int  # of the times, from 1
    label: str | None = None  # the number (SRT) or the id (WebVTT)
    settings: str = ""  # what follows the times


@dataclass(frozen=True, slots=True)
class CueFile:
    """The cues of a file, in its order, and what its head says."""

    cues: tuple[Cue, ...]
    is_vtt: bool
    kind: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """A timing line."""

    at: int  # place among the lines
    start: float
    end: float
    settings: str
    is_odd: bool  # blanks in it, another arrow, hours or fraction missing …


def split_lines(text: str) -> list[str]:
    """At \\n, \\r\\n, \\r, and \\r\\r\\n, which is one line end written twice. No other sign ends a line."""
    return text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_clock(sign: str, hours: str | None, minutes: str, seconds: str, fraction: str | None) -> float:
    """Seconds. The fraction is decimal: `,5` is half a second, as in WebVTT, and not 5 ms."""
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    digits = fraction or "0"
    ms: float = whole * 1000 + int(digits) * 1000 / 10.0 ** len(digits)
    return (-ms if sign else ms) / 1000


def read_timing(line: str, at: int) -> Timing | None:
    match = TIMING.fullmatch(line) if ">" in line else None
    if match is None:
        return None
    sign, hours, minutes, seconds, fraction, arrow, sign2, hours2, minutes2, seconds2, fraction2, rest = match.groups()
    blanks = re.search(r"\d\s+[:,.]|[:,.]\s+\d", line[: match.end(11) if fraction2 else match.end(10)])
    odd = (
        arrow != "-->"
        or blanks is not None
        or any(len(f or "") != 3 for f in (fraction, fraction2))
        or any(len(f) != 2 or int(f) > 59 for f in (minutes, seconds, minutes2, seconds2))
    )
    return Timing(
        at,
        read_clock(sign, hours, minutes, seconds, fraction),
        read_clock(sign2, hours2, minutes2, seconds2, fraction2),
        (rest or "").strip(),
        odd,
    )


def respell_timings(text: str) -> str:
    """Words that would be read as a timing line, with another arrow; and a number does not stand alone above a time,
    where programs see a cue begin."""
    found: list[str] = []
    for line in text.replace("-->", "→").split("\n"):
        spelled = ARROW.sub(" → ", line) if read_timing(line, 0) else line
        if found and STAMP.match(line) and NUMBER.fullmatch(found[-1]):
            found[-1] += f" {spelled}"
        else:
            found.append(spelled)
    return "\n".join(found)


def scan_cues(text: str, source: Source, expect_vtt: bool) -> CueFile:
    """The cues of a text. Whether it is SubRip or WebVTT, it says itself: the latter begins with WEBVTT."""
    lines = split_lines(text.replace("\ufeff", ""))
    filled = next((i for i, line in enumerate(lines) if line.strip()), None)
    if filled is None:
        return CueFile((), expect_vtt)
    is_vtt = re.match(r"\s*WEBVTT(?:\s|$)", lines[filled], re.IGNORECASE) is not None
    name = source.document.filename
    if is_vtt and not expect_vtt:
        source.notes.add("{n} files called .srt hold WebVTT and were read as such", name)
    timings = find_timings(lines, is_vtt)
    if not timings and not is_vtt:
        seen = shown(lines[filled].strip())
        raise source.wrong(
            f"holds no subtitles: it begins with {seen}",
            field=f"line {filled + 1}",
            hint="a cue has a line such as 00:00:01,000 --> 00:00:02,500, and text under it",
        )
    if expect_vtt and not is_vtt:
        source.notes.add("{n} files called .vtt lack the line WEBVTT at their head", name)
    scan = Scan(lines, timings, source, is_vtt)
    kind, language = scan.read_head(filled) if is_vtt else (None, None)
    return CueFile(scan.read_cues(), is_vtt, kind, language)


def find_timings(lines: Sequence[str], is_vtt: bool) -> list[Timing]:
    """The timing lines. One with another arrow than `-->` counts only where a cue may begin."""
    found = []
    for i, line in enumerate(lines):
        timing = read_timing(line, i)
        if timing is None:
            continue
        if "-->" not in line and i > 0 and lines[i - 1].strip() and not NUMBER.fullmatch(lines[i - 1]):
            continue
        found.append(timing)
    return found


class Scan:
    """Goes through the lines once; `begins` of a cue is its number, or its times where it has none."""

    def __init__(self, lines: Sequence[str], timings: Sequence[Timing], source: Source, is_vtt: bool) -> None:
        self.lines, self.timings, self.source, self.is_vtt = lines, timings, source, is_vtt
        self.name = source.document.filename

    def note(self, text: str, at: int, count: int = 1) -> None:
        self.source.notes.add(f"{{n}} {text}", f"{self.name} line {at + 1}", count)

    def read_head(self, at: int) -> tuple[str | None, str | None]:
        """Kind and language, where the head has them; it is the first block."""
        kind = language = None
        for line in self.lines[at + 1 :]:
            if not line.strip() or "-->" in line:
                break
            called, _, value = line.partition(":")
            match called.strip().lower():
                case "kind":
                    kind = value.strip().lower() or None
                case "language":
                    language = value.strip() or None
                case _ if "TIMESTAMP-MAP" in called.upper():
                    self.note("files are parts of a stream (X-TIMESTAMP-MAP); their times were left as they are", at)
        return kind, language

    def label_of(self, place: int, floor: int, before: str | None) -> tuple[int, str | None]:
        """Where the cue of these times begins, and its number or id.

        `floor` is the first line that may belong to it, `before` the label of the cue before.
        """
        lines, at = self.lines, self.timings[place].at
        above = at - 1
        if above < floor:
            return at, None
        if line := lines[above].strip():
            is_own = above == 0 or (above > floor and not lines[above - 1].strip())
            if self.is_vtt:
                fits = is_own and "-->" not in line and not is_block(line) and not line.startswith("WEBVTT")
            else:
                fits = NUMBER.fullmatch(line) is not None
            return (above, line) if fits else (at, None)
        while above > floor and not lines[above].strip():
            above -= 1
        number = lines[above].strip()  # with a blank line between it and the times
        if self.is_vtt or not NUMBER.fullmatch(number) or (above > floor and lines[above - 1].strip()):
            return at, None
        is_number = place == 0 or any(line.strip() for line in lines[floor:above]) or follows(number, before)
        return (above, number) if is_number else (at, None)

    def read_cues(self) -> tuple[Cue, ...]:
        begins: list[tuple[int, str | None]] = []
        floor = 0
        for place, timing in enumerate(self.timings):
            begins.append(self.label_of(place, floor, begins[-1][1] if begins else None))
            floor = timing.at + 1
        first = begins[0][0] if begins else len(self.lines)
        self.count_lost(0, first, head=True)
        return tuple(self.read_cue(place, begins) for place in range(len(begins)))

    def read_cue(self, place: int, begins: Sequence[tuple[int, str | None]]) -> Cue:
        timing = self.timings[place]
        stop = begins[place + 1][0] if place + 1 < len(begins) else len(self.lines)
        label = begins[place][1]
        body = self.read_body(timing.at + 1, stop)
        if timing.is_odd:
            self.note("timing lines are not as the format has them; they were read all the same", timing.at)
        if timing.settings:
            self.note("cues have settings (position, alignment), which are not kept", timing.at)
        if label is None and not self.is_vtt:
            self.note("cues have no number", timing.at)
        if label is not None and not NUMBER.fullmatch(label):
            self.note("cues have an id, which is not kept", timing.at)
        return Cue(timing.start, timing.end, body, timing.at + 1, label, timing.settings)

    def read_body(self, at: int, stop: int) -> str:
        """The text of a cue. In WebVTT it ends at an empty line; in SubRip text goes on until the next cue."""
        lines, end = self.lines, stop
        for i in range(at, stop):
            if TRIED.match(lines[i]) or ("-->" in lines[i] and self.is_vtt):
                is_numbered = i > at + 1 and NUMBER.fullmatch(lines[i - 1]) and not lines[i - 2].strip()
                end = i - 1 if is_numbered else i
                self.count_lost(end, stop)
                break
        if self.is_vtt:
            blank = next((i for i in range(at, end) if not lines[i].strip()), end)
            self.count_lost(blank, end)
            return "\n".join(lines[at:blank])
        filled = [i for i in range(at, end) if lines[i].strip()]
        if filled and filled[-1] - filled[0] >= len(filled):
            self.note("cues have empty lines in their text, which were left out", filled[0])
        return "\n".join(lines[i] for i in filled)

    def count_lost(self, at: int, stop: int, head: bool = False) -> None:
        """What stands between cues: blocks of WebVTT, timing lines that cannot be read, and the rest."""
        for first, last in find_blocks(self.lines, at, stop):
            line = self.lines[first].strip()
            if head and self.is_vtt and line.upper().startswith("WEBVTT"):
                continue
            known = next((text for word, text in BLOCKS.items() if self.is_vtt and is_block(line, word)), None)
            tried = next((i for i in range(first, last) if "-->" in self.lines[i]), None)
            if known:
                self.note(f"{known} are not kept", first)
            elif tried is not None:
                self.note("cues whose times cannot be read were left out", tried)
            else:
                self.note("lines that belong to no cue were left out", first, last - first)


def follows(number: str, before: str | None) -> bool:
    """Whether a number is one more than the label before it."""
    return before is not None and before.isdecimal() and number.isdecimal() and int(number) == int(before) + 1


def is_block(line: str, word: str = "") -> bool:
    """Whether a block that begins so is a note, a style or a region."""
    return any(line == w or line.startswith((f"{w} ", f"{w}\t")) for w in ([word] if word else BLOCKS))


def find_blocks(lines: Sequence[str], at: int, stop: int) -> list[tuple[int, int]]:
    """Lines without an empty one between them."""
    found, first = [], None
    for i in range(at, stop):
        if lines[i].strip():
            first = i if first is None else first
        elif first is not None:
            found.append((first, i))
            first = None
    return [*found, *([(first, stop)] if first is not None else [])]
