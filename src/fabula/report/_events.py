"""How the page lists the events of a story: in time, and last those that are no stretch of time, whose times are text.

Events are known by their places in the story as the file tells it; on the page they have the places of this list.
"""

from __future__ import annotations

from typing import Any

from fabula.data.stories import Event, Story

Cells = list[Any]  # plain values that a page's script reads, by their places


def order_events(story: Story) -> tuple[list[int], list[int]]:
    """The places in the file of the events that are a stretch of time, in time; of the malformed ones, as they come."""
    sound = [event.segment.sound for event in story.events]
    if all(sound):
        return story.order, []
    return [i for i in story.order if sound[i]], [i for i, good in enumerate(sound) if not good]


def list_events(story: Story) -> list[Cells]:
    """[start, end, caption] an event."""
    in_time, malformed = order_events(story)
    return [show_event(story.events[i]) for i in in_time] + [show_malformed(story.events[i]) for i in malformed]


def show_event(event: Event) -> Cells:
    return [round_seconds(event.segment.start), round_seconds(event.segment.end), event.caption or ""]


def show_malformed(event: Event) -> Cells:
    return [f"{event.segment.start:g}", f"{event.segment.end:g}", event.caption or ""]


def round_seconds(value: float) -> float | int:
    short = round(value, 3)
    return int(short) if short == int(short) else short
