"""One asker for a run: asked once, counted, hashed alike whether recorded or replayed."""

from __future__ import annotations

import hashlib

import pytest

from fabula.core.errors import SpecError
from fabula.llm import Call, CallError, EndpointError, EndpointOptions
from fabula.llm.fake import Server, serving
from fabula.llm.session import Session, Usage


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


def test_what_was_read_of_the_answers_is_added_up():
    session = Session(EndpointOptions(model="small"))
    with session.count() as outer:
        session.tell(unparsed=1, spared=2, attempts=3, parsed=4, sample="odd", words={("a", "b"): "so"})
        with session.count() as inner:
            session.tell(unparsed=10, sample="later", words={("c",): "no"})
            session.tell()
    session.tell(parsed=100)
    assert (outer.unparsed, outer.spared, outer.attempts, outer.parsed, outer.sample) == (11, 2, 3, 4, "odd")
    assert (inner.unparsed, inner.spared, inner.attempts, inner.parsed, inner.sample) == (10, 0, 0, 0, "later")
    assert outer.words == {("a", "b"): "so", ("c",): "no"} and inner.words == {("c",): "no"}
    assert session.counting == [] and (outer.calls, outer.failed, outer.distinct) == (0, 0, 0)


def test_the_model_of_a_judge():
    session = Session(EndpointOptions(model="small"))
    assert session.model_of("fabula@large") == "large" and session.model_of("fabula") == "small"
    assert session.model_of("fabula@a@b") == "a@b" and session.model_of("fabula@") == "small"


def test_the_hash_of_the_answers_never_changes():
    usage = Usage(texts={"b": "2", "a": "1"})
    assert usage.digest == hashlib.sha256(b"a\x001\x00b\x002\x00").hexdigest()[:16] and len(usage.digest) == 16
    assert usage.digest == Usage(texts={"a": "1", "b": "2"}).digest != Usage(texts={"a": "1"}).digest


def test_progress_counts_the_calls_that_are_new():
    steps = []
    options = EndpointOptions(model="m", concurrency=1)
    with Session(options, progress=lambda *step: steps.append(step)) as session:
        session.ask(calls("a", "b", "a"))
        session.ask(calls("a"))
    assert steps == [("asking m", 1, 2), ("asking m", 2, 2)]


def test_a_call_that_fails_is_counted_once_and_an_endpoint_that_refuses_all_ends_it():
    with serving(Server(fault=lambda n, body: "server")) as server:
        options = EndpointOptions(url=server.url, retries=0)
        with Session(options) as session, session.count() as usage:
            found = session.ask(calls("a", "a", "b"))
    assert [f.kind for f in found] == ["server"] * 3 and (usage.calls, usage.failed, usage.distinct) == (3, 2, 2)
    assert usage.texts == {}
    with (
        serving(Server(fault=lambda n, body: "closed")) as server,
        Session(EndpointOptions(url=server.url)) as session,
        pytest.raises(EndpointError, match="401"),
    ):
        session.ask(calls("a"))


def test_closing_ends_the_thread_and_can_be_done_twice():
    session = Session(EndpointOptions())
    session.close()
    assert session.closed and session.loop is None and session.thread is None
    session = Session(EndpointOptions())
    session.ask(calls("x"))
    thread, loop = session.thread, session.loop
    assert thread.name == "fabula-judge" and thread.daemon
    session.close()
    session.close()
    assert not thread.is_alive() and loop.is_closed() and session.loop is None
