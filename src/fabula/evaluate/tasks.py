"""The tasks: what can be scored."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.core.errors import SpecError
from fabula.core.registry import close_to, key

STORIES = ("dense", "procedure")  # tasks about events of videos
QUERIES = ("grounding", "highlights", "moments")  # tasks about windows that answer queries


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of thing to be scored."""

    name: str
    about: str  # one line for help texts


TASKS = (
    Task("captions", "single captions against references: COCO results, or pairs"),
    Task("dense", "dense video captions: events with times and words"),
    Task("grounding", "one window per query in a known video, such as a video LLM answers"),
    Task("highlights", "windows and highlight clips of a known video for a query, as in QVHighlights"),
    Task("identity", "who is who across the clips of a movie: filled blanks, captions with ids"),
    Task("moments", "moments found in a corpus of videos: VCMR, SVMR, VR"),
    Task("procedure", "procedure steps: events with times alone"),
    Task("questions", "answers in a model's words: options, events, questions about them"),
    Task("regions", "dense image captions: boxes with words and scores"),
)


def task_names() -> list[str]:
    return [task.name for task in TASKS]


def find_task(name: str) -> Task:
    """A task by name: dense, procedure, captions, …"""
    for task in TASKS:
        if key(task.name) == key(name):
            return task
    raise SpecError(f"no task is called {name!r}; {close_to(name, task_names())}")
