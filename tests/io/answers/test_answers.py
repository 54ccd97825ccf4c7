"""Answers: every line is accounted for, nothing raises, nothing is slow, and the counts reach the result."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fabula
from fabula import io
from fabula.core.errors import InputError, SpecError
from fabula.io import answers
from fabula.io.answers import parse
from fabula.io.answers.text import find_spans
from fabula.io.answers.times import PLAIN, UNITS, Options, scan_times
from tests.io.answers.answers_table import STYLES

TEXTS = [row[0] for rows in STYLES.values() for row in rows]
PIECES = [
    *("12", "30.5", "0.4", "00:12", "1:02:03.5", "12s", "30 seconds", "2 minutes", "40%", "frame 7", "<time_token_9>"),
    *(" - ", " to ", "from ", "between ", " and ", ", ", "|", ": ", "starts at ", " ends at ", "\n", "1. ", "- ", "**"),
    *("[", "]", "(", ")", "{", "}", '"start": ', '"end": ', '"caption": "x"', "```json\n", "```", "a man runs", "\x00"),
]
options = st.builds(
    Options,
    unit=st.sampled_from(list(UNITS)),
    duration=st.none() | st.sampled_from([0.5, 60.0, 1e8]),
    fps=st.none() | st.just(25.0),
    bins=st.none() | st.just(100.0),
    reversed=st.sampled_from(["swap", "keep"]),
)
patient = settings(max_examples=60, deadline=5000, suppress_health_check=[HealthCheck.too_slow])


def accounted(text: str, known: Options) -> None:
    """Each line of a text without JSON is an event's, refused or prose; whatever comes out can be written."""
    answer = parse(text, known)
    audit = answer.audit
    json.dumps(audit.to_dict(), allow_nan=False)
    assert audit.parsed == len(answer.events)
    assert audit.parsed or audit.refused
    assert all(abs(e.segment.start) <= 1e9 and abs(e.segment.end) <= 1e9 for e in answer.events)


@patient
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=25), known=options)
def test_heaps_of_pieces(pieces: list[str], known: Options) -> None:
    accounted("".join(pieces), known)


@patient
@given(text=st.text(max_size=200), known=options)
def test_any_text(text: str, known: Options) -> None:
    accounted(text, known)


@patient
@given(data=st.data(), known=options)
def test_mangled_answers(data: st.DataObject, known: Options) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    low = data.draw(st.integers(0, len(text)))
    high = data.draw(st.integers(low, len(text)))
    accounted(text[:low] + data.draw(st.text(max_size=6) | st.sampled_from(PIECES)) + text[high:], known)


@patient
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=25))
def test_every_line_has_one_place(pieces: list[str]) -> None:
    text = "".join(pieces).translate(PLAIN)
    found = find_spans(text, text)
    used = {n for span in found.spans for n in span.lines}
    refused, prose = {n for n, _ in found.refused}, set(found.prose)
    assert used | refused | prose == {n for n, line in enumerate(text.split("\n")) if line.strip()} | used
    assert not used & refused and not used & prose and not refused & prose


@pytest.mark.parametrize("text", [t for t in TEXTS if "{" not in t and "[[" not in t])
def test_no_line_is_lost(text: str) -> None:
    """The words and times of every line come back in an event, among the refused, or in the prose."""
    answer = parse(text)
    kept = [r.line for r in answer.audit.refused] + list(answer.audit.prose)
    words = " ".join(e.caption or "" for e in answer.events)
    for line in text.split("\n"):
        if not line.strip() or any(line in k for k in kept):
            continue
        said = {w for w in ("runs", "sits", "waits", "Intro", "Cook", "dog", "cat", "he goes") if w in line}
        assert all(w in words for w in said), line
        assert scan_times(line) or said or any(c.isalpha() for c in line)


@pytest.mark.parametrize(
    "unit",
    [
        "1 ",
        "12s - ",
        "from ",
        "between 1 and ",
        "[",
        "{",
        "((",
        "1:",
        "- ",
        "*",
        "|",
        "1 2 3\n",
        "start: 1 end ",
        '{"a":',
    ],
)
def test_long_answers_take_no_time(unit: str) -> None:
    text = unit * (30_000 // len(unit))
    began = time.process_time()
    parse(text)
    parse("From 1 to 2 s, " + text + " from 3 to 4 s.")
    assert time.process_time() - began < 10  # about 1 s; what grows with the square takes minutes


def test_deep_json() -> None:
    for depth in (30, 500, 20_000):
        assert parse("[" * depth + "1, 2" + "]" * depth).audit is not None


def test_too_long() -> None:
    answer = parse("From 1 to 2 s, x.\n" * 20_000)
    assert answer.audit.unparsed
    assert "360,000 characters" in answer.audit.refused[0].why


def test_repairs_and_deductions_are_counted() -> None:
    assert parse("30s - 12s: x").audit.repaired == {"the end stood before the start: swapped": 1}
    assert parse("00:75 - 00:80: x").audit.repaired == {"a clock past 59 seconds": 1}
    assert parse("1. 1 - 2: x\n2. 3 - 4: y").audit.deduced == {"numbers without a unit read as seconds": 2}
    assert parse("1s - 2s: x").audit.deduced == {}
    assert parse("{'start': '1 s', 'end': '2 s'}").audit.repaired == {"JSON with Python's quotes": 1}


def test_refused_lines_are_verbatim() -> None:
    audit = parse("  - frames 10–20: x  \n\n\tHello — you").audit
    assert [r.line for r in audit.refused] == ["  - frames 10–20: x  "]
    assert audit.refused[0].why == "frame numbers need fps, or the frame count and the duration"
    assert audit.prose == ("\tHello — you",)


def test_numbers_far_past_the_duration_have_no_clear_unit() -> None:
    assert "declare a unit" in parse("10 - 400: x\n400 - 900: y", Options(duration=40)).audit.refused[0].why
    assert parse("10 - 20: x\n20 - 45: y", Options(duration=40)).audit.parsed == 2
    assert parse("10s - 400s: x", Options(duration=40)).audit.parsed == 1  # the text says seconds


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("percents", "no unit is called 'percents'; did you mean 'percent'?"),
        ("fsp=2", "no option is called 'fsp'; did you mean 'fps'?"),
        ("fps=x", "fps is a number above 0, not 'x'"),
        ("bins=1", "bins is a number above 1, not '1'"),
        ("fps=nan", "fps is a number above 0"),
        ("reversed=drop", "reversed is swap or keep"),
        ("percent,frames", "unit is said twice"),
    ],
)
def test_wrong_options(text: str, seen: str) -> None:
    with pytest.raises(SpecError, match="answers: ") as caught:
        Options.of(text)
    assert seen in str(caught.value)


# Files ------------------------------------------------------------------------------------------------------

LINES = [
    {"id": "v_a", "answer": "0-10s: one\n12-30s: two\n35-58s: three", "duration": 60},
    {"video": "v_b", "text": "I cannot watch videos."},
]


def as_lines(entries: list[dict[str, object]]) -> str:
    return "".join(json.dumps(e) + "\n" for e in entries)


def test_read(put: Callable[..., Path]) -> None:
    for content, name in ((as_lines(LINES), "a.jsonl"), (LINES, "a.json")):
        corpus, notes = io.read(put(content, name))
        assert corpus.format == "answers"
        assert [len(s) for s in corpus.values()] == [3, 0]
        assert corpus["v_a"].duration == 60
        assert notes.tally == {"unparsed": 1}
        assert notes.lines() == [
            "1 answers gave no event (unparsed): each counts as a video without events: 'v_b'",
            "1 lines of answers refused: no time: 'v_b'",
        ]


def test_a_mapping_is_read_when_the_format_is_named(put: Callable[..., Path]) -> None:
    path = put({"v_a": "10% - 20%: x", "v_b": {"answer": "1s-2s: y"}})
    corpus, notes = io.read(path, "answers:duration=50")
    assert corpus["v_a"].spans.tolist() == [[5, 10]]
    assert corpus["v_b"].captions == ["y"]
    with pytest.raises(InputError, match="no known format"):
        io.read(path)
    assert not notes.tally


def test_events_without_words_among_others(put: Callable[..., Path]) -> None:
    corpus, notes = io.read(put([{"id": "a", "answer": "1s-2s"}, {"id": "b", "answer": "1s-2s: x"}]))
    assert corpus["a"].captions == [""]
    assert "1 events of answers have no words" in notes.lines()[0]
    assert io.read(put([{"id": "a", "answer": "1s-2s"}]))[0]["a"].events[0].caption is None


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ([{"id": "a", "answer": "x"}, {"id": "b"}], "the key 'answer' is missing"),
        ([{"id": "a", "answer": "x"}, {"answer": "x"}], "the key 'id' is missing"),
        ([{"id": "a", "answer": "x", "duration": 0}], "a duration of 0 seconds"),
        ([{"id": "a", "answer": "x"}, {"id": "a", "answer": "x"}], "stands twice"),
        ([{"id": 3, "answer": "x"}], "expected text, saw the number 3"),
    ],
)
def test_refused_files(content: object, seen: str, put: Callable[..., Path]) -> None:
    for look in (io.read, answers.audit):
        with pytest.raises(InputError, match=r"file\.json") as caught:
            look(put(content), *(["answers"] if look is io.read else []))
        assert seen in str(caught.value)


def test_the_result_counts_what_could_not_be_read(put: Callable[..., Path]) -> None:
    refs = put({"v_a": {"timestamps": [[0, 10]], "duration": 60}, "v_b": {"timestamps": [[1, 2]]}}, "refs.json")
    result = fabula.score(put(as_lines(LINES), "a.jsonl"), refs, metrics="SODA_d")
    assert result.counts["unparsed"] == 1
    assert result.counts["missing"] == 0
    assert any("unparsed" in w and "'v_b'" in w for w in result.warnings)
