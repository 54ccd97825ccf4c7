"""fabula ask under kills, and at a server with four slots: what a user may rely on.

    python reproduce/ask.py                    kills and throughput; about five minutes
    python reproduce/ask.py --only kills --kills 30 --seed 1

Films are coded and the server reads their pictures (media/coded/): nothing here says how well a model understands.

    kills       SIGKILL at random moments; the same bytes as an unbroken run, no answered call asked twice
    throughput  a server that takes 1 s a call and works on four at once: calls · 1 s / 4, as a share of the seconds
                from the first call to the end of the program
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fabula.llm.call import Body
from fabula.llm.fake import Server, serving
from fabula.media.coded.film import make_film, write_coded_film
from fabula.media.coded.server import SeeingReply

HEIGHT, WIDTH = 60, 80
FRAMES = "fabula/rate(fps=0.5)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("kills", "throughput"), nargs="+")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    faults = 0
    for name in settings.only or ("kills", "throughput"):
        with tempfile.TemporaryDirectory() as folder:
            faults += {"kills": try_kills, "throughput": try_throughput}[name](Path(folder), settings)
    return int(faults > 0)


def write_bench(work: Path, films: int, seconds: float) -> Path:
    """Films and TimeChat's queries about all of their events."""
    (work / "films").mkdir()
    rows = []
    for number in range(films):
        film = make_film(number, seconds, 2)
        write_coded_film(work / "films" / f"film{number:02d}.mp4", film, HEIGHT, WIDTH)
        for event in film.story():
            window = [event["start"], event["end"]]
            rows.append(
                {"id": len(rows), "image_id": f"film{number:02d}", "caption": event["caption"], "timestamp": window}
            )
    path = work / "bench.json"
    path.write_text(json.dumps({"annotations": rows}))
    return path


def command(bench: Path, out: Path, url: str, *more: str) -> list[str]:
    films = str(bench.parent / "films")
    settings = ["--videos", films, "--url", url, "-m", "m", "--side", "80", "--server", "seeing", "--frames", FRAMES]
    return [sys.executable, "-m", "fabula", "ask", str(bench), *settings, *more, "-o", str(out)]


# ── kills ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def try_kills(work: Path, settings: argparse.Namespace) -> int:
    """Runs that are killed again and again, each until it is over; how many differ from the unbroken one."""
    bench = write_bench(work, 6, 100.0)
    log: list[tuple[float, str]] = []
    rng = random.Random(settings.seed)
    faults = kills = twice = rounds = 0

    def note(body: Body, head: dict[str, str]) -> Body:
        log.append((time.monotonic(), head["x-call"]))
        return {}

    with serving(Server(reply=SeeingReply(), seconds=0.2, keep=note)) as server:
        began = time.monotonic()
        subprocess.run(command(bench, work / "whole.jsonl", server.url), check=True)
        whole, length = (work / "whole.jsonl").read_bytes(), time.monotonic() - began
        calls = len(log)
        while kills < settings.kills:
            rounds += 1
            out = work / f"round{rounds}.jsonl"
            known: set[str] = set()
            while True:
                before = time.monotonic()
                process = subprocess.Popen(command(bench, out, server.url), stderr=subprocess.DEVNULL)
                killed = False
                if kills < settings.kills:
                    try:
                        process.wait(rng.uniform(0.3, length))
                    except subprocess.TimeoutExpired:
                        process.send_signal(signal.SIGKILL)
                        killed = True
                        kills += 1
                process.wait()
                twice += sum(key in known for at, key in log if at > before)
                known |= read_keys(out.with_name(f"{out.stem}.record.jsonl"))
                if not killed:
                    break
            same = out.read_bytes() == whole
            faults += not same
            print(f"kills: round {rounds}, {kills} kills so far, {'the same bytes' if same else 'OTHER BYTES'}")
    print(f"kills: {kills} kills in {rounds} runs of {calls} calls; {twice} answered calls asked twice")
    return faults + (twice > 0)


def read_keys(path: Path) -> set[str]:
    """Calls whose answers are on record; what a kill left of a line is none."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return {json.loads(line)["key"] for line in lines if line.endswith(b"\n")}


# ── throughput ─────────────────────────────────────────────────────────────────────────────────────────────────────


def try_throughput(work: Path, settings: argparse.Namespace) -> int:
    """1 where less than 95 % of the server is used."""
    bench = write_bench(work, 20, 80.0)
    answers: list[float] = []

    def note(body: Body, head: dict[str, str]) -> Body:
        answers.append(time.monotonic())  # when it is answered
        return {}

    with serving(Server(reply=lambda body: "1 - 2 seconds", seconds=1.0, slots=4, keep=note)) as server:
        began = time.monotonic()
        subprocess.run(command(bench, work / "a.jsonl", server.url, "--concurrency", "4"), check=True)
        over = time.monotonic()
    best, first = len(answers) / 4, answers[0] - 1.0
    share, whole = best / (over - first), best / (over - began)
    print(f"throughput: {len(answers)} calls in {over - first:.1f} s from the first call to the end of the program,")
    print(f"  {100 * share:.1f} % of what 4 slots of 1 s can do; {100 * whole:.1f} % with its start")
    return int(share < 0.95)


if __name__ == "__main__":
    sys.exit(main())
