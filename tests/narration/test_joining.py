"""Events of overlapping windows are one list: whatever is cut at the edges comes together again."""

import random

import pytest

from fabula.data.transcripts import SpokenLine
from fabula.narration.joining import Joined, join_windows
from fabula.narration.reading import Happening
from fabula.narration.styles import close_chapters, count_words, find_gaps, place_descriptions
from fabula.narration.windows import cut_windows


def see(windows, events):
    """What perfect eyes tell of each window: what lies in it, cut at its edges."""
    return [
        (
            w,
            [
                Happening(max(a, w.start), min(b, w.end), words)
                for a, b, words in events
                if max(a, w.start) < min(b, w.end)
            ],
        )
        for w in windows
    ]


def joined(windows, events):
    return [(e.start, e.end, e.caption) for e in join_windows(see(windows, events))]


@pytest.mark.parametrize("overlap", [0.0, 7.0, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_what_perfect_eyes_see_comes_together(seed, overlap):
    rng = random.Random(seed)
    events, at = [], 0.0
    while at < 900:
        end = at + rng.choice((0.7, 3.0, 12.0, 60.0, 200.0)) * (0.5 + rng.random())
        events.append((round(at, 2), round(min(end, 1000), 2), f"event {len(events)}"))
        at = end + rng.choice((0.0, 0.4, 5.0))
    windows = cut_windows(1000.0, 120, overlap)
    assert joined(windows, events) == events


def test_overlapping_events_stay_two():
    windows = cut_windows(200.0, 120, 20)
    events = [(90.0, 118.0, "he talks"), (104.0, 111.0, "she pours tea"), (105.0, 160.0, "it rains")]
    assert joined(windows, events) == events


def test_words_are_those_of_whoever_saw_more_and_times_of_whoever_saw_the_edge():
    a, b = cut_windows(200.0, 120, 20)
    (one,) = join_windows([(a, [Happening(60, 120, "long")]), (b, [Happening(100, 121, "short")])])
    assert (one.start, one.end, one.caption, one.windows) == (60, 121, "long", [0, 1])
    (one,) = join_windows([(a, [Happening(116, 120, "short")]), (b, [Happening(115.5, 170, "long")])])
    assert (one.start, one.end, one.caption) == (115.5, 170, "long")


def test_what_only_one_window_saw_stays():
    a, b = cut_windows(200.0, 120, 20)
    found = join_windows([(a, [Happening(101, 104, "x")]), (b, [Happening(110, 114, "y")])])
    assert [(e.start, e.caption) for e in found] == [(101, "x"), (110, "y")]
    assert join_windows([(a, []), (b, [])]) == []


def test_chapters_have_no_gap():
    rough = [Joined(2, 30, "a", 28, [0]), Joined(2, 20, "a2", 18, [0]), Joined(40, 55, "b", 15, [0])]
    found = close_chapters(rough, 90.0)
    assert [(c.start, c.end, c.caption) for c in found] == [(0.0, 40, "a"), (40, 90.0, "b")]
    assert close_chapters([], 90.0) == []


def test_descriptions_are_spoken_where_nobody_speaks():
    lines = [SpokenLine(0, 5, "a"), SpokenLine(8, 20, "b"), SpokenLine(20.5, 40, "c")]
    gaps = find_gaps(lines, 60.0)
    assert gaps == [(5.15, 7.85), (40.15, 60.0)]
    events = [
        Joined(6, 9, "Anna runs down the stairs", 3, [0]),  # 5 words: 2 s
        Joined(10, 14, "the door opens slowly and a very old man looks out", 4, [0]),  # nowhere near a gap
        Joined(38, 41, "rain", 3, [0]),
    ]
    placed = place_descriptions(events, gaps, 2.5)
    assert placed.spoken == (((5.15, 7.15), events[0]), ((40.15, 41.15), events[2]))
    assert placed.left_out == (events[1],)
    assert count_words("他打开了门") == 3 and count_words("a b  c") == 3
