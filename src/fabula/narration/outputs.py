"""Stories as files: what a path becomes by its ending, and its text.

    story.json           a submission, which `fabula score` reads          all films
    story.record.json    everything: events, frames, calls, usage          all films
    story.html           a page that plays                                 all films
    story.srt  .vtt      SubRip; WebVTT, of its kind by the style          one film
    story.ffmeta         chapters for ffmpeg                               one film
    story.otio           OpenTimelineIO                                    one film
    folder               a file of each kind in --to, for each film or for all

A file that an earlier run has written is replaced where it is still as it was written; one that somebody changed is
refused, unless --overwrite is said. Each file appears whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabula import io
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.core.registry import close_to
from fabula.data.stories import Corpus
from fabula.data.transcripts import SpokenLine
from fabula.documents.document import open_document
from fabula.documents.fields import JsonDict, Source
from fabula.documents.files import encode_json, name_write_failures, write_text
from fabula.io.subtitles import format_chapters, format_srt, format_vtt
from fabula.jobs.folder import Folder
from fabula.narration.companions import Companions
from fabula.narration.record import FilmStory
from fabula.narration.timeline import build_timeline, make_address
from fabula.report.film import Film, film_page
from fabula.report.film import Person as Shown

ENDINGS = {
    "record": ".record.json",
    "submission": ".json",
    "page": ".html",
    "srt": ".srt",
    "vtt": ".vtt",
    "chapters": ".ffmeta",
    "otio": ".otio",
}
OF_ALL = {"record", "submission", "page"}  # one file holds all films
IN_FOLDER = {"submission": "submission.json", "page": "index.html"}  # of all films, in a folder too
DEFAULT = ("record", "page")
TRACKS = {"chapters": "chapters", "descriptions": "descriptions"}  # style → kind of a WebVTT track
LONGEST_NAME = 255  # bytes
OUTPUTS = "outputs.json"  # in the work folder


@dataclass(frozen=True, slots=True)
class Output:
    """A file to be written, of these films."""

    path: Path
    kind: str
    films: tuple[str, ...]


def plan_outputs(out: Sequence[Path], to: Sequence[str], films: Mapping[str, Path]) -> list[Output]:
    """The files that a run will write; what cannot be is refused before anything is asked."""
    for kind in to:
        if kind not in ENDINGS:
            raise SpecError(f"--to {kind}: no such kind; {close_to(kind, list(ENDINGS))}")
    ids = tuple(films)
    planned: list[Output] = []
    for path in out:
        by_name = next((k for k, ending in ENDINGS.items() if path.name.lower().endswith(ending)), None)
        if by_name is None or path.is_dir():
            if path.suffix and not path.is_dir():
                known = ", ".join(ENDINGS.values())
                raise SpecError(f"{path.name} ends in {path.suffix}; name a file that ends in {known}, or a folder")
            planned += plan_folder(path, to or DEFAULT, ids)
        elif by_name not in OF_ALL and len(ids) > 1:
            raise SpecError(f"{len(ids):,} films do not fit into {path.name}; name a folder, with --to {by_name}")
        else:
            planned.append(Output(path, by_name, ids))
    if to and not any(not path.suffix or path.is_dir() for path in out):
        raise SpecError("--to says what goes into a folder; the endings of files say it of themselves")
    seen: dict[Path, Path] = {}
    for output in planned:
        if seen.setdefault(output.path.absolute(), output.path) is not output.path:
            raise SpecError(f"{output.path} would be written twice; give each its own")
        for film in films.values():
            if film.resolve() == output.path.resolve():
                raise SpecError(f"{output.path} is read and would be replaced; name another file")
    return planned


def plan_folder(folder: Path, to: Sequence[str], ids: Sequence[str]) -> list[Output]:
    planned = []
    for kind in dict.fromkeys(to):
        if kind in IN_FOLDER:
            planned.append(Output(folder / IN_FOLDER[kind], kind, tuple(ids)))
            continue
        for id in ids:
            name = f"{id}{ENDINGS[kind]}"
            if len(name.encode()) > LONGEST_NAME:
                raise SpecError(f"{name[:40]} …: the name would be longer than {LONGEST_NAME} bytes; rename the film")
            planned.append(Output(folder / name, kind, (id,)))
    return planned


def check_outputs(planned: Sequence[Output], work: Folder | None, overwrite: bool) -> None:
    """Refuse files that are there and that this run's folder does not know as its own."""
    if overwrite:
        return
    own = (work.find(OUTPUTS) or {}) if work is not None else {}
    for output in planned:
        if output.path.exists() and hash_bytes(output.path) not in own.get(str(output.path.absolute()), ()):
            raise InputError(
                "exists already, and is not as this run wrote it",
                file=output.path,
                hint="name another file, or say --overwrite",
            )


def hash_bytes(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"


def write_outputs(
    planned: Sequence[Output],
    stories: Mapping[str, FilmStory],
    companions: Mapping[str, Companions],
    work: Folder | None,
    notes: Notes,
) -> list[Path]:
    """All files that have a film; returns their paths.

    What a file will hold is noted before it is written: a run that is killed between the two knows it as its own."""
    written: list[Path] = []
    for output in planned:
        films = [stories[id] for id in output.films if id in stories]
        if not films:
            continue
        text = "".join(render(output, films, companions, notes))
        if work is not None:
            note_output(work, output.path, text)
        with name_write_failures(output.path.parent):
            output.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(output.path, [text])
        written.append(output.path)
    return written


def note_output(work: Folder, path: Path, text: str) -> None:
    """The hashes that a file may have: of what lies there and is ours, and of what will."""
    known: JsonDict = {name: hashes for name, hashes in (work.find(OUTPUTS) or {}).items() if isinstance(hashes, list)}
    name, lying = str(path.absolute()), hash_bytes(path)
    earlier = [lying] if lying in known.get(name, ()) else []
    new = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
    work.put({**known, name: list(dict.fromkeys([*earlier, new]))}, OUTPUTS)


def render(
    output: Output, films: Sequence[FilmStory], companions: Mapping[str, Companions], notes: Notes
) -> Iterable[str]:
    """The text of a file."""
    first = films[0]
    style = str(first.record["asking"]["style"])
    match output.kind:
        case "record":
            document = first.record if len(output.films) == 1 else {"films": {f.id: f.record for f in films}}
            return [encode_json(document, output.path, indent=1)]
        case "submission":
            chosen, _ = io.find("submission")
            assert chosen.write is not None
            corpus = Corpus({film.id: film.story() for film in films})
            return list(chosen.write(corpus, Source(open_document(output.path), notes)))
        case "page":
            return [draw_page(films, companions, output.path.parent)]
        case "srt":
            return [format_srt(list_lines(first), notes)]
        case "vtt":
            return [format_vtt(list_lines(first), notes, kind=TRACKS.get(style, "captions"))]
        case "chapters":
            return [format_chapters(list_lines(first), notes)]
        case _:
            address = make_address(first.path, output.path.parent)
            return [encode_json(build_timeline(first, address), output.path, indent=1)]


def list_lines(film: FilmStory) -> list[SpokenLine]:
    return [SpokenLine(event.start, event.end, event.caption) for event in film.events]


# ── the page ───────────────────────────────────────────────────────────────────────────────────────────────────────


def draw_page(films: Sequence[FilmStory], companions: Mapping[str, Companions], folder: Path) -> str:
    """Films that play, with their events and people."""
    shown = [show_film(film, companions.get(film.id, Companions())) for film in films]
    asking = films[0].record["asking"]
    frames = asking["frames"]["recipe"]
    notes = [f"Told by {asking['model'] or 'a model'}, {asking['style']}, frames {frames}. No person has checked it."]
    notes += [f"{film.id}: {film.title}" for film in films if film.title][:20]
    unread = sum(film.unread for film in films)
    notes += [f"{unread:,} lines or entries of the answers gave no event; the record has them."] if unread else []
    title = films[0].title if len(films) == 1 else None
    return film_page(
        shown, title or ("The story of " + (films[0].id if len(films) == 1 else "films")), folder=folder, notes=notes
    )


def show_film(film: FilmStory, companions: Companions) -> Film:
    captions = [(e["start"], e["end"], e["caption"]) for e in film.record["events"]]
    people = [
        Shown(
            who=person.number,
            name=person.name,
            number=person.number + 1,
            pictures=[person.portrait.data] if person.portrait and person.portrait.data else [],
            spans=find_spans(person.times, companions.step),
        )
        for person in companions.people
    ]
    return Film(film.id, film.duration, captions, people, film.path)


def find_spans(times: Sequence[float], step: float) -> list[tuple[float, float]]:
    """Times at which a face was seen, as the stretches that they make."""
    spans: list[tuple[float, float]] = []
    for t in times:
        if spans and t - spans[-1][1] <= 1.5 * step:
            spans[-1] = (spans[-1][0], t)
        else:
            spans.append((t, t))
    return [(max(0.0, a - step / 2), b + step / 2) for a, b in spans]
