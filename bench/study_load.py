"""Two hundred scripted raters over the loopback: how long calls take, how many fail, whether the store is whole.

    python bench/study_load.py [--raters 200] [--questions 30] [--length 0.4]

Each rater opens her link, agrees, and for every question fetches question and clip, waits as long as the clip plays, marks
it played and answers; all at once, from one process. Every answer is compared with what the store holds in the end.
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
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parent))
from study_kills import Server, free_port  # noqa: E402


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
        path.write_bytes(bytes(range(256)) * 400)
        return
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        rng = np.random.default_rng(0)
        for _ in range(max(2, round(10 * length) + 1)):
            frame = av.VideoFrame.from_ndarray(rng.integers(0, 255, (180, 320, 3), dtype=np.uint8), "rgb24")
            out.mux(stream.encode(frame))
        out.mux(stream.encode())


class Watch:
    """How long calls took, by kind; what went wrong."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.faults: Counter[str] = Counter()

    async def call(self, client: httpx.AsyncClient, kind: str, method: str, path: str, **more: Any) -> Any:
        begun = time.perf_counter()
        try:
            reply = await client.request(method, path, **more)
        except httpx.HTTPError as error:
            self.faults[f"{kind}: {type(error).__name__}"] += 1
            raise
        self.seconds.setdefault(kind, []).append(time.perf_counter() - begun)
        if reply.status_code >= 400 and reply.status_code != 425:
            self.faults[f"{kind}: {reply.status_code} {reply.text[:80]}"] += 1
        return reply


async def rate(number: int, address: str, token: str, watch: Watch, sent: dict[tuple[int, int], dict[str, int]]) -> None:
    rng = random.Random(number)
    await asyncio.sleep(rng.uniform(0, 5))
    async with httpx.AsyncClient(base_url=address, headers={"Origin": address}, timeout=60) as client:
        await watch.call(client, "start", "GET", f"/start?token={token}")
        state = (await watch.call(client, "consent", "POST", "/api/consent", json={})).json()
        for place in range(state["of"]):
            told = (await watch.call(client, "question", "GET", f"/api/question/{place}")).json()
            await watch.call(client, "clip", "GET", told["clip"]["src"], headers={"Range": "bytes=0-65535"})
            await asyncio.sleep(told["clip"]["end"] - told["clip"]["start"])
            while (await watch.call(client, "played", "POST", "/api/played", json={"place": place})).status_code == 425:
                await asyncio.sleep(0.05)
            answer = {f["name"]: rng.choice(f["options"])[0] for f in told["fields"]}
            sent[number, place] = answer
            body = {"place": place, "nonce": f"{rng.getrandbits(128):032x}", "answer": answer}
            await watch.call(client, "answer", "POST", "/api/answer", json=body)
            if rng.random() < 0.05:  # a network that sends twice
                await watch.call(client, "answer", "POST", "/api/answer", json=body)


async def rate_all(address: str, tokens: list[str]) -> tuple[Watch, dict[tuple[int, int], dict[str, int]]]:
    watch: Watch = Watch()
    sent: dict[tuple[int, int], dict[str, int]] = {}
    await asyncio.gather(*(rate(n, address, token, watch, sent) for n, token in enumerate(tokens)))
    return watch, sent


def check(study: Path, sent: dict[tuple[int, int], dict[str, int]]) -> dict[str, Any]:
    db = sqlite3.connect(study / "study.sqlite")
    rows = db.execute("SELECT rater, place, answer FROM answers").fetchall()
    held = {(r, p): json.loads(a) for r, p, a in rows}
    whole = db.execute("PRAGMA integrity_check").fetchone()[0]
    wrong = sum(held.get(key) != answer for key, answer in sent.items())
    return {"integrity": whole, "sent": len(sent), "rows": len(rows), "wrong or lost": wrong, "beyond": len(held) - len(sent)}


def run(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        plan, study = make_plan(folder, args.raters, args.questions, args.length), folder / "study"
        subprocess.run([sys.executable, "-m", "fabula", "study", "new", str(plan), "-o", str(study)], check=True)
        tokens = [line.partition("token=")[2] for line in (study / "links.csv").read_text().splitlines()[1:]]
        server = Server(study, free_port())
        begun = time.monotonic()
        watch, sent = asyncio.run(rate_all(server.address, tokens))
        seconds = time.monotonic() - begun
        server.stop()
        found = check(study, sent)
    times = {
        kind: {q: round(1000 * sorted(some)[min(len(some) - 1, int(p * len(some)))], 1) for q, p in QUANTILES.items()}
        for kind, some in {**watch.seconds, "all": [s for some in watch.seconds.values() for s in some]}.items()
    }
    calls = sum(map(len, watch.seconds.values()))
    return {"raters": len(tokens), "calls": calls, "seconds": round(seconds, 1), "calls a second": round(calls / seconds),
            "errors": dict(watch.faults), "milliseconds": times, **found}  # fmt: skip


QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raters", type=int, default=200)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--length", type=float, default=5.0, help="seconds of a clip")
    print(json.dumps(run(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
