"""Calls through a batch endpoint (POST /files, POST /batches): slower, and cheaper where it is offered.

A batch is a file of lines {"custom_id": the call's key, "method", "url", "body"}; its answers come back by that id in
any order, and a line that failed is a CallError like any other. What a batch is waiting for can be asked again: the id
of the batch is handed to `remember`, and one that is remembered is waited for, not sent twice.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fabula.llm.answer import Answer, CallError, EndpointError, ReplyError, read_document
from fabula.llm.call import Call
from fabula.llm.client import CONNECT, Client, read_error

MOST = 50_000  # calls of one batch, as hosts have it
HEAVIEST = 90 << 20  # bytes of one batch
ENDED = ("completed", "failed", "expired", "cancelled")
LONGEST = 1 << 30  # bytes of the answers of one batch


def cut_batches(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """In the sizes that hosts take."""
    held: list[Call] = []
    size = 0
    for call in calls:
        own = len(call.prompt) + sum(len(i.data or b"") * 4 // 3 for i in call.images) + 2000
        if held and (len(held) == MOST or size + own > HEAVIEST):
            yield held
            held, size = [], 0
        held.append(call)
        size += own
    if held:
        yield held


async def ask_batch(
    client: Client,
    calls: Sequence[Call],
    *,
    known: str | None = None,
    remember: Callable[[str], None] = lambda batch: None,
    pause: float = 30.0,
) -> dict[str, Answer | CallError]:
    """The answers of one batch by their keys. `known` is the id of a batch that was sent before with these calls."""
    batch = known
    if batch is None:
        lines = [
            {"custom_id": c.key, "method": "POST", "url": "/v1/chat/completions", "body": c.body(client.with_schema)}
            for c in calls
        ]
        data = "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines).encode()
        file = await talk(client, "POST", "/files", files=data)
        wanted = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        batch = str((await talk(client, "POST", "/batches", json=wanted))["id"])
        remember(batch)
    began = time.perf_counter()
    while (state := await talk(client, "GET", f"/batches/{batch}")).get("status") not in ENDED:
        await asyncio.sleep(pause)
    seconds = (time.perf_counter() - began) / max(1, len(calls))
    found: dict[str, Answer | CallError] = {}
    for name in ("output_file_id", "error_file_id"):
        if state.get(name):
            for line in (await fetch(client, str(state[name]))).splitlines():
                found |= read_line(client, line, seconds)
    lost = f"the batch {batch} ({state.get('status')}) has no answer to this call"
    return {call.key: found.get(call.key, CallError(lost, "batch")) for call in calls}


def read_line(client: Client, line: bytes, seconds: float) -> dict[str, Answer | CallError]:
    """One answer of a batch, by its key; nothing where the line is not one."""
    try:
        told = json.loads(line)
        key, response = str(told["custom_id"]), told["response"]
        if response["status_code"] != 200:
            said = client.clean(f"{response['status_code']}: {read_error(json.dumps(response['body']).encode())}")
            return {key: CallError(said, "batch")}
        answer = read_document(response["body"], seconds)
        return {key: Answer(client.without_key(answer.text), *list(answer.to_dict().values())[1:])}
    except ReplyError as error:
        return {key: CallError(client.clean(str(error)), error.kind)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


async def talk(client: Client, method: str, path: str, json: Any = None, files: bytes | None = None) -> dict[str, Any]:
    """A small request and its JSON. What cannot be done for one batch cannot be done for any."""
    import httpx

    assert client.http is not None
    http, headers = client.http, dict(client.http.headers)
    if files is None:
        request = http.build_request(method, path, json=json)
    else:
        headers.pop("content-type")  # a boundary belongs into it
        form = {"files": {"file": ("batch.jsonl", files)}, "data": {"purpose": "batch"}}
        request = httpx.Request(method, http.base_url.join(path.lstrip("/")), headers=headers, **form)  # type: ignore[arg-type]
    try:
        reply = await http.send(request)
        if reply.status_code != 200:
            raise EndpointError(client.clean(f"{path}: {reply.status_code}: {read_error(reply.content)}"), "batch")
        document = reply.json()
        if not isinstance(document, dict) or (method == "POST" and "id" not in document):
            raise ValueError("no id in the reply")
        return document
    except (httpx.HTTPError, ValueError) as error:
        raise EndpointError(client.clean(f"{path}: {error}"), "batch") from None


async def fetch(client: Client, file: str) -> bytes:
    import httpx

    assert client.http is not None
    held = bytearray()
    try:
        async with client.http.stream("GET", f"/files/{file}/content", timeout=CONNECT * 10) as reply:
            async for piece in reply.aiter_bytes():
                held += piece
                if len(held) > LONGEST:
                    raise EndpointError(f"the answers of a batch have more than {LONGEST >> 20} MB", "batch")
    except httpx.HTTPError as error:
        raise EndpointError(client.clean(f"/files: {error}"), "batch") from None
    return bytes(held)
