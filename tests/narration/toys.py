"""Coded films, small and slow, and runs of `fabula tell` over them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from fabula.media.coded.film import CodedEvent, CodedFilm, make_film, write_coded_film
from fabula.narration.options import TellOptions

HEIGHT, WIDTH = 60, 80
BASE = {"model": "m", "shots": "none", "side": 80, "untitled": True, "window": 20.0, "overlap": 5.0}


def write_films(folder: Path, films: Iterable[CodedFilm]) -> dict[str, CodedFilm]:
    """Films by id, written into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {f"film{film.number:02d}": film for film in films}
    for id, film in found.items():
        write_coded_film(folder / f"{id}.mp4", film, HEIGHT, WIDTH)
    return found


def write_refs(path: Path, films: Mapping[str, CodedFilm]) -> Path:
    """The right answers as ActivityNet ground truth."""
    document = {}
    for id, film in films.items():
        story = film.story()
        document[id] = {
            "duration": film.seconds,
            "timestamps": [[e["start"], e["end"]] for e in story],
            "sentences": [e["caption"] for e in story],
        }
    path.write_text(json.dumps(document))
    return path


def make_long_film(number: int, seconds: float, count: int, fps: int = 1) -> CodedFilm:
    """Events from the beginning to the end, of 2 s and more, with a pause behind each third."""
    step = seconds / count
    events = []
    for k in range(count):
        start = round(k * step, 1)
        end = round((k + 1) * step - (step / 4 if k % 3 == 2 else 0), 1)
        events.append(CodedEvent(start, min(end, seconds), (k % 8 + 1,)))
    return CodedFilm(number, seconds, tuple(events), fps)


def small_films(count: int, seconds: float = 35.0, fps: int = 2) -> list[CodedFilm]:
    return [make_film(number, seconds + 7 * number, fps) for number in range(count)]


def options(url: str, **changes: object) -> TellOptions:
    return TellOptions(**{**BASE, "url": url, **changes})


def captions(film: CodedFilm) -> list[tuple[float, float, str]]:
    return [(e["start"], e["end"], e["caption"]) for e in film.story()]
