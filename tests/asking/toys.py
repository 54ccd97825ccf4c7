"""Coded films, what is asked of them, and a server that answers in the form that the prompt wants."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from fabula.asking.options import AskOptions
from fabula.llm.call import Body
from fabula.media.coded.film import CodedFilm, make_film, write_coded_film
from fabula.media.coded.server import SeeingReply, read_words

HEIGHT, WIDTH = 60, 80
BASE = {"model": "m", "side": 80, "server": "seeing", "frames": "fabula/rate(fps=0.5)"}
SPAN = re.compile(r"([\d.]+) - ([\d.]+) seconds")
FORMS = {  # what the prompt asks for → how the model answers
    "<answer>": r"<think>It is there.</think><answer>\1 to \2</answer>",
    "[start, end]": r"[\1, \2]",
    "The event happens in": r"The event happens in \1 - \2 seconds.",
    '"start"': r'{"start": \1, "end": \2}',
}


class FormReply(SeeingReply):
    """The answer of the server that sees, written as the prompt wants it."""

    def __call__(self, body: Body) -> str:
        text = super().__call__(body)
        words = read_words(body)
        form = next((form for mark, form in FORMS.items() if mark in words), r"\g<0>")
        return SPAN.sub(form, text)


def write_films(folder: Path, numbers: Iterable[int], seconds: float = 40.0, fps: int = 2) -> list[CodedFilm]:
    folder.mkdir(parents=True, exist_ok=True)
    films = [make_film(number, seconds, fps) for number in numbers]
    for film in films:
        write_coded_film(folder / f"film{film.number:02d}.mp4", film, HEIGHT, WIDTH)
    return films


def list_events(films: Sequence[CodedFilm]) -> list[tuple[str, float, str, float, float]]:
    """Name, length, caption, start and end of every event."""
    return [(f"film{f.number:02d}", f.seconds, e["caption"], e["start"], e["end"]) for f in films for e in f.story()]


def write_bench(path: Path, films: Sequence[CodedFilm], count: int | None = None) -> Path:
    """TimeChat's grounding queries."""
    rows = [
        {"id": k, "image_id": f"{name}.mp4", "caption": caption, "timestamp": [start, end]}
        for k, (name, _, caption, start, end) in enumerate(list_events(films)[:count], 1)
    ]
    path.write_text(json.dumps({"annotations": rows}))
    return path


def options(url: str, films: Path, **changes: object) -> AskOptions:
    return AskOptions(**{**BASE, "url": url, "videos": films, **changes})
