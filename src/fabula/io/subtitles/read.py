"""Subtitle files as transcripts and as stories: a cue is a line that is spoken, or an event.

A transcript holds lines that a program can use: in the order of their times, none before 0, none that ends before it
starts. What had to change for that is counted. A story keeps the times as they stand: scoring judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from fabula.core.notes import Notes
from fabula.data.stories import Event, Segment
from fabula.data.transcripts import SpokenLine, Transcript
from fabula.documents.document import Document, open_document
from fabula.documents.fields import LONGEST_CAPTION, Source
from fabula.io.subtitles.cues import Cue, CueFile, scan_cues
from fabula.io.subtitles.decode import decode_subtitles
from fabula.io.subtitles.markup import read_srt_words, read_vtt_words

SRT, VTT = ".srt", ".vtt"
ENDINGS = (SRT, VTT)


@dataclass(frozen=True, slots=True)
class PlainCue:
    """A cue without markup, as many lines as it has speakers."""

    cue: Cue
    parts: tuple[tuple[str | None, str], ...]  # speaker, words


def name_video(document: Document) -> str:
    """The id of the film: the name of the file without its ending."""
    return Path(document.filename.removesuffix(".gz")).stem


def read_cues(source: Source, encoding: str | None = None) -> CueFile:
    """The cues of a file of subtitles."""
    text = decode_subtitles(source.document.raw(), source, encoding)
    return scan_cues(text, source, source.document.ending == VTT)


def clean_cues(found: CueFile, source: Source) -> Iterator[PlainCue]:
    """Each cue's words without markup; what markup there was goes to the notes."""
    read = read_vtt_words if found.is_vtt else read_srt_words
    for cue in found.cues:
        place = f"{source.document.filename} line {cue.line}"
        words = read(cue.text)
        for kind in sorted(words.kinds):
            source.notes.add(f"{{n}} {kind}", place)
        length = sum(len(text) for _, text in words.parts)
        if length > LONGEST_CAPTION:
            hint = f"the longest that is read has {LONGEST_CAPTION:,} characters"
            raise source.wrong(f"a cue of {length:,} characters", None, f"line {cue.line}", hint)
        yield PlainCue(cue, tuple(words.parts))


def parse_srt(text: str, source: Source, video: str | None = None) -> Transcript:
    """The lines of a text in SubRip; remarks go to `source.notes`."""
    return make_transcript(scan_cues(text, source, expect_vtt=False), source, video)


def parse_vtt(text: str, source: Source, video: str | None = None) -> Transcript:
    """The lines of a text in WebVTT, of whatever kind: captions, subtitles, chapters, descriptions."""
    return make_transcript(scan_cues(text, source, expect_vtt=True), source, video)


def read_subtitles(
    file: str | Path | Document, *, video: str | None = None, encoding: str | None = None
) -> tuple[Transcript, Notes]:
    """A file of subtitles, .srt or .vtt (.gz), and what was remarkable in it.

    `video` is the film's id (default: the file's name without its ending), `encoding` that of a file that is neither
    UTF-8 nor UTF-16.
    """
    source = Source(open_document(file), noun="cue")
    return make_transcript(read_cues(source, encoding), source, video), source.notes


def make_transcript(found: CueFile, source: Source, video: str | None = None) -> Transcript:
    name, notes = source.document.filename, source.notes
    lines: list[SpokenLine] = []
    for plain in clean_cues(found, source):
        start, end = plain.cue.start, plain.cue.end
        place = f"{name} line {plain.cue.line}"
        if not plain.parts:
            notes.add("{n} cues without words were left out", place)
            continue
        if start < 0 and end < 0:
            notes.add("{n} cues end before the film begins and were left out", place)
            continue
        if start < 0 or end < 0:
            notes.add("{n} cues have a time before 0; 0 stands there now", place)
            start, end = max(0.0, start), max(0.0, end)
        if end < start:
            notes.add("{n} cues end before they start; they are kept at their start, without length", place)
            end = start
        lines += [SpokenLine(start, end, text, speaker=speaker) for speaker, text in plain.parts]
    ordered = sorted(lines, key=lambda line: (line.start, line.end))  # stable: of equal times, the file's order
    for before, line in pairwise(lines):
        if (line.start, line.end) < (before.start, before.end):
            notes.add("{n} lines start before the line above them; lines were sorted", f"{name} at {line.start:.3f} s")
    if not found.cues:
        notes.add("{n} files hold no cue", name)
    about: dict[str, object] = {"kind": found.kind} if found.kind else {}
    return Transcript(
        name_video(source.document) if video is None else video,
        tuple(ordered),
        language=found.language,
        source=f"subtitles {name}",
        about=about,
    )


def read_events(found: CueFile, source: Source) -> tuple[Event, ...]:
    """The cues as events, in the order of the file and with the times that it has; a caption is one line of text."""
    events = []
    for plain in clean_cues(found, source):
        place = f"{source.document.filename} line {plain.cue.line}"
        if any(speaker for speaker, _ in plain.parts):
            source.notes.add("{n} cues name who speaks, which a story does not hold", place)
        text = " ".join(" ".join(words.split("\n")) for _, words in plain.parts)
        events.append(Event(Segment(plain.cue.start, plain.cue.end), text))
    return tuple(events)
