"""How long the verbs of a library and of raw video take, from the first command to the last note, on real films.

    python bench/start_library.py [FILMS] [--quick]        FILMS: a folder of videos; default ../shared/data/videos

In a process each, as a user calls them: one question (first and median of the next), a page until it answers, a film
that joins a store (twice), people of a film, features of the films. Seconds of the clock and of the processor (all
processes), and what each verb says of its frames/s and of the share of its stages. Needs fabula[offline,faces,web].
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

FILMS = Path(__file__).parents[2] / "shared" / "data" / "videos"
FABULA = [sys.executable, "-m", "fabula"]
JOINS = "charades.mp4"  # the film that joins, 31 s; another one where it is not there
ENDINGS = (".mp4", ".avi", ".mkv", ".webm", ".mov")
ENV = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # as an installed package has it
SPEED = re.compile(r"[\d,]+ frames/s.*(?=\)$)")


def run(*arguments: object) -> tuple[float, float, str]:
    """Seconds of the clock and of the processor, and the last line."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [*FABULA, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=ENV)
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return clock, cpu, done.stderr.strip().splitlines()[-1]


def show(name: str, clock: float, cpu: float, last: str = "") -> None:
    found = SPEED.search(last)
    print(
        f"{name:<34} clock {clock:6.2f} s   processor {cpu:6.2f} s   {found[0] if found else ''}".rstrip(), flush=True
    )


def serve(store: Path) -> tuple[float, float]:
    """Until the page answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.perf_counter()
    command = [*FABULA, "serve", "--store", str(store), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV) as process:
        try:
            while process.poll() is None:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).read()
                    break
                except (urllib.error.URLError, ConnectionError):
                    time.sleep(0.01)
            clock = time.perf_counter() - began
            cpu = float("nan")
            if (about := Path(f"/proc/{process.pid}/stat")).is_file():
                fields = about.read_text().rpartition(") ")[2].split()
                cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        finally:
            process.terminate()
    return clock, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("films", nargs="?", type=Path, default=FILMS)
    parser.add_argument("--quick", action="store_true", help="three short films")
    named = parser.parse_args()
    films = sorted((f for f in named.films.iterdir() if f.suffix in ENDINGS), key=lambda f: f.stat().st_size)
    joins = next((f for f in films if f.name == JOINS), films[-1])
    films = [f for f in films if f != joins][: 3 if named.quick else None]
    with tempfile.TemporaryDirectory() as work:
        folder, store = Path(work, "films"), Path(work, "store")
        folder.mkdir()
        for film in films:
            shutil.copyfile(film, folder / film.name)
        show(f"index, {len(films)} films, new store", *run("index", folder, "--store", store))
        for k in (1, 2):
            shutil.copyfile(joins, folder / f"joins {k}{joins.suffix}")
            show(f"index, one film joins ({k})", *run("index", folder, "--store", store))
        times = [run("search", "a dog in the water", "--store", store)[:2] for _ in range(6)]
        show("search, the first", *times[0])
        show("search, median of the next 5", *medians(times[1:]))
        show("serve, until the page answers", *medians([serve(store) for _ in range(3)]))
        show("people find, one film", *run("people", "find", joins, "-o", Path(work, "one.npz")))
        show(f"people find, {len(films)} films", *run("people", "find", *films, "-o", Path(work, "all.npz")))
        for name, some in (("one film", [joins]), (f"{len(films)} films", films)):
            to = ("--with", "efficientnet_lite0", "-o", Path(work, f"{len(some)}.h5"))
            show(f"features extract, {name}", *run("features", "extract", *some, *to))


def medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    clock, cpu = zip(*times, strict=True)
    return statistics.median(clock), statistics.median(cpu)


if __name__ == "__main__":
    main()
