"""Small studies: clips, plans, and a server in a thread."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from fabula.studies import steps as api
from fabula.studies.store import Store

EVIL = "</p><script>window.bad = 1</script><img src=x onerror='window.bad = 2'>&lt;b&gt; “quoted”"


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@lru_cache
def film(seconds: float) -> bytes:
    """A film that players play, where it can be made; else bytes."""
    if importlib.util.find_spec("av") is None:
        return b"\0\0\0\x18ftypisom" + bytes(range(256)) * 40
    import io

    import av
    import numpy as np

    out = io.BytesIO()
    codec = "libx264" if "libx264" in av.codecs_available else "libvpx"
    with av.open(out, "w", format="mp4" if codec == "libx264" else "webm") as made:
        stream = made.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
        for i in range(round(10 * seconds)):
            picture = np.full((90, 160, 3), (40 + 12 * i) % 256, np.uint8)
            made.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        made.mux(stream.encode())
    return out.getvalue()


def make_plan(
    folder: Path, count: int = 4, systems: tuple[str, ...] = ("coarse", "fine"), text: str = "", **settings: Any
) -> Path:
    """PLAN.toml with its items and clips."""
    clips = folder / "clips"
    clips.mkdir(exist_ok=True)
    for name in ("one", "two"):
        (clips / f"{name}.mp4").write_bytes(film(2.0))
    with (folder / "items.jsonl").open("w") as out:
        for i in range(count):
            told = {s: f"{s} words {i} {text}".strip() for s in systems}
            line = {"id": f"i{i}", "video": ("one", "two")[i % 2], "time": [0.2, 1.2], "descriptions": told}
            out.write(json.dumps({**line, "kind": ("static", "dynamic")[i % 2]}) + "\n")
    settings = {"title": "Kitchen", "clips": "clips", "items": "items.jsonl", "checks": 0, **settings}
    tables = {k: v for k, v in settings.items() if isinstance(v, dict)}
    lines = [f"{k} = {json.dumps(v)}" for k, v in settings.items() if k not in tables]
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{k} = {json.dumps(v)}" for k, v in table.items())]
    plan = folder / "PLAN.toml"
    plan.write_text("\n".join(lines) + "\n")
    return plan


def make_study(folder: Path, **settings: Any) -> tuple[Path, list[str]]:
    """A study's folder, and its tokens."""
    study = folder / "study"
    made, _ = api.new(make_plan(folder, **settings), out=study)
    return study, made.tokens


@contextlib.contextmanager
def serving(study: Path, clock: Any = None, **where: Any) -> Iterator[tuple[str, Store]]:
    """A server in a thread: its address, and its store."""
    from fabula.studies.server import make_app
    from fabula.web.binding import Binding, open_socket
    from fabula.web.connections import make_server

    binding = Binding(port=0, **where)
    with Store(study, work=True, clock=clock) as store:
        bound = open_socket(binding)
        server = make_server(make_app(store, binding), log_level="error", timeout_graceful_shutdown=1)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}", store
        finally:
            while CLIENTS:
                CLIENTS.pop().close()
            server.should_exit = True
            thread.join(20)
            bound.close()


CLIENTS: list[Any] = []  # closed when the server ends


def open_client(address: str, **more: Any) -> Any:
    import httpx

    CLIENTS.append(httpx.Client(base_url=address, timeout=30, **more))
    return CLIENTS[-1]


class Rater:
    """A rater by script."""

    def __init__(self, address: str, token: str, clock: Clock | None = None) -> None:
        self.http = open_client(address, headers={"Origin": address})
        self.clock = clock
        self.sent = 0
        if token:
            self.http.get(f"/start?token={token}")

    def get(self, path: str, **more: Any) -> Any:
        return self.http.get(path, **more)

    def post(self, path: str, body: Any, **more: Any) -> Any:
        return self.http.post(path, json=body, **more)

    def agree(self) -> Rater:
        assert self.post("/api/consent", {}).status_code == 200
        return self

    def watch(self, place: int) -> dict[str, Any]:
        """The question, its clip fetched and played."""
        told: dict[str, Any] = self.get(f"/api/question/{place}").json()
        assert self.get(told["clip"]["src"], headers={"Range": "bytes=0-99"}).status_code == 206
        if self.clock is not None:
            self.clock.now += told["clip"]["end"] - told["clip"]["start"]
        assert self.post("/api/played", {"place": place}).status_code == 200
        return told

    def answer(self, place: int, answer: dict[str, int], nonce: str | None = None) -> Any:
        self.sent += 1
        return self.post("/api/answer", {"place": place, "answer": answer, "nonce": nonce or f"{self.sent:032x}"})


def first_options(told: dict[str, Any]) -> dict[str, int]:
    return {f["name"]: f["options"][0][0] for f in told["fields"]}
