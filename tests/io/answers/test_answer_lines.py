"""Lines of answers: which duration counts, which keys are read, and what is said of a line that is none."""

from pathlib import Path

import pytest

from fabula.core.errors import InputError
from fabula.documents.fields import Source
from fabula.io.answers.files import audit_entries
from fabula.io.answers.json import read_time, read_worded
from fabula.io.answers.text import apply_unit
from fabula.io.answers.times import Time

SAID = "0.0 - 5.0 seconds, a dog runs."


def read(*entries, durations=None):
    source = Source(Path("a.jsonl"))
    return [
        (v, story)
        for v, story, _ in audit_entries(
            ((f"line {n}", entry) for n, entry in enumerate(entries, 1)), source, durations
        )
    ]


def test_a_lines_own_duration_comes_first():
    found = read(
        {"id": "a", "answer": SAID}, {"id": "b", "answer": SAID, "duration": 7}, durations={"a": 9, "b": 8, "c": 1}
    )
    assert [(v, s.duration) for v, s in found] == [("a", 9), ("b", 7)]
    assert [s.duration for _, s in read({"id": "a", "answer": SAID})] == [None]
    assert [s.duration for _, s in read({"id": "a", "answer": SAID}, durations={"z": 3})] == [None]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ([], r"^a\.jsonl: .*1: expected an object, saw a list of 0; an answer is"),
        ({"answer": SAID}, r"^a\.jsonl: .*1: the key 'id' is missing"),
        ({"id": 3, "answer": SAID}, r"^a\.jsonl: .*1 id: expected text, saw the number 3; an id is a JSON string"),
        ({"id": "a"}, r"^a\.jsonl: video 'a': .*1: the key 'answer' is missing"),
        ({"id": "a", "answer": 5}, r"^a\.jsonl: video 'a': .*1 answer: expected text, saw the number 5"),
        ({"id": "a", "answer": SAID, "duration": 0}, r"1 duration: a duration of 0 seconds"),
        ({"id": "a", "answer": SAID, "fps": -1}, r"1 fps: a duration of -1 seconds"),
    ],
)
def test_what_is_no_answer(entry, said):
    with pytest.raises(InputError, match=said):
        read(entry)


def test_one_time():
    assert read_time(3.5, "start").value == read_time("3.5", "start").value == 3.5
    for nothing in (True, None, [1], {}, "soon", "1 2", "3 dogs", 1e12, "1" + " " * 60):
        assert read_time(nothing, "start") is None, nothing


@pytest.mark.parametrize(
    ("name", "value", "unit"),
    [
        ("start (min)", 120, "s"),
        ("start_ms", 0.002, "s"),
        ("start (s)", 2, "s"),
        ("start_sec", 2, "s"),
        ("start_frame", 2, "frame"),
        ("start %", 2, "percent"),
        ("start", 2, ""),
    ],
)
def test_a_bare_number_takes_the_unit_of_its_column(name, value, unit):
    found = apply_unit(Time(2.0, ""), name)
    assert (found.value, found.unit) == (pytest.approx(value), unit)
    assert apply_unit(Time(2.0, "s"), name) == Time(2.0, "s")  # it has its own


def test_a_string_that_tells_its_own_times():
    assert read_worded("0-10s: a man runs").a.value == 0
    assert read_worded("a man runs") is read_worded("0-10s: a man runs\n10-20s: he stops") is None
