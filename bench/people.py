"""How long people take to be told apart, and how much memory: simulated faces, 512 numbers each, in tracks and alone.

python bench/people.py                 10,000, 30,000 and 100,000 faces, each in a process of its own
python bench/people.py 10000 linked 1  one of them: faces, how, faces a track
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

SIZES = (10_000, 30_000, 100_000)
WAYS = (("linked", 10), ("linked", 1), ("dbscan", 10))


def make(faces: int, length: int, dim: int = 512, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Faces of a person for every 200, in tracks of `length`, two tracks a stretch."""
    rng = np.random.default_rng(seed)
    tracks = -(-faces // length)
    people = max(2, faces // 200)
    centre = rng.standard_normal((people, dim)).astype(np.float32)
    who = rng.integers(people, size=tracks)
    who[1::2] = np.where(who[1::2] == who[: len(who[1::2]) * 2 : 2], (who[1::2] + 1) % people, who[1::2])
    x = np.empty((faces, dim), np.float32)
    track = np.arange(faces) // length
    for start in range(0, faces, 10_000):
        part = track[start : start + 10_000]
        noise = rng.standard_normal((len(part), dim)).astype(np.float32)
        x[start : start + 10_000] = centre[who[part]] + 0.9 * noise
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    frame = (track // 2) * length + np.arange(faces) % length
    return x, track, frame, who[track]


def measure(faces: int, how: str, length: int) -> dict[str, float]:
    from fabula.media.people.cluster import clusterer, impossible_merges
    from fabula.media.people.measures import agree

    x, track, frame, truth = make(faces, length)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began, cpu = time.perf_counter(), time.process_time()
    found = clusterer(how).group(x, track, frame, 0.65)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "seconds": round(took, 1),
        "cpu": round(cpu, 1),
        "faces_MB": round(x.nbytes / 2**20),
        "before_MB": round(before),
        "peak_MB": round(peak),
        "B3": round(agree(truth, found.person).b3_f, 4),
        "people": len(np.unique(found.person)),
        "impossible": impossible_merges(found.person, frame),
    }


def main() -> None:
    if len(sys.argv) == 4:
        print(json.dumps(measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
        return
    print("| faces | how | faces a track | wall s | CPU s | faces MB | peak MB | people | B³ F | impossible merges |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for how, length in WAYS:
        for faces in SIZES:
            command = [sys.executable, __file__, str(faces), how, str(length)]
            told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            cells = [f"{faces:,}", how, length, told["seconds"], told["cpu"], told["faces_MB"], told["peak_MB"]]
            print("|", " | ".join(map(str, [*cells, told["people"], told["B3"], told["impossible"]])), "|", flush=True)


if __name__ == "__main__":
    main()
