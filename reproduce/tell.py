"""fabula tell under kills, at a server with four slots, and over an hour of film: what a user may rely on.

    python reproduce/tell.py                    kills, throughput, memory; about ten minutes
    python reproduce/tell.py --only kills --kills 30 --seed 1

Films are coded (fabula.media.coded): their story is known, and a server on the loopback reads it from the pixels. So
all of it tests the program, and nothing here says how well a model understands video.

    kills       SIGKILL at random moments; the same bytes as an unbroken run, no answered call asked twice
    throughput  a server that takes 1 s a call in 4 slots: the share of its time in which it had work
    memory      peak memory of ten minutes of film and of an hour of it
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

from fabula.llm.call import Body
from fabula.llm.fake import Server, serving
from fabula.media.coded.film import CodedEvent, CodedFilm, make_film, write_coded_film
from fabula.media.coded.server import SeeingReply
from fabula.narration import fake

KINDS = "submission,record,srt,vtt,chapters,otio,page"
HEIGHT, WIDTH = 60, 80


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=("kills", "throughput", "memory"), nargs="+")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--films", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a call, for throughput")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.memory_of is not None:
        print(json.dumps(measure_here(settings.memory_of)))
        return
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in settings.only or ("kills", "throughput", "memory"):
            work = Path(folder) / name
            work.mkdir()
            faults += {"kills": try_kills, "throughput": try_throughput, "memory": try_memory}[name](work, settings)
    print(f"{faults} faults")
    sys.exit(1 if faults else 0)


def command(films: Path, out: Path, url: str, *more: str) -> list[str]:
    settings = ["-m", "m", "--shots", "none", "--side", "80", "--window", "40", "--overlap", "10"]
    return [sys.executable, "-m", "fabula", "tell", str(films), "--url", url, *settings, *more, "-o", str(out)]


def write_films(folder: Path, count: int, seconds: float, fps: int = 2) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        film = make_film(number, seconds + 5 * (number % 3), fps)
        write_coded_film(folder / f"film{number:02d}.mp4", film, HEIGHT, WIDTH)
    return folder


# ── kills ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def try_kills(work: Path, settings: argparse.Namespace) -> int:
    """Runs that are killed again and again, each until it is over; 1 where one differs from the unbroken run."""
    films = write_films(work / "films", 6, 200.0)
    log: list[tuple[float, str]] = []
    rng = random.Random(settings.seed)
    faults = kills = twice = rounds = 0

    def note(body: Body, head: dict[str, str]) -> Body:
        log.append((time.monotonic(), head["x-call"]))
        return {}

    with serving(Server(reply=SeeingReply(), seconds=0.1, keep=note)) as server:
        (work / "whole").mkdir()
        began = time.monotonic()
        run = subprocess.run(command(films, work / "whole" / "out", server.url, "--to", KINDS), check=True)
        whole, length = read_files(work / "whole" / "out"), time.monotonic() - began
        assert run.returncode == 0
        calls = len(log)
        while kills < settings.kills:
            rounds += 1
            target = work / f"round{rounds}"
            target.mkdir()
            known: set[str] = set()
            while True:
                before = time.monotonic()
                process = subprocess.Popen(
                    command(films, target / "out", server.url, "--to", KINDS), stderr=subprocess.DEVNULL
                )
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
                known |= read_keys(target / "out.work" / "answers.jsonl")
                if not killed:
                    break
            same = read_files(target / "out") == whole
            faults += not same
            print(f"kills: round {rounds}, {kills} kills so far, {'the same bytes' if same else 'OTHER BYTES'}")
    print(f"kills: {kills} kills in {rounds} runs of {calls} calls; {twice} answered calls asked twice")
    return faults + (twice > 0)


def read_files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def read_keys(path: Path) -> set[str]:
    """Calls whose answers are on record; what a kill left of a line is none."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return {json.loads(line)["key"] for line in lines if line.endswith(b"\n")}


# ── throughput ─────────────────────────────────────────────────────────────────────────────────────────────────────


def try_throughput(work: Path, settings: argparse.Namespace) -> int:
    """1 where a server with four slots worked less than 95 % of the time from its first request to its last reply."""
    films = write_films(work / "films", settings.films, 300.0)
    times: list[float] = []

    def answer(body: Body) -> str:  # at once: a server that looked at pictures would be slower than it says
        times.append(time.monotonic())
        return fake.reply(body)

    server = Server(reply=answer, seconds=settings.seconds, slots=4, keep=lambda body, head: {})
    with serving(server):
        began = time.monotonic()
        subprocess.run(command(films, work / "out", server.url, "--concurrency", "8", "--untitled"), check=True)
        took = time.monotonic() - began
    ideal = len(times) * settings.seconds / 4
    busy = times[-1] - times[0] + settings.seconds
    share = ideal / busy
    print(f"throughput: {len(times)} calls of {settings.seconds:g} s in 4 slots: {share:.1%} of the server", end=" ")
    print(f"({ideal:.1f} s at best, {busy:.1f} s, {took:.1f} s with start and end: {ideal / took:.1%})")
    return int(share < 0.95)


# ── memory ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def try_memory(work: Path, settings: argparse.Namespace) -> int:
    """1 where an hour takes 30 MB more than ten minutes."""
    peaks = {}
    for minutes in (10, 60):
        folder = work / f"{minutes}"
        folder.mkdir()
        count = minutes * 4
        events = tuple(CodedEvent(15.0 * k, 15.0 * k + 12, (k % 8 + 1,)) for k in range(count))
        write_coded_film(folder / "film.mp4", CodedFilm(minutes, 60.0 * minutes, events, 2), 240, 320)
        told = subprocess.run(
            [sys.executable, __file__, "--memory-of", str(folder)], check=True, capture_output=True, text=True
        )
        peaks[minutes] = json.loads(told.stdout.splitlines()[-1])
        print(f"memory: {minutes} minutes, {peaks[minutes]['events']} events, peak {peaks[minutes]['mb']:.0f} MB")
    return int(peaks[60]["mb"] > peaks[10]["mb"] + 30)


def measure_here(folder: Path) -> dict[str, float]:
    """The peak of this process, which does nothing but tell; the server is a child of it."""
    import fabula

    ready, child = os.pipe(), 0
    child = os.fork()
    if child == 0:
        with serving(Server(reply=SeeingReply(), keep=lambda body, head: {})) as server:
            server.reply = Forgetful()
            os.write(ready[1], f"{server.url}\n".encode())
            time.sleep(3600)
    url = os.read(ready[0], 100).decode().strip()
    try:
        told = fabula.tell(folder, url=url, model="m", shots="none", side=320, out=folder / "o.srt")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"mb": peak, "events": sum(len(film.events) for film in told.films.values())}


class Forgetful(SeeingReply):
    """It keeps no pictures."""

    def __call__(self, body: Body) -> str:
        text = super().__call__(body)
        self.received.clear()
        return text


if __name__ == "__main__":
    main()
