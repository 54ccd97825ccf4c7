"""The frames of a film: decoded, or as the record of an earlier run has them.

A record says of every frame its time, size and SHA-256. A call's key is made of these alone, so that an answer is found
again without the film (`--replay`), and a film whose questions are all answered is not decoded a second time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabula.asking.settings import FilmShown, Settings
from fabula.core.errors import FabulaError, InputError
from fabula.documents.fields import JsonDict
from fabula.llm.call import VideoPart
from fabula.llm.store import AnswerStore
from fabula.media.base import hash_file, stamp
from fabula.media.film_times import measure_times
from fabula.media.frame_calls import refer_film
from fabula.media.frame_sets import FilmFrames, FrameSample, describe_decoder, describe_film, take_frames_for
from fabula.media.sampling.base import RecipeError

SENT = ("index", "time", "until", "height", "width", "digest")


def open_film(settings: Settings, id: str, path: Path) -> FilmShown:
    """A film's frames, decoded; of a layout that sends films, the film."""
    sha256 = hash_file(path, *stamp(path))
    if settings.layout.needs_film:
        times = measure_times(path)
        record: JsonDict = {"film": describe_film(times), "sha256": sha256}
        return FilmShown(id, sha256, times.duration, FilmFrames((), record), refer_film(path))
    frames = take_frames_for(path, settings.recipe, settings.pictures)
    if not frames.samples:
        problem = f"{settings.recipe} takes no frame of it"
        raise InputError(problem, file=path, hint="choose another recipe with --frames")
    return FilmShown(id, sha256, float(frames.record["film"]["seconds"]), frames)


def name_film(error: FabulaError, path: Path) -> FabulaError:
    """The same error, with the film that it is about where it does not say so: a recipe knows none."""
    if not isinstance(error, RecipeError):
        return error
    problem = " ".join(str(error).split())
    return InputError(problem, file=path, hint="choose another recipe with --frames, or say --skip-bad")


@dataclass(frozen=True)
class RecordedFilms:
    """The films of a record, as they were shown, by id and by the way in which their frames were taken."""

    path: Path | None
    films: dict[tuple[str, str], FilmShown] = field(default_factory=dict)
    servers: dict[str, None] = field(default_factory=dict)
    models: dict[str, None] = field(default_factory=dict)

    @classmethod
    def read(cls, store: AnswerStore) -> RecordedFilms:
        found = cls(store.path)
        for key in store.places:
            provenance = store.read_provenance(key)
            if provenance is None or "ask" not in provenance:
                continue
            try:
                found.add(provenance)
            except (KeyError, TypeError, ValueError):
                problem = f"what {key} says of its frames cannot be read"
                raise InputError(problem, file=store.path, hint="a record is made by fabula ask") from None
        found.models.update(dict.fromkeys(store.models()))
        return found

    def add(self, provenance: Mapping[str, Any]) -> None:
        self.servers[str(provenance["server"])] = None
        film = provenance["film"]
        place = (str(film["id"]), str(provenance["source"]))
        if place in self.films:
            return
        record = provenance["frames"]
        samples = tuple(read_sample(sent) for sent in record.get("sent", ()))
        whole = VideoPart(film["sha256"]) if not samples else None
        frames = FilmFrames(samples, record)
        self.films[place] = FilmShown(place[0], str(film["sha256"]), float(film["seconds"]), frames, whole)

    def find(self, settings: Settings, id: str) -> FilmShown | None:
        return self.films.get((id, settings.source_signature))

    def find_current(self, settings: Settings, id: str, path: Path) -> FilmShown | None:
        """The same, if the film is the one that was shown, and would be decoded by the same programs."""
        found = self.find(settings, id)
        if found is None or found.sha256 != hash_file(path, *stamp(path)):
            return None
        decoder = found.frames.record.get("decoder")
        return found if decoder is None or decoder == describe_decoder() else None

    def ids(self, settings: Settings) -> dict[str, Path]:
        """The films that were shown in this way; their files are not needed."""
        return {id: Path(id) for id, source in self.films if source == settings.source_signature}


def read_sample(sent: Mapping[str, Any]) -> FrameSample:
    values: dict[str, Any] = {name: sent[name] for name in SENT}
    return FrameSample(**values, data=b"", harness_label=str(sent["harness_label"]))
