"""Two hundred scripted raters over the loopback: how long calls take, how many fail, whether the store is whole.

    python bench/study_load.py [--raters 200] [--questions 30] [--length 5] [--think 5]

Each rater opens her link, agrees, and for every question fetches question and clip, waits as long as the clip plays,
marks it played, thinks and answers; all at once, from one process. Every answer is compared with what the store holds.
The clip is made here, where there is PyAV; else it is bytes that nobody looks at.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from study_kills import Server, free_port


def make_plan(folder: Path, raters: int, questions: int, length: float) -> Path:
    """As many items as give each rater so many questions at three raters a question."""
    clips = folder / "clips"
    clips.mkdir()
    make_clip(clips / "clip.mp4", length)
    count = max(questions, raters * questions // 3)
    with (folder / "items.jsonl").open("w") as out:
        for i in range(count):
            texts = {"coarse": f"coarse {i}", "fine": f"fine {i}"}
            out.write(json.dumps({"id": i, "video": "clip", "time": [0, length], "descriptions": texts}) + "\n")
    plan = folder / "PLAN.toml"
    plan.write_text(f'title = "Load"\nclips = "clips"\nitems = "items.jsonl"\nquestions = {questions}\nchecks = 0\n')
    return plan


def make_clip(path: Path, length: float) -> None:
    try:
        import av
        import numpy as np
    except ImportError:
        path.write_bytes(b"\0\0\0\x18ftypisom" + bytes(range(256)) * 400)
        return
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        rng = np.random.default_rng(0)
        for _ in range(max(2, round(10 * length) + 1)):
            frame = av.VideoFrame.from_ndarray(rng.integers(0, 255, (180, 320, 3), dtype=np.uint8), "rgb24")
            out.mux(stream.encode(frame))
        out.mux(stream.encode())


class Line:
    """One rater's connection: just enough HTTP that the asker costs little beside the asked."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie = port, ""

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, method: str, path: str, body: Any = None, more: str = "") -> tuple[int, dict[str, str], bytes]:
        sent = b"" if body is None else json.dumps(body).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n" if body is not None else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: http://127.0.0.1:{self.port}\r\n"
        self.writer.write(f"{head}{self.cookie}{kind}{more}\r\n".encode() + sent)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
        told = await self.reader.readexactly(int(headers.get("content-length", "0")))
        if "set-cookie" in headers:
            self.cookie = f"Cookie: {headers['set-cookie'].partition(';')[0]}\r\n"
        return int(lines[0].split()[1]), headers, told


class Watch:
    """How long calls took, by kind; what went wrong."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.faults: Counter[str] = Counter()

    async def call(
        self, line: Line, kind: str, method: str, path: str, body: Any = None, more: str = ""
    ) -> tuple[int, Any]:
        begun = time.perf_counter()
        try:
            status, headers, told = await line.ask(method, path, body, more)
        except (OSError, EOFError) as error:
            self.faults[f"{kind}: {type(error).__name__}"] += 1
            raise
        self.seconds.setdefault(kind, []).append(time.perf_counter() - begun)
        if status >= 400 and status != 425:
            self.faults[f"{kind}: {status} {told[:80]!r}"] += 1
        return status, json.loads(told) if headers.get("content-type", "").startswith("application/json") else None


async def rate(number: int, port: int, token: str, watch: Watch, pace: Pace, sent: Sent) -> None:
    rng = random.Random(number)
    await asyncio.sleep(rng.uniform(0, pace.begin))
    line = Line(port)
    await line.open()
    await watch.call(line, "start", "GET", f"/start?token={token}")
    _, state = await watch.call(line, "consent", "POST", "/api/consent", {})
    for place in range(state["of"]):
        _, told = await watch.call(line, "question", "GET", f"/api/question/{place}")
        await watch.call(line, "clip", "GET", told["clip"]["src"], more="Range: bytes=0-65535\r\n")
        await asyncio.sleep(told["clip"]["end"] - told["clip"]["start"])
        while (await watch.call(line, "played", "POST", "/api/played", {"place": place}))[0] == 425:
            await asyncio.sleep(0.1)
        await asyncio.sleep(rng.uniform(0.5, 1.5) * pace.think)
        answer = {f["name"]: rng.choice(f["options"])[0] for f in told["fields"]}
        sent[number, place] = answer
        body = {"place": place, "nonce": f"{rng.getrandbits(128):032x}", "answer": answer}
        await watch.call(line, "answer", "POST", "/api/answer", body)
        if rng.random() < 0.05:  # a network that sends twice
            await watch.call(line, "answer", "POST", "/api/answer", body)
    line.writer.close()


Sent = dict[tuple[int, int], dict[str, int]]


class Pace(NamedTuple):
    """Seconds over which raters arrive, and that they think."""

    begin: float
    think: float


async def rate_all(port: int, tokens: list[str], pace: Pace) -> tuple[Watch, Sent]:
    watch: Watch = Watch()
    sent: Sent = {}
    await asyncio.gather(*(rate(n, port, token, watch, pace, sent) for n, token in enumerate(tokens)))
    return watch, sent


def check(study: Path, sent: Sent) -> dict[str, Any]:
    db = sqlite3.connect(study / "study.sqlite")
    rows = db.execute("SELECT rater, place, answer FROM answers").fetchall()
    held = {(r, p): json.loads(a) for r, p, a in rows}
    whole = db.execute("PRAGMA integrity_check").fetchone()[0]
    wrong = sum(held.get(key) != answer for key, answer in sent.items())
    return {
        "integrity": whole,
        "sent": len(sent),
        "rows": len(rows),
        "wrong or lost": wrong,
        "beyond": len(held) - len(sent),
    }


def run(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        plan, study = make_plan(folder, args.raters, args.questions, args.length), folder / "study"
        subprocess.run([sys.executable, "-m", "fabula", "study", "new", str(plan), "-o", str(study)], check=True)
        tokens = [line.partition("token=")[2] for line in (study / "links.csv").read_text().splitlines()[1:]]
        server = Server(study, free_port())
        begun = time.monotonic()
        watch, sent = asyncio.run(rate_all(server.port, tokens, Pace(args.length + args.think, args.think)))
        seconds = time.monotonic() - begun
        server.stop()
        found = check(study, sent)
    times = {
        kind: {q: round(1000 * sorted(some)[min(len(some) - 1, int(p * len(some)))], 1) for q, p in QUANTILES.items()}
        for kind, some in {**watch.seconds, "all": [s for some in watch.seconds.values() for s in some]}.items()
    }
    calls = sum(map(len, watch.seconds.values()))
    rate = round(calls / seconds)
    return {"raters": len(tokens), "calls": calls, "seconds": round(seconds, 1), "calls a second": rate,
            "errors": dict(watch.faults), "milliseconds": times, **found}  # fmt: skip


QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raters", type=int, default=200)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--length", type=float, default=5.0, help="seconds of a clip")
    parser.add_argument("--think", type=float, default=5.0, help="seconds that a rater thinks, on average")
    print(json.dumps(run(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
