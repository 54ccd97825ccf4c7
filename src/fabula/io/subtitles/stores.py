"""Transcripts and signs of films as files: JSON (a film, or a list of films), JSON Lines (a film a line), plain text,
SubRip and WebVTT; and the subtitles of TVQA and TVR (Lei et al., 2018 and 2020), which are read.

{"video": …, "duration": …, "language": …, "source": …, "about": {…},
 "lines": [{"start": …, "end": …, "text": …, "confidence": …, "speaker": …}, …]}
{"video": …, "duration": …, "source": …, "about": {…},
 "signs": [{"start": …, "end": …, "text": …, "confidence": …, "kind": …, "box": [left, top, right, bottom]}, …]}

Optional fields are left out where they are not known. Times are rounded to ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, name_id
from fabula.data.transcripts import Sign, SignKind, SignList, SpokenLine, Transcript
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.documents.files import check_path, encode_json, write_text
from fabula.io.subtitles.cues import read_timing
from fabula.io.subtitles.decode import decode_subtitles
from fabula.io.subtitles.read import ENDINGS, name_video, read_subtitles
from fabula.io.subtitles.write import format_srt, format_text, format_vtt, to_ms

KNOWN = frozenset({"video", "duration", "language", "source", "about"})
KNOWN_OF_LINE = frozenset({"start", "end", "text", "confidence", "speaker"})
KNOWN_OF_SIGN = frozenset({"start", "end", "text", "confidence", "kind", "box"})
SIGN_KINDS: tuple[SignKind, ...] = get_args(SignKind)
WRITTEN = (".srt", ".vtt", ".txt", ".json", ".jsonl")
SHAPE = '{"video": …, "lines": [{"start": s, "end": s, "text": …}, …]}'
SIGNS_SHAPE = '{"video": …, "signs": [{"start": s, "end": s, "text": …, "confidence": x}, …]}'
ROW = re.compile(r"\[([^\]\s]+ --> [^\]\s]+)(?: ([^\]]*))?\] (.+)")
T = TypeVar("T", Transcript, SignList)


# ── values into JSON ────────────────────────────────────────────────────────────────────────────────────────────────


def transcript_to_dict(transcript: Transcript) -> dict[str, Any]:
    """As a line of a store."""
    lines = []
    for line in transcript.lines:
        entry = begin_entry(line)
        if line.confidence is not None:
            entry["confidence"] = round(line.confidence, 4)
        if line.speaker is not None:
            entry["speaker"] = line.speaker
        lines.append(entry)
    language = {} if transcript.language is None else {"language": transcript.language}
    return begin_film(transcript, language) | {"lines": lines}


def signs_to_dict(signs: SignList) -> dict[str, Any]:
    """As a line of a store."""
    entries = []
    for sign in signs.signs:
        entry = begin_entry(sign) | {"confidence": round(sign.confidence, 4), "kind": sign.kind}
        if sign.box is not None:
            entry["box"] = [round(x, 4) for x in sign.box]
        entries.append(entry)
    return begin_film(signs, {}) | {"signs": entries}


def begin_film(film: Transcript | SignList, more: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"video": film.video}
    if film.duration is not None:
        found["duration"] = round(film.duration, 3)
    found |= more
    if film.source:
        found["source"] = film.source
    if film.about:
        found["about"] = dict(film.about)
    return found


def begin_entry(line: SpokenLine | Sign) -> dict[str, Any]:
    start, end = to_ms(line)
    return {"start": start / 1000, "end": end / 1000, "text": line.text}


# ── JSON into values ────────────────────────────────────────────────────────────────────────────────────────────────


def parse_transcript(entry: Any, at: str, source: Source) -> Transcript:
    """A line of a store, or of TVR's subtitles."""
    film = source.mapping(entry, at, None, f"a film is {SHAPE}")
    if "vid_name" in film and "sub" in film:
        return parse_tvr(film, at, source)
    video = source.text(source.entry(film, "video", None, at), f"{at} video")
    entries = source.listing(source.entry(film, "lines", video, at), f"{at} lines", video, f"a film is {SHAPE}")
    source.unused(film, KNOWN | {"lines"}, "films")
    lines = []
    for i, one in enumerate(entries):
        place = f"{at} lines[{i}]"
        one = source.mapping(one, place, video, f"a film is {SHAPE}")
        speaker = one.get("speaker")
        source.unused(one, KNOWN_OF_LINE, "lines")
        lines.append(
            SpokenLine(
                *read_times(one, place, video, source),
                source.text(source.entry(one, "text", video, place), f"{place} text", video),
                read_share(one.get("confidence"), f"{place} confidence", video, source),
                None if speaker is None else source.text(speaker, f"{place} speaker", video),
            )
        )
    duration, language, origin, about = read_film(film, at, video, source)
    return Transcript(video, tuple(lines), duration, language, origin, about)


def parse_tvr(film: dict[str, Any], at: str, source: Source) -> Transcript:
    """{"vid_name": …, "sub": [{"text": …, "start": …, "end": …}, …]}."""
    video = source.text(film["vid_name"], f"{at} vid_name")
    entries = source.listing(film["sub"], f"{at} sub", video)
    source.unused(film, frozenset({"vid_name", "sub"}), "films")
    lines = []
    for i, one in enumerate(entries):
        place = f"{at} sub[{i}]"
        one = source.mapping(one, place, video)
        source.unused(one, KNOWN_OF_LINE, "lines")
        text = source.text(source.entry(one, "text", video, place), f"{place} text", video)
        start = source.number(source.entry(one, "start", video, place), f"{place} start", video)
        end = source.number(source.entry(one, "end", video, place), f"{place} end", video)
        if not 0 <= start <= end:
            source.notes.add("{n} lines have no usable times and were left out", f"{name_id(video)} {place}")
            continue
        if not text.strip():
            source.notes.add("{n} lines without words were left out", f"{name_id(video)} {place}")
            continue
        lines.append(SpokenLine(start, end, text))
    return Transcript(video, sort_lines(lines, source, video), source=f"subtitles {source.document.filename}")


def sort_lines(lines: Sequence[SpokenLine], source: Source, video: str) -> tuple[SpokenLine, ...]:
    ordered = sorted(lines, key=lambda line: (line.start, line.end))
    if list(lines) != ordered:
        source.notes.add("{n} films have lines out of the order of their times; they were sorted", name_id(video))
    return tuple(ordered)


def parse_signs(entry: Any, at: str, source: Source) -> SignList:
    film = source.mapping(entry, at, None, f"a film is {SIGNS_SHAPE}")
    video = source.text(source.entry(film, "video", None, at), f"{at} video")
    hint = f"a film is {SIGNS_SHAPE}"
    entries = source.listing(source.entry(film, "signs", video, at), f"{at} signs", video, hint)
    source.unused(film, KNOWN | {"signs"}, "films")
    signs = []
    for i, one in enumerate(entries):
        place = f"{at} signs[{i}]"
        one = source.mapping(one, place, video, hint)
        source.unused(one, KNOWN_OF_SIGN, "signs")
        confidence = source.number(source.entry(one, "confidence", video, place), f"{place} confidence", video)
        signs.append(
            Sign(
                *read_times(one, place, video, source),
                source.text(source.entry(one, "text", video, place), f"{place} text", video),
                check_share(confidence, f"{place} confidence", video, source),
                read_kind(one.get("kind", "sign"), f"{place} kind", video, source),
                read_box(one.get("box"), f"{place} box", video, source),
            )
        )
    duration, _, origin, about = read_film(film, at, video, source)
    return SignList(video, tuple(signs), duration, origin, about)


def read_film(
    film: dict[str, Any], at: str, video: str, source: Source
) -> tuple[float | None, str | None, str, dict[str, object]]:
    """Duration, language, source, about: absent, or of their type."""
    duration, language = film.get("duration"), film.get("language")
    return (
        None if duration is None else source.duration(duration, video, f"{at} duration"),
        None if language is None else source.text(language, f"{at} language", video),
        source.text(film.get("source", ""), f"{at} source", video),
        dict(source.mapping(film.get("about", {}), f"{at} about", video)),
    )


def read_times(entry: dict[str, Any], at: str, video: str, source: Source) -> tuple[float, float]:
    start = source.number(source.entry(entry, "start", video, at), f"{at} start", video)
    end = source.number(source.entry(entry, "end", video, at), f"{at} end", video)
    if not 0 <= start <= end:
        raise source.wrong(f"from {start:g} to {end:g} s", video, at, "times are 0 ≤ start ≤ end, in seconds")
    return start, end


def read_share(value: Any, at: str, video: str, source: Source) -> float | None:
    return None if value is None else check_share(source.number(value, at, video), at, video, source)


def check_share(number: float, at: str, video: str, source: Source) -> float:
    if not 0 <= number <= 1:
        raise source.wrong(f"a confidence of {number:g}", video, at, "it is from 0 to 1")
    return number


def read_kind(value: Any, at: str, video: str, source: Source) -> SignKind:
    for kind in SIGN_KINDS:
        if value == kind:
            return kind
    raise source.wrong(f"no kind of sign: {value!r}", video, at, f"it is one of {', '.join(SIGN_KINDS)}")


def read_box(value: Any, at: str, video: str, source: Source) -> tuple[float, float, float, float] | None:
    if value is None:
        return None
    hint = "a box is [left, top, right, bottom], as fractions of the picture"
    corners = [source.number(x, f"{at}[{i}]", video) for i, x in enumerate(source.listing(value, at, video, hint))]
    if len(corners) != 4 or not (0 <= corners[0] <= corners[2] <= 1 and 0 <= corners[1] <= corners[3] <= 1):
        raise source.wrong(f"{value!r} is no box", video, at, hint)
    left, top, right, bottom = corners
    return left, top, right, bottom


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_transcripts(file: str | Path | Document, *, encoding: str | None = None) -> tuple[list[Transcript], Notes]:
    """The films of a file (.jsonl, .json, .txt, .srt, .vtt, each maybe .gz), and what was remarkable in it."""
    document = open_document(file)
    if document.ending in ENDINGS:
        found, notes = read_subtitles(document, encoding=encoding)
        return [found], notes
    source = Source(document)
    if document.ending == ".txt":
        return [parse_text(source, encoding)], source.notes
    return collect(document, parse_transcript, source), source.notes


def read_signs(file: str | Path | Document) -> tuple[list[SignList], Notes]:
    """The films of a file of signs (.jsonl, .json, .txt), and what was remarkable in it."""
    document = open_document(file)
    source = Source(document)
    if document.ending in ENDINGS:
        hint = "signs are read from .json, .jsonl and .txt; as lines that are spoken, read_transcripts reads it"
        raise InputError("subtitles hold neither the kind nor the confidence of signs", file=document, hint=hint)
    if document.ending == ".txt":
        return [parse_sign_text(source)], source.notes
    return collect(document, parse_signs, source), source.notes


def collect(document: Document, parse: Callable[[Any, str, Source], T], source: Source) -> list[T]:
    """The films of JSON or JSON Lines; none may stand twice."""
    found: dict[str, T] = {}
    for at, entry in list_films(document):
        film = parse(entry, at, source)
        if film.video in found:
            raise source.wrong("this film stands twice", film.video, at, "keep one of the two")
        found[film.video] = film
    source.report()
    if not found:
        source.notes.add("the file has no films", name_id(str(document)))
    return list(found.values())


def list_films(document: Document) -> Iterator[tuple[str, Any]]:
    if document.lines:
        yield from document.entries()
        return
    if document.ending != ".json":
        hint = f"transcripts and signs are read from {', '.join(WRITTEN)}"
        raise InputError("no file of transcripts or signs by its name", file=document, hint=hint)
    tree = document.tree()
    if isinstance(tree, list):
        yield from ((f"[{i}]", entry) for i, entry in enumerate(tree))
    else:
        yield "the document", tree


def parse_text(source: Source, encoding: str | None = None) -> Transcript:
    """What `format_text` writes of lines."""
    rows = read_rows(source, encoding)
    lines = [SpokenLine(start, end, words, speaker=more or None) for start, end, more, words in rows]
    return Transcript(name_video(source.document), tuple(lines), source=f"text {source.document.filename}")


def parse_sign_text(source: Source) -> SignList:
    """What `format_text` writes of signs."""
    signs = []
    video = name_video(source.document)
    for n, (start, end, more, words) in enumerate(read_rows(source), 1):
        kind, _, rest = (more or "").partition(" ")
        confidence, _, box = rest.partition(" ")
        try:
            share, corners = float(confidence), [float(x) for x in box.split(",")] if box else None
        except ValueError:
            hint = "a line of signs is [start --> end kind confidence box] words"
            raise source.wrong(f"no sign: {more!r}", video, f"entry {n}", hint) from None
        at = f"entry {n}"
        signs.append(
            Sign(
                start,
                end,
                words,
                check_share(share, at, video, source),
                read_kind(kind, at, video, source),
                read_box(corners, at, video, source),
            )
        )
    return SignList(video, tuple(signs), source=f"text {source.document.filename}")


def read_rows(source: Source, encoding: str | None = None) -> Iterator[tuple[float, float, str | None, str]]:
    text = decode_subtitles(source.document.raw(), source, encoding)
    for n, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip():
            continue
        match = ROW.fullmatch(line)
        timing = read_timing(match[1], n) if match else None
        if match is None or timing is None or not 0 <= timing.start <= timing.end:
            hint = "a line is [00:00:01.000 --> 00:00:02.500] words"
            raise source.wrong("no line of a transcript", None, f"line {n}", hint)
        yield timing.start, timing.end, match[2], match[3]


def write_transcripts(
    path: str | Path, films: Sequence[Transcript], *, kind: str | None = None, notes: Notes | None = None
) -> Notes:
    """Films into a file, whole or not at all; its ending says the format. .srt, .vtt and .txt hold one film."""
    notes = Notes() if notes is None else notes
    target = check_path(path)

    def as_text(film: Transcript, ending: str) -> str:
        note_about(film, notes, ending)
        if ending == ".vtt":
            return format_vtt(film.lines, notes, kind=kind, language=film.language)
        return format_srt(film.lines, notes) if ending == ".srt" else format_text(film.lines, notes)

    write_films(target, films, transcript_to_dict, as_text)
    return notes


def write_signs(path: str | Path, films: Sequence[SignList], *, notes: Notes | None = None) -> Notes:
    """The same of signs."""
    notes = Notes() if notes is None else notes
    target = check_path(path)

    def as_text(film: SignList, ending: str) -> str:
        note_about(film, notes, ending)
        if ending == ".vtt":
            return format_vtt(film.signs, notes)
        return format_srt(film.signs, notes) if ending == ".srt" else format_text(film.signs, notes)

    write_films(target, films, signs_to_dict, as_text)
    return notes


def note_about(film: Transcript | SignList, notes: Notes, ending: str) -> None:
    if film.duration is not None:
        notes.add(f"lost in writing {ending}: the durations of {{n}} films", name_id(film.video))


def write_films(
    path: Path, films: Sequence[T], as_dict: Callable[[T], dict[str, Any]], as_text: Callable[[T, str], str]
) -> None:
    """By the ending of the name: text of one film, JSON of one or several, or a line a film."""
    ending = check_ending(path)
    if ending == ".jsonl":
        write_text(path, (encode_json(as_dict(film), path) for film in films))
        return
    if ending == ".json":
        document: Any = as_dict(films[0]) if len(films) == 1 else [as_dict(film) for film in films]
        write_text(path, [encode_json(document, path, indent=1)])
        return
    if len(films) != 1:
        hint = "write a file a film, or all films into .jsonl"
        raise InputError(f"{ending} holds one film, and there are {len(films)}", file=path, hint=hint)
    write_text(path, [as_text(films[0], ending)])


def check_ending(path: str | Path) -> str:
    """The ending of a file to be written, without .gz; refused where no format has it."""
    ending = Path(Path(path).name.removesuffix(".gz")).suffix.lower()
    if ending not in WRITTEN:
        raise SpecError(f"{path}: nothing is written as {ending or 'a name without ending'}; {', '.join(WRITTEN)} are")
    return ending
