"""Uniform segmentation (baselines of Batra et al., BMVC 2022): a video cut into n equal parts.

n = a fixed count,   or ⌈D / mean segment length⌉,   or the reference's own number of events
D = ⌈duration⌉, which reproduces the paper's table; whole=False takes the duration as it is
"""

from __future__ import annotations

import math
from dataclasses import replace

from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Corpus, Event, Segment, Story

MOST = 1_000_000  # segments of a video: more is a slip of the pen


def uniform(
    refs: Corpus,
    count: int | None = None,
    duration: float | None = None,
    reference_count: bool = False,
    whole: bool = True,
) -> Corpus:
    """One prediction per reference video. Say exactly one of count, duration (seconds per segment), reference_count.

    Examples:

        >>> refs, _ = fabula.read(demo.REFERENCES["annotator_1"])
        >>> [event.segment.end for event in fabula.uniform(refs, count=2)["demo_penalty"].events]
        [18.0, 36.0]
    """
    if (count is not None) + (duration is not None) + reference_count != 1:
        raise SpecError("say exactly one of: a count, a duration per segment, the reference count")
    if count is not None and count < 1:
        raise SpecError(f"a count of {count}; it must be at least 1")
    if count is not None and count > MOST:
        raise SpecError(f"a count of {count}; a video is cut into {MOST:,} segments at most")
    if duration is not None and not (math.isfinite(duration) and duration > 0):
        raise SpecError(f"a segment duration of {duration} seconds; it must be a positive number")
    stories = {}
    for video, story in refs.items():
        if story.duration is None:
            raise InputError("no duration", file=refs.name, video=video, hint="a uniform cut needs to know the length")
        D = float(math.ceil(story.duration)) if whole else story.duration
        if duration is not None and duration < D / MOST:
            said = f"segments of {duration:g} seconds cut a video of {D:g} seconds into more than {MOST:,}"
            raise SpecError(f"{said}; say a longer duration (video {video!r})")
        n = count if count is not None else len(story) if duration is None else math.ceil(D / duration)
        stories[video] = cut(story, D, n)
    return replace(refs, stories=stories, external={}, format="submission")


def cut(story: Story, D: float, n: int) -> Story:
    bounds = [D * i / n for i in range(n)] + [D] if n else []
    events = tuple(Event(Segment(bounds[i], bounds[i + 1]), "") for i in range(n))
    return Story(story.id, events)
