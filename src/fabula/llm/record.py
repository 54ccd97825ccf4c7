"""Answers as lines of a file, keyed by their calls: `--record FILE` appends to it, `--replay FILE` reads from it alone.

    {"key": …, "call": {"model", "system", "prompt", "images": [[kind, sha256], …], "parameters", "schema"},
     "answer": {"text", "finish", "tokens_in", "tokens_out", "seconds"}}

A line is appended by one write. What a killed process left of its last line is cut off when the file is next appended
to, and skipped when it is read. A line whose call does not have the line's key is refused. In memory there is a number
per line, the place where it begins.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, shown
from fabula.documents.files import name_write_failures
from fabula.documents.safe_open import name_failures
from fabula.llm.answer import Answer, CallError
from fabula.llm.call import Call, hash_call
from fabula.llm.client import Client

FIELDS = {"text": str, "finish": str, "tokens_in": int, "tokens_out": int, "seconds": (int, float)}
HINT = "a record is made with --record, of a judge with --judge-record"
START = b'{"key": "'  # of every line


class Record:
    """A file of answers. Two records of one file must not be appended to at once: the second is refused."""

    def __init__(self, path: Path, append: bool = False) -> None:
        self.path, self.places = path, dict[str, int]()
        self.out: int | None = None
        if append:
            self.out = open_locked(path)
        elif not path.is_file():
            raise InputError("no such file", file=path, hint=HINT)
        with name_failures(path):
            self.file = path.open("rb")
        try:
            end = self.index()
            if self.out is not None:
                with name_write_failures(path):
                    os.ftruncate(self.out, end)
        except BaseException:
            self.close()
            raise

    def index(self) -> int:
        """Where each line begins; returns where the last whole one ends."""
        at = 0
        with name_failures(self.path):
            for number, line in enumerate(self.file, 1):
                if not line.endswith(b"\n"):
                    if not (line.startswith(START) or START.startswith(line)):
                        read_key(line, self.path, number)  # a file of something else is not cut
                    break  # cut off by a kill
                if line.strip():
                    self.places.setdefault(read_key(line, self.path, number), at)
                at += len(line)
        return at

    def __len__(self) -> int:
        return len(self.places)

    def get(self, key: str) -> Answer | None:
        if key not in self.places:
            return None
        with name_failures(self.path):
            self.file.seek(self.places[key])
            line = self.file.readline()
        try:
            document = json.loads(line)
            if hash_call(document["call"]) != key:
                problem = f"the call of {key} is another than the one that was answered: its words were changed"
                raise InputError(problem, file=self.path, hint=HINT)
            stored = document["answer"]
            for name, kind in FIELDS.items():
                if not isinstance(stored[name], kind) and not (stored[name] is None and kind is int):  # type: ignore[arg-type]
                    raise TypeError(name)
            return Answer(**stored)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(f"the answer of {key} is damaged", file=self.path, hint=HINT) from None

    def put(self, call: Call, answer: Answer) -> None:
        """One line more, unless the key is there."""
        assert self.out is not None, "a record is opened to append"
        if call.key in self.places:
            return
        line = json.dumps({"key": call.key, "call": call.to_dict(), "answer": answer.to_dict()}, ensure_ascii=True)
        with name_write_failures(self.path):
            at = os.lseek(self.out, 0, os.SEEK_END)
            data = line.encode() + b"\n"
            while data:
                data = data[os.write(self.out, data) :]
        self.places[call.key] = at

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()
        if self.out is not None:
            os.close(self.out)
            self.out = None


def open_locked(path: Path) -> int:
    with name_write_failures(path):
        out = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        import fcntl

        fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows
        pass
    except BlockingIOError:
        os.close(out)
        raise InputError("another process appends to it", file=path, hint="wait for it, or name another") from None
    except OSError:  # a disk without locks
        pass
    return out


def read_key(line: bytes, path: Path, number: int) -> str:
    """Of a line; the whole of it is looked at when it is asked for."""
    if line.startswith(START) and line[41:42] == b'"':
        return line[9:41].decode("ascii", "replace")
    try:
        document: Any = json.loads(line)
        key = document["key"]
        if not isinstance(key, str):
            raise TypeError
        return key
    except (ValueError, KeyError, TypeError, RecursionError):
        start = shown(line[:60].decode("utf-8", "replace"))
        raise InputError(f"no line of a record: {start}", file=path, field=f"line {number}", hint=HINT) from None


class Recorder:
    """Sends the calls that the record lacks to another client, and appends their answers."""

    def __init__(self, inner: Client, record: Record) -> None:
        self.inner, self.record = inner, record

    async def ask(self, call: Call) -> Answer:
        stored = self.record.get(call.key)
        if stored is not None:
            return stored
        answer = await self.inner.ask(call)
        self.record.put(call, answer)
        return answer


class Replay:
    """Answers from a record. Nothing is sent."""

    def __init__(self, record: Record) -> None:
        self.record = record

    async def ask(self, call: Call) -> Answer:
        answer = self.record.get(call.key)
        if answer is None:
            raise CallError(f"the record {self.record.path} holds no answer to this call ({call.key})", "replay", 0)
        return answer
