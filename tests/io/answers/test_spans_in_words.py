"""Words that still hold a span of times: the span is read, or the event is refused; never kept in silence."""

import pytest

from fabula.io.answers.answer import parse
from fabula.io.answers.text import holds_span


def told(text):
    return [(e.segment.start, e.segment.end, e.caption) for e in parse(text).events]


READ = {
    "<time>10.0 - 12.5 seconds</time> and <time>20.0 - 22.5 seconds</time>": [(10, 12.5, None), (20, 22.5, None)],
    "<time>10.0 - 12.5 seconds</time> a man runs and <time>20.0 - 22.5 seconds</time> he stops": [
        (10, 12.5, "a man runs and"),
        (20, 22.5, "he stops"),
    ],
    "happens in 10 - 12, 20 - 22 seconds": [(10, 12, "happens"), (20, 22, None)],
    "A dog barks in 10 - 12, 20 - 22 and 30.5 - 40 seconds.": [
        (10, 12, "A dog barks"),
        (20, 22, None),
        (30.5, 40, None),
    ],
    "A man jumps at 1 - 2, 3 - 4 minutes.": [(60, 120, "A man jumps"), (180, 240, None)],
    "0:00 - 0:10 A kite rises from 0:03 to 0:05.": [(0, 10, "A kite rises"), (3, 5, None)],
}


@pytest.mark.parametrize(("text", "events"), READ.items())
def test_read(text, events):
    assert told(text) == events


REFUSED = [
    '[{"timestamp": [0, 5], "caption": "a dog from 3s to 4s runs"}]',
    '[{"start": 0, "end": 5, "caption": "a dog runs [00:03 - 00:04]"}]',
    '[{"start": 0, "end": 5, "caption": "<time>3 - 4</time> a dog"}]',
    "0 - 10 seconds, add 2-3 eggs at 5 - 7",
]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    answer = parse(text)
    assert not answer.events
    assert [r.why for r in answer.audit.refused] == ["another time span stands in its words"]


KEPT = [
    "bake for 10 to 15 minutes",
    "stir 10-15 seconds",
    "add 2 to 3 eggs",
    "from 2 to 3 people join",
    "a score of 3 - 2 in the final",
    "turn 45 to 90 degrees",
    "he counts 1, 2, 3",
    "at 5 he stops",
]


@pytest.mark.parametrize("words", KEPT)
def test_how_long_and_how_many_are_words(words):
    assert not holds_span(words)
    assert told(f"0:00 - 0:20 {words[0].upper()}{words[1:]}.")


def test_fields_that_no_format_knows_are_counted():
    first, second = (
        '{"start": 0, "end": 5, "narration": "a kite"}',
        '{"start": 5, "end": 9, "caption": "x", "mood": "y"}',
    )
    audit = parse(f"[{first}, {second}]").audit
    assert audit.deduced == {
        "numbers without a unit read as seconds": 2,
        "words read from a field called 'narration'": 1,
        "a field called 'mood' was not read": 1,
    }
    many = ", ".join(f'{{"start": {i}, "end": {i + 1}, "caption": "x", "f{i}": 1}}' for i in range(100))
    assert len(parse(f"[{many}]").audit.deduced) <= 21
