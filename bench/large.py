"""Peak memory and time of one very large submission, as one JSON document and as lines: in memory, --work, Ray.

    python bench/large.py --size 2e9 --metrics PRF          # 4.4 GB of files in the temporary folder
    python bench/large.py --ways json-memory lines-work     # the size that is the default, 50 MB

References are the videos of ActivityNet Captions' val_1, again and again under new ids; each has 5 to 35 predicted
events, at random times, with captions drawn from the training set: they fill files and say nothing of any system. Each
way is one run of `fabula score` in a process of its own, looked at every few seconds (bench/scale.py). Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from scale import memory, tree

WAYS = {"memory": [], "work": ["--work", "work"], "ray": ["--engine", "ray"]}
HERE = Path(__file__).resolve().parents[2] / "shared" / "data" / "anet_captions"
NAMES = {"json": "preds.json", "lines": "preds.jsonl"}


def write(folder: Path, size: float, data: Path) -> tuple[int, int]:
    """A submission of about this many bytes, the same as lines, and references; how many videos and events it has."""
    rng = random.Random(1)
    stories = list(json.loads((data / "val_1.json").read_text()).items())
    train = json.loads((data / "train.json").read_text()).values()
    captions = [json.dumps(text.strip()) for story in train for text in story["sentences"]]
    made = videos = events = 0
    with (
        (folder / "preds.json").open("w") as document,
        (folder / "preds.jsonl").open("w") as lines,
        (folder / "refs.jsonl").open("w") as refs,
    ):
        document.write('{"version": "VERSION 1.0", "results": {')
        while made < size:
            name, story = stories[videos % len(stories)]
            name, length = f"{name}_{videos // len(stories)}", story["duration"]
            told = []
            for _ in range(rng.randrange(5, 36)):
                start = round(length * rng.random() * 0.8, 2)
                end = round(start + (length - start) * (0.1 + 0.9 * rng.random()), 2)
                told.append((rng.choice(captions), start, end))
            entries = ", ".join(f'{{"sentence": {c}, "timestamp": [{s}, {e}]}}' for c, s, e in told)
            made += document.write(f'{", " if videos else ""}"{name}": [{entries}]')
            entries = ", ".join(f'{{"start": {s}, "end": {e}, "caption": {c}}}' for c, s, e in told)
            lines.write(f'{{"id": "{name}", "events": [{entries}]}}\n')
            known = zip(story["timestamps"], story["sentences"], strict=True)
            kept = [{"start": s, "end": e, "caption": text.strip()} for (s, e), text in known]
            refs.write(json.dumps({"id": name, "duration": length, "events": kept}) + "\n")
            videos, events = videos + 1, events + len(told)
        document.write('}, "external_data": {"used": false, "details": ""}}')
    return videos, events


def measure(folder: Path, preds: str, metrics: str, way: list[str], every: float) -> str:
    """One run: clock, processor, memory of the driver and of all, and how it ended."""
    command = [
        sys.executable,
        "-m",
        "fabula",
        "score",
        preds,
        "--refs",
        "refs.jsonl",
        "-m",
        metrics,
        "--json",
        "-",
        *way,
    ]
    began, all_of_them, others = time.perf_counter(), 0, 0
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as erred:
        child = subprocess.Popen(command, cwd=folder, stdout=said, stderr=erred)
        ended = 0
        while not ended:
            time.sleep(every)
            with suppress(OSError):
                seen = [memory(pid) for pid in tree(child.pid)]
                all_of_them = max(all_of_them, sum(m.get("Pss", 0) for m in seen))
                others = max(others, *(m.get("VmHWM", 0) for m in seen[1:]), 0)
            ended, status, used = os.wait4(child.pid, os.WNOHANG)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0), erred.seek(0)
        text, error = said.read().decode(), erred.read().decode().strip().splitlines()
    took, spent = time.perf_counter() - began, used.ru_utime + used.ru_stime
    if child.returncode:
        came = f"exit {child.returncode}: {error[-1] if error else ''}"
    else:
        came = ", ".join(f"{name} {score['value']!r}" for name, score in json.loads(text)["scores"].items())
    return (
        f"{took:.0f} s, processor {spent:.0f} s; driver {used.ru_maxrss / 1024:,.0f} MB, largest other "
        f"{others / 1024:,.0f} MB, all {all_of_them / 1024:,.0f} MB proportional; {came}; load {os.getloadavg()[0]:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=50e6, help="bytes of the submission")
    parser.add_argument("--metrics", default="SODA_c,PRF")
    parser.add_argument("--data", type=Path, default=HERE)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two looks")
    names = [f"{name}-{way}" for name in NAMES for way in WAYS]
    parser.add_argument("--ways", nargs="+", default=names, choices=names)
    options = parser.parse_args()
    if not (options.data / "val_1.json").exists():
        print(f"no ActivityNet Captions in {options.data}: nothing was measured; name the folder with --data")
        return
    with tempfile.TemporaryDirectory() as name:
        videos, events = write(Path(name), options.size, options.data)
        for way in options.ways:
            kind, _, how = way.partition("-")
            shutil.rmtree(Path(name) / "work", ignore_errors=True)
            seen = measure(Path(name), NAMES[kind], options.metrics, WAYS[how], options.every)
            print(f"{videos:,} videos, {events:,} events, {options.size / 1e6:,.0f} MB, {way}: {seen}", flush=True)


if __name__ == "__main__":
    main()
