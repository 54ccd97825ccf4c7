"""Segments that are no stretch of time: reversed, zero-length, negative. What happens to them is said, never silent.

Predictions keep them as events that match nothing (they cost precision), and a warning counts and names them;
strict refuses them. In references they are an error unless `repair` says how. A protocol that judges nothing reads raw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, name_id
from fabula.data.repairs import REPAIRS
from fabula.data.stories import Corpus, Event, Segment, Story


def find_fault(segment: Segment) -> str | None:
    if segment.sound:
        return None
    if segment.start < 0 or segment.end < 0:
        return "negative"
    return "reversed" if segment.end < segment.start else "zero-length"


def all_sound(corpus: Corpus) -> bool:
    """`Segment.sound` of every event: most corpora have no other."""
    start, end = corpus.spans.T
    return bool(np.all((start >= 0) & (start < end) & (end < inf)))


def check_predictions(corpus: Corpus, notes: Notes, strict: bool = False, judged: bool = True) -> Corpus:
    """Warn of, or with strict refuse, what is no stretch of time; `judged=False`: the protocol takes it as it comes."""
    fate = "match nothing" if judged else "are taken as they are, as the protocol's evaluator does"
    if all_sound(corpus):
        return corpus
    for video, story in corpus.items():
        for i, event in enumerate(story.events):
            if what := find_fault(event.segment):
                if strict:
                    raise refuse_segment(corpus, video, i, event, what, "mend the predictions, or leave --strict out")
                notes.add(f"{{n}} predicted events are reversed, zero-length or negative and {fate}", name_id(video, i))
    return corpus


def check_references(corpus: Corpus, notes: Notes, repair: Sequence[str] = ()) -> Corpus:
    """The corpus with every faulty segment repaired in the ways named, tried in their order."""
    for way in repair:
        if way not in REPAIRS:
            raise SpecError(f"no repair is called {way!r}; there are: {', '.join(REPAIRS)}")
    if all_sound(corpus):
        return corpus
    stories: dict[str, Story] = {}
    for video, story in corpus.items():
        if all(e.segment.sound for e in story.events):
            stories[video] = story
            continue
        events: list[Event] = []
        for i, event in enumerate(story.events):
            ways, mended = mend_event(event, repair)
            if (what := find_fault(event.segment)) and not ways:
                options = ", ".join(f"--repair {w}" for w in REPAIRS)
                raise refuse_segment(corpus, video, i, event, what, f"mend the file, or say how: {options}")
            if ways:
                how = "; ".join(f"{way}: {REPAIRS[way]}" for way in ways)
                notes.add(f"{{n}} reference events were repaired ({how})", name_id(video, i))
            events += [mended] if mended is not None else []
        stories[video] = replace(story, events=tuple(events))
    return replace(corpus, stories=stories)


def mend_event(event: Event, repair: Sequence[str]) -> tuple[tuple[str, ...], Event | None]:
    """(the ways that worked together, the event, or None where it is dropped). No ways: sound already, or past help."""
    segment = event.segment
    ways: tuple[str, ...] = ()
    if segment.sound:
        return (), event
    for way in repair:
        if way == "drop":
            return (way,), None
        if way == "keep":
            return (way,), event
        if way == "swap" and segment.end < segment.start:
            segment, ways = Segment(segment.end, segment.start), (*ways, way)
        elif way == "clip" and segment.start < 0:
            segment, ways = Segment(0.0, segment.end), (*ways, way)
        if segment.sound:
            return ways, replace(event, segment=segment)
    return (), event


def refuse_segment(corpus: Corpus, video: str, i: int, event: Event, what: str, hint: str) -> InputError:
    problem = f"a {what} segment [{event.segment.start:g}, {event.segment.end:g}]"
    return InputError(problem, file=corpus.name or None, video=video, field=f"event {i}", hint=hint)
