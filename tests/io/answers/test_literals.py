"""Answers with what Python can write and JSON cannot: read where they hold events, else unparsed, never a fault."""

from __future__ import annotations

import json

import pytest

from fabula.io.answers import parse

ODD = [
    "...",
    "b'x'",
    "{1, 2}",
    "{(1,), (2,)}",
    "3j",
    "1+2j",
    "None",
    "{None: 1}",
    "{b'k': 1}",
    "{...: 1}",
    "{3j: 1}",
    "{(1, 2): 'a'}",
    "{0x" + "f" * 5000 + ": 1}",
    "{'start': 0x" + "f" * 5000 + ", 'end': 3}",
    "[0x" + "f" * 5000 + ", 3, 'a man runs']",
    "[[1, 2, ...], [b'a', 'b']]",
    "{'a': {1, 2}}",
    "{'a': [{'b': {1: {2, 3}}}]}",
    "{[1]: 2}",
    "{{}: 2}",
    "{'x': " * 300 + "1" + "}" * 300,
    "[" * 100_000,
    "[" * 90 + "1, 2" + "]" * 90,
    "{'start': 1e999, 'end': -1e999}",
    "{'start': True, 'end': False}",
    "[" + "9" * 5000 + ", 3]",
    '[{"start": ' + "9" * 5000 + ', "end": 3}]',
    "{'a': set()}",
    "[-" * 3000 + "1" + "]" * 3000,
    "{'a': '\\ud800'}",
    "{'a': '\\x00'}",
]
GOOD = "{'start': 1, 'end': 5, 'caption': 'a man runs'}"
FRAMES = [
    "%s",
    "```json\n%s\n```",
    "[%s]",
    "[{'start': 1, 'end': 5, 'caption': 'a'}, %s]",
    "From 1 to 5 seconds, %s",
    "{'k': %s}",
]


@pytest.mark.parametrize("odd", ODD, ids=[str(i) for i in range(len(ODD))])
@pytest.mark.parametrize("frame", FRAMES, ids=[str(i) for i in range(len(FRAMES))])
def test_no_literal_is_more_than_an_odd_answer(frame: str, odd: str) -> None:
    answer = parse(frame % odd)
    json.dumps(answer.audit.to_dict())
    assert answer.audit.parsed == len(answer.events)


def test_what_is_whole_beside_an_odd_literal_is_still_read() -> None:
    assert [e.caption for e in parse(f"[{GOOD}, {{'start': ..., 'end': 3}}]").events] == ["a man runs"]


def test_a_tuple_is_a_list() -> None:
    assert len(parse("[(1, 5, 'a man runs'), (6, 9, 'he stops')]").events) == 2
