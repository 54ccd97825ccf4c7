"""What is found in films without asking a model: shots, lines, signs, people, objects; each where its extra is there.

    shots     where the camera cuts (media/shots.py)
    lines     of --lines, or subtitles, or heard here (media/speech)          extra [speech], but for subtitles
    signs     of --signs, or read here (media/signs)                          extra [ocr]
    people    of --people, or found here (media/people)                       extra [faces]
    objects   ImageNet's classes of the frames of a shot (EfficientNet-Lite0) extra [efficientnet]

No story is made of it: what happens in a film is not in these, and we say so. A part whose extra is absent is named
with its pip line, and the others are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fabula.core.errors import InputError, MissingExtra, SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.data.transcripts import Sign, SpokenLine
from fabula.documents.fields import JsonDict
from fabula.documents.files import check_absent, dump_json, write_text
from fabula.media.extract import extract_one, find_videos
from fabula.media.film_times import measure_times
from fabula.narration.companions import Companions, Library, Person
from fabula.narration.options import TellOptions
from fabula.narration.outputs import find_spans
from fabula.report.film import Film, count, film_page
from fabula.report.film import Person as Shown

LIKELY, MOST_OBJECTS = 0.3, 3  # of a class, in the mean over a shot; classes of a shot
OBJECTS = "efficientnet_lite0_classes"
NO_STORY = "No model was asked: these are the film's shots, lines, signs, people and objects, and no story."


@dataclass(frozen=True)
class FoundFilm:
    """What was found in one film."""

    id: str
    path: Path
    seconds: float
    shots: tuple[tuple[float, float], ...] | None = None  # None: nobody could look
    lines: tuple[SpokenLine, ...] | None = None
    signs: tuple[Sign, ...] | None = None
    people: Companions = field(default_factory=Companions)
    objects: tuple[tuple[tuple[str, float], ...], ...] | None = None  # of each shot: class and probability

    def to_dict(self) -> JsonDict:
        shots = None
        if self.shots is not None:
            objects = self.objects or ((),) * len(self.shots)
            shots = [
                {"start": a, "end": b, **({"objects": {name: round(p, 3) for name, p in kinds}} if kinds else {})}
                for (a, b), kinds in zip(self.shots, objects, strict=True)
            ]
        people = {p.label: {"name": p.name, "seen": self.spans_of(p)} for p in self.people.people}
        return {
            "id": self.id,
            "file": self.path.name,
            "seconds": self.seconds,
            "shots": shots,
            "lines": None if self.lines is None else [list_line(line) for line in self.lines],
            "signs": None if self.signs is None else [list_sign(sign) for sign in self.signs],
            "people": people,
        }

    def spans_of(self, person: Person) -> list[tuple[float, float]]:
        return [(round(a, 3), round(b, 3)) for a, b in find_spans(person.times, self.people.step)]

    def events(self) -> list[tuple[float, float, str]]:
        """For the page: each thing as a stretch of time with words."""
        found: list[tuple[float, float, str]] = []
        for k, (start, end) in enumerate(self.shots or ()):
            kinds = ", ".join(f"{name} {p:.0%}" for name, p in (self.objects[k] if self.objects else ()))
            found.append((start, end, f"Shot {k + 1}" + (f": {kinds}" if kinds else "")))
        found += [(one.start, one.end, f"“{one.text}”") for one in self.lines or ()]
        found += [(one.start, one.end, f"[{one.kind}] {one.text}") for one in self.signs or ()]
        return sorted(found)


def list_line(line: SpokenLine) -> JsonDict:
    speaker = {} if line.speaker is None else {"speaker": line.speaker}
    return {"start": line.start, "end": line.end, "text": line.text, **speaker}


def list_sign(sign: Sign) -> JsonDict:
    return {"start": sign.start, "end": sign.end, "text": sign.text, "kind": sign.kind}


@dataclass(frozen=True)
class FoundFilms:
    """What was found in films, and what could not be looked for."""

    films: Mapping[str, FoundFilm]
    missing: Mapping[str, str]  # part → why: its pip line, or what went wrong

    def to_dict(self) -> JsonDict:
        films = {id: film.to_dict() for id, film in self.films.items()}
        return {"offline": 1, "note": NO_STORY, "missing": dict(self.missing), "films": films}

    def page(self, folder: Path) -> str:
        shown = []
        for film in self.films.values():
            people = [
                Shown(p.number, p.name, p.number + 1, list_portrait(p), film.spans_of(p)) for p in film.people.people
            ]
            shown.append(Film(film.id, film.seconds, film.events(), people, film.path))
        notes = [NO_STORY, *(f"{part}: {why}" for part, why in self.missing.items())]
        totals = {
            "shot": sum(len(film.shots or ()) for film in self.films.values()),
            "line": sum(len(film.lines or ()) for film in self.films.values()),
            "sign": sum(len(film.signs or ()) for film in self.films.values()),
        }
        everybody = sum(len(film.people) for film in shown)
        lead = [count(len(shown), "film"), *(count(n, what) for what, n in totals.items() if n)]
        lead += [count(everybody, "person", "people")] if everybody else []
        return film_page(shown, "What is found without a model", folder=folder, notes=notes, lead=", ".join(lead))

    def lines(self) -> list[str]:
        """For a terminal."""
        rows = [NO_STORY]
        for film in self.films.values():
            parts = [f"{len(film.shots):,} shots"] if film.shots is not None else []
            parts += [f"{len(film.lines):,} lines"] if film.lines is not None else []
            parts += [f"{len(film.signs):,} signs"] if film.signs is not None else []
            parts += [f"{len(film.people.people):,} people"] if "people" not in self.missing else []
            rows.append(f"{film.id}: {film.seconds:,.1f} s, {', '.join(parts) or 'nothing could be looked for'}")
        return [*rows, *(f"not looked for: {part} ({why})" for part, why in self.missing.items())]


def list_portrait(person: Person) -> list[bytes]:
    return [person.portrait.data] if person.portrait is not None and person.portrait.data else []


def look_at_films(
    films: Sequence[str | Path],
    options: TellOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> FoundFilms:
    """Everything that can be found here; written as a page (.html) or JSON (.json) where `options.out` says."""
    for path in options.out:
        if path.suffix not in (".html", ".json"):
            raise SpecError(f"{path.name}: without a model there is a page (.html) and JSON (.json)")
        check_absent(path, options.overwrite)
    paths = find_videos(films, warn)
    library = Library.load(options.lines, options.signs, options.people)
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        work = Path(stack.enter_context(TemporaryDirectory()))
        library = replace(
            library,
            lines=library.lines if library.lines is not None else hear_lines(paths, work, missing, progress),
            signs=library.signs if library.signs is not None else read_texts(paths, work, missing, progress),
        )
        if library.cast is None:
            library = find_cast(library, paths, work, missing, progress)
    found = {}
    for n, (id, path) in enumerate(paths.items()):
        progress("shots and objects", n, len(paths))
        found[id] = look_at(id, path, library, options, missing)
    films_found = FoundFilms(found, missing)
    for path in options.out:
        if path.suffix == ".json":
            dump_json(path, films_found.to_dict(), indent=1)
        else:
            write_text(path, [films_found.page(path.parent)])
    return films_found


def look_at(id: str, path: Path, library: Library, options: TellOptions, missing: dict[str, str]) -> FoundFilm:
    """Shots and objects of one film, and what the library knows of it."""
    companions = library.of_film(id)
    seconds = measure_times(path).duration
    shots = objects = None
    if options.shots != "none":
        try:
            from fabula.media.shots import find_shots

            shots = tuple((round(float(a), 3), round(float(b), 3)) for a, b in find_shots(path, options.shots))
        except MissingExtra as error:
            missing["shots"] = str(error)
    if shots is not None:
        try:
            objects = find_objects(path, shots)
        except MissingExtra as error:
            missing["objects"] = str(error)
    return FoundFilm(id, path, seconds, shots, companions.lines, companions.signs, companions, objects)


def find_objects(path: Path, shots: Sequence[tuple[float, float]]) -> tuple[tuple[tuple[str, float], ...], ...]:
    """The likely classes of each shot."""
    from fabula.library.embedders.offline import read_names
    from fabula.media.extractors import extractor

    chosen = extractor(OBJECTS)
    shares, _ = extract_one(path, chosen)
    names = [words[0] for words in read_names()]
    times = (np.arange(len(shares)) + 0.5) / float(chosen.fps or 1.0)
    found = []
    for start, end in shots:
        inside = shares[(times >= start) & (times < end)]
        mean = inside.mean(0) if len(inside) else np.zeros(len(names))
        best = np.argsort(-mean)[:MOST_OBJECTS]
        found.append(tuple((names[int(k)], float(mean[k])) for k in best if mean[k] >= LIKELY))
    return tuple(found)


def hear_lines(
    paths: Mapping[str, Path], work: Path, missing: dict[str, str], progress: Progress
) -> dict[str, tuple[SpokenLine, ...]] | None:
    """Subtitles, or what is heard; None where nobody can hear."""
    from fabula.media.speech.calls import transcribe_films
    from fabula.media.speech.options import TranscribeOptions

    try:
        heard = transcribe_films([*paths.values()], TranscribeOptions(work=work / "speech", skip_bad=True), progress)
    except MissingExtra as error:
        missing["lines"] = str(error)
        return None
    except InputError as error:
        missing["lines"] = " ".join(str(error.problem).split())
        return None
    return {one.video: one.lines for one in heard.transcripts}


def read_texts(
    paths: Mapping[str, Path], work: Path, missing: dict[str, str], progress: Progress
) -> dict[str, tuple[Sign, ...]] | None:
    from fabula.media.signs.calls import read_signs
    from fabula.media.signs.options import ReadOptions

    try:
        read = read_signs([*paths.values()], ReadOptions(work=work / "signs", skip_bad=True), progress)
    except MissingExtra as error:
        missing["signs"] = str(error)
        return None
    except InputError as error:
        missing["signs"] = " ".join(str(error.problem).split())
        return None
    return {film.video: film.signs for film in read.films}


def find_cast(
    library: Library, paths: Mapping[str, Path], work: Path, missing: dict[str, str], progress: Progress
) -> Library:
    from fabula.media.people.calls import find_people
    from fabula.media.people.options import FindOptions

    options = FindOptions(out=work / "people.npz", work=work / "people", skip_bad=True)
    try:
        return replace(library, cast=find_people([*paths.values()], options, progress))
    except MissingExtra as error:
        missing["people"] = str(error)
    except InputError as error:
        missing["people"] = " ".join(str(error.problem).split())
    return library
