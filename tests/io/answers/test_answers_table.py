"""Two hundred answers: each gives its events, and no line is lost."""

from __future__ import annotations

import pytest

from fabula.io.answers import parse
from fabula.io.answers.times import Options
from tests.io.answers.answers_table import STYLES

ROWS = [pytest.param(*row, id=f"{style} {i}") for style, rows in STYLES.items() for i, row in enumerate(rows)]


def test_two_hundred_in_twenty_styles() -> None:
    assert len(ROWS) >= 200
    assert len(STYLES) >= 20


@pytest.mark.parametrize(("text", "events", "given", "refused"), ROWS)
def test_events(text: str, events: list[tuple[float, float, str | None]], given: str, refused: int) -> None:
    answer = parse(text, Options.of(given))
    found = [(e.segment.start, e.segment.end, e.caption) for e in answer.events]
    assert [f[2] for f in found] == [e[2] for e in events]
    assert [f[:2] for f in found] == [pytest.approx(e[:2]) for e in events]
    assert len(answer.audit.refused) == refused
    assert answer.audit.parsed == len(events)
    assert answer.audit.unparsed == (not events)


@pytest.mark.parametrize(("text", "events", "given", "refused"), ROWS)
def test_an_answer_without_events_says_why(
    text: str, events: list[tuple[float, float, str | None]], given: str, refused: int
) -> None:
    audit = parse(text, Options.of(given)).audit
    assert audit.parsed or audit.refused
    assert all(r.why for r in audit.refused)
