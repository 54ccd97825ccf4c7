"""Many stories put in the order of time, or pooled, at once: what `Story.in_order` and `by_start` do for one.

Five hundred videos cost one sort. Times that are no numbers it cannot sort: they are left to the stories themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fabula.data.stories import Columns, Story, join_spans, join_words

Order = Literal["time", "start", "file"]  # by start, end and words · by start alone · as the file tells them
Index = NDArray[np.int64]


def sort_events(stories: Sequence[Story], order: Order, keeps_events: bool = False) -> list[Story]:
    """Each in this order; the very same stories where all of them stand so already.

    `keeps_events`: story by story, with what columns have no place for.
    """
    if order == "file":
        return list(stories)
    columns = Columns(np.zeros((0, 2)), []) if keeps_events else join_stories(stories)
    if keeps_events or not np.isfinite(columns.spans).all():
        return [story.in_order() if order == "time" else story.by_start() for story in stories]
    counts = list(map(len, stories))
    places = find_places(columns, np.repeat(np.arange(len(counts)), counts), order)
    if bool((places == np.arange(len(places))).all()):
        return list(stories)
    scores = None if columns.scores is None else columns.scores[places]
    sorted_ = Columns(columns.spans[places], [columns.captions[i] for i in places.tolist()], scores)
    cut = zip(stories, cut_runs(counts), strict=True)
    return [Story.of_columns(s.id, sorted_, first, last, s.duration) for s, (first, last) in cut]


def pool_stories(
    ids: Sequence[str], groups: Sequence[Sequence[Story]], order: Order, keeps_events: bool = False
) -> list[Story]:
    """For each id one story without a duration: the events of all stories of its group, then sorted in this order."""
    if keeps_events:
        both = zip(ids, groups, strict=True)
        return sort_events([Story(id, tuple(e for s in group for e in s.events)) for id, group in both], order, True)
    columns = join_stories([story for group in groups for story in group])
    counts = [sum(map(len, group)) for group in groups]
    cut = zip(ids, cut_runs(counts), strict=True)
    return sort_events([Story.of_columns(id, columns, first, last) for id, (first, last) in cut], order)


def count_reordered(stories: Sequence[Story], here: Order, there: Order, keeps_events: bool = False) -> int:
    """How many stories two orders tell otherwise."""
    columns = join_stories(stories)
    if keeps_events or not np.isfinite(columns.spans).all():
        orders = ({"file": list(range(len(s))), "start": s.start_order, "time": s.order} for s in stories)
        return sum(of[here] != of[there] for of in orders)
    counts = list(map(len, stories))
    owner = np.repeat(np.arange(len(counts)), counts)
    a, b = (np.arange(len(owner)) if o == "file" else find_places(columns, owner, o) for o in (here, there))
    return len(set(owner[a != b].tolist()))


def join_stories(stories: Sequence[Story]) -> Columns:
    """The events of all of them, end to end."""
    scores = [story.scores for story in stories]
    joined = None
    if any(x is not None for x in scores):
        both = zip(stories, scores, strict=True)
        joined = np.concatenate([np.full(len(story), np.nan) if x is None else x for story, x in both])
    return Columns(join_spans(stories), join_words(stories), joined)


def find_places(columns: Columns, owner: Index, order: Order) -> Index:
    """The place of each event in the order of its story. [N]"""
    start, end = columns.spans.T
    if order == "start":
        return np.lexsort((start, owner))
    places = np.lexsort((end, start, owner))
    spans, whose = columns.spans[places], owner[places]
    alike = (whose[1:] == whose[:-1]) & (spans[1:] == spans[:-1]).all(axis=1)
    if alike.any():  # the words decide
        edges = np.flatnonzero(np.diff(alike.astype(np.int8), prepend=0, append=0))
        for first, last in zip(edges[::2].tolist(), (edges[1::2] + 1).tolist(), strict=True):
            places[first:last] = sorted(places[first:last].tolist(), key=lambda i: columns.captions[i] or "")
    return places


def cut_runs(counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From where to where each run of so many stands, end to end."""
    return pairwise(accumulate(counts, initial=0))
