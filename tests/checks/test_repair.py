"""Repairs: what is mended, what is dropped, that words stay, and that a second repair finds nothing to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.checks import Deed, examine, repair
from fabula.data.stories import Corpus, Event, Segment, Story
from tests.io.story_toys import anything


def told(*events: tuple[float, float, str]) -> Corpus:
    return Corpus({"v": Story("v", tuple(Event(Segment(a, b), c) for a, b, c in events))})


@pytest.mark.parametrize(
    ("events", "after", "deeds"),
    [
        ([(20, 10, "a")], [(10, 20, "a")], [Deed("swap", "v", 0, (20, 10), (10, 20))]),
        ([(5, 5, "a")], [], [Deed("drop-empty", "v", 0, (5, 5))]),
        ([(-3, 5, "a")], [(0, 5, "a")], [Deed("clip", "v", 0, (-3, 5), (0, 5))]),
        ([(90, 120, "a")], [(90, 100, "a")], [Deed("clip", "v", 0, (90, 120), (90, 100))]),
        ([(110, 120, "a")], [], [Deed("drop-empty", "v", 0, (110, 120))]),
        ([(120, 90, "a")], [(90, 100, "a")], [
            Deed("swap", "v", 0, (120, 90), (90, 120)), Deed("clip", "v", 0, (90, 120), (90, 100))
        ]),
        ([(1, 2, "a"), (1, 2, "a")], [(1, 2, "a")], [Deed("drop-duplicate", "v", 1, (1, 2))]),
        ([(1, 2, "a"), (1, 2, "b")], [(1, 2, "a"), (1, 2, "b")], []),
        ([(3, 4, "b"), (1, 2, "a")], [(1, 2, "a"), (3, 4, "b")], [Deed("sort", "v")]),
    ],
)  # fmt: skip
def test_deeds(
    events: list[tuple[float, float, str]], after: list[tuple[float, float, str]], deeds: list[Deed]
) -> None:
    mended, done = repair(told(*events), {"v": 100.0})
    assert mended.stories == told(*after).stories
    assert done == deeds


def test_a_sound_corpus_is_left_alone() -> None:
    corpus = told((0, 10, "a"), (5, 20, "b"))
    mended, done = repair(corpus, {})
    assert done == []
    assert mended["v"] is corpus["v"]


@given(corpus=anything, long=st.floats(0.1, 1e6))
def test_nothing_faulty_is_left_and_words_stay(corpus: Corpus, long: float) -> None:
    durations = dict.fromkeys(corpus, long)
    mended, _ = repair(corpus, durations)
    assert list(mended) == list(corpus)
    left = {f.check for f in examine(mended).findings}
    assert not left & {"reversed", "zero-length", "negative", "unsorted"}
    assert repair(mended, durations)[1] == []
    for video, story in mended.items():
        assert {e.caption for e in story.events} <= {e.caption for e in corpus[video].events}
        assert all(e.segment.end <= long for e in story.events)
