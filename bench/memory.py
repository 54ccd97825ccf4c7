"""Peak memory of every story metric on one video with very many events: `python bench/memory.py --events 5000`.

Each metric runs in a process of its own (`fabula score`), whose largest resident size is read when it has ended.

    timeline   events follow one another through the video, each overlapping its neighbours
    crowd      every event overlaps every other: the most work that a file of this size can ask for
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METRICS = [
    *["SODA_a", "SODA_b", "SODA_c", "SODA_d", "PRF", "OrderedPRF", "StartPRF", "mIoU", "mJaccard"],
    *["DVC_METEOR", "DVC_CIDEr", "DVC_ROUGE_L", "DVC_BLEU_4", "DVC_SPICE", "DVC_iSPICE"],
    *["Para_METEOR", "Para_CIDEr", "Para_ROUGE_L", "Para_BLEU_4", "Para_SPICE", "Para_iSPICE"],
]
WHO = ["a man", "a woman", "the boy", "two girls", "a dog", "the chef", "a team of players", "the crowd", "an old lady"]
DOES = ["picks up", "throws", "looks at", "washes", "carries", "paints", "shows", "puts down", "cuts", "talks about"]
WHAT = ["a ball", "the red car", "some onions", "a long rope", "his guitar", "the wall", "a wooden board", "her hair"]
WHERE = ["in a field", "on the stage", "inside a small kitchen", "near the river", "in front of a mirror", "outside"]


def sentence(rng: random.Random) -> str:
    """One of a few thousand: captions repeat, but not all of them."""
    parts = [rng.choice(WHO), rng.choice(DOES), rng.choice(WHAT), rng.choice(WHERE)]
    return " ".join(parts[: rng.choice((3, 4, 4))]) + rng.choice((".", " while people watch.", " and smiles."))


def story(events: int, kind: str, seed: int) -> dict[str, object]:
    """One video as ActivityNet Captions has it."""
    rng = random.Random(seed)
    times = []
    for k in range(events):
        start = 2.0 * k + rng.random() if kind == "timeline" else rng.random() * 100
        end = start + 1 + 9 * rng.random() if kind == "timeline" else 200 + rng.random() * 800
        times.append([round(start, 2), round(end, 2)])
    return {"duration": 2.0 * events + 1000, "timestamps": times, "sentences": [sentence(rng) for _ in times]}


def write(folder: Path, events: int, kind: str) -> tuple[Path, Path]:
    names = folder / f"refs_{kind}.json", folder / f"preds_{kind}.json"
    for seed, name in enumerate(names):
        name.write_text(json.dumps({"v_video": story(events, kind, seed)}))
    return names


def measure(metric: str, refs: Path, preds: Path, limit: float) -> tuple[float, float, str]:
    """Seconds, peak in MB, and what came out: the number, or the line that refused."""
    command = [sys.executable, "-m", "fabula", "score", str(preds), "--refs", str(refs), "-m", metric, "--json", "-"]
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as erred:
        child = subprocess.Popen(command, stdout=said, stderr=erred)
        while True:
            ended, status, used = os.wait4(child.pid, os.WNOHANG)
            if ended:
                break
            if time.perf_counter() - began > limit:
                child.kill()
                _, status, used = os.wait4(child.pid, 0)
                break
            time.sleep(0.05)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0), erred.seek(0)
        text, error = said.read().decode(), erred.read().decode().strip()
    took = time.perf_counter() - began
    if child.returncode:
        last = error.splitlines()[-1] if error else ""
        return took, used.ru_maxrss / 1024, f"exit {child.returncode}: {last[:150]}"
    (score,) = json.loads(text)["scores"].values()
    return took, used.ru_maxrss / 1024, repr(score["value"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=5000, help="on each side")
    parser.add_argument("--kind", choices=("timeline", "crowd"), default="timeline")
    parser.add_argument("--metrics", default=",".join(METRICS))
    parser.add_argument("--limit", type=float, default=300, help="seconds for one metric")
    options = parser.parse_args()
    print(f"one video, {options.events} × {options.events} events, {options.kind}")
    with tempfile.TemporaryDirectory() as folder:
        refs, preds = write(Path(folder), options.events, options.kind)
        for metric in options.metrics.split(","):
            took, peak, value = measure(metric, refs, preds, options.limit)
            print(f"{metric:14} {took:7.1f} s {peak:7.0f} MB   {value}", flush=True)


if __name__ == "__main__":
    main()
