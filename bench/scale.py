"""How time and memory grow with the corpus: SODA_d over synthetic JSON Lines, in a work folder, on both engines.

    python bench/scale.py                          # 10,000 videos
    python bench/scale.py --videos 10000 100000 1000000 --engines here local ray
    python bench/scale.py --parquet                # the same as Parquet, in a folder of four files a side

The videos are synthetic: random events, no captions, made to fill files and to say nothing of any system. Every figure
is one run in a process of its own. `here` is one process; `local` is as many as there are processors.

Memory is looked at every second, over the process that began the run and all that descend from it: the sum of their
proportional set sizes (shared pages divided among those who share them), the sum of their resident sets (shared pages
counted by each), and the shared memory of Ray's object store. Peaks of single processes are the kernel's own count.
Processor time is that of all processes; on a busy machine it says more than the clock. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def synthetic(path: Path, videos: int, seed: int) -> None:
    """Lines of Fabula's own format: 3 or 4 events a video, in time."""
    draw = random.Random(seed)
    with path.open("w") as file:
        for i in range(videos):
            at, events = 0.0, []
            for _ in range(draw.choice((3, 4))):
                start = at + draw.random() * 10
                at = start + 1 + draw.random() * 30
                events.append({"start": round(start, 2), "end": round(at, 2)})
            file.write(json.dumps({"id": f"synthetic_{i:09}", "events": events}) + "\n")


def as_parquet(path: Path, files: int = 4) -> Path:
    """The same in a folder of Parquet files."""
    import fabula
    from fabula.data.stories import Corpus

    corpus, _ = fabula.read(path)
    folder, stories = path.with_suffix(""), list(corpus.items())
    folder.mkdir()
    share = -(-len(stories) // files)
    for k in range(files):
        fabula.write(Corpus(dict(stories[k * share : (k + 1) * share])), folder / f"part-{k}.parquet", "fabula")
    return folder


class Watch(threading.Thread):
    """The memory and the processor time of this process and its descendants, once a second."""

    def __init__(self, every: float = 1.0) -> None:
        super().__init__(daemon=True)
        self.every, self.over = every, threading.Event()
        self.pss = self.rss = self.store = self.processes = self.largest = 0  # kB at the worst moment
        self.cpu: dict[int, float] = {}  # process → seconds so far
        self.cost = 0.0  # seconds of looking, which are not counted

    def run(self) -> None:
        while not self.over.wait(self.every):
            self.look()
        self.cost = time.thread_time()

    def look(self) -> None:
        seen = [memory(pid) for pid in tree(os.getpid())]
        self.pss = max(self.pss, sum(m.get("Pss", 0) for m in seen))
        self.rss = max(self.rss, sum(m.get("VmRSS", 0) for m in seen))
        self.store = max(self.store, max(m.get("RssShmem", 0) for m in seen))
        self.processes = max(self.processes, len(seen))
        self.largest = max(self.largest, *(m.get("VmHWM", 0) for m in seen[1:]), 0)
        for pid in tree(os.getpid()):
            with suppress(OSError):
                after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self.cpu[pid] = (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def done(self) -> dict[str, float]:
        self.over.set()
        self.join()
        self.look()
        return {
            "cpu": sum(self.cpu.values()) - self.cost,
            "own cpu": time.process_time() - self.cost,
            "pss": self.pss / 1024,
            "rss": self.rss / 1024,
            "store": self.store / 1024,
            "driver": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "worker": self.largest / 1024,
            "processes": self.processes,
        }


def tree(root: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield root
    for children in Path(f"/proc/{root}/task").glob("*/children"):
        with suppress(OSError):
            for pid in map(int, children.read_text().split()):
                yield from tree(pid)


def memory(pid: int) -> dict[str, int]:
    """kB by name; nothing of a process that has gone."""
    found: dict[str, int] = {}
    for file in ("status", "smaps_rollup"):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
                name, _, rest = line.partition(":")
                if rest.endswith(" kB"):
                    found[name] = int(rest.split()[0])
    return found


def one_run(refs: Path, preds: Path, engine: str) -> None:
    """In a process of its own: prints what was measured as JSON."""
    import fabula
    from fabula.jobs.runner import InProcess

    began, watch = time.perf_counter(), Watch()
    watch.start()
    passes: dict[str, float] = {}

    def progress(what: str, done: int, total: int) -> None:
        passes[what] = time.perf_counter() - began  # when it ended, in the end

    with tempfile.TemporaryDirectory() as work:
        where = {"engine": InProcess()} if engine == "here" else {"engine": engine}
        result = fabula.score(preds, refs, metrics="SODA_d", work=Path(work) / "run", progress=progress, **where)
    seen = {"took": time.perf_counter() - began, "passes": passes, "value": result["SODA_d"].value, **watch.done()}
    print(json.dumps(seen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--videos", type=int, nargs="+", default=[10_000])
    parser.add_argument("--engines", nargs="+", default=["local", "ray"], choices=["here", "local", "ray"])
    parser.add_argument("--parquet", action="store_true", help="Folders of Parquet files instead of JSON Lines.")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_run(Path(options.one[0]), Path(options.one[1]), options.one[2])
        return
    before: dict[str, tuple[int, float]] = {}
    for videos in options.videos:
        with tempfile.TemporaryDirectory() as name:
            inputs, values = [Path(name) / "refs.jsonl", Path(name) / "preds.jsonl"], set()
            for seed, path in enumerate(inputs, 1):
                synthetic(path, videos, seed)
            if options.parquet:
                inputs = [as_parquet(path) for path in inputs]
            size = sum(f.stat().st_size for path in inputs for f in (path.iterdir() if path.is_dir() else [path]))
            for engine in options.engines:
                command = [sys.executable, __file__, "--one", *map(str, inputs), engine]
                run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                seen = json.loads(run.stdout.splitlines()[-1])
                values.add(seen["value"])
                grown = ""
                if engine in before:
                    videos_then, then = before[engine]
                    grown = f"; {seen['cpu'] / then:.1f}× the processor time for {videos / videos_then:g}× the videos"
                before[engine] = videos, seen["cpu"]
                ends = ", ".join(f"{what} by {at:.1f} s" for what, at in seen["passes"].items())
                print(
                    f"{videos:,} synthetic videos ({size / 1e6:.0f} MB), {engine}: {seen['took']:.1f} s ({ends}), "
                    f"processor {seen['cpu']:.1f} s, of which driver {seen['own cpu']:.1f} s; all {seen['processes']} "
                    f"processes at most {seen['pss']:.0f} MB proportional, {seen['rss']:.0f} MB resident; driver "
                    f"{seen['driver']:.0f} MB, largest other {seen['worker']:.0f} MB, object store "
                    f"{seen['store']:.1f} MB{grown}; load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
            assert len(values) == 1, values  # the same digits on all engines


if __name__ == "__main__":
    main()
