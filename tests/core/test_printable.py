"""What came from outside reaches a terminal as text: nothing of it is obeyed, and a message is one bounded line."""

from __future__ import annotations

import pickle
import unicodedata

import pytest

from fabula.core.errors import FabulaError, InputError, SpecError, shown
from fabula.core.printable import LONGEST, cut, fit, one_line, printable

SEEN = {"\x1b]0;evil\x07": "\\x1b]0;evil\\x07", "a\nb\tc\rd": "a\\nb\\tc\\rd", "\u202eabc\u2066": "\\u202eabc\\u2066"}


@pytest.mark.parametrize("text", SEEN)
def test_what_a_terminal_obeys_is_spelled_out(text: str) -> None:
    assert printable(text) == SEEN[text]


def test_no_control_direction_separator_or_half_character_is_left() -> None:
    everything = "".join(map(chr, range(0x110000)))
    left = {unicodedata.category(c) for c in printable(everything)}
    assert left.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    turning = {
        c
        for c in everything
        if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    }
    assert turning.isdisjoint(printable(everything))


@pytest.mark.parametrize(
    "text", ["a man runs", "Ein Mann läuft.", "男が走る", "👩‍👩‍👧", "مرد می‌دود", "a\u00a0b", "[bold]"]
)
def test_words_of_any_language_stay_as_they_are(text: str) -> None:
    assert printable(text) == text


def test_a_line_is_cut_in_the_middle_for_what_to_do_stands_at_its_end() -> None:
    line = one_line("\x1b" * 10_000_000 + "; do that")
    assert len(line) == LONGEST and line.endswith("; do that") and line.startswith("\\x1b")
    assert one_line(line) == line


def test_a_part_is_cut_at_its_end_or_its_beginning() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abc…"
    assert cut("abcdef", 4, keep_end=True) == "…def"


def test_the_longest_parts_give_way_first() -> None:
    assert fit(["a" * 9, "b" * 3, "c" * 90], 15, names=1) == ["…aaaaa", "bbb", "ccccc…"]
    assert fit(["a", "b"], 15) == ["a", "b"]


@pytest.mark.parametrize("kind", [FabulaError, SpecError, InputError])
def test_no_message_is_longer_than_a_line_may_be_nor_holds_what_is_obeyed(kind: type[FabulaError]) -> None:
    said = str(kind("\x1b[2J\n" * 10_000))
    assert len(said) <= LONGEST and said.isprintable()


def test_a_long_complaint_keeps_the_name_of_its_file_and_what_to_do() -> None:
    error = InputError(
        "saw " + "x" * 5000, file="/deep" * 900 + "/a.json", video="v\n" * 99, field="f" * 900, hint="mend"
    )
    said = str(error)
    assert len(said) <= LONGEST and "/a.json: video 'v\\n" in said and said.endswith("; mend")
    assert str(pickle.loads(pickle.dumps(error))) == said


@pytest.mark.parametrize("value", [10**5000, float("nan"), "\ud800", "\u202e"], ids=["big", "nan", "half", "turned"])
def test_what_was_seen_can_always_be_shown(value: object) -> None:
    assert shown(value).isprintable()


def test_lists_without_end_can_be_shown() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "<list>"
