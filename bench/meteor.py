"""METEOR scoring alone, pairs per second on one core: our kernel against the official jar, in one run.

    python bench/meteor.py [--videos 500]

Pairs: a real model's captions with the references of the same video. The jar is timed from its first answer on, so
that its start-up does not count; ours from a warm index. Also the time to build that index from nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from _data import load, options
from _official import Meteor, Unavailable

from fabula.text import meteor, ptb

BUILD = "from fabula.text.meteor import score; print(score('a dog runs', ['the dog ran']).score)"


def main() -> None:
    given = options(__doc__ or "")
    refs = load(given.data / "anet_captions" / "val_1.json")
    results = load(given.data / "anet_preds_bmt" / "captioning_results_val_1_e26.json")["results"]
    videos = [v for v in results if v in refs][: given.videos or 1500]
    blocks = [
        (ptb.tokenize_all([e["sentence"] for e in results[v]]), ptb.tokenize_all(refs[v]["sentences"])) for v in videos
    ]
    pairs = [(c, [r]) for candidates, references in blocks for c in candidates for r in references]
    meteor.pairs(["a dog runs"], ["the dog ran"])
    began = time.perf_counter()
    scores = [float(x) for block in meteor.pairs_many(blocks, threads=1) for x in block.ravel()]
    rate = len(pairs) / (time.perf_counter() - began)
    print(f"fabula    {len(pairs):,} pairs on one core: {rate:,.0f} pairs/s (sentences analysed on the way)")
    try:
        with Meteor() as jar:
            jar.score([("a dog runs", ["the dog ran"])])
            few = pairs[: min(len(pairs), 8000)]
            began = time.perf_counter()
            _, official = jar.score(few)
            official_rate = len(few) / (time.perf_counter() - began)
    except Unavailable as why:
        print(f"official  not measured: {why}")
    else:
        differ = sum(a != b for a, b in zip(scores, official, strict=False))
        print(f"official  {len(few):,} pairs: {official_rate:,.0f} pairs/s; {differ} scores differ")
        print(f"{rate / official_rate:.0f}× more pairs per second")
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", BUILD], check=True, env={**os.environ, "FABULA_CACHE": folder}, capture_output=True
        )
        print(f"index built from nothing in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
