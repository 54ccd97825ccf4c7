"""Checks of the events of one video against each other: order, overlap, the same thing twice, untold time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fabula.checks._check import Check, Facts, Place, span
from fabula.data.statistics import find_covered

LITTLE = 0.1  # of the duration


def unsorted(facts: Facts) -> Iterator[Place]:
    for video, story in facts.corpus.items():
        late = [i + 1 for i, (a, b) in enumerate(pairwise(story.events)) if b.segment.start < a.segment.start]
        if late:
            yield Place(
                video, late[0], f"starts before event {late[0] - 1}" + (f"; {len(late)} such" if late[1:] else "")
            )


def overlap(facts: Facts) -> Iterator[Place]:
    for video, story in facts.corpus.items():
        sound = sorted((e.segment.start, e.segment.end, i) for i, e in enumerate(story.events) if e.segment.sound)
        farthest, holder, met = 0.0, -1, []
        for start, end, i in sound:
            if holder >= 0 and start < farthest:
                met.append((holder, i))
            if end > farthest:
                farthest, holder = end, i
        if met:
            yield Place(video, met[0][1], f"overlaps event {met[0][0]}" + (f"; {len(met)} such" if met[1:] else ""))


def twice(facts: Facts, words: bool) -> Iterator[Place]:
    """The same segment again: with the same words, or with others."""
    for video, story in facts.corpus.items():
        by_span: dict[tuple[float, float], dict[str | None, int]] = {}
        for i, e in enumerate(story.events):
            captions = by_span.setdefault((e.segment.start, e.segment.end), {})
            if captions and (e.caption in captions) == words:
                yield Place(video, i, f"{span(e)} as event {captions.get(e.caption, next(iter(captions.values())))}")
            captions.setdefault(e.caption, i)


def low_coverage(facts: Facts) -> Iterator[Place]:
    for video, story, long in facts.timed():
        if len(story) and (share := find_covered(story, long)) < LITTLE:
            yield Place(video, None, f"{share:.1%} of {long:g} s")


def no_events(facts: Facts) -> Iterator[Place]:
    return (Place(video) for video, story in facts.corpus.items() if not len(story))


CHECKS = (
    Check(
        "duplicate-event", "warning", "The same segment with the same words again.", lambda f: twice(f, True), "drop"
    ),
    Check("duplicate-segment", "warning", "The same segment again, in other words.", lambda f: twice(f, False)),
    Check(
        "unsorted",
        "warning",
        "Events are not in order of their start; some evaluators sort, some do not.",
        unsorted,
        "sort",
    ),
    Check("no-events", "warning", "The video has no events.", no_events),
    Check("overlap", "info", "Events overlap; protocols for procedures expect that they do not.", overlap),
    Check("little-told", "info", f"Events cover less than {LITTLE:.0%} of the video.", low_coverage),
)
