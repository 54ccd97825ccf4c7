"""One asker for a run: asked once, counted, hashed alike whether recorded or replayed."""

from __future__ import annotations

import pytest

from fabula.core.errors import SpecError
from fabula.llm import Call, CallError, EndpointOptions
from fabula.llm.session import Session


def calls(*words):
    return [Call("fake", w, parameters={"temperature": 0}) for w in words]


def test_same_call_is_made_once_and_counted_twice(tmp_path):
    asked = []

    def reply(body):
        asked.append(body["messages"][-1]["content"])
        return "yes " + asked[-1]

    with Session(EndpointOptions(), reply=reply) as session, session.count() as outer:
        assert [a.text for a in session.ask(calls("a", "b", "a"))] == ["yes a", "yes b", "yes a"]
        with session.count() as inner:
            session.ask(calls("b", "c"))
            session.tell(unparsed=1)
    assert sorted(asked) == ["a", "b", "c"]
    assert (outer.calls, outer.distinct, outer.unparsed) == (5, 3, 1)
    assert (inner.calls, inner.distinct, inner.unparsed) == (2, 2, 1)
    assert outer.digest != inner.digest


def test_record_and_replay_have_one_hash(tmp_path):
    path, digests = tmp_path / "judge.jsonl", []
    for options in (EndpointOptions(record=path), EndpointOptions(replay=path)):
        with Session(options, reply=lambda body: "8") as session, session.count() as spent:
            session.ask(calls("x", "y") if options.record else calls("y", "x"))
        digests.append(spent.digest)
    assert digests[0] == digests[1]


def test_call_that_is_not_on_record_is_an_error_of_its_own(tmp_path):
    path = tmp_path / "judge.jsonl"
    with Session(EndpointOptions(record=path)) as session:
        session.ask(calls("x"))
    with Session(EndpointOptions(replay=path)) as session, session.count() as spent:
        found = session.ask(calls("x", "z"))
    assert found[0].text == "x" and isinstance(found[1], CallError)
    assert (spent.calls, spent.failed, spent.distinct) == (2, 1, 2)


def test_a_session_that_is_over_has_its_answers_and_asks_nothing():
    with Session(EndpointOptions(), reply=lambda body: "8") as session:
        session.ask(calls("x"))
    assert session.ask(calls("x"))[0].text == "8"
    with pytest.raises(SpecError, match="is over"):
        session.ask(calls("x", "y"))
