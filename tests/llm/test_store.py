"""Record and replay: an answer is a line, a failure is none, a kill costs the line that was being written."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

from fabula.core.errors import InputError
from fabula.llm import Answer, Call, CallError, EndpointOptions
from fabula.llm.fake import Server, serving
from fabula.llm.store import AnswerStore
from tests.llm.helpers import ask_all


def calls(n):
    return [Call("m", f"question {i}", parameters={"seed": i}) for i in range(n)]


def test_recorded_then_replayed_without_a_network(tmp_path):
    file = tmp_path / "record.jsonl"
    with serving(Server()) as server:
        first = ask_all(calls(5), EndpointOptions(url=server.url, record=file))
        again = ask_all(calls(7), EndpointOptions(url=server.url, record=file))
        assert len(server.log) == 7  # five were on record
    replayed = ask_all(calls(8), EndpointOptions(url="http://127.0.0.1:9/v1", replay=file))
    assert replayed[:5] == first == again[:5] and replayed[:7] == again
    assert isinstance(replayed[7], CallError) and "holds no answer" in str(replayed[7])
    line = json.loads(file.read_text().splitlines()[0])
    assert line["key"] == Call(**{**line["call"], "images": ()}).key
    assert line["answer"]["text"] == line["call"]["prompt"]


def test_a_failure_is_no_answer(tmp_path):
    file = tmp_path / "record.jsonl"
    with serving(Server(fault=lambda n, body: "server")) as server:
        found = ask_all(calls(1), EndpointOptions(url=server.url, record=file, retries=0))
    assert isinstance(found[0], CallError) and file.read_bytes() == b""


def test_a_line_that_was_cut_is_passed_over_and_cut_off(tmp_path):
    file = tmp_path / "record.jsonl"
    with AnswerStore(file, append=True) as record:
        for i, call in enumerate(calls(3)):
            record.put(call, Answer(f"answer {i}"))
            record.put(call, Answer("another"))  # is there already
    whole = file.read_bytes()
    for cut in (1, 20, 60):
        file.write_bytes(whole[:-cut])
        with AnswerStore(file) as record:
            assert len(record) == 2
    with AnswerStore(file, append=True) as record:
        record.put(calls(3)[2], Answer("answer 2"))
    assert file.read_bytes() == whole


def test_two_cannot_append_at_once(tmp_path):
    pytest.importorskip("fcntl", reason="no locks here")
    file = tmp_path / "record.jsonl"
    code = f"from pathlib import Path; from fabula.llm.store import AnswerStore; AnswerStore(Path({str(file)!r}), True)"
    with AnswerStore(file, append=True):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "another process appends to it" in run.stderr


@pytest.mark.parametrize("line", ["[]", "{}", "no json", '{"key": 3}'])
def test_files_that_are_no_records(tmp_path, line):
    file = tmp_path / "record.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(InputError, match="line 1"):
        AnswerStore(file)


def test_a_damaged_answer_is_named(tmp_path):
    file = tmp_path / "record.jsonl"
    file.write_text(json.dumps({"key": calls(1)[0].key, "answer": {"text": 3}}) + "\n")
    with AnswerStore(file) as record, pytest.raises(InputError, match="damaged"):
        record.get(calls(1)[0].key)
    with pytest.raises(InputError, match="no such file"):
        AnswerStore(tmp_path / "none")


def test_file_of_something_else_is_never_cut(tmp_path):
    """One line without an end looks like what a kill leaves; only a line of a record is taken for one."""
    path = tmp_path / "predictions.json"
    path.write_text('{"results": {"v1": []}}')
    with pytest.raises(InputError, match="no line of a record"):
        AnswerStore(path, append=True)
    assert path.read_text() == '{"results": {"v1": []}}'
    for torn in ('{"ke', '{"key": "0123'):
        path.write_text(torn)
        AnswerStore(path, append=True).close()
        assert path.read_text() == ""


def line_of(call: Call, /, **change) -> dict:
    return {"key": call.key, "call": call.to_dict(), "answer": Answer("so", "stop", 3, None, 0.5).to_dict(), **change}


def write_lines(path, *lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_line_is_this_and_is_read_again(tmp_path):
    file, call, answer = tmp_path / "record.jsonl", calls(1)[0], Answer("so", "stop", 3, None, 0.5)
    with AnswerStore(file, append=True) as record:
        record.put(call, answer)
        assert record.get(call.key) == answer and record.known == {} and len(record) == 1
        assert record.get("other") is None
    assert file.read_text() == json.dumps(line_of(call)) + "\n" and record.out is None and record.file.closed


def test_in_memory_alone_and_in_memory_too(tmp_path):
    one, two = calls(2)
    with AnswerStore() as memory:
        memory.put(one, Answer("first"))
        memory.put(one, Answer("second"))
        assert memory.get(one.key) == Answer("first") and memory.get(two.key) is None and len(memory) == 1
    file = tmp_path / "record.jsonl"
    write_lines(file, line_of(one))
    with AnswerStore(file, append=True, in_memory=True) as both:
        assert both.known == {} and both.get(one.key).text == "so" and list(both.known) == [one.key]
        both.put(two, Answer("new"))
        assert both.known[two.key].text == "new" and len(both) == 2
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "in_memory", "made"),
    [
        ({}, False, None),
        ({}, True, (None, True, False)),
        ({"record": True}, False, ("record.jsonl", False, True)),
        ({"record": True}, True, ("record.jsonl", True, True)),
        ({"replay": True}, False, ("record.jsonl", False, False)),
    ],
)
def test_the_store_that_options_name(tmp_path, options, in_memory, made):
    file = tmp_path / "record.jsonl"
    file.write_text("")
    store = AnswerStore.of(EndpointOptions(**dict.fromkeys(options, file)), in_memory)
    if store is None:
        assert made is None
        return
    with store:
        assert (store.path and store.path.name, store.in_memory, store.out is not None) == made


def test_models_in_the_order_of_their_answers(tmp_path):
    file = tmp_path / "record.jsonl"
    lines = [line_of(Call(model, str(k))) for k, model in enumerate(["b", "a", "b"])]
    write_lines(file, *lines, {"key": "x" * 32, "call": 3}, {"key": "y" * 32})
    with AnswerStore(file) as record:
        assert record.models() == ["b", "a"] and len(record) == 5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"call": Call("m", "another").to_dict()}, "its words were changed"),
        ({"call": None}, "is damaged"),
        ({"answer": {"text": "so"}}, "is damaged"),
        ({"answer": Answer("so").to_dict() | {"text": None}}, "is damaged"),
        ({"answer": Answer("so").to_dict() | {"seconds": None}}, "is damaged"),
        ({"answer": Answer("so").to_dict() | {"tokens_in": "3"}}, "is damaged"),
        ({"answer": Answer("so").to_dict() | {"more": 1}}, "is damaged"),
    ],
)
def test_an_answer_that_is_not_what_was_recorded(tmp_path, change, told):
    file, call = tmp_path / "record.jsonl", calls(1)[0]
    write_lines(file, line_of(call, **change))
    with AnswerStore(file) as record, pytest.raises(InputError, match=told) as error:
        record.get(call.key)
    assert call.key in str(error.value) and "--record" in str(error.value)


def test_whole_seconds_and_unknown_counts_are_answers(tmp_path):
    file, call = tmp_path / "record.jsonl", calls(1)[0]
    write_lines(file, line_of(call, answer=Answer("so", "stop", None, 4, 2).to_dict()))
    with AnswerStore(file) as record:
        assert record.get(call.key) == Answer("so", "stop", None, 4, 2)


def test_of_two_lines_with_one_key_the_first_counts_and_empty_lines_do_not(tmp_path):
    file, call = tmp_path / "record.jsonl", calls(1)[0]
    again = line_of(call, answer=Answer("again").to_dict())
    file.write_text("\n" + json.dumps(line_of(call)) + "\n  \n" + json.dumps(again) + "\n")
    with AnswerStore(file) as record:
        assert record.get(call.key).text == "so" and len(record) == 1 and record.places == {call.key: 1}


def test_keys_in_lines_that_are_written_otherwise(tmp_path):
    file, call = tmp_path / "record.jsonl", calls(1)[0]
    found = line_of(call)
    write_lines(file, {"answer": found["answer"], "call": found["call"], "key": call.key}, {"key": "short"})
    with AnswerStore(file) as record:
        assert list(record.places) == [call.key, "short"] and record.get(call.key).text == "so"
    write_lines(file, {"key": call.key})
    file.write_text(file.read_text() + "x" * 100 + "\n")
    with pytest.raises(InputError) as error:
        AnswerStore(file)
    assert "line 2" in str(error.value) and "x" * 58 + "…" in str(error.value)


def test_what_a_record_lacks(tmp_path):
    file, call = tmp_path / "record.jsonl", calls(1)[0]
    file.write_text("")
    (found,) = ask_all([call], EndpointOptions(url="http://127.0.0.1:9/v1", replay=file))
    assert str(found) == f"the record {file} holds no answer to this call ({call.key})"
    assert (found.kind, found.attempts) == ("replay", 0)
