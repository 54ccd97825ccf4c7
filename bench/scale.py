"""How time and memory grow with the corpus: SODA_d over synthetic JSON Lines, streamed, on both engines.

    python bench/scale.py                          # 10,000 videos
    python bench/scale.py --videos 10000 100000 1000000 --engines local ray

The videos are synthetic: random events, no captions, made to fill files and to say nothing of any system. Every figure
is one run in a process of its own. Memory is the peak resident set of that process (the driver) and, for Ray, of the
largest worker besides; processor time says more than the clock on a busy machine; `reading` is the time until the
shards are written, which one process does alone.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
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


def one_run(folder: Path, engine: str) -> None:
    """In a process of its own: prints what was measured as JSON."""
    import fabula
    from fabula.engine import shards

    largest = 0

    def watched(job: shards.Job) -> int:
        shards.score(job)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    class Watched:
        """The engine, with an eye on the memory of its workers."""

        def __init__(self) -> None:
            self.inner = shards.engine_named(engine)

        def ready(self) -> object:
            self.read_by = time.perf_counter()
            return self.inner.ready()

        def map(self, work, jobs):  # type: ignore[no-untyped-def]
            nonlocal largest
            for said in self.inner.map(watched if work is shards.score else work, jobs):
                largest = max(largest, said if work is shards.score else 0)
                yield said

    began, eye = time.perf_counter(), Watched()
    result = fabula.score(folder / "preds.jsonl", folder / "refs.jsonl", metrics="SODA_d", engine=eye)
    took = time.perf_counter() - began
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    value = result["SODA_d"].value
    seen = {
        "took": took,
        "cpu": time.process_time(),
        "reading": eye.read_by - began,
        "driver": own,
        "worker": largest,
        "value": value,
    }
    print(json.dumps(seen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--videos", type=int, nargs="+", default=[10_000])
    parser.add_argument("--engines", nargs="+", default=["local", "ray"])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_run(Path(options.one[0]), options.one[1])
        return
    before: dict[str, tuple[int, float]] = {}
    for videos in options.videos:
        with tempfile.TemporaryDirectory() as name:
            folder, values = Path(name), set()
            synthetic(folder / "refs.jsonl", videos, 1)
            synthetic(folder / "preds.jsonl", videos, 2)
            size = sum(f.stat().st_size for f in folder.iterdir()) / 1e6
            for engine in options.engines:
                command = [sys.executable, __file__, "--one", name, engine]
                run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                seen = json.loads(run.stdout.splitlines()[-1])
                values.add(seen["value"])
                grown = ""
                if engine in before:
                    videos_then, then = before[engine]
                    grown = f"; {seen['took'] / then:.1f}× the time for {videos / videos_then:g}× the videos"
                before[engine] = videos, seen["took"]
                worker = f", largest worker {seen['worker'] / 1024:.0f} MB" if engine == "ray" else ""
                print(
                    f"{videos:,} synthetic videos ({size:.0f} MB), {engine}: {seen['took']:.1f} s "
                    f"(reading {seen['reading']:.1f} s; driver's own {seen['cpu']:.1f} s of processor time), "
                    f"driver at most {seen['driver'] / 1024:.0f} MB{worker}{grown}",
                    flush=True,
                )
            assert len(values) == 1, values  # the same digits on both engines


if __name__ == "__main__":
    main()
