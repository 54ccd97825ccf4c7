"""What a reply holds: the answer with its counts, or the one reason why there is none."""

from __future__ import annotations

import pickle

import pytest

from fabula.llm.answer import Answer, Attempt, CallError, EndpointError, ReplyError, read_document


def reply(content: object, finish: object = "stop", **more: object) -> dict[str, object]:
    return {"choices": [{"message": {"content": content}, "finish_reason": finish}], **more}


USED = {"usage": {"prompt_tokens": 7, "completion_tokens": 2}}


def test_an_answer_has_text_end_counts_and_seconds():
    assert read_document(reply("a dog", "length", **USED), 1.5) == Answer("a dog", "length", 7, 2, 1.5)
    assert read_document(reply("a dog"), 0.25) == Answer("a dog", "stop", None, None, 0.25)
    assert Answer("a dog").to_dict() == {
        **{"text": "a dog", "finish": "stop", "tokens_in": None, "tokens_out": None, "seconds": 0.0}
    }


@pytest.mark.parametrize(
    ("finish", "read"),
    [("length", "length"), (None, "stop"), ("", "stop"), (3, "stop"), (["x"], "stop"), ("x" * 41, "x" * 40)],
)
def test_why_it_ended_is_a_short_word(finish, read):
    assert read_document(reply("a", finish), 0).finish == read


def test_the_first_choice_counts():
    assert read_document({"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}, 0).text == "a"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a "}, "no part", {"text": "dog"}, {"text": 3}, {"image": 1}], "a dog"),
        ("a\0dog", "a\ufffddog"),
        ("a\ud800dog", "a?dog"),
        (" a dog\n", " a dog\n"),
    ],
)
def test_parts_are_joined_and_what_no_file_holds_is_replaced(content, text):
    assert read_document(reply(content), 0).text == text


@pytest.mark.parametrize(
    ("document", "kind", "problem"),
    [
        (reply("", **USED), "empty", "the answer is empty (finish_reason 'stop')"),
        (reply(" \n", "length", **USED), "empty", "the answer is empty (finish_reason 'length')"),
        (reply(None, **USED), "empty", "the answer is empty (finish_reason 'stop')"),
        (reply([], **USED), "empty", "the answer is empty (finish_reason 'stop')"),
        (reply(3, **USED), "reply", "the content of the reply is no text: 3"),
        (reply({"a": 1}, **USED), "reply", "the content of the reply is no text: {'a': 1}"),
        ({"choices": [], **USED}, "reply", "the reply has no choices[0].message.content, but "),
        ({"choices": [3], **USED}, "reply", "the reply has no choices[0].message.content, but "),
        ({"error": "too hot", **USED}, "reply", "the reply has no choices[0].message.content, but 'too hot'"),
    ],
)
def test_a_reply_that_is_no_answer_has_its_reason_and_what_it_cost(document, kind, problem):
    with pytest.raises(ReplyError) as error:
        read_document(document, 0)
    assert (error.value.kind, error.value.usage) == (kind, (7, 2)) and str(error.value).startswith(problem)


@pytest.mark.parametrize("document", [None, "text", [1], 3])
def test_a_reply_of_another_kind(document):
    with pytest.raises(ReplyError, match=r"no choices\[0\].message.content, but") as error:
        read_document(document, 0)
    assert (error.value.kind, error.value.usage) == ("reply", (None, None))


def test_long_replies_are_named_by_their_beginning():
    with pytest.raises(ReplyError) as error:
        read_document({"error": "x" * 1000}, 0)
    assert 100 < len(str(error.value)) < 200


def test_errors_carry_their_kind_and_their_tries_also_from_another_process():
    plain = CallError("no answer")
    assert (plain.kind, plain.attempts, plain.usage, str(plain)) == ("server", 1, (None, None), "no answer")
    for kind in (CallError, EndpointError):
        error = pickle.loads(pickle.dumps(kind("no money", "forbidden", 3)))
        assert type(error) is kind and (error.message, error.kind, error.attempts) == ("no money", "forbidden", 3)
    assert (ReplyError("x").kind, ReplyError("x").usage) == ("reply", (None, None))


def test_an_attempt_says_what_is_known_and_no_more():
    assert Attempt("k", "busy", "later") == Attempt("k", "busy", "later", None, 0.0, None, None)
