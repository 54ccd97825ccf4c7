"""Lines with times as text: SubRip, WebVTT, plain text, and chapters for ffmpeg.

Times are rounded to milliseconds, and no cue is shorter than one: players show none, and WebVTT allows none. Text never
has an empty line. What a format has no place for is counted in the notes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes
from fabula.data.transcripts import Sign, SpokenLine
from fabula.io.subtitles.markup import escape_vtt, tidy_lines, write_srt_words, write_vtt_words

Kind = Literal["subtitles", "captions", "descriptions", "chapters"]
KINDS: tuple[Kind, ...] = ("subtitles", "captions", "descriptions", "chapters")  # of WebVTT tracks
Line = SpokenLine | Sign


def to_ms(line: Line, file: object = None) -> tuple[int, int]:
    """Start and end in ms. Lines that no file can hold are refused."""
    if not (math.isfinite(line.start) and math.isfinite(line.end)) or line.start < 0 or line.end < line.start:
        problem = f"a line from {line.start:g} to {line.end:g} s"
        raise InputError(problem, file=file, hint="lines have 0 ≤ start ≤ end, in seconds")
    start = round(line.start * 1000)
    return start, max(start, round(line.end * 1000))


def clock(ms: int, point: str) -> str:
    """01:02:03,004."""
    seconds, ms = divmod(ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{point}{ms:03d}"


def place_of(line: Line) -> str:
    return f"{shown(line.text, 40)} at {line.start:.3f} s"


def note_lost(line: Line, notes: Notes, format: str, speaker: bool = True) -> None:
    """What a line has and neither format does."""
    if line.confidence is not None:
        notes.add(f"lost in writing {format}: the confidence of {{n}} lines", place_of(line))
    if isinstance(line, Sign):
        notes.add(f"lost in writing {format}: the kind and the box of {{n}} signs", place_of(line))
    elif speaker and line.speaker is not None:
        notes.add(f"lost in writing {format}: who speaks in {{n}} lines", place_of(line))


def stretch(start: int, end: int, line: Line, notes: Notes) -> int:
    """The end, at least 1 ms after the start."""
    if end > start:
        return end
    notes.add("{n} lines have no length and were written 1 ms long", place_of(line))
    return start + 1


def written_times(line: Line) -> tuple[int, int]:
    start, end = to_ms(line)
    return start, max(start + 1, end)


def sort_lines(lines: Iterable[Line], notes: Notes) -> list[Line]:
    """By start and end in ms, as WebVTT wants them; of equal times in the order they come in."""
    found = list(lines)
    ordered = sorted(found, key=written_times)
    for before, line in pairwise(found):
        if written_times(line) < written_times(before):
            notes.add(
                "{n} lines start before the one above them; they are written in the order of time", place_of(line)
            )
    return ordered


def format_srt(lines: Iterable[Line], notes: Notes | None = None) -> str:
    """SubRip, numbered from 1, each cue with an empty line after it."""
    notes = Notes() if notes is None else notes
    cues: list[str] = []
    for line in sort_lines(lines, notes):
        start, end = to_ms(line)
        words, changed = write_srt_words(line.text)
        if changed:
            notes.add("{n} lines hold what SubRip takes for markup; it was left out", place_of(line))
        if not words:
            notes.add("{n} lines without words were not written", place_of(line))
            continue
        note_lost(line, notes, ".srt")
        end = stretch(start, end, line, notes)
        cues.append(f"{len(cues) + 1}\n{clock(start, ',')} --> {clock(end, ',')}\n{words}\n")
    return "\n".join(cues)


def format_vtt(
    lines: Iterable[Line], notes: Notes | None = None, *, kind: str | None = None, language: str | None = None
) -> str:
    """WebVTT, with the voices of speakers.

    `kind` and `language` stand in the head, as they do in the files of video hosts. Of chapters a title is one line.
    """
    if kind is not None and kind not in KINDS:
        raise SpecError(f"a WebVTT track has no kind {shown(kind)}; there are {', '.join(KINDS)}")
    notes = Notes() if notes is None else notes
    head = [f"{name}: {one_line(value)}" for name, value in (("Kind", kind), ("Language", language)) if value]
    blocks = ["\n".join(["WEBVTT", *head]) + "\n"]
    for line in sort_lines(lines, notes):
        start, end = to_ms(line)
        text = one_line(line.text) if kind == "chapters" else line.text
        words, changed = write_vtt_words(text)
        if changed:
            notes.add("{n} lines hold commands of ASS, which were left out", place_of(line))
        if not words:
            notes.add("{n} lines without words were not written", place_of(line))
            continue
        note_lost(line, notes, ".vtt", speaker=kind == "chapters")
        end = stretch(start, end, line, notes)
        speaker = one_line(getattr(line, "speaker", None) or "") if kind != "chapters" else ""
        gap = " " if speaker.endswith("--") else ""  # else it would end in an arrow
        voice = f"<v {escape_vtt(speaker)}{gap}>" if speaker else ""
        blocks.append(f"{clock(start, '.')} --> {clock(end, '.')}\n{voice}{words}\n")
    return "\n".join(blocks)


def one_line(text: str) -> str:
    return " ".join(tidy_lines(text).split())


def format_text(lines: Iterable[Line], notes: Notes | None = None) -> str:
    """A line each: `[00:00:01.000 --> 00:00:02.500] words`; who speaks, or what a sign is, behind the times."""
    notes = Notes() if notes is None else notes
    rows = []
    for line in sort_lines(lines, notes):
        start, end = to_ms(line)
        words = one_line(line.text)
        if not words:
            notes.add("{n} lines without words were not written", place_of(line))
            continue
        if isinstance(line, Sign):
            box = "" if line.box is None else " " + ",".join(f"{x:.4f}" for x in line.box)
            more = f" {line.kind} {line.confidence:.4f}{box}"
        else:
            speaker = one_line(line.speaker or "").replace("]", ")")
            more = f" {speaker}" if speaker else ""
            if line.confidence is not None:
                notes.add("lost in writing .txt: the confidence of {n} lines", place_of(line))
        rows.append(f"[{clock(start, '.')} --> {clock(end, '.')}{more}] {words}\n")
    return "".join(rows)


def format_chapters(lines: Sequence[Line], notes: Notes | None = None) -> str:
    """Chapters as ffmpeg reads them (`ffmpeg -i film.mp4 -i chapters.ffmeta -map_chapters 1 …`)."""
    notes = Notes() if notes is None else notes
    pieces = [";FFMETADATA1\n"]
    for line in sort_lines(lines, notes):
        start, end = to_ms(line)
        title = one_line(line.text)
        for sign in "\\=;#":
            title = title.replace(sign, "\\" + sign)
        end = stretch(start, end, line, notes)
        pieces.append(f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={start}\nEND={end}\ntitle={title}\n")
    return "".join(pieces)
