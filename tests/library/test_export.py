"""The moments that a page sends: what is a stretch of its video, and what is refused by its place in the list."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fabula.core.errors import SpecError
from fabula.library.page.export import MOST, WORDS, read_moments

FILM = SimpleNamespace(video="a.mp4", duration=10.0)
ENDLESS = SimpleNamespace(video="b.mp4", duration=None)
CATALOGUE: Any = SimpleNamespace(find={"a": FILM, "b": ENDLESS}.get)


def sent(**more: object) -> dict[str, object]:
    return {"moments": [{"query": "a dog", "video": "a", "start": 2, "end": 4.5, "score": 0.5, **more}]}


def test_a_moment_is_read_as_it_was_sent():
    (one,) = read_moments(sent(), CATALOGUE)
    assert (one.query, one.video, one.start, one.end, one.score) == ("a dog", FILM, 2.0, 4.5, 0.5)
    assert read_moments(sent(score=None), CATALOGUE)[0].score is None


@pytest.mark.parametrize(("start", "end"), [(0, 10), (0, 10.5), (9.9, 10.4)])
def test_a_moment_may_end_half_a_second_behind_its_video(start, end):
    assert read_moments(sent(start=start, end=end), CATALOGUE)[0].end == end


@pytest.mark.parametrize(
    ("start", "end"), [(-0.1, 3), (3, 3), (4, 3), (0, 10.6), (None, 3), (1, None), (True, 3), (0, 1e9), ("1", 3)]
)
def test_what_is_no_stretch_of_its_video(start, end):
    with pytest.raises(SpecError, match=r"moment 1 lasts from .*, which is no stretch of 'a\.mp4'"):
        read_moments(sent(start=start, end=end), CATALOGUE)


def test_a_video_without_a_length_has_every_stretch():
    assert read_moments(sent(video="b", end=5000), CATALOGUE)[0].end == 5000


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "the list is empty"),
        ({}, "the list is empty"),
        ([sent()["moments"][0]] * (MOST + 1), "moments; at most"),
        ([sent()["moments"][0], 5], "moment 2 is 5, no moment"),
        (sent(query=" ")["moments"], "moment 1 has no query"),
        (sent(query=True)["moments"], "moment 1 has no query"),
        (sent(query="x" * (WORDS + 1))["moments"], "moment 1 has no query"),
        (sent(video="c")["moments"], "moment 1 is of a video that the store no longer has"),
        (sent(video=3)["moments"], "moment 1 is of a video that the store no longer has"),
    ],
)
def test_what_is_no_list_of_moments(rows, said):
    with pytest.raises(SpecError, match=said):
        read_moments({"moments": rows}, CATALOGUE)
