"""Small parts of the client: which error of many is raised, which counts of tokens are believed, what is asked anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fabula.llm.answer import MOST, Answer, Attempt, CallError, read_usage
from fabula.llm.ask import first_of
from fabula.llm.batch import Batcher
from fabula.llm.client import AGAIN


def test_of_many_errors_the_one_that_ends_the_program_else_the_first():
    first, second, ends = ValueError("1"), KeyError("2"), KeyboardInterrupt()
    assert first_of(ExceptionGroup("", [first, second])) is first
    assert first_of(BaseExceptionGroup("", [first, ends, second])) is ends
    assert first_of(BaseExceptionGroup("", [first, BaseExceptionGroup("", [second, ends])])) is ends
    assert first_of(ExceptionGroup("", [ExceptionGroup("", [second]), first])) is second


@pytest.mark.parametrize(
    ("count", "read"),
    [
        (0, 0),
        (7, 7),
        (MOST - 1, MOST - 1),
        (MOST, None),
        (-1, None),
        (True, None),
        (7.0, None),
        ("7", None),
        (None, None),
    ],
)
def test_a_count_of_tokens_is_a_whole_number(count, read):
    assert read_usage({"usage": {"prompt_tokens": count, "completion_tokens": 3}}) == (read, 3)
    assert read_usage({"usage": {"prompt_tokens": 3, "completion_tokens": count}}) == (3, read)


@pytest.mark.parametrize("document", [{}, {"usage": None}, {"usage": [1]}, "text", None])
def test_a_reply_without_counts(document):
    assert read_usage(document) == (None, None)


@pytest.mark.parametrize(
    ("schema", "option", "plain", "message", "about"),
    [
        ({}, "auto", (), "response_format is unknown", True),
        ({}, "auto", (), "no schema, please", True),
        ({}, "auto", (), "too many tokens", False),
        ({}, "always", (), "no schema, please", False),
        (None, "auto", (), "no schema, please", False),
        ({}, "auto", ("k",), "no schema, please", False),
    ],
)
def test_only_a_refused_schema_is_asked_for_without_it(schema, option, plain, message, about):
    batcher: Any = SimpleNamespace(
        calls={"k": SimpleNamespace(schema=schema)},
        plain=set(plain),
        client=SimpleNamespace(options=SimpleNamespace(schema=option)),
    )
    assert Batcher.is_about_schema(batcher, "k", CallError(message)) is about


def test_what_nobody_timed_took_no_seconds():
    assert Attempt("key", "busy", "later").seconds == 0 == Answer("a dog", "stop").seconds


def test_a_status_that_may_pass_is_tried_again_and_no_other():
    assert {408, 409, 425, 429, *(500, 502, 503, 504), *(520, 522, 524, 529)} == AGAIN
