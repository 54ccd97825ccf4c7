"""Who is on the page of a library: names by how often they are seen, and when in a video."""

from __future__ import annotations

import numpy as np
import pytest

from fabula.library.page.catalogue import people_of, seen_in
from fabula.media.people.cast import Cast, Faces, FilmedVideo

# video, second, person: two pictures a second; −1 is nobody's face
ROWS = [("a", 0.0, 1), ("a", 0.5, 1), ("a", 1.0, -1), ("a", 5.0, 1), ("a", 7.0, 0), ("b", 3.0, 2), ("b", 3.5, 2)]
ROWS += [("b", 4.0, 2), ("b", 4.5, 2), ("b", 9.0, -1)]


@pytest.fixture(scope="module")
def cast() -> Cast:
    video, time, person = (np.array(column) for column in zip(*ROWS, strict=True))
    n, none = len(ROWS), np.zeros(len(ROWS), np.int64)
    boxes, ones = np.zeros((n, 4), np.float32), np.ones(n, np.float32)
    index = (video == "b").astype(np.int64)
    faces = Faces(index, (time * 2).astype(np.int64), time, none, np.arange(n), boxes, ones, ones[:, None])
    videos = tuple(FilmedVideo(name, 12.0, 192, 108, np.zeros((0, 2))) for name in "ab")
    return Cast(videos, faces, person, {0: "Anna", 2: "Cleo"}, {}, {"recipe": {"look": {"fps": 2}}})


def test_who_is_seen_most_comes_first(cast):
    assert people_of(cast) == [
        {"name": "Cleo", "faces": 4},
        {"name": "person 1", "faces": 3},
        {"name": "Anna", "faces": 1},
    ]
    assert people_of(None) == []


def test_in_a_video_stand_those_who_are_seen_there(cast):
    assert seen_in(cast, "a.mp4") == [
        {"name": "person 1", "spans": [[0.0, 1.0], [5.0, 5.5]]},
        {"name": "Anna", "spans": [[7.0, 7.5]]},
    ]
    assert seen_in(cast, "b.mp4") == [{"name": "Cleo", "spans": [[3.0, 5.0]]}]


def test_of_a_video_that_nobody_looked_at_nothing_is_known(cast):
    assert seen_in(cast, "c.mp4") == seen_in(None, "a.mp4") == []
