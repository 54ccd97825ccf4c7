"""A story as lines of subtitles, and the names of the files of a folder of them."""

from __future__ import annotations

from pathlib import Path

from fabula.core.errors import InputError, shown
from fabula.core.notes import name_id
from fabula.data.stories import Corpus
from fabula.data.transcripts import SpokenLine
from fabula.documents.fields import Source
from fabula.io.format import note_losses

LONGEST_NAME = 255  # bytes of a file's name


def list_lines(corpus: Corpus, target: Source) -> list[SpokenLine]:
    """The events of the one story of a corpus, in time; those without a stretch of time or without words go to the
    notes."""
    if len(corpus) != 1:
        hint = "name a folder, into which each film is written as a file"
        raise target.wrong(f"a file of subtitles holds one film, and there are {len(corpus)}", hint=hint)
    note_losses(corpus, target, durations=True, scores=True)
    ((video, story),) = corpus.items()
    lines = []
    for i, event in enumerate(story.events):
        if not event.segment.sound:
            target.notes.add("lost in writing: {n} events that are no stretch of time", name_id(video, i))
        elif not (event.caption or "").strip():
            target.notes.add("lost in writing: {n} events without words", name_id(video, i))
        else:
            lines.append(SpokenLine(event.segment.start, event.segment.end, event.caption or ""))
    return lines


def name_file(folder: Path, video: str, ending: str) -> Path:
    """The file of a film in a folder; refused where no file can be called so."""
    name = video + ending
    if not video or video.startswith(".") or set(video) & set("/\\\0\n\r") or len(name.encode()) > LONGEST_NAME:
        hint = "give the film an id that is a file's name"
        raise InputError(f"no file can have the name of the film {shown(video)}", file=folder, hint=hint)
    return folder / name
