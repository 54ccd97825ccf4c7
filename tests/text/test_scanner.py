"""The longest-match scanner by itself: small rule sets whose tokens can be worked out by hand."""

from __future__ import annotations

import random

import pytest

from fabula.text.ptb import scanner
from fabula.text.ptb.scanner import Rule, Scanner, compile_rules


def scan(text: str, *rules: Rule, **vocabulary: str) -> str:
    rest = Rule("{any}", kind="skip")
    return Scanner(compile_rules([*rules, rest], {"any": scanner.ANY, **vocabulary}, " ")).line(text)


def test_the_longest_match_wins_then_the_earlier_rule() -> None:
    assert scan("aab", Rule("a", whole="1"), Rule("aab", whole="2"), Rule("a+b", whole="3")) == "2"
    assert scan("aaab", Rule("a", whole="1"), Rule("aab", whole="2"), Rule("a+b", whole="3")) == "3"


def test_look_ahead_counts_for_the_length_but_is_not_consumed() -> None:
    assert scan("ab", Rule("a", "b", whole="x"), Rule("a"), Rule("b")) == "x b"
    assert scan("ac", Rule("a", "b", whole="x"), Rule("a"), Rule("c")) == "a c"
    assert scan("a   b", Rule("a", " +b", whole="x"), Rule("a"), Rule("b")) == "x b"


def test_case_is_ignored_outside_brackets_only() -> None:
    assert scan("Ab aB", Rule("ab")) == "Ab aB"
    assert scan("Ab ab", Rule("[a]b")) == "ab"
    assert scan("\u212a\u017f\u0131", Rule("ksi")) == "\u212a\u017f\u0131"


def test_notation() -> None:
    assert scan("a aa aaa aaaa", Rule("a{2,3}", whole="y"), Rule("a", whole="n")) == "n y y y n"
    assert scan("ab^]-", Rule(r"[\^\]\-]+")) == "^]-"
    assert scan("xay", Rule("{vowel}"), vowel="[aeiou]") == "a"
    assert scan("\u00e9\t", Rule(r"[\u00e0-\u00ff]"), Rule(r"\t", whole="tab")) == "é tab"
    assert scan("ac abc", Rule("a(b|)c")) == "ac abc"


def test_units_given_back() -> None:
    assert scan("abc", Rule("abc", cut=1), Rule("c", whole="z")) == "ab z"
    assert scan("a.", Rule("a[.]", again=1), Rule("[.]")) == "a. ."


def test_line_ends() -> None:
    line = Rule(r"\r?\n|\r", kind="line")
    assert scan("a\nb\r\nc\rd", Rule("[a-d]"), line) == "a\nb\nc d"


@pytest.mark.parametrize("wrong", ["(a", "a)", "[a", "{nobody}"])
def test_a_broken_expression_is_refused(wrong: str) -> None:
    with pytest.raises((ValueError, LookupError)):
        scan("a", Rule(wrong))


def test_notes_on_failed_scans_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [Rule("a"), Rule("a+b"), Rule("<[^>]*>"), Rule("[a<]*c"), Rule("<")]
    draw = random.Random(3)
    texts = ["".join(draw.choices("aa<<bc>", weights=[6, 6, 3, 3, 1, 1, 1], k=40)) for _ in range(300)]
    plain = [scan(text, *rules) for text in texts]
    monkeypatch.setattr(scanner, "OVERSHOT", 0)
    monkeypatch.setattr(scanner, "NOTE_EVERY", 1)
    assert [scan(text, *rules) for text in texts] == plain
