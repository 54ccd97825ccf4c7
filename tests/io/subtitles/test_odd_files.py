"""Two hundred odd files: read as they were meant, cue by cue as `srt` and `webvtt-py` read them, and written so that
both read what we write.

Where a reading differs from theirs, the reason stands in a table here, and the difference is checked to be that one.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from html import unescape

import pytest

from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.documents.document import BytesDocument
from fabula.documents.fields import Source
from fabula.io.subtitles import Cue, format_srt, format_vtt, parse_srt, parse_vtt, scan_cues
from fabula.io.subtitles.decode import decode_subtitles
from tests.io.subtitles.odd_files import OddFile, make_files

srt = pytest.importorskip("srt", reason="srt is not installed: pip install 'fabula[test]'")
webvtt = pytest.importorskip("webvtt", reason="webvtt-py is not installed: pip install 'fabula[test]'")

FILES = make_files()
Plain = tuple[int, int, tuple[str, ...]]  # ms, ms, lines without blanks at their ends

# What srt 3.5.3 refuses to read, although players show it.
SRT_REFUSES = {
    "cr": "lines that end in a carriage return alone",
    "crcrlf": "line ends that were written twice",
    "go_negative": "negative times",
    "indent": "blanks before the number",
    "space_times": "blanks in the times",
    "spell_arrows": "an arrow without its second dash",
    "add_blocks": "words before the first cue",
    "break_a_time": "times that cannot be read",
}
# What webvtt-py 0.6.0 leaves out without a word, or refuses.
VTT_LEAVES_OUT = {
    "other_point": "a comma in the times",
    "space_times": "blanks in the times",
    "lose_fractions": "times without a fraction",
    "spell_arrows": "an arrow without its second dash",
    "go_negative": "negative times",
    "break_a_time": "times that cannot be read",
    "lose_hours": "hundreds of hours as minutes",
}
# What changes the cues that were meant, whoever reads the file.
LOSSY = {
    *("shorten_fractions", "lose_fractions", "lose_hours", "break_text", "lose_blanks", "break_a_time", "add_junk"),
    *("cp1252", "name_ids"),
}
MEANT = [file for file in FILES if not LOSSY.intersection(file.oddities)]


@dataclass(frozen=True)
class Read:
    """Our reading of a file."""

    file: OddFile
    text: str
    cues: tuple[Cue, ...]
    notes: Notes

    @property
    def is_vtt(self) -> bool:
        return self.file.name.endswith(".vtt")

    def plain(self) -> list[Plain]:
        return [(to_ms(cue.start), to_ms(cue.end), to_lines(cue.text)) for cue in self.cues]


def to_ms(seconds: float) -> int:
    return round(seconds * 1000)


def to_lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def source_of(file: OddFile) -> Source:
    stem, _, ending = file.name.partition(".")
    return Source(BytesDocument(file.data, stem, f".{ending}"))


def read_ours(file: OddFile) -> Read | None:
    """None where no cue can be read, which is an error."""
    source = source_of(file)
    text = decode_subtitles(file.data, source)
    try:
        found = scan_cues(text, source, file.name.endswith(".vtt"))
    except InputError:
        return None
    return Read(file, text, found.cues, source.notes)


def clock_ms(clock: str) -> int:
    hours, minutes, seconds = clock.split(":")
    return round((int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1000)


def read_theirs(file: OddFile, text: str) -> list[Plain] | None:
    """None where they refuse the file."""
    try:
        if file.name.endswith(".vtt"):
            captions = webvtt.from_string(text).captions
            return [(clock_ms(c.start), clock_ms(c.end), to_lines(c.raw_text)) for c in captions]
        subtitles = list(srt.parse(text))
    except (srt.SRTParseError, webvtt.errors.MalformedFileError):
        return None
    return [(to_ms(s.start.total_seconds()), to_ms(s.end.total_seconds()), to_lines(s.content)) for s in subtitles]


def explain(ours: Read, theirs: list[Plain] | None) -> str | None:
    """Why the two readings differ; None where they do not, and an error where nothing explains it."""
    mine, odd = ours.plain(), set(ours.file.oddities)
    if theirs == mine:
        return None
    if theirs is None:
        known = {"lose_head": "no line WEBVTT"} if ours.is_vtt else SRT_REFUSES
        return f"they refuse {next(reason for oddity, reason in known.items() if oddity in odd)}"
    if not ours.is_vtt:
        return explain_srt(mine, theirs, odd)
    if "crcrlf" in odd and [c[:2] for c in theirs] == [c[:2] for c in mine]:
        assert all(a[2][: len(b[2])] == b[2] for a, b in zip(mine, theirs, strict=True))
        return "they lose the text where line ends were written twice"
    coming = iter(mine)
    assert all(cue in coming for cue in theirs), "theirs are some of ours, in order"
    return f"they leave out {next(reason for oddity, reason in VTT_LEAVES_OUT.items() if oddity in odd)}"


def explain_srt(mine: list[Plain], theirs: list[Plain], odd: set[str]) -> str:
    assert len(mine) == len(theirs)
    if "shorten_fractions" in odd:
        assert [c[1:] for c in mine] == [c[1:] for c in theirs]
        for (ours, *_), (other, *_) in zip(mine, theirs, strict=True):
            assert divmod(ours, 1000) == (other // 1000, 100 * (other % 1000))
        return "they read ,5 as 5 ms"
    if "lose_hours" in odd:
        assert [c[2] for c in mine] == [c[2] for c in theirs]
        for (*ours, _), (*others, _) in zip(mine, theirs, strict=True):
            assert all(other in (ms, shift_fields(ms)) for ms, other in zip(ours, others, strict=True))
        return "they read 00:05,500 as 0 h 5 min 500 s"
    assert "break_a_time" in odd and [c[:2] for c in mine] == [c[:2] for c in theirs]
    assert all(a[2] == b[2][: len(a[2])] for a, b in zip(mine, theirs, strict=True))
    return "they take a cue with broken times for words of the cue above"


def shift_fields(ms: int) -> int:
    """Minutes read as hours, seconds as minutes, ms as seconds."""
    return (ms // 60_000 * 3600 + ms // 1000 % 60 * 60 + ms % 1000) * 1000


def test_each_oddity_occurs() -> None:
    seen = Counter(name for file in FILES for name in file.oddities)
    assert len(FILES) == 200 and len(seen) == 38 and min(seen.values()) >= 2


@pytest.mark.parametrize("file", MEANT, ids=lambda file: file.name)
def test_it_is_read_as_it_was_meant(file: OddFile) -> None:
    ours = read_ours(file)
    assert ours is not None
    assert ours.plain() == [(cue.start, cue.end, to_lines(cue.text)) for cue in file.cues]


def test_every_difference_from_srt_and_webvtt_py_has_its_reason() -> None:
    reasons: Counter[str] = Counter()
    for file in FILES:
        ours = read_ours(file)
        if ours is None:  # a single cue, and its times cannot be read
            assert "break_a_time" in file.oddities
            assert read_theirs(file, decode_subtitles(file.data, source_of(file))) is None
            reasons["refused by both"] += 1
            continue
        reasons[explain(ours, read_theirs(file, ours.text)) or "the same"] += 1
    print(*(f"{n:4d}  {reason}" for reason, n in reasons.most_common()), sep="\n")
    assert reasons["the same"] >= 100 and sum(reasons.values()) == 200


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_we_write_they_read_without_a_warning(file: OddFile, caplog: pytest.LogCaptureFixture) -> None:
    ours = read_ours(file)
    if ours is None:
        return
    parse = parse_vtt if ours.is_vtt else parse_srt
    film = parse(ours.text, source_of(file))
    caplog.set_level(logging.DEBUG)
    text = format_srt(film.lines)
    theirs = list(srt.parse(text))
    assert srt.compose(theirs) == text + ("\n" if text else "")
    again = parse_srt(text, source := source_of(file)) if text else film
    assert [(to_ms(s.start.total_seconds()), to_ms(s.end.total_seconds()), s.content) for s in theirs] == [
        (to_ms(line.start), to_ms(line.end), line.text) for line in again.lines
    ]
    assert format_srt(again.lines) == text and (not text or source.notes.lines() == [])

    text = format_vtt(film.lines, kind="captions", language="en")
    captions = webvtt.from_string(text, strict=True).captions
    again = parse_vtt(text, source := source_of(file))
    assert [(clock_ms(c.start), clock_ms(c.end), unescape(c.text)) for c in captions] == [
        (to_ms(line.start), to_ms(line.end), line.text) for line in again.lines
    ]
    assert [c.voice and unescape(c.voice) for c in captions] == [line.speaker for line in again.lines]
    assert [(line.text, line.speaker) for line in again.lines] == [(line.text, line.speaker) for line in film.lines]
    assert format_vtt(again.lines, kind="captions", language="en") == text
    assert [line for line in source.notes.lines() if "hold no cue" not in line] == []
    assert caplog.records == []
