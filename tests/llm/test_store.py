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
