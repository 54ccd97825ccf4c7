"""Checks of single segments: is it a stretch of time, does it lie in its video, is its length odd?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fabula.checks._check import Check, Facts, Place, span
from fabula.data.segments import find_fault

FRAME = 0.05  # seconds; a frame of 25 per second lasts 0.04
WHOLE = 0.99  # of the duration
PAST = 0.0101  # seconds; durations and ends are rounded to hundredths, and that is no fault


def faulty(kind: str) -> Callable[[Facts], Iterator[Place]]:
    def find(facts: Facts) -> Iterator[Place]:
        return (Place(v, i, span(e)) for v, i, e in facts.events() if find_fault(e.segment) == kind)

    return find


def after_end(facts: Facts) -> Iterator[Place]:
    for video, story, long in facts.timed():
        for i, e in enumerate(story.events):
            if e.segment.sound and e.segment.start >= long:
                yield Place(video, i, f"{span(e)}, the video lasts {long:g} s")


def past_duration(facts: Facts) -> Iterator[Place]:
    for video, story, long in facts.timed():
        for i, e in enumerate(story.events):
            if e.segment.sound and e.segment.start >= long:
                continue  # after-end
            if max(e.segment.start, e.segment.end) > long + PAST:
                yield Place(video, i, f"{span(e)}, the video lasts {long:g} s")


def one_frame(facts: Facts) -> Iterator[Place]:
    return (Place(v, i, span(e)) for v, i, e in facts.events() if e.segment.sound and e.segment.length < FRAME)


def whole_video(facts: Facts) -> Iterator[Place]:
    for video, story, long in facts.timed():
        for i, e in enumerate(story.events):
            if len(story) > 1 and e.segment.sound and e.segment.length >= WHOLE * long:
                yield Place(video, i, f"{span(e)} of {long:g} s")


CHECKS = (
    Check("reversed", "error", "The segment ends before it starts: it matches nothing.", faulty("reversed"), "swap"),
    Check("zero-length", "error", "The segment has no length: it matches nothing.", faulty("zero-length"), "drop"),
    Check("negative", "error", "The segment begins before the video does.", faulty("negative"), "clip"),
    Check("after-end", "error", "The segment begins after the video ends: nothing shows it.", after_end, "drop"),
    Check("past-duration", "warning", "The segment ends after the video does.", past_duration, "clip"),
    Check("one-frame", "warning", f"The segment is shorter than {FRAME} s, about a frame.", one_frame),
    Check("whole-video", "info", "One of several events takes the whole video.", whole_video),
)
