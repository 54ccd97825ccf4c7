"""Windows cover a film, overlap as they should, and lie on cuts."""

from itertools import pairwise

import pytest

from fabula.core.errors import SpecError
from fabula.narration.windows import Window, cut_windows


def spans(windows):
    return [(w.start, w.end) for w in windows]


def test_a_short_film_is_one_window():
    assert spans(cut_windows(87.5, 120, 20)) == [(0.0, 87.5)]
    assert spans(cut_windows(130.0, 120, 20)) == [(0.0, 130.0)]  # a rest of 10 s goes with it
    assert spans(cut_windows(131.0, 120, 20)) == [(0.0, 120.0), (100.0, 131.0)]


def test_edges_lie_on_cuts_where_some_are_near():
    found = cut_windows(300.0, 120, 20, [50.0, 112.5, 91.0, 119.9, 210.0])
    assert spans(found) == [(0.0, 119.9), (91.0, 210.0), (190.0, 300.0)]


@pytest.mark.parametrize("duration", [0.1, 59.0, 120.0, 400.0, 3600.0, 86_399.9])
@pytest.mark.parametrize("overlap", [0.0, 20.0, 60.0])
def test_every_second_is_covered_and_neighbours_overlap(duration, overlap):
    cuts = [k * 7.3 for k in range(1, int(duration / 7.3))]
    found = cut_windows(duration, 120, overlap, cuts)
    assert found[0].start == 0 and found[-1].end == duration
    assert [w.index for w in found] == list(range(len(found)))
    for a, b in pairwise(found):
        assert a.start < b.start < duration
        assert overlap - 1e-6 <= a.end - b.start <= 1.5 * overlap + 1e-6
    assert all(0 < w.length <= 120 + overlap / 2 + 1e-6 for w in found)


def test_too_many_windows_are_refused():
    with pytest.raises(SpecError, match="longer --window"):
        cut_windows(1e9, 1.0, 0.0)
    assert Window(0, 1.0, 3.0).length == 2
