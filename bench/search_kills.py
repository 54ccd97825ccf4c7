"""`fabula index` killed again and again: is a clip lost, doubled or half there, and is the store the unbroken one?

    python bench/search_kills.py [--videos DIR] [--with colours] [--kills 20] [--seed 0] [--processes 1] [--only build]

Without --videos films are drawn here, of 2 to 24 seconds. A store is built without a break; then each of the following
is killed with SIGKILL at random moments, and between two kills the store is read as a search would read it:

    build      one run at a time                      two       two runs at once, both killed
    changes    files come, change and go meanwhile    reembed   --reembed with another recipe

After the last kill the run may end; every row must be that of the unbroken store, bit for bit.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import FabulaError
from fabula.library.store import COLUMNS, Store

RECIPE = ("--clip", "4", "--stride", "1")  # of what is made anew


def draw(path: Path, seed: int, seconds: float, fps: int = 8) -> None:
    """A film of coloured noise that changes every second."""
    import av

    rng = np.random.default_rng(seed)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mpeg4", rate=fps)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        stream.codec_context.time_base = Fraction(1, fps)
        for i in range(round(seconds * fps)):
            if i % fps == 0:
                small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
            frame = av.VideoFrame.from_ndarray(np.kron(small, np.ones((20, 20, 1), np.uint8)), "rgb24")
            frame.pts, frame.time_base = i, Fraction(1, fps)
            out.mux(stream.encode(frame))
        out.mux(stream.encode())


def draw_films(folder: Path, count: int = 100) -> None:
    rng = random.Random(1)
    for i in range(count):
        draw(folder / f"film {i:03}.mp4", i, rng.uniform(2, 24))


class Index:
    """The command as it is typed."""

    def __init__(self, videos: Path, store: Path, *more: str) -> None:
        self.command = [sys.executable, "-m", "fabula", "index", str(videos), "--store", str(store), *more]

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def end(self) -> float:
        began = time.monotonic()
        run = subprocess.run(self.command, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"exit code {run.returncode}: {run.stderr.strip()[-300:]}")
        return time.monotonic() - began


def contents(store: Path) -> tuple[list[Any], list[Any]]:
    """All rows; of videos without the times of change, which copies do not share."""
    opened = Store.open(store)
    table = opened.clips(columns=(*COLUMNS, "vector", "thumb"))
    ids = table["clip"].to_pylist()
    assert len(set(ids)) == len(ids), "a clip is there twice"
    videos = [(v.video, v.number, v.size, v.digest, v.duration, v.fps, v.clips, v.problem) for v in opened.videos()]
    return table.to_pylist(), videos


def look(store: Path) -> int:
    """What a reader sees meanwhile: every video whole or not at all. Returns how many."""
    try:
        opened = Store.open(store)
    except FabulaError:
        return -1  # before its manifest there is no store
    videos, vectors = opened.snapshot()
    counts = np.bincount(vectors.video, minlength=len(videos))
    half = [v.video for v, n in zip(videos, counts, strict=True) if n not in (0, v.clips)]
    assert len(set(vectors.clip.tolist())) == len(vectors.clip), "a clip is there twice"
    assert not half, f"half of {half[0]} is there"
    return len(videos)


def commits(store: Path) -> int:
    return sum(1 for _ in store.glob("*.lance/_versions/*"))


def kill_once(commands: list[Index], store: Path, rng: random.Random) -> int:
    """Begin, kill at a random moment (three of four soon after a commit), look; how many videos were there."""
    running, began = [command.start() for command in commands], time.monotonic()
    for process in running:
        before, soon = commits(store), rng.random() < 0.75
        patience = began + (60 if soon else rng.uniform(0.2, 4))
        while time.monotonic() < patience and process.poll() is None and not (soon and commits(store) != before):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.3) if soon else 0)
        process.send_signal(signal.SIGKILL)
    for process in running:
        process.communicate()
    return look(store)


def same(store: Path, whole: Path) -> bool:
    a, b = contents(store), contents(whole)
    return a == b


def change(videos: Path, step: int) -> None:
    """One film more, one other, and now and then one less."""
    names = sorted(videos.glob("film *.mp4"))
    draw(videos / f"film new {step}.mp4", 1000 + step, 5)
    draw(names[step % 7], 2000 + step, 6)
    if step % 2:
        names[-1].unlink()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--videos", type=Path)
    parser.add_argument("--with", dest="with_", default="colours")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", default="1")
    parser.add_argument("--only", nargs="+", default=["build", "two", "changes", "reembed"])
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        videos = work / "videos"
        if given.videos:
            shutil.copytree(given.videos, videos)
        else:
            videos.mkdir()
            draw_films(videos)
        how = ("--with", given.with_, "--processes", given.processes)
        took = Index(videos, work / "whole", *how).end()
        print(
            f"unbroken: {look(work / 'whole')} videos, {len(contents(work / 'whole')[0])} clips, {took:.1f} s",
            flush=True,
        )
        for what in given.only:
            scenario(what, work, how, given.kills, rng)


def scenario(what: str, work: Path, how: tuple[str, ...], kills: int, rng: random.Random) -> None:
    """Kills, an end, a comparison. Where all is done before the last kill, it is compared and begun anew."""
    videos, store, whole = work / "videos", work / what, work / "whole"
    if what == "changes":
        videos = Path(shutil.copytree(videos, work / "changing"))
    more = RECIPE if what == "reembed" else ()
    if what == "reembed":
        whole = work / "other recipe"
        Index(videos, whole, *how, *more).end()
    again = Index(videos, store, *how, *more, *(["--reembed"] if what == "reembed" else []))
    seen: list[int] = []
    rounds: list[bool] = []
    for step in range(kills):
        if what == "reembed" and not store.exists():
            shutil.copytree(work / "whole", store)
        seen.append(kill_once([again] * (2 if what == "two" else 1), store, rng))
        if what == "changes":
            change(videos, step)
        elif is_done(store, whole):
            rounds.append(same(store, whole))
            shutil.rmtree(store)
    if what == "reembed" and not store.exists():
        shutil.copytree(work / "whole", store)
    again.end()
    if what == "changes":
        whole = work / "changed whole"
        Index(videos, whole, *how).end()
    rounds.append(same(store, whole))
    left = [f.name for f in store.iterdir() if f.suffix == ".tmp"]
    print(
        f"{what}: {kills} kills in {len(rounds)} builds, equal: {rounds}; videos after each {seen}; left: {left}",
        flush=True,
    )


def is_done(store: Path, whole: Path) -> bool:
    """Whether nothing is left to do."""
    there = [Store.open(one) for one in (store, whole) if (one / "manifest.json").exists()]
    return len(there) == 2 and there[0].recipe == there[1].recipe and len(there[0].videos()) == len(there[1].videos())


if __name__ == "__main__":
    main()
