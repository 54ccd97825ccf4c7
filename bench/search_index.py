"""What an index costs: frames a second, processor time an hour of video, bytes an hour of video; and what it finds.

    python bench/search_index.py ../shared/data/videos [--with offline] [--processes 1]

Time is that of this machine as it is; processor time is of all processes together. Bytes are those of the store when
old versions are gone. The queries were written by somebody who had looked at the ten videos, one or several for each;
a video is found by its best clip.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import warnings
from datetime import timedelta
from pathlib import Path

import numpy as np

import fabula
from fabula.library import Store
from fabula.library.embedders import rebuild

QUERIES = {
    "Bfyp0C02sko_000248_000258.mp4": ["eggs frying in a pan", "frying pan", "cooking breakfast"],
    "R6llTwEh07w.mp4": ["a man riding a segway", "riding a scooter"],
    "RATRACE_wave_f_nm_np1_fr_goo_37.avi": ["a politician in a suit waves to a crowd"],
    "SOX5yA1l24A.mp4": ["a minivan", "loading a car"],
    "WUzgd7C1pWA.mp4": ["cars on a street"],
    "charades.mp4": ["a girl sits in her room", "a woman at home drinks medicine"],
    "v_GGSY1Qvo990.mp4": ["weightlifting", "a man lifts a barbell", "dumbbell"],
    "v_SoccerJuggling_g23_c01.avi": ["soccer ball", "playing football on the grass", "croquet"],
    "v_ZNVhz7ctTq0.mp4": ["a dog", "a small white dog runs on the pavement", "puppy"],
    "xukun.mp4": ["basketball", "a man in black clothes dances", "a young man in a suit"],
}


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def processor() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def find(store: Store) -> None:
    """At which place the right video stands."""
    videos, (_, matrix, video, _, _) = store.snapshot()
    asked = [(name, query) for name, some in QUERIES.items() for query in some]
    if {name for name, _ in asked} != {v.video for v in videos}:
        return
    scores = matrix @ rebuild(store.recipe).texts([query for _, query in asked]).T  # [N, Q]
    best = np.stack([scores[video == i].max(0) for i in range(len(videos))])  # [V, Q]
    right = [[v.video for v in videos].index(name) for name, _ in asked]
    place = (best >= best[right, np.arange(len(asked))]).sum(0)  # what is as good stands before it
    first, third = (place == 1).sum(), (place <= 3).sum()
    print(f"queries {len(asked)}: the right video of {len(videos)} is first {first}, among three {third}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("videos", type=Path)
    parser.add_argument("--with", dest="with_", default="offline")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        where = Path(name) / "store"
        began, used = time.monotonic(), processor()
        done = fabula.index(given.videos, store=where, with_=given.with_, processes=given.processes)
        wall, used = time.monotonic() - began, processor() - used
        store = Store.open(where)
        for table in (store.clips_table, store.videos_table):
            with warnings.catch_warnings(action="ignore"):  # that nobody else may read: nobody does
                table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)
        hours = done.duration / 3600
        thumbs = sum(len(thumb) for thumb in store.clips(columns=("thumb",))["thumb"].to_pylist())
        print(f"{done.videos} videos, {done.duration:.1f} s, {done.frames:,} frames decoded, {done.clips} clips")
        print(f"wall {wall:.1f} s, of it looking {done.wall:.1f} s: {done.rate()}; processor {used:.1f} s")
        stages = ", ".join(f"{what} {took:.2f} s" for what, took in done.seconds.items())
        print(f"by stage, all processes: {stages}")
        bytes_ = size(where)
        print(
            f"{bytes_:,} bytes; an hour of video: {bytes_ / hours / 1e6:.2f} MB, {used / hours / 60:.1f} min processor"
        )
        vectors = 4 * store.dims * done.clips
        print(f"of a clip: {thumbs / done.clips:,.0f} bytes of thumbnail, {vectors / done.clips:,.0f} of vector")
        find(store)


if __name__ == "__main__":
    main()
