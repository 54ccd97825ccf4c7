"""The events of a story on a page: in the order of time, those without sense after them as they were written."""

from fabula.data.stories import Event, Segment, Story
from fabula.report._events import list_events


def test_events_by_time_and_what_is_no_segment_behind_them():
    events = (
        Event(Segment(5.0, 8.125), "second"),
        Event(Segment(9.0, 2.0), "reversed"),
        Event(Segment(1.0, 4.0), None),
        Event(Segment(float("nan"), 3.0), None),
    )
    listed = list_events(Story("v", events))
    assert [row[2] for row in listed] == ["", "second", "reversed", ""]
    assert [row[0] for row in listed] == [1.0, 5.0, "9", "nan"] and listed[2][1] == "2"
