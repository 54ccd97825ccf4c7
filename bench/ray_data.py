"""The same work by Ray Data: read_json → hash shuffle by id → map_batches. What it costs beside bench/scale.py.

    pip install 'ray[data]' && python bench/ray_data.py --videos 10000 100000

Only the skeleton is here: SODA_d of synthetic videos and its mean. Ids are not reconciled, nothing is counted, written
or resumed, rows come in no order, and a faulty line is an error of Arrow's that names no line.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scale import Watch, synthetic


def score_block(block: Any) -> dict[str, Any]:
    """One partition: all stories of its ids, from both sides."""
    import numpy as np

    from fabula.data.stories import Corpus, Event, Segment, Story
    from fabula.metrics import metric
    from fabula.metrics.stories import Stories

    sides: dict[str, dict[str, Story]] = {"refs": {}, "preds": {}}
    for row in block.to_pylist():
        events = tuple(Event(Segment(e["start"], e["end"])) for e in row["events"])
        sides[row["side"]][row["id"]] = Story(row["id"], events)
    rows = metric("SODA_d").table(Stories([Corpus(sides["refs"])], Corpus(sides["preds"])))
    return {"id": np.array(rows.keys, dtype=object), "f1": rows["f1"] if len(rows) else np.zeros(0)}


def one_run(folder: Path) -> None:
    import ray

    began, watch = time.perf_counter(), Watch()
    watch.start()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", include_dashboard=False, logging_level="ERROR", _node_ip_address="127.0.0.1")
    ray.data.DataContext.get_current().enable_progress_bars = False
    partitions = max(8, sum(f.stat().st_size for f in folder.iterdir()) >> 20)
    sides = [
        ray.data.read_json(str(folder / f"{side}.jsonl"), lines=True).map_batches(
            lambda block, side=side: block.append_column("side", [[side] * len(block)]), batch_format="pyarrow"
        )
        for side in ("refs", "preds")
    ]
    together = sides[0].union(sides[1]).repartition(partitions, keys=["id"])
    mean = together.map_batches(score_block, batch_format="pyarrow", batch_size=None, zero_copy_batch=True).mean("f1")
    print(json.dumps({"took": time.perf_counter() - began, "value": mean, **watch.done()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--videos", type=int, nargs="+", default=[10_000])
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_run(options.one)
        return
    if importlib.util.find_spec("pandas") is None:
        print("Ray Data needs pandas: pip install 'ray[data]'")
        return
    for videos in options.videos:
        with tempfile.TemporaryDirectory() as name:
            for seed, side in enumerate(("refs", "preds"), 1):
                synthetic(Path(name) / f"{side}.jsonl", videos, seed)
            run = subprocess.run(
                [sys.executable, __file__, "--one", name], stdout=subprocess.PIPE, text=True, check=True
            )
            seen = json.loads(run.stdout.splitlines()[-1])
            print(
                f"{videos:,} synthetic videos, Ray Data: {seen['took']:.1f} s, processor {seen['cpu']:.1f} s; all "
                f"{seen['processes']} processes at most {seen['pss']:.0f} MB proportional, {seen['rss']:.0f} MB "
                f"resident; object store {seen['store']:.0f} MB; SODA_d {seen['value']:.12f}; "
                f"load {os.getloadavg()[0]:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
