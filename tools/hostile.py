"""A hostile endpoint on the loopback, and what the verbs that ask a model do with it.

    python tools/hostile.py                          every behaviour × annotate, judge, batch; of batches in two places
    python tools/hostile.py --thorough               … in every place
    python tools/hostile.py --only drip,bomb --verbs annotate
    python tools/hostile.py --json hostile.json --jobs 2

A behaviour is what the endpoint sends in one place (the chat, the list of models, a file, a batch …); everywhere else
it is a good endpoint. Of every run are measured: memory at its most, time, exit code, lines on standard error, and
whether the key is in any file or line that it wrote. A run is a fault where

    memory > 300 MB  ·  the key is anywhere  ·  a traceback  ·  more than three lines on standard error
    time > the time limit + 5 s (then tried once more, alone: a machine may be busy)
    exit code 0 although no call can succeed, or any other than 0, 2, 3
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})  # processes are forked: no threads

import httpx  # noqa: F401  (imported once, for all)

import fabula
from fabula.annotation import benchmark as annotation
from fabula.annotation import fake as annotator
from fabula.annotation.recipe import RecipeOptions
from fabula.llm.fake import complete, read_prompt
from fabula.text.judges import fake as judge
from fabula.verbs import command_line as cli

KEY = "sk-SECRET-abcdef-0123456789"
SPELLED = "".join(f"\\u{ord(c):04x}" for c in KEY)
TIMEOUT, SPARE, MEMORY, LINES = 4.0, 5.0, 300, 3  # seconds, seconds, MB, lines
ADDRESS_SPACE = 4 << 30  # bytes: what goes beyond is a fault that must not take the machine along
PLACES = {
    "annotate": ("chat", "models"),
    "judge": ("chat", "models"),
    "batch": ("files", "batches", "state", "content"),
}
WELCOME = b"HTTP/1.1 200 OK\r\n"

Pieces = Iterable[bytes] | AsyncIterator[bytes]


# ── behaviours: what is sent instead of a good reply ───────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Behaviour:
    """`send(good, key)` makes the bytes of a reply; `good` is the body that a good endpoint sends there."""

    name: str
    send: Callable[[bytes, str], Pieces]
    places: tuple[str, ...] = ()  # () is everywhere
    fails: bool = True  # no call can succeed, where it is not the list of models


def whole(body: bytes, status: int = 200, headers: str = "") -> list[bytes]:
    head = f"HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
    return [head.encode(), body]


def document(made: Any) -> bytes:
    return json.dumps(made).encode()


def endless(head: bytes, piece: bytes) -> Iterator[bytes]:
    yield head
    while True:
        yield piece


async def drip(data: bytes, pause: float = 0.4) -> AsyncIterator[bytes]:
    for k in range(len(data)):
        yield data[k : k + 1]
        await asyncio.sleep(pause)


async def hang(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece
    await asyncio.sleep(3600)


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@lru_cache(2)
def bomb(layers: int) -> bytes:
    """Half a gigabyte of blanks, packed."""
    packer = zlib.compressobj(9, wbits=31)
    data = b"".join([*(packer.compress(b" " * (1 << 20)) for _ in range(512)), packer.flush()])
    for _ in range(layers - 1):
        data = gzip.compress(data, 9)
    return data


CHUNKED = WELCOME + b"transfer-encoding: chunked\r\n\r\n"
UNTIL_CLOSED = WELCOME + b"\r\n"
MB = b" " * (1 << 16)


def encoded(name: str, body: bytes) -> list[bytes]:
    return whole(body, 200, f"content-encoding: {name}\r\n")


def choice(**more: Any) -> bytes:
    return document({"choices": [{"message": {"role": "assistant", "content": "x"}, **more}]})


def said(content: Any) -> bytes:
    return document({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})


EVERYWHERE = [
    # sizes
    Behaviour("endless-chunks", lambda good, key: endless(CHUNKED, chunk(MB))),
    Behaviour("endless-until-closed", lambda good, key: endless(UNTIL_CLOSED, MB)),
    Behaviour("endless-after-json", lambda good, key: endless(UNTIL_CLOSED + good, MB)),
    Behaviour("endless-headers", lambda good, key: endless(WELCOME, b"x-a: " + b"y" * 4000 + b"\r\n")),
    Behaviour("endless-status-line", lambda good, key: endless(b"HTTP/1.1 200 ", MB)),
    Behaviour("endless-100-continue", lambda good, key: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500)),
    Behaviour("endless-500", lambda good, key: endless(b"HTTP/1.1 500 No\r\n\r\n", MB)),
    Behaviour("long-length", lambda good, key: endless(WELCOME + b"content-length: 99999999999\r\n\r\n", MB)),
    Behaviour("bomb", lambda good, key: encoded("gzip", bomb(1))),
    Behaviour("bomb-of-many-members", lambda good, key: encoded("gzip", gzip.compress(b" " * (1 << 20)) * 512)),
    Behaviour("bomb-twice", lambda good, key: encoded("gzip, gzip", bomb(2))),
    Behaviour("bomb-nine", lambda good, key: encoded(", ".join(["gzip"] * 9), bomb(2))),
    Behaviour("bomb-two-headers", lambda good, key: whole(bomb(2), 200, "content-encoding: gzip\r\n" * 2)),
    Behaviour("gzip-and-endless", lambda good, key: endless(
        UNTIL_CLOSED[:-2] + b"content-encoding: gzip\r\n\r\n" + gzip.compress(good), MB)),
    Behaviour("gzip-that-is-none", lambda good, key: encoded("gzip", good)),
    Behaviour("unknown-encoding", lambda good, key: encoded("zstd", good)),
    Behaviour("many-lists", lambda good, key: whole(b"[" + b"[]," * 1_300_000 + b"0]")),
    Behaviour("many-objects", lambda good, key: whole(b"[" + b'{"a":0},' * 490_000 + b"0]")),
    Behaviour("many-texts", lambda good, key: whole(b"[" + b'"ab",' * 800_000 + b"0]")),
    # time
    Behaviour("drip", lambda good, key: drip(whole(good)[0] + good)),
    Behaviour("drip-head", lambda good, key: drip(WELCOME * 3)),
    Behaviour("drip-chunks", lambda good, key: drip(CHUNKED + b"1\r\n{\r\n" * 999)),
    Behaviour("silent", lambda good, key: hang()),
    Behaviour("silent-after-head", lambda good, key: hang(whole(good)[0])),
    Behaviour("silent-after-half", lambda good, key: hang(whole(good)[0], good[: len(good) // 2])),
    # HTTP
    Behaviour("cut", lambda good, key: [b"".join(whole(good))[: len(good) // 2 + 20]]),
    Behaviour("nothing", lambda good, key: []),
    Behaviour("no-http", lambda good, key: [b"\x16\x03\x01" + key.encode() + b"\r\n\r\n"]),
    Behaviour("status-line-with-key", lambda good, key: [f"HTTP/1.1 {key} no\r\n\r\n".encode()]),
    Behaviour("header-with-key", lambda good, key: whole(b"", 500, f"{key} : {key}\r\nbad header {key}\r\n")),
    Behaviour("redirect", lambda good, key: whole(b"", 302, f"location: http://127.0.0.1:1/{key}\r\n")),
    Behaviour("redirect-to-file", lambda good, key: whole(b"", 307, "location: file:///etc/passwd\r\n")),
    Behaviour("no-content", lambda good, key: [b"HTTP/1.1 204 No Content\r\n\r\n"]),
    Behaviour("status-600", lambda good, key: whole(good, 600)),
    Behaviour("retry-in-a-year", lambda good, key: whole(b"{}", 429, "retry-after: 31536000\r\n")),
    Behaviour("retry-nonsense", lambda good, key: whole(b"{}", 503, "retry-after: " + "9" * 4000 + "\r\n")),
    Behaviour("two-lengths", lambda good, key: [WELCOME + b"content-length: 5\r\ncontent-length: 7\r\n\r\n{}{}{}"]),
    *(
        Behaviour(f"echo-{status}", lambda good, key, status=status: whole(
            document({"error": {"message": f"your key {key}", "code": key, "type": key}, key: key}), status))
        for status in (400, 401, 404, 429, 500)
    ),
    Behaviour("echo-as-text", lambda good, key: whole(b"\x1b[2J" + f"Bearer {key}\n".encode() * 99, 400)),
    Behaviour("echo-spelled", lambda good, key: whole(f'{{"error": "{SPELLED}"}}'.encode(), 400)),
    Behaviour("echo-at-the-cut", lambda good, key: whole(("x" * 65530 + key).encode(), 400)),
    # JSON
    Behaviour("deep", lambda good, key: whole(b"[" * 200_000)),
    Behaviour("deep-and-closed", lambda good, key: whole(b'{"a":' * 900 + b"1" + b"}" * 900)),
    Behaviour("long-number", lambda good, key: whole(b'{"choices": ' + b"7" * 100_000 + b', "data": 1, "id": 1}')),
    Behaviour("nan", lambda good, key: whole(b'{"choices": [NaN], "id": NaN, "status": Infinity}')),
    Behaviour("null", lambda good, key: whole(b"null")),
    Behaviour("a-number", lambda good, key: whole(b"17")),
    Behaviour("a-text", lambda good, key: whole(document(key))),
    Behaviour("no-utf8", lambda good, key: whole(b'{"id": "\xff\xfe", "choices": "\xff"}')),
    Behaviour("half-characters", lambda good, key: whole(
        b'{"id": "\\ud800", "status": "\\udfff", "choices": [{"message": {"content": "\\ud800"}}]}'), fails=False),
    Behaviour("not-whole", lambda good, key: whole(good[:-2])),
]  # fmt: skip
OWN = [
    *(
        Behaviour(f"chat-{name}", lambda good, key, body=body: whole(body.replace(b"KEY", key.encode())),
                  ("chat",), fails)
        for name, body, fails in [
            ("finish-key", choice(finish_reason="KEY"), False),
            ("finish-list", choice(finish_reason=["KEY"]), False),
            ("finish-deep", b'{"choices": [{"message": {"content": "x"}, "finish_reason": %s}]}'
             % (b"[" * 60 + b"]" * 60), False),
            ("text-key", said("1. KEY\n2. KEY and more words\n3. KEY KEY"), False),
            ("parts-key", said([{"text": KEY[:9]}, {"text": KEY[9:]}, {"text": 7}, 8]), False),
            ("content-object", said({"KEY": 1}), True),
            ("content-number", said(10**30), True),
            ("choices-object", b'{"choices": {"KEY": 1}}', True),
            ("empty", said(""), True),
            ("newlines", said("x" + "\n" * 190_000 + "x"), False),
            ("braces", said("{" * 190_000), False),
            ("usage", document({"choices": [{"message": {"content": "x"}}],
                                "usage": {"prompt_tokens": "KEY", "completion_tokens": -(10**30)}}), False),
            ("usage-bool", document({"choices": [{"message": {"content": "x"}}], "usage": ["KEY"]}), False),
        ]
    ),
    *(
        Behaviour(f"models-{name}", lambda good, key, entry=entry: whole(document({"data": entry})), ("models",), False)
        for name, entry in [
            ("meta-text", [{"id": "M", "meta": "abc"}]),
            ("meta-list", [{"id": "M", "meta": ["n_ctx"]}]),
            ("true", [{"id": "M", "max_model_len": True}]),
            ("ids", [{"id": ["M"]}, {"id": {"M": 1}}, 7, None, "M"]),
            ("object", {"M": 1}),
        ]
    ),
    Behaviour("models-of-one-token", lambda good, key: whole(document({"data": [{"id": "M", "max_model_len": 1}]})),
              ("models",)),
    *(
        Behaviour(f"id-{name}", lambda good, key, id=id: whole(
            json.dumps({**json.loads(good), "id": id}).encode()), ("files", "batches"))
        for name, id in [
            ("line", "a\nb"), ("null", "a\0b"), ("escape", "\x1b[2J"), ("half", "\ud800"), ("long", "x" * 70_000),
            ("path", "../../models"), ("query", "a?b=c#d"), ("url", "http://127.0.0.1:1/x"), ("number", 7),
            ("list", ["a"]), ("none", None), ("empty", ""),
        ]
    ),
    Behaviour("id-key", lambda good, key: whole(json.dumps({**json.loads(good), "id": key}).encode()),
              ("files", "batches")),
    *(
        Behaviour(f"state-{name}", lambda good, key, body=body: whole(body.replace(b"KEY", key.encode())), ("state",))
        for name, body in [
            ("forever", b'{"status": "in_progress"}'), ("key-forever", b'{"status": "KEY"}'),
            ("list", b'{"status": []}'),
            ("no-status", b"{}"), ("bad-file", b'{"status": "completed", "output_file_id": "a\\nb"}'),
            ("file-object", b'{"status": "completed", "output_file_id": {"a": 1}}'),
            ("no-file", b'{"status": "completed"}'), ("failed-key", b'{"status": "failed", "error_file_id": "KEY"}'),
        ]
    ),
    *(
        Behaviour(f"content-{name}", lambda good, key, make=make: whole(make(good, key)), ("content",), fails)
        for name, make, fails in [
            ("empty", lambda good, key: b"", True),
            ("blank-lines", lambda good, key: b"\n" * (3 << 20), True),
            ("small-lines", lambda good, key: b"1\n" * (1 << 20), True),
            ("one-line", lambda good, key: b" " * (5 << 20), True),
            ("keys-in-ids", lambda good, key: document({"custom_id": key, "response": key}), True),
            ("key-in-status", lambda good, key: change(good, lambda e: {**e, "response": {"status_code": key}}), True),
            ("key-in-body", lambda good, key: change(good, lambda e: {
                **e, "response": {"status_code": 400, "body": {"error": {"message": key}, key: key}}}), True),
            ("key-in-finish", lambda good, key: change(good, lambda e: {
                **e, "response": {"status_code": 200, "body": json.loads(choice(finish_reason=key))}}), False),
            ("others-ids", lambda good, key: change(good, lambda e: {**e, "custom_id": "x" * 32}), True),
            ("deep-body", lambda good, key: b'{"custom_id": "a", "response": %s' % (b"[" * 99_999), True),
        ]
    ),
]  # fmt: skip
BEHAVIOURS = [*EVERYWHERE, *OWN]


def change(good: bytes, how: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    return b"\n".join(document(how(json.loads(line))) for line in good.splitlines() if line.strip())


# ── the server ─────────────────────────────────────────────────────────────────────────────────────────────────────


def answer(body: dict[str, Any]) -> dict[str, Any]:
    reply = judge.reply if "[CANDIDATE " in read_prompt(body) else annotator.reply
    return complete(body, reply(body))


@dataclass
class Hostile:
    """Addresses http://127.0.0.1:PORT/BEHAVIOUR/PLACE/v1."""

    port: int = 0
    lines: dict[str, bytes] = field(default_factory=dict)  # answers to batches, by their number
    known: dict[str, Behaviour] = field(default_factory=lambda: {b.name: b for b in BEHAVIOURS})

    async def serve(self, ready: Callable[[], None]) -> None:
        server = await asyncio.start_server(self.connect, "127.0.0.1", 0, limit=1 << 26)
        self.port = server.sockets[0].getsockname()[1]
        ready()
        async with server:
            await asyncio.Event().wait()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ", 2)
            fields = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in head[1:] if line)}
            data = await reader.readexactly(int(fields.get("content-length", "0")))
            _, name, place, _, path = target.split("/", 4)
            here, good = self.find_good(method, path, data)
            pieces: Pieces = whole(good)
            if here == place and name in self.known:
                key = fields.get("authorization", "").removeprefix("Bearer ") or KEY
                pieces = self.known[name].send(good, key)
            if isinstance(pieces, AsyncIterator):
                async for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
            else:
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
        writer.close()

    def find_good(self, method: str, path: str, data: bytes) -> tuple[str, bytes]:
        """Which place this is, and what a good endpoint says there."""
        number = next(iter(re.findall(r"\d+", path)), "")
        if path.startswith("models"):
            return "models", document({"data": [{"id": "M"}]})
        if path.startswith("chat"):
            return "chat", document(answer(json.loads(data)))
        if method == "POST" and path == "files":
            number = str(len(self.lines))
            lines = [json.loads(line) for line in data.splitlines() if line.startswith(b'{"custom_id"')]
            self.lines[number] = b"\n".join(
                document({"custom_id": e["custom_id"], "response": {"status_code": 200, "body": answer(e["body"])}})
                for e in lines
            )
            return "files", document({"id": f"file-{number}"})
        if method == "POST":
            number = next(iter(re.findall(r"\d+", str(json.loads(data).get("input_file_id")))), "")
            return "batches", document({"id": f"batch-{number}", "status": "validating"})
        if path.startswith("batches/"):
            return "state", document({"id": path[8:], "status": "completed", "output_file_id": f"out-{number}"})
        if path.startswith("batches"):
            return "list", document({"data": [], "has_more": False})
        return "content", self.lines.get(number, b"")


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """The port of the endpoint, which is a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        server = Hostile()
        try:
            asyncio.run(server.serve(lambda: os.write(write, f"{server.port}\n".encode())))
        finally:
            os._exit(0)
    try:
        yield int(os.read(read, 20))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


# ── the verbs ──────────────────────────────────────────────────────────────────────────────────────────────────────

MOMENTS = [
    {"desc_id": i, "video": "v", "time": [i, i + 5], "cog_desc": text, "duration": 60}
    for i, text in enumerate(["a man opens a door", "a dog runs away"])
]
REFS = {"v": {"duration": 60, "timestamps": [[0, 10], [12, 30]], "sentences": ["a man sits", "a dog runs"]}}
SAID = [{"sentence": "a man sits", "timestamp": [0, 9]}, {"sentence": "a cat", "timestamp": [12, 30]}]
PREDS = {"results": {"v": SAID}}
GOOD = Behaviour("good", lambda good, key: whole(good), fails=False)


@dataclass
class Run:
    """What a verb did with a behaviour."""

    behaviour: str
    place: str
    verb: str
    code: int = 0
    seconds: float = 0.0
    memory: float = 0.0  # MB
    lines: int = 0
    said: str = ""
    faults: list[str] = field(default_factory=list)


def command(verb: str, url: str) -> list[str]:
    if verb == "judge":
        asked = ["--judge-url", url, "--judge-model", "M", "--judge-timeout", f"{TIMEOUT:g}", "--judge-retries", "0"]
        told = ["--judge-record", "r.jsonl", "--json", "out.json"]
        return ["score", "p.json", "--refs", "g.json", "-m", "SODA_c(text=judge:fabula)", *asked, *told]
    batch = ["--batch", "--batch-pause", "0.05", "--batch-wait", "0.0005"] if verb == "batch" else []
    asked = ["--blind", "--url", url, "--model", "M", "--timeout", f"{TIMEOUT:g}", "--retries", "0", *batch]
    return ["annotate", "run", "m.jsonl", "-s", "s.sqlite", "--record", "r.jsonl", *asked]


def start(port: int, folder: Path, behaviour: str, place: str, verb: str) -> int:
    """The verb in a process and a folder of its own; what it imports is imported already, and its time is its own."""
    (folder / "m.jsonl").write_text("".join(json.dumps(m) + "\n" for m in MOMENTS))
    (folder / "g.json").write_text(json.dumps(REFS))
    (folder / "p.json").write_text(json.dumps(PREDS))
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.chdir(folder)
        for name, stream in (("out", 1), ("err", 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), stream)
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        os.environ["OPENAI_API_KEY"] = KEY
        sys.argv = ["fabula", *command(verb, f"http://127.0.0.1:{port}/{behaviour}/{place}/v1")]
        cli.main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@dataclass
class Started:
    """A run under way."""

    run: Run
    behaviour: Behaviour
    folder: Path
    began: float
    killed: bool = False


def try_all(port: int, todo: Iterable[tuple[Behaviour, str, str]], jobs: int, root: Path) -> Iterator[Run]:
    """Every run, so many at once, as they end."""
    left, open_runs = iter(todo), dict[int, Started]()
    more = True
    while more or open_runs:
        while more and len(open_runs) < jobs:
            one = next(left, None)
            more = one is not None
            if one is not None:
                folder = Path(tempfile.mkdtemp(dir=root))
                began = time.monotonic()
                child = start(port, folder, one[0].name, *one[1:])
                open_runs[child] = Started(Run(one[0].name, *one[1:]), one[0], folder, began)
        for child, of in list(open_runs.items()):
            ended, status, used = os.wait4(child, os.WNOHANG)
            if not ended:
                if time.monotonic() - of.began > 3 * TIMEOUT + 30 and not of.killed:
                    os.kill(child, signal.SIGKILL)
                    of.killed = True
                continue
            del open_runs[child]
            of.run.seconds, of.run.memory = time.monotonic() - of.began, used.ru_maxrss / 1024
            of.run.code = os.waitstatus_to_exitcode(status)
            yield finish(of)
        time.sleep(0.02)


def finish(of: Started) -> Run:
    """What a run left behind, looked at."""
    told = (of.folder / "err").read_text("utf-8", "replace")
    told = "".join(line for line in told.splitlines(keepends=True) if " %)" not in line)  # how far it is
    of.run.lines, of.run.said = len(told.splitlines()), told.strip()[-300:]
    held = [f.name for f in of.folder.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]
    shutil.rmtree(of.folder)
    return judge_run(of.run, of.behaviour, held, told)


def judge_run(run: Run, behaviour: Behaviour, held: list[str], told: str) -> Run:
    fails = behaviour.fails and (run.place != "models" or behaviour.name == "models-of-one-token")
    checks = {
        f"{run.memory:.0f} MB": run.memory > MEMORY,
        f"{run.seconds:.1f} s": run.seconds > TIMEOUT + SPARE,
        f"the key in {held}": bool(held),
        "a traceback": "Traceback" in told,
        f"{run.lines} lines": run.lines > LINES,
        f"exit code {run.code}": run.code not in (0, 2, 3) or (fails and run.code == 0),
    }
    run.faults = [name for name, wrong in checks.items() if wrong]
    return run


def list_runs(only: Iterable[str], verbs: Iterable[str], thorough: bool) -> Iterator[tuple[Behaviour, str, str]]:
    only = list(only)
    for number, behaviour in enumerate(BEHAVIOURS):
        if only and behaviour.name not in only:
            continue
        for verb in verbs:
            places = [place for place in PLACES[verb] if not behaviour.places or place in behaviour.places]
            if not behaviour.places and not thorough:  # by turns
                places = places[number % 2 :: 2] if verb == "batch" else places[: 1 + (verb == "annotate")]
            for place in places:
                yield behaviour, place, verb


def import_all() -> None:
    """Both verbs once, without an endpoint: processes that are forked then begin at once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, document in (("g.json", REFS), ("p.json", PREDS)):
            (folder / file).write_text(json.dumps(document))
        (folder / "m.jsonl").write_text("".join(json.dumps(m) + "\n" for m in MOMENTS))
        options = annotation.RunOptions(store=folder / "s.sqlite", batch=True, batch_pause=0.01)
        annotation.run(folder / "m.jsonl", options=options, recipe=RecipeOptions(blind=True))
        fabula.score(folder / "p.json", folder / "g.json", metrics="SODA_c(text=judge:fabula)", judge_url="fake")
    from fabula.verbs.building.commands import annotate  # noqa: F401
    from fabula.verbs.scoring.commands import score  # noqa: F401


def tell(run: Run) -> Run:
    if run.faults:
        print(f"{run.behaviour}\t{run.place}\t{run.verb}\t{'; '.join(run.faults)}\t{run.said}", flush=True)
    return run


def main() -> int:
    global TIMEOUT
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of behaviours, comma separated")
    parser.add_argument("--verbs", default="annotate,judge,batch")
    parser.add_argument("--thorough", action="store_true", help="in every place")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds that a request may take")
    options = parser.parse_args()
    slow: list[tuple[Behaviour, str, str]] = []
    TIMEOUT = options.timeout
    todo = list(list_runs(filter(None, options.only.split(",")), options.verbs.split(","), options.thorough))
    good = [(GOOD, "chat", verb) for verb in PLACES]
    runs: list[Run] = []
    import_all()
    bomb(1), bomb(2)
    with serving() as port, tempfile.TemporaryDirectory() as name:
        for run in try_all(port, [*good, *todo], options.jobs, Path(name)):
            if run.seconds > TIMEOUT + SPARE:
                again = next(one for one in todo if (one[0].name, *one[1:]) == (run.behaviour, run.place, run.verb))
                slow.append(again)
                continue
            runs.append(tell(run))
        runs += [tell(run) for run in try_all(port, slow, 1, Path(name))]
    if options.json:
        options.json.write_text(json.dumps([asdict(run) for run in runs], indent=1))
    print("verb\truns\tbehaviours\tmost MB\tslowest s\tkey\ttracebacks\texit codes\tfaults")
    for verb in dict.fromkeys(run.verb for run in runs):
        some = [run for run in runs if run.verb == verb]
        codes = {code: sum(run.code == code for run in some) for code in sorted({run.code for run in some})}
        keys, traces = (sum(any(w in f for f in run.faults) for run in some) for w in ("the key", "traceback"))
        most, slowest = max(run.memory for run in some), max(run.seconds for run in some)
        count, faults = len({run.behaviour for run in some}), sum(bool(run.faults) for run in some)
        print(f"{verb}\t{len(some)}\t{count}\t{most:.0f}\t{slowest:.1f}\t{keys}\t{traces}\t{codes}\t{faults}")
    faults = sum(bool(run.faults) for run in runs)
    print(f"{len({run.behaviour for run in runs})} behaviours, {len(runs)} runs, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
