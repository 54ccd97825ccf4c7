"""Subtitles that lie beside a film or in it: what people have written down wins over what a machine hears.

    beside   film.srt, film.vtt; else film.en.srt, film.en.vtt, film.en-GB.forced.srt … of the same stem, by their names
    inside   a track of text (SubRip, WebVTT, MP4's, ASS); tracks of pictures (PGS, DVD) hold none

Of several the wanted language wins, then a default track, then the first; forced ones (signs alone) come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, import_extra
from fabula.core.notes import ignore
from fabula.data.transcripts import SpokenLine, Transcript
from fabula.io.subtitles import clean_ass, read_subtitles
from fabula.media.decode import explain, name_faults, open_container
from fabula.media.speech.codes import short_code

ENDINGS = (".srt", ".vtt")
PICTURES = ("hdmv_pgs_subtitle", "dvd_subtitle", "dvb_subtitle", "xsub", "dvb_teletext")  # codecs of pictures
FORCED = "forced"


def find_subtitles(film: Path, language: str | None = None, warn: Callable[[str], None] = ignore) -> Transcript | None:
    """The subtitles beside a film, else those in it; None where there are none."""
    beside = find_beside(film, language)
    if beside is not None:
        try:
            found, notes = read_subtitles(beside, video=film.stem)
        except InputError as error:  # of the film, so that --skip-bad leaves it out
            problem = f"its subtitles {beside.name}: {error.problem}"
            raise InputError(
                problem, file=film, field=error.field, hint="mend them, or say --ignore-subtitles"
            ) from None
        for line in notes.lines():
            warn(f"{beside.name}: {line}")
        tag = name_language(beside.name.removeprefix(f"{film.stem}."))
        return Transcript(film.stem, found.lines, None, tag or found.language, found.source, found.about)
    return read_track(film, language, warn)


def find_beside(film: Path, language: str | None = None) -> Path | None:
    """The file of subtitles that belongs to a film."""
    names = [f"{film.stem}{ending}" for ending in ENDINGS]
    found: list[tuple[tuple[object, ...], Path]] = []
    try:
        inner = sorted(film.parent.iterdir())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=film.parent, hint="check it") from None
    for path in inner:
        if path.suffix.lower() not in ENDINGS or not path.name.startswith(f"{film.stem}.") or not path.is_file():
            continue
        middle = path.name[len(film.stem) + 1 :].rpartition(".")[0]
        if middle and name_language(path.name[len(film.stem) + 1 :]) is None:  # film.part2.srt is another film's
            continue
        tag = name_language(path.name[len(film.stem) + 1 :])
        forced = FORCED in middle.lower().split(".")
        wanted = tag == language if language else path.name in names
        found.append(((forced, not wanted, bool(middle), tag != "en", path.suffix.lower(), path.name), path))
    return min(found, key=lambda one: one[0])[1] if found else None


def name_language(rest: str) -> str | None:
    """`en-GB.forced.srt` → en; None where a name tells none."""
    parts = [part for part in rest.split(".")[:-1] if part.lower() not in (FORCED, "sdh", "cc", "hi")]
    return short_code(parts[0]) if len(parts) == 1 else None


# ── inside ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_track(film: Path, language: str | None = None, warn: Callable[[str], None] = ignore) -> Transcript | None:
    """The lines of a track of text in a film; None where it has none."""
    av = import_extra("av", "reading the tracks of a film", "speech")
    with name_faults(av, film), closing(open_container(av, film)) as container:
        streams = [s for s in container.streams.subtitles if s.codec_context is not None]
        pictures = [s for s in streams if s.codec_context.name in PICTURES]
        texts = [s for s in streams if s not in pictures]
        if not texts:
            if pictures:
                warn(f"{film.name}: its subtitles are pictures ({pictures[0].codec_context.name}) and are not read")
            return None
        stream = min(texts, key=lambda s: rank_track(s, language))
        zero = Fraction(container.start_time or 0, av.time_base)
        try:
            lines = sorted(read_lines(container, stream, zero), key=lambda line: (line.start, line.end))
        except av.FFmpegError as error:
            raise InputError(
                f"its subtitles cannot be decoded ({explain(error)})",
                file=film,
                hint="--ignore-subtitles hears the film instead",
            ) from None
        number = list(container.streams.subtitles).index(stream) + 1
        tag = short_code(stream.metadata.get("language", ""))
        if not lines:
            return None
        return Transcript(
            film.stem, tuple(lines), None, tag, f"subtitles in track {number} ({stream.codec_context.name})"
        )


def rank_track(stream: Any, language: str | None) -> tuple[bool, bool, bool, int]:
    flags = stream.disposition.name or ""
    wanted = short_code(stream.metadata.get("language", "")) == (language or "en")
    return FORCED in flags.lower(), not wanted, "default" not in flags.lower(), stream.index


def read_lines(container: Any, stream: Any, zero: Fraction) -> Iterator[SpokenLine]:
    """The cues of a track that have words; one lasts until the next where no end is stored."""
    for packet in container.demux(stream):
        if not packet.size or packet.pts is None:
            continue
        start = packet.pts * packet.time_base - zero
        lasts = (packet.duration or 0) * packet.time_base
        texts = []
        for one in stream.codec_context.decode2(packet) or ():
            raw = getattr(one, "dialogue", b"") or getattr(one, "text", b"")
            texts.append(clean_ass(raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)))
        text = "\n".join(filter(None, texts))
        if text and start + lasts >= 0:
            yield SpokenLine(float(max(Fraction(0), start)), float(max(Fraction(0), start + lasts)), text)
