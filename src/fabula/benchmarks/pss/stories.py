"""YouCook2 split for procedure segmentation and summarization (PSS; Batra et al., BMVC 2022), in ActivityNet's shape.

The shape does not say whose split it is, so the format must be named; then a file that is none of the three is noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.activitynet import stories as activitynet
from fabula.data.stories import Story
from fabula.documents.fields import Source
from fabula.io.format import STORIES, Format

SPLITS = {840: "yc2_my_train", 183: "yc2_my_val", 180: "yc2_my_test"}  # videos → file


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    videos = 0
    for story in activitynet.read_stories(document, source):
        videos += 1
        yield story
    if videos not in SPLITS:
        known = ", ".join(f"{name} {count}" for count, name in SPLITS.items())
        source.notes.add(f"{videos} videos: not a whole split of PSS ({known})")


FORMAT = Format(
    name="pss",
    about="the PSS splits of YouCook2 (yc2_my_train, _val, _test), in ActivityNet's shape",
    holds="references",
    tasks=STORIES,
    read_stories=read_stories,
    write=activitynet.write_stories,
    guess=False,
    example='{"kite": {"duration": 31, "timestamps": [[0, 10]], "sentences": ["let the kite rise"]}}',
)
