"""Queries, rankings and clip numbers."""

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.data.moments import Moment, Query, Ranking, VideoNumbers, clip_seconds


def test_videos_are_numbered_as_they_come():
    numbers = VideoNumbers({"a": 4})
    assert (numbers["b"], numbers["a"], numbers["c"], numbers["b"]) == (5, 4, 6, 5)


def test_a_ranking_of_single_moments():
    numbers = VideoNumbers()
    ranking = Ranking.of(3, [Moment(0, 5, "b", 0.9), Moment(1, 2, "a", 0.5)], numbers)
    assert ranking.spans.tolist() == [[0, 5], [1, 2]]
    assert ranking.scores.tolist() == [0.9, 0.5]
    assert ranking.videos.tolist() == [numbers["b"], numbers["a"]]
    assert len(Ranking.of(3, [])) == 0
    with pytest.raises(SpecError, match="1 of 2 moments name a video"):
        Ranking.of(3, [Moment(0, 5, "b"), Moment(1, 2)], numbers)


def test_a_ranking_is_lean():
    ranking = Ranking(1, np.zeros((100, 2)), np.zeros(100), np.zeros(100, dtype=np.int64))
    assert sum(a.nbytes for a in (ranking.spans, ranking.scores, ranking.videos)) == 3200
    assert not hasattr(Query(1, "v", ((0.0, 1.0),)), "__dict__")


def test_clips_as_seconds():
    # Clips 2 and 3 of 1.5 s last from 3 to 6 s: XML names the last clip, ReLoCLNet the one after it.
    assert clip_seconds(2, 3, 1.5).tolist() == [3.0, 6.0]
    assert clip_seconds([2], [4], 1.5, end="past").tolist() == [[3.0, 6.0]]
    with pytest.raises(SpecError, match="inside or past"):
        clip_seconds(2, 3, 1.5, end="after")
    with pytest.raises(SpecError, match="longer than nothing"):
        clip_seconds(2, 3, 0)
