"""The Tasty cooking videos (Sener and Yao, ICCV 2019) in ActivityNet's shape, as the PSS paper published them.

Some videos tell their steps out of time: they are counted in a note and stay in file order. Ids carry `v_` in the
`_v2` files and nothing in the first ones; they stay as they are, and scoring matches the two kinds (data/ids.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.activitynet import stories as activitynet
from fabula.core.notes import name_id
from fabula.data.stories import Story
from fabula.documents.fields import Source
from fabula.io.format import STORIES, Format


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    for story in activitynet.read_stories(document, source):
        if story.by_start() is not story:
            source.notes.add("{n} videos tell their steps out of time; file order is kept", name_id(story.id))
        if story.duration is None:
            source.notes.add("{n} videos have no duration", name_id(story.id))
        if story.id.startswith("v_") and story.id.removeprefix("v_") in document:
            source.notes.add("{n} video ids stand with and without the prefix 'v_'", name_id(story.id))
        yield story


FORMAT = Format(
    name="tasty",
    about="Tasty recipes in ActivityNet's shape; steps out of time are counted",
    holds="references",
    tasks=STORIES,
    read_stories=read_stories,
    write=activitynet.write_stories,
    guess=False,
    example='{"kite": {"duration": 31, "timestamps": [[0, 10]], "sentences": ["let the kite rise"]}}',
)
