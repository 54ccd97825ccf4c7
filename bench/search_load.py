"""Ten people at the search page over the loopback: how long calls take, how many fail; and the first results of all.

    python bench/search_load.py [--clips 100000] [--users 10] [--seconds 60] [--think 1] [--browser] [--store DIR]

The store is simulated, and told to be: directions drawn at random for vectors of the offline embedder's size, one small
picture for all clips, one film under a thousand names. The embedder of the query is the real one, and so are the table,
the search and the server (`fabula serve`, its own process). Each user searches, now and then within a video or a
length, fetches ten pictures, the video's strip and the first 64 kB of its film, and thinks. `--browser` measures in
Chromium: from the last key to the first row on the screen, with the fifth of a second in which the page waits for
more keys.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent))
from study_load import QUANTILES, Line, Watch, make_clip

WHO = ("a man", "two women", "a dog", "children", "a player", "a bird", "a car", "a red boat", "hands", "a crowd")
WHAT = ("running", "at night", "in the snow", "in a kitchen", "on a beach", "jumping", "with a ball", "seen from above")
LENGTH = 2.0  # seconds of a clip
EACH = 100  # clips of a video


def make_store(folder: Path, clips: int, seed: int = 0) -> Path:
    """A store of so many clips whose vectors are drawn at random."""
    import numpy as np

    from fabula.library.embedders import embedder
    from fabula.library.pictures import make_jpeg
    from fabula.library.store import Entry, Store, Video

    rng = np.random.default_rng(seed)
    model = embedder("offline")
    films = folder / "films"
    films.mkdir(parents=True)
    make_clip(films / "film00000.mp4", 10.0)
    picture = make_jpeg(rng.integers(0, 255, (9, 16, 3), np.uint8).repeat(10, 0).repeat(10, 1))
    store = Store.create(folder / "store", model.recipe(), films)
    start = LENGTH * np.arange(EACH)
    with store.writing() as writer:
        for first in range(0, clips // EACH, 50):
            some = []
            for k in range(first, min(first + 50, clips // EACH)):
                name = f"film{k:05d}.mp4"
                if k:
                    os.link(films / "film00000.mp4", films / name)
                x = rng.standard_normal((EACH, model.dims), dtype=np.float32)
                x /= np.linalg.norm(x, axis=1, keepdims=True)
                row = Video(name, 0, 1, 1, "simulated", LENGTH * EACH, 10.0, EACH)
                some.append(Entry(row, start, start + LENGTH, x, [picture] * EACH))
            writer.put(some)
    return folder / "store"


class Server:
    """`fabula serve --store` as a process of its own."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-m", "fabula", "serve", "--store", str(store), "--port", "0"]
        begun = time.monotonic()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        told = ""
        while not (found := re.search(r"127\.0\.0\.1:(\d+)", told)):
            line = self.process.stderr.readline()
            if not line:
                raise SystemExit(f"the server did not start: {told}")
            told += line
        self.port, self.started = int(found[1]), time.monotonic() - begun

    def stop(self) -> float:
        """Ends it; the seconds of processor it took."""
        with Path(f"/proc/{self.process.pid}/stat").open() as file:
            fields = file.read().rpartition(")")[2].split()
        self.process.terminate()
        self.process.wait(20)
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def use(number: int, port: int, watch: Watch, until: float, think: float) -> None:
    """One person at the page."""
    rng = random.Random(number)
    line = Line(port)
    await line.open()
    await asyncio.sleep(rng.uniform(0, think))
    _, store = await watch.call(line, "store", "GET", "/api/store")
    _, listed = await watch.call(line, "videos", "GET", "/api/videos?limit=50")
    names = [video["name"] for video in listed["videos"]]
    while time.monotonic() < until:
        words = f"{rng.choice(WHO)} {rng.choice(WHAT)} {rng.choice(WHO)}"
        where = rng.choice(["", "", "&min_length=2&max_length=20", f"&video={quote(rng.choice(names))}"])
        kind = "search in a video" if "video" in where else "search"
        _, told = await watch.call(line, kind, "GET", f"/api/search?q={quote(words)}&limit=20{where}")
        for moment in (told or {}).get("moments", [])[:10]:
            address = f"/thumb/{moment['clips'][0]}.jpg?v={store['version']}"
            await watch.call(line, "picture", "GET", address)
        if told and told.get("moments"):
            key = told["videos"][told["moments"][0]["video"]]["key"]
            await watch.call(line, "video's strip", "GET", f"/api/video/{key}")
            await watch.call(line, "film", "GET", f"/video/{key}", more="Range: bytes=0-65535\r\n")
        await asyncio.sleep(rng.uniform(0.5, 1.5) * think)
    line.writer.close()


async def use_all(port: int, users: int, seconds: float, think: float) -> Watch:
    watch, until = Watch(), time.monotonic() + seconds
    await asyncio.gather(*(use(n, port, watch, until, think) for n in range(users)))
    return watch


async def first_search(port: int) -> float:
    """Seconds of the very first search after the start."""
    line = Line(port)
    await line.open()
    begun = time.perf_counter()
    status, _, told = await line.ask("GET", "/api/search?q=a%20man%20opens%20a%20door&limit=20")
    seconds = time.perf_counter() - begun
    line.writer.close()
    if status != 200 or not json.loads(told)["moments"]:
        raise SystemExit(f"the first search failed: {status} {told[:300]!r}")
    return seconds


def look(port: int, times: int = 9) -> dict[str, Any]:
    """In Chromium: milliseconds from the last key to the first row."""
    import shutil

    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        found = []
        for k in range(times):
            driver.get(f"http://127.0.0.1:{port}/")
            while not driver.execute_script("return document.body.dataset.ready === 'yes'"):
                time.sleep(0.02)
            driver.execute_script(
                "addEventListener('keydown', () => { window.last = performance.now(); }, true);"
                "new MutationObserver(() => { if (document.querySelector('li.moment') && !window.seen)"
                " requestAnimationFrame(() => setTimeout(() => { window.seen ??= performance.now(); })); })"
                ".observe(document.getElementById('results'), { childList: true, subtree: true });"
                "document.getElementById('q').focus()"
            )
            ActionChains(driver).send_keys(f"{WHO[k % len(WHO)]} {WHAT[k % len(WHAT)]}").perform()
            while driver.execute_script("return window.seen === undefined"):
                time.sleep(0.02)
            found.append(driver.execute_script("return window.seen - window.last"))
        return {"first": round(found[0], 1), "p50": round(sorted(found)[times // 2], 1), "max": round(max(found), 1)}
    finally:
        driver.quit()


def run(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        store = Path(args.store) if args.store else make_store(Path(work), args.clips)
        server = Server(store)
        try:
            first = asyncio.run(first_search(server.port))
            seen = look(server.port) if args.browser else None
            begun = time.monotonic()
            watch = asyncio.run(use_all(server.port, args.users, args.seconds, args.think))
            seconds = time.monotonic() - begun
        finally:
            spent = server.stop()
    calls = sum(map(len, watch.seconds.values()))
    times = {
        kind: {"calls": len(some)}
        | {q: round(1000 * sorted(some)[min(len(some) - 1, int(p * len(some)))], 1) for q, p in QUANTILES.items()}
        for kind, some in {**watch.seconds, "all": [s for some in watch.seconds.values() for s in some]}.items()
    }
    return {
        "simulated": "vectors drawn at random" if not args.store else None,
        "clips": args.clips if not args.store else None,
        "users": args.users,
        "seconds": round(seconds, 1),
        "calls": calls,
        "calls a second": round(calls / seconds, 1),
        "errors": dict(watch.faults),
        "load average": [round(x, 1) for x in os.getloadavg()],
        "start, s": round(server.started, 2),
        "first search, ms": round(1000 * first, 1),
        "from the last key to the first row, ms": seen,
        "processor of the server, s": round(spent, 1),
        "milliseconds": times,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--think", type=float, default=1.0, help="seconds between two questions, on average")
    parser.add_argument("--store", help="a store that is there, in place of the simulated one")
    parser.add_argument("--browser", action="store_true", help="also look at the page in Chromium")
    print(json.dumps(run(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
