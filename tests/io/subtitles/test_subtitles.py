"""Subtitles read and written: what is mended or left out is said, what is written is read back."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.data.transcripts import Sign, SignList, SpokenLine, Transcript
from fabula.documents.document import BytesDocument
from fabula.documents.fields import Source
from fabula.io.subtitles import (
    clean_ass,
    format_chapters,
    format_srt,
    format_text,
    format_vtt,
    parse_srt,
    parse_vtt,
    read_signs,
    read_subtitles,
    read_transcripts,
    write_signs,
    write_transcripts,
)

Put = Callable[..., Path]

SRT = """\
1
00:00:01,000 --> 00:00:02,500
<i>Hello</i> &amp; {\\an8}welcome

00:00:03.5 --> 00:00:02
I was born in
1984

3
00:00:05,000 -> 00:00:06,000
a

b <sigh> <3

4
00:00:xx,000 --> 00:00:07,000
lost

5

-00:00:01,000 --> 00:00:01,000 X1:5
before the film
6
00:00:08,000 --> 00:00:09,000
"""

VTT = """\
WEBVTT - a title
Kind: captions
Language: en

NOTE two
lines

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.000 align:start
<v.loud Bob Smith>Hi</v> <v Al &amp; Bo>you &lt;b&gt; <00:00:01.500>I <3

00:00:03.000 --> 00:00:04.000
<ruby>a<rt>b</rt></ruby> <c.red>c</c> <sigh>d

junk
"""


def source_of(name: str) -> Source:
    stem, _, ending = name.rpartition(".")
    return Source(BytesDocument(b"", stem, f".{ending}"))


def test_an_odd_file_is_read_and_all_is_said(put: Put) -> None:
    film, notes = read_subtitles(put(SRT, "film.srt"))
    assert film == Transcript(
        "film",
        (
            SpokenLine(0, 1, "before the film"),
            SpokenLine(1, 2.5, "Hello & welcome"),
            SpokenLine(3.5, 3.5, "I was born in\n1984"),
            SpokenLine(5, 6, "a\nb <sigh> <3"),
        ),
        source="subtitles film.srt",
    )
    assert notes.lines() == [
        "2 timing lines are not as the format has them; they were read all the same: film.srt line 5, film.srt line 10",
        "1 cues have no number: film.srt line 5",
        "1 cues whose times cannot be read were left out: film.srt line 16",
        "1 cues have empty lines in their text, which were left out: film.srt line 11",
        "1 cues have settings (position, alignment), which are not kept: film.srt line 21",
        "1 cues hold commands of ASS or MicroDVD, which are not kept: film.srt line 2",
        "1 cues hold entities (&amp;), which were read as the characters they name: film.srt line 2",
        "1 cues hold styles (italics, colours), which are not kept: film.srt line 2",
        "1 cues end before they start; they are kept at their start, without length: film.srt line 5",
        "1 cues have a time before 0; 0 stands there now: film.srt line 21",
        "1 cues without words were left out: film.srt line 24",
        "1 lines start before the line above them; lines were sorted: film.srt at 0.000 s",
    ]


def test_voices_heads_and_blocks_of_webvtt(put: Put) -> None:
    film, notes = read_subtitles(put(VTT, "film.vtt"), video="other")
    assert (film.video, film.language, film.about) == ("other", "en", {"kind": "captions"})
    assert film.lines == (
        SpokenLine(1, 2, "Hi", speaker="Bob Smith"),
        SpokenLine(1, 2, "you <b> I <3", speaker="Al & Bo"),
        SpokenLine(3, 4, "a c d"),
    )
    assert notes.lines() == [
        "1 notes (NOTE) are not kept: film.vtt line 5",
        "1 style blocks (STYLE) are not kept: film.vtt line 8",
        "1 cues have settings (position, alignment), which are not kept: film.vtt line 12",
        "1 cues have an id, which is not kept: film.vtt line 12",
        "1 lines that belong to no cue were left out: film.vtt line 18",
        "1 cues hold times of single words, which are not kept: film.vtt line 12",
        "1 cues hold readings beside their characters (<rt>), which are not kept: film.vtt line 15",
        "1 cues hold styles (italics, colours), which are not kept: film.vtt line 15",
        "1 cues hold tags that are none of the format's; the tags are not kept, their words are: film.vtt line 15",
    ]


@pytest.mark.parametrize(
    ("data", "words", "remark"),
    [
        ("\ufeff1\n00:00:01,000 --> 00:00:02,000\nŁódź\n".encode(), "Łódź", None),
        ("1\n00:00:01,000 --> 00:00:02,000\nŁódź\n".encode("utf-16"), "Łódź", "1 files are UTF-16 or UTF-32, by"),
        ("1\n00:00:01,000 --> 00:00:02,000\nŁódź\n".encode("utf-16-be"), "Łódź", "1 files are UTF-16 without a"),
        ("1\n00:00:01,000 --> 00:00:02,000\nŁódź\n".encode("utf-32"), "Łódź", "1 files are UTF-16 or UTF-32, by"),
        ("1\n00:00:01,000 --> 00:00:02,000\n“café”\n".encode("cp1252"), "“café”", "1 files are not UTF-8 and were"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nx\x81\xe9\n", "x\x81é", "1 files are not UTF-8 and were"),
    ],
)
def test_encodings(data: bytes, words: str, remark: str | None, put: Put) -> None:
    film, notes = read_subtitles(put(data, "film.srt"))
    assert film.lines[0].text == words
    assert [line[: len(remark or "")] for line in notes.lines()] == ([remark] if remark else [])


def test_an_encoding_that_is_named(put: Put) -> None:
    path = put("1\n00:00:01,000 --> 00:00:02,000\nПривет\n".encode("cp1251"), "film.srt")
    film, notes = read_subtitles(path, encoding="windows-1251")
    assert film.lines[0].text == "Привет" and notes.lines() == []
    for wrong in ("klingon", "hex"):
        with pytest.raises(SpecError, match="encoding"):
            read_subtitles(path, encoding=wrong)


@pytest.mark.parametrize(
    ("name", "data", "seen"),
    [
        ("a.srt", b"hello", "line 1: holds no subtitles: it begins with 'hello'; a cue has a line such as"),
        ("a.vtt", b'{"a": 1}', "holds no subtitles"),
        ("a.srt", b"\x7fELF\x02\x01\x01\x00\xff\xfe", "byte 7 is 0: this is no text"),
        ("a.srt", b"PK\x03\x04x", "this is a .zip archive"),
        ("a.srt", b"\xff\xfe\x00\xd8\x41\x00", "is not UTF-16-LE"),
    ],
)
def test_what_is_no_subtitles(name: str, data: bytes, seen: str, put: Put) -> None:
    with pytest.raises(InputError) as caught:
        read_subtitles(put(data, name))
    assert seen in str(caught.value) and caught.value.hint


def test_files_without_a_cue(put: Put) -> None:
    for name, text in (("a.srt", ""), ("a.srt", "\n \n"), ("a.vtt", "WEBVTT\n")):
        film, notes = read_subtitles(put(text, name))
        assert film.lines == () and notes.lines() == [f"1 files hold no cue: {name}"]


def test_a_file_is_what_it_says_not_what_it_is_called(put: Put) -> None:
    film, notes = read_subtitles(put("WEBVTT\n\n00:01.000 --> 00:02.000\n&lt;\n", "a.srt"))
    assert film.lines == (SpokenLine(1, 2, "<"),)
    assert notes.lines() == ["1 files called .srt hold WebVTT and were read as such: a.srt"]
    film, notes = read_subtitles(put("1\n00:00:01,000 --> 00:00:02,000\nx\n", "a.vtt"))
    assert film.lines == (SpokenLine(1, 2, "x"),)
    assert notes.lines() == ["1 files called .vtt lack the line WEBVTT at their head: a.vtt"]


def test_words_that_look_like_markup() -> None:
    lines = [SpokenLine(1, 2, "x\n5\n0:1:02 -> 0:1:05\na --> b"), SpokenLine(3, 4, "R&amp;D <b>x</b> <<i>i>y {\\an8}")]
    text = format_srt(lines, notes := Notes())
    assert text == (
        "1\n00:00:01,000 --> 00:00:02,000\nx\n5 0:1:02 → 0:1:05\na → b\n\n2\n00:00:03,000 --> 00:00:04,000\nR&D x y\n"
    )
    assert notes.lines() == [
        "2 lines hold what SubRip takes for markup; it was left out: "
        "'x\\n5\\n0:1:02 -> 0:1:05\\na --> b' at 1.000 s, 'R&amp;D <b>x</b> <<i>i>y {\\\\an8}' at 3.000 s"
    ]
    again = parse_vtt(
        format_vtt([lines[0], SpokenLine(3, 4, "R&amp;D <b>x</b>", speaker="A>B & C --")]), source_of("a.vtt")
    )
    assert [line.text for line in again.lines] == [lines[0].text, "R&amp;D <b>x</b>"]
    assert again.lines[1].speaker == "A>B & C --"


def test_times_are_rounded_and_never_reversed() -> None:
    lines = [SpokenLine(0.0004, 0.00049, "a"), SpokenLine(1.9996, 2.0004, "b"), SpokenLine(3, 3, "c")]
    notes = Notes()
    text = format_vtt(lines, notes)
    assert "00:00:00.000 --> 00:00:00.001\na" in text
    assert "00:00:02.000 --> 00:00:02.001\nb" in text and "00:00:03.000 --> 00:00:03.001\nc" in text
    assert notes.lines()[0].startswith("3 lines have no length and were written 1 ms long: 'a' at 0.000 s")
    assert "100:00:00,000 --> 100:00:01,000" in format_srt([SpokenLine(360000, 360001, "late")])
    for start, end in ((2, 1), (-1, 1), (float("nan"), 1), (0, float("inf"))):
        with pytest.raises(InputError, match="0 ≤ start ≤ end"):
            format_srt([SpokenLine(start, end, "x")])


def test_kinds_of_tracks() -> None:
    lines = [SpokenLine(5, 9, "Two\nlines", speaker="S1"), SpokenLine(0, 5, "One")]
    text = format_vtt(lines, notes := Notes(), kind="chapters", language="pt-BR")
    assert text == (
        "WEBVTT\nKind: chapters\nLanguage: pt-BR\n\n00:00:00.000 --> 00:00:05.000\nOne\n\n"
        "00:00:05.000 --> 00:00:09.000\nTwo lines\n"
    )
    assert [line.partition(":")[0] for line in notes.lines()] == [
        "1 lines start before the one above them; they are written in the order of time",
        "lost in writing .vtt",
    ]
    assert parse_vtt(text, source_of("a.vtt")).about == {"kind": "chapters"}
    with pytest.raises(SpecError, match="no kind 'films'; there are subtitles, captions"):
        format_vtt(lines, kind="films")


def test_chapters_for_ffmpeg(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="needs fabula[features]")
    lines = [SpokenLine(0, 1.5, "A = B; #1\\2"), SpokenLine(1.5, 3, "Zwei\nZeilen")]
    path = tmp_path / "chapters.ffmeta"
    path.write_text(format_chapters(lines), encoding="utf-8")
    assert "title=A \\= B\\; \\#1\\\\2\n" in path.read_text("utf-8")
    with av.open(str(path), format="ffmetadata") as container:
        found = [(c["start"], c["end"], c["metadata"]["title"]) for c in container.chapters()]
    assert found == [(0, 1500, "A = B; #1\\2"), (1500, 3000, "Zwei Zeilen")]


def test_words_of_embedded_tracks() -> None:
    assert clean_ass("{\\i1}Hello{\\i0}\\Nworld\\h!") == "Hello\nworld !"


# Files of transcripts and signs ----------------------------------------------------------------------------------

FILM = Transcript(
    "kite",
    (SpokenLine(0, 1.25, "Hello\nthere", 0.875, "S1"), SpokenLine(2, 3.001, "[x] --> y")),
    12.5,
    "en",
    "an endpoint",
    {"silence": 3.5, "left out": ["music"]},
)
SIGNS = SignList(
    "kite",
    (Sign(0, 2, "EXIT]", 0.9, "sign", (0.1, 0.2, 0.3, 0.4)), Sign(1, 9, "TV", 0.5, "logo")),
    12.5,
    "rapidocr",
    {"frames": 12},
)


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".jsonl.gz"])
def test_stores_hold_everything(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"film{ending}"
    assert write_transcripts(path, [FILM]).lines() == []
    first = path.read_bytes()
    films, notes = read_transcripts(path)
    assert films == [FILM] and notes.lines() == []
    write_transcripts(path, films)
    assert path.read_bytes() == first
    write_signs(path, [SIGNS])
    assert read_signs(path)[0] == [SIGNS]


def test_several_films(tmp_path: Path) -> None:
    films = [FILM, Transcript("soup", ())]
    for name in ("films.jsonl", "films.json"):
        write_transcripts(tmp_path / name, films)
        assert read_transcripts(tmp_path / name)[0] == films
    with pytest.raises(InputError, match=r"\.srt holds one film, and there are 2; write a file a film"):
        write_transcripts(tmp_path / "films.srt", films)
    assert not (tmp_path / "films.srt").exists()
    with pytest.raises(SpecError, match=r"nothing is written as \.doc"):
        write_transcripts(tmp_path / "films.doc", films)


def test_text_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "kite.txt"
    notes = write_transcripts(path, [FILM])
    assert path.read_text("utf-8") == (
        "[00:00:00.000 --> 00:00:01.250 S1] Hello there\n[00:00:02.000 --> 00:00:03.001] [x] --> y\n"
    )
    assert len(notes.lines()) == 2  # the duration, a confidence
    (film,), _ = read_transcripts(path)
    assert [(line.start, line.end, line.text, line.speaker) for line in film.lines] == [
        (0, 1.25, "Hello there", "S1"),
        (2, 3.001, "[x] --> y", None),
    ]
    write_signs(path, [SIGNS])
    assert read_signs(path)[0][0].signs == SIGNS.signs
    path.write_text("[00:00 -> x] y\n")
    with pytest.raises(InputError, match="line 1: no line of a transcript"):
        read_transcripts(path)


def test_signs_as_subtitles(tmp_path: Path) -> None:
    for name in ("kite.srt", "kite.vtt"):
        notes = write_signs(tmp_path / name, [SIGNS])
        assert any("the kind and the box of 2 signs" in line for line in notes.lines())
        assert [line.text for line in read_subtitles(tmp_path / name)[0].lines] == ["EXIT]", "TV"]
        with pytest.raises(InputError, match="neither the kind nor the confidence"):
            read_signs(tmp_path / name)


def test_the_subtitles_of_tvr(put: Put) -> None:
    text = (
        '{"vid_name": "s01e01_seg01", "sub": [{"text": "(House:) What?", "start": 2.5, "end": 4.0},'
        ' {"text": "No.", "start": 1, "end": 2}, {"text": " ", "start": 5, "end": 6},'
        ' {"text": "x", "start": 9, "end": 8}]}\n'
    )
    films, notes = read_transcripts(put(text, "tvqa_preprocessed_subtitles.jsonl"))
    assert [(film.video, [line.text for line in film.lines]) for film in films] == [
        ("s01e01_seg01", ["No.", "(House:) What?"])
    ]
    assert [line.partition(":")[0] for line in notes.lines()] == [
        "1 lines without words were left out",
        "1 lines have no usable times and were left out",
        "1 films have lines out of the order of their times; they were sorted",
    ]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"lines": []}', "the key 'video' is missing"),
        ('{"video": "a", "lines": [{"start": 2, "end": 1, "text": "x"}]}', "lines[0]: from 2 to 1 s"),
        ('{"video": "a", "lines": [{"start": 1, "end": 2, "text": 3}]}', "lines[0] text: expected text"),
        ('{"video": "a", "lines": [{"start": 1, "end": 2, "text": "x", "confidence": 2}]}', "a confidence of 2"),
        ('{"video": "a", "lines": []}\n{"video": "a", "lines": []}', "this film stands twice"),
        ("[1]", "a film is"),
    ],
)
def test_stores_that_are_wrong(text: str, seen: str, put: Put) -> None:
    with pytest.raises(InputError) as caught:
        read_transcripts(put(text, "films.jsonl"))
    assert seen in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "seen"),
    [
        ('"confidence": 0.5, "box": [0.5, 0, 0.4, 1]', "is no box"),
        ('"confidence": 0.5, "kind": "poster"', "it is one of sign, logo, subtitle"),
        ('"kind": "sign"', "the key 'confidence' is missing"),
    ],
)
def test_signs_that_are_wrong(entry: str, seen: str, put: Put) -> None:
    text = f'{{"video": "a", "signs": [{{"start": 1, "end": 2, "text": "x", {entry}}}]}}'
    with pytest.raises(InputError) as caught:
        read_signs(put(text, "signs.jsonl"))
    assert seen in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        " " * 200_000 + ">",
        "00:00:01,000" + " " * 200_000 + "-->" + " " * 200_000,
        "1" * 200_000 + "-->",
        "-->" * 60_000,
        "<" * 30_000 + "i>" * 30_000,
        "{\\" * 60_000,
        "&" * 99_000,
        "\n" * 300_000,
        "1\n\n" * 60_000,
    ],
)
def test_bad_lines_take_no_time(text: str) -> None:
    began = time.monotonic()
    for parse, name in ((parse_srt, "a.srt"), (parse_vtt, "a.vtt")):
        with contextlib.suppress(InputError):  # a cue that is too long
            parse(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n", source_of(name))
        with contextlib.suppress(InputError):
            parse(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n", source_of(name))
    format_srt([SpokenLine(0, 1, text)])
    format_vtt([SpokenLine(0, 1, text)])
    assert time.monotonic() - began < 20


# Anything at all -------------------------------------------------------------------------------------------------

ANY = st.text(max_size=80) | st.text(alphabet="0123456789:,.-> \n\r<i>v/&;{}\\", max_size=120)
TIMES = st.floats(0, 400_000, allow_nan=False)
LINES = st.lists(
    st.builds(
        lambda a, b, text, speaker: SpokenLine(min(a, b), max(a, b), text, speaker=speaker),
        *(TIMES, TIMES, ANY, st.none() | st.text(max_size=9)),
    ),
    max_size=5,
)


@given(text=ANY, head=st.sampled_from(["", "WEBVTT\n\n", "1\n00:00:01,000 --> 00:00:02,000\n"]))
def test_whatever_is_read_is_in_order_or_one_clear_error(text: str, head: str) -> None:
    for parse, name in ((parse_srt, "a.srt"), (parse_vtt, "a.vtt")):
        try:
            film = parse(head + text, source_of(name))
        except InputError as error:
            assert error.hint
            continue
        assert all(0 <= line.start <= line.end and line.text.strip() for line in film.lines)
        assert list(film.lines) == sorted(film.lines, key=lambda line: (line.start, line.end))


@given(lines=LINES)
def test_what_is_written_is_read_back_and_written_the_same(lines: list[SpokenLine]) -> None:
    text = format_srt(lines)
    if text:
        source = source_of("a.srt")
        again = parse_srt(text, source)
        assert source.notes.lines() == [] and format_srt(again.lines) == text and len(again.lines) <= len(lines)
    source = source_of("a.vtt")
    again = parse_vtt(text := format_vtt(lines), source)
    assert format_vtt(again.lines) == text
    assert [line for line in source.notes.lines() if "no cue" not in line] == []
    plain = format_text(lines)
    assert all(re.match(r"\[[\d:.]+ --> [\d:.]+( [^\]]+)?\] \S", row) for row in plain.split("\n")[:-1])
