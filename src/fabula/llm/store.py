"""The store of answers, by the keys of their calls: in memory, and as lines of a file.

`--record FILE` appends to the file, `--replay FILE` reads from it alone. A line is

    {"key": …, "call": {"model", "system", "prompt", "images": [[kind, sha256], …], "parameters", "schema"},
     "answer": {"text", "finish", "tokens_in", "tokens_out", "seconds"}}

A call that is a sequence of parts has "parts" besides, and one whose frames are on record has "provenance" at the end
of its line: how they were taken from their film (media/frame_sets.py).
A line is appended by one write. What a killed process left of its last line is cut off when the file is next appended
to, and skipped when it is read. A line whose call does not have the line's key is refused. Of a line, memory has the
place where it begins; a run that asks the same call again holds its answers there too (`in_memory`).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO, Self

from fabula.core.errors import InputError, shown
from fabula.documents.files import name_write_failures
from fabula.documents.safe_open import name_failures
from fabula.llm.answer import Answer, CallError
from fabula.llm.call import Call, hash_call
from fabula.llm.client import Client
from fabula.llm.options import EndpointOptions

FIELDS = {"text": str, "finish": str, "tokens_in": int, "tokens_out": int, "seconds": (int, float)}
HINT = "a record is made with --record, of a judge with --judge-record"
START = b'{"key": "'  # of every line


class AnswerStore:
    """Answers in memory, in a file, or in both. Two stores must not append to one file: the second is refused."""

    def __init__(self, path: Path | None = None, append: bool = False, in_memory: bool = False) -> None:
        self.path, self.places, self.known = path, dict[str, int](), dict[str, Answer]()
        self.in_memory = in_memory or path is None
        self.out: int | None = None
        self.file: BinaryIO | None = None
        if path is None:
            return
        if append:
            self.out = open_locked(path)
        elif not path.is_file():
            raise InputError("no such file", file=path, hint=HINT)
        with name_failures(path):
            self.file = path.open("rb")
        try:
            end = self.index(path, self.file)
            if self.out is not None:
                with name_write_failures(path):
                    os.ftruncate(self.out, end)
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, options: EndpointOptions, in_memory: bool = False) -> AnswerStore | None:
        """The store that the options name; None where they name none and none is wanted."""
        path = options.record or options.replay
        return cls(path, options.record is not None, in_memory) if path or in_memory else None

    def index(self, path: Path, file: BinaryIO) -> int:
        """Where each line begins; returns where the last whole one ends."""
        at = 0
        with name_failures(path):
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    if not (line.startswith(START) or START.startswith(line)):
                        read_key(line, path, number)  # a file of something else is not cut
                    break  # cut off by a kill
                if line.strip():
                    self.places.setdefault(read_key(line, path, number), at)
                at += len(line)
        return at

    def __len__(self) -> int:
        return len(self.known.keys() | self.places.keys())

    def models(self) -> list[str]:
        """The models whose answers are in the file, in the order of first appearance."""
        found: dict[str, None] = {}
        for key in self.places:
            try:
                found[str(self.read_line(key)["call"]["model"])] = None
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # it says so when it is asked for
        return list(found)

    def read_line(self, key: str) -> Any:
        assert self.path is not None and self.file is not None
        with name_failures(self.path):
            self.file.seek(self.places[key])
            line = self.file.readline()
        return json.loads(line)

    def get(self, key: str) -> Answer | None:
        if key in self.known or key not in self.places:
            return self.known.get(key)
        answer = self.read_answer(key)
        if self.in_memory:
            self.known[key] = answer
        return answer

    def read_answer(self, key: str) -> Answer:
        try:
            document = self.read_line(key)
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

    def read_provenance(self, key: str) -> dict[str, Any] | None:
        """Where the pictures of a recorded call are from, as its line tells; None where it does not."""
        if key not in self.places:
            return None
        try:
            found = self.read_line(key).get("provenance")
        except (ValueError, AttributeError, RecursionError):
            raise InputError(f"the line of {key} is damaged", file=self.path, hint=HINT) from None
        return found if isinstance(found, dict) else None

    def put(self, call: Call, answer: Answer) -> None:
        """One answer more, and one line, unless the key is there."""
        if self.in_memory:
            self.known.setdefault(call.key, answer)
        if self.path is None or call.key in self.places:
            return
        assert self.out is not None, "a store is opened to append"
        document: dict[str, Any] = {"key": call.key, "call": call.to_dict(), "answer": answer.to_dict()}
        if call.provenance is not None:
            document["provenance"] = dict(call.provenance)
        line = json.dumps(document, ensure_ascii=True)
        with name_write_failures(self.path):
            at = os.lseek(self.out, 0, os.SEEK_END)
            data = line.encode() + b"\n"
            while data:
                data = data[os.write(self.out, data) :]
        self.places[call.key] = at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; answers in memory stay."""
        if self.file is not None:
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
        key = json.loads(line)["key"]
        if not isinstance(key, str):
            raise TypeError
        return key
    except (ValueError, KeyError, TypeError, RecursionError):
        start = shown(line[:60].decode("utf-8", "replace"))
        raise InputError(f"no line of a record: {start}", file=path, field=f"line {number}", hint=HINT) from None


class StoredClient:
    """Answers from a store; calls that it lacks go to another client, whose answers are stored, or are errors."""

    def __init__(self, store: AnswerStore, inner: Client | None = None) -> None:
        self.store, self.inner = store, inner

    async def ask(self, call: Call) -> Answer:
        answer = self.store.get(call.key)
        if answer is not None:
            return answer
        if self.inner is None:
            raise CallError(f"the record {self.store.path} holds no answer to this call ({call.key})", "replay", 0)
        answer = await self.inner.ask(call)
        self.store.put(call, answer)
        return answer
