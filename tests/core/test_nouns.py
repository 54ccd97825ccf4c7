"""The nouns."""

import dataclasses
from itertools import permutations

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.data.stories import Corpus, Event, Segment, Story
from tests.toys import corpus, story

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("start", "end", "sound"),
    [
        (0, 1, True),
        (0, 0, False),
        (2, 1, False),
        (-1, 1, False),
        (-2, -1, False),
        (NAN, 1, False),
        (0, NAN, False),
        (0, INF, False),
        (INF, INF, False),
    ],
)
def test_sound_segments(start, end, sound):
    assert Segment(start, end).sound is sound


def test_nouns_are_frozen_and_hashable():
    for noun in (Segment(0, 1), Event(Segment(0, 1)), story((0, 1)), Corpus({})):
        field = dataclasses.fields(noun)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(noun, field, None)
    assert len({story((0, 1, "a")), story((0, 1, "a")), story((0, 1, "b"))}) == 2


def test_spans():
    assert story((0, 1), (2, 5)).spans.tolist() == [[0, 1], [2, 5]]
    assert story().spans.shape == (0, 2)
    assert story((1, 2)).spans.dtype == np.float64
    assert Segment(2, 5).length == 3


def test_captions():
    assert story((0, 1, "a"), (1, 2, "")).captions == ["a", ""]
    assert story().captions == []
    with pytest.raises(InputError, match="video 'v': 2 of 3 events have no caption; a metric that compares"):
        story((0, 1, "a"), (1, 2), (2, 3)).captions  # noqa: B018


def test_in_order_sorts_by_start_then_end_then_words():
    told = story((5, 6, "c"), (0, 9, "b"), (0, 9, "a"), (0, 3, "d"))
    assert told.in_order().captions == ["d", "a", "b", "c"]
    assert told.order == [3, 2, 1, 0]
    assert told.captions == ["c", "b", "a", "d"]


def test_by_start_keeps_ties():
    told = story((5, 6, "c"), (0, 9, "b"), (0, 9, "a"), (0, 3, "d"))
    assert told.by_start().captions == ["b", "a", "d", "c"]  # [0, 9] stays before [0, 3]: the end does not matter
    assert told.start_order == [1, 2, 3, 0]


def test_a_shuffled_story_is_told_the_same_way():
    told = story((0, 2, "b"), (0, 2, "a"), (0, 1, "c"), (0, 2, "a"), (0, 2))
    ways = {Story("v", tuple(events)).in_order().events for events in permutations(told.events)}
    assert len(ways) == 1


def test_a_story_in_order_is_itself():
    told = story((0, 1, "b"), (0, 3, "a"), (2, 3, "c"), duration=9)
    assert told.in_order() is told and told.by_start() is told
    assert story((2, 3), (0, 1), duration=9).in_order().duration == 9


def test_corpus_is_a_mapping_in_file_order():
    stories = corpus({"b": [(0, 1, "x")], "a": []})
    assert list(stories) == ["b", "a"]
    assert len(stories) == 2
    assert stories["b"].captions == ["x"]
    assert stories.get("c") is None
    assert "a" in stories
    assert stories.events == 1


def test_captioned():
    assert corpus({"a": [(0, 1), (1, 2, "x")]}).captioned
    assert not corpus({"a": [(0, 1, "")], "b": [(0, 1)]}).captioned
    assert not Corpus({}).captioned
    assert not Corpus({"a": Story("a")}).captioned
