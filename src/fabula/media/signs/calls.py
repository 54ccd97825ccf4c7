"""Signs of films: what `fabula read` calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fabula.core.errors import SpecError, import_extra
from fabula.core.notes import Notes, Progress, ignore, silent
from fabula.data.transcripts import Sign, SignList
from fabula.documents.fields import JsonDict
from fabula.documents.files import encode_json
from fabula.io.subtitles import format_srt, format_text, format_vtt, signs_to_dict
from fabula.jobs.folder import Folder
from fabula.media.decode import import_av
from fabula.media.extract import Refused, find_videos
from fabula.media.pipeline import Stages
from fabula.media.signs.base import SignModel
from fabula.media.signs.options import ReadOptions
from fabula.media.signs.read import SignStage
from fabula.media.texts import choose_target, plan_films, run_films

KINDS = ("json", "srt", "vtt", "txt")


@dataclass(frozen=True)
class ReadFilms:
    """The signs of films in the order of their ids, and how the run went."""

    films: tuple[SignList, ...]
    left_out: Refused  # id → why a film was left out
    seconds: dict[str, float]  # of all processes, by stage, of the films that were read now
    took: float  # seconds of the clock
    videos: dict[str, Path]  # files by id

    @property
    def duration(self) -> float:
        """Seconds of all films."""
        return sum(film.duration or 0.0 for film in self.films)

    @property
    def signs(self) -> int:
        return sum(len(film.signs) for film in self.films)


def read_signs(
    films: Sequence[str | Path],
    options: ReadOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> ReadFilms:
    """What is written in films (files, or folders of them); a file, a store or a folder is written where `out` is."""
    began = time.perf_counter()
    import_av()
    import_extra("cv2", "reading the text in pictures", "ocr")
    import_extra("onnxruntime", "reading the text in pictures", "ocr")
    model = SignModel(fps=options.fps, still=options.still, least=options.least)
    recipe = model.recipe()  # weights must be there before any work
    if options.kind is not None and options.out is None:
        raise SpecError("--kind has no effect without --out")
    found = find_videos(films, warn)
    notes = Notes()
    with plan_films(options, found) as plan:
        target = None
        if options.out is not None:
            target = choose_target(options.out, options.kind, found, KINDS, options.overwrite)
        done = run_films(found, partial(build_stage, plan.skip_bad, model), recipe, plan, progress, warn)
        read = tuple(sign_list(record) for record in done.records.values())
        if target is not None:
            target.write(write_films(read, target.kind, notes))
    for line in notes.lines():
        warn(line)
    account = Stages()
    for id, record in done.records.items():
        if id not in done.earlier:
            account.add(record["seconds"])
    return ReadFilms(read, done.left_out, account.seconds, time.perf_counter() - began, dict(found))


def build_stage(skip_bad: bool, model: SignModel, folder: Folder, watch: Progress) -> SignStage:
    return SignStage(folder, skip_bad, watch, model)


def sign_list(record: JsonDict) -> SignList:
    """The signs of one film from its record."""
    film = record["signs"]
    signs = []
    for one in film["signs"]:
        left, top, right, bottom = one["box"]
        box = (left, top, right, bottom)
        signs.append(Sign(one["start"], one["end"], one["text"], one["confidence"], one["kind"], box))
    return SignList(film["video"], tuple(signs), film["duration"], film["source"], film["about"])


def write_films(films: Iterable[SignList], kind: str, notes: Notes) -> Iterator[tuple[str, str]]:
    """Id and text of each film."""
    for film in films:
        if kind == "srt":
            text = format_srt(film.signs, notes)
        elif kind == "vtt":
            text = format_vtt(film.signs, notes)
        elif kind == "txt":
            text = format_text(film.signs, notes)
        else:
            text = encode_json(signs_to_dict(film), film.video, indent=1 if kind == "json" else None)
        yield film.video, text
