"""Judgements on record under SIGKILL: ten thousand calls, killed again and again; is one lost, or doubled?

    python bench/judge_kills.py [--calls 10000] [--kills 12]

A fake judge answers on the loopback and keeps a list of what it was asked. One run goes through unbroken; another, with
a record of its own, is killed at random moments and started again until it ends; a third replays that record with no
server at all. Lost: a call that the whole record lacks. Doubled: a call that stands twice on record, or is asked again
though it stands there. What was on its way when the process died is asked again: nobody could know its answer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fabula.llm.fake import Server, serving
from fabula.text.judges.fake import reply

WORDS = [
    "man",
    "woman",
    "dog",
    "child",
    "door",
    "bowl",
    "street",
    "song",
    "horse",
    "board",
    "onion",
    "piano",
    "runs",
    "opens",
    "cuts",
    "plays",
    "holds",
    "sees",
]


def print_row(*cells: object) -> None:
    print("\t".join(map(str, cells)), flush=True)


def write_pairs(path: Path, calls: int) -> None:
    """So many different pairs, some of them several times."""
    rng = random.Random(0)
    said = [f"a {' '.join(rng.choices(WORDS, k=5))} {k}" for k in range(calls)]
    lines = [{"id": k, "cand": c, "refs": [f"the {' '.join(rng.choices(WORDS, k=6))}"]} for k, c in enumerate(said)]
    lines += [{**lines[k], "id": calls + n} for n, k in enumerate(range(0, calls, 10))]  # each tenth pair twice
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def read_record(path: Path) -> list[str]:
    """The keys of whole lines."""
    whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line)["key"] for line in whole]


def score(pairs: Path, out: Path, *options: str) -> list[str]:
    metric = ["--task", "captions", "-m", "TextScore(text=judge:fabula)", "--json", str(out)]
    return [sys.executable, "-m", "fabula", "score", str(pairs), *metric, "--judge-model", "fake-judge", *options]


def run(folder: Path, calls: int, kills: int, width: int = 16) -> None:
    pairs, records, outs = folder / "pairs.jsonl", [folder / f"{n}.jsonl" for n in "ab"], {}
    write_pairs(pairs, calls)
    server, rng = Server(reply=reply, seconds=0.002, keep=lambda body, head: head["x-call"]), random.Random(1)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    with serving(server):
        asks = ["--judge-url", server.url, "--judge-concurrency", str(width), "--judge-record"]
        began = time.monotonic()
        subprocess.run(score(pairs, folder / "whole.json", *asks, str(records[0])), check=True, **quiet)
        print_row("unbroken run", f"{len(server.log)} calls", f"{time.monotonic() - began:.1f} s by the clock")
        server.log.clear()
        again, killed, held = 0, 0, list[int]()
        while killed < kills:
            stored, before = set(read_record(records[1])), len(server.log)
            process = subprocess.Popen(score(pairs, folder / "killed.json", *asks, str(records[1])), **quiet)
            wanted = before + rng.randrange(1, max(2, 2 * calls // (kills + 2)))
            while len(server.log) < wanted and process.poll() is None:
                time.sleep(0.002)
            if process.poll() is not None:
                break
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            held.append(len(read_record(records[1])))
            again += len(stored & {key for _, key in server.log[before:]})
        stored, before = set(read_record(records[1])), len(server.log)
        subprocess.run(score(pairs, folder / "killed.json", *asks, str(records[1])), check=True, **quiet)
        again += len(stored & {key for _, key in server.log[before:]})
        asked = [key for status, key in server.log if status == 200]
    replay = score(pairs, folder / "replayed.json", "--judge-replay", str(records[1]))
    subprocess.run(replay, check=True, **quiet)
    keys, whole = read_record(records[1]), read_record(records[0])
    outs = {name: (folder / f"{name}.json").read_bytes() for name in ("whole", "killed", "replayed")}
    print_row("killed", f"{killed} times by SIGKILL", f"on record after each: {held}")
    print_row("on record at the end", f"{len(keys)} lines, {len(set(keys))} calls", f"wanted {calls}")
    print_row("lost", len(set(whole) - set(keys)))
    print_row("doubled", len(keys) - len(set(keys)) + again, f"asked again though on record: {again}")
    print_row("on their way at a kill, asked again", len(asked) - len(set(asked)), f"at most {width} a kill")
    print_row("results equal byte by byte", outs["whole"] == outs["killed"] == outs["replayed"])
    print_row("most memory of a run", f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
    assert len(keys) == len(set(keys)) == calls and set(keys) == set(whole) and not again
    assert outs["whole"] == outs["killed"] == outs["replayed"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=12)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        run(Path(made), given.calls, given.kills)
