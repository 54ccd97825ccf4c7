"""Segments that are no stretch of time: kept and counted in predictions, refused or repaired in references."""

from __future__ import annotations

import pytest

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.data import segments
from fabula.data.stories import Corpus, Event, Segment, Story


def told(*spans: tuple[float, float]) -> Corpus:
    events = tuple(Event(Segment(*span), "words") for span in spans)
    return Corpus({"v": Story("v", events, 20.0)}, name="f.json")


def spans(corpus: Corpus) -> list[tuple[float, float]]:
    return [(e.segment.start, e.segment.end) for e in corpus["v"].events]


@pytest.mark.parametrize(
    ("span", "what"),
    [((0, 1), None), ((2, 1), "reversed"), ((1, 1), "zero-length"), ((-1, 1), "negative"), ((1, -1), "negative")],
)
def test_faults_have_names(span: tuple[float, float], what: str | None) -> None:
    assert segments.find_fault(Segment(*span)) == what


def test_predictions_keep_them_and_say_so() -> None:
    notes, corpus = Notes(), told((0, 1), (2, 1), (3, 3))
    assert segments.check_predictions(corpus, notes) is corpus
    assert notes.lines() == [
        "2 predicted events are reversed, zero-length or negative and match nothing: 'v' event 1, 'v' event 2"
    ]


def test_strict_predictions_are_refused() -> None:
    with pytest.raises(InputError, match=r"f\.json: video 'v': event 1: a reversed segment \[2, 1\]; .*--strict"):
        segments.check_predictions(told((0, 1), (2, 1)), Notes(), strict=True)


def test_sound_references_pass_untouched() -> None:
    notes, corpus = Notes(), told((0, 1), (1, 2))
    assert segments.check_references(corpus, notes).stories == corpus.stories
    assert notes.lines() == []


def test_faulty_references_are_refused() -> None:
    with pytest.raises(InputError, match=r"f\.json: video 'v': event 1: a zero-length segment \[3, 3\]; .*--repair"):
        segments.check_references(told((0, 1), (3, 3)), Notes())
    with pytest.raises(InputError, match="zero-length"):  # a swap does not help here
        segments.check_references(told((3, 3)), Notes(), ["swap", "clip"])


@pytest.mark.parametrize(
    ("repair", "span", "left", "said"),
    [
        (["swap"], (2, 1), [(1, 2)], "(swap: exchange the ends of a reversed segment)"),
        (["clip"], (-1, 1), [(0, 1)], "(clip: let a segment that starts before 0 start at 0)"),
        (["drop"], (2, 1), [], "(drop: leave the event out)"),
        (["keep"], (2, 1), [(2, 1)], "(keep: keep it as an event that matches nothing)"),
        (["swap", "drop"], (3, 3), [], "(drop: "),
        (["swap", "keep"], (2, -1), [(2, -1)], "(keep: "),
        (["swap", "clip"], (2, -1), [(0, 2)], "(swap: exchange the ends of a reversed segment; clip: "),
    ],
)
def test_repairs(repair: list[str], span: tuple[float, float], left: list[tuple[float, float]], said: str) -> None:
    notes = Notes()
    mended = segments.check_references(told((5, 6), span), notes, repair)
    assert spans(mended) == [(5, 6), *left]
    (line,) = notes.lines()
    assert line.startswith("1 reference events were repaired ")
    assert said in line
    assert line.endswith("'v' event 1")


def test_an_unknown_repair() -> None:
    with pytest.raises(SpecError, match="no repair is called 'flip'; there are: swap, clip, drop, keep"):
        segments.check_references(told((0, 1)), Notes(), ["flip"])
