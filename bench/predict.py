"""Inference at ActivityNet's size: 4,900 videos' features → PDVC → submission → SODA-D, end to end.

Annotations are invented (as many videos, lengths and events as ActivityNet's val_1), features simulated, weights
random: what is measured is time. Both sizes of the model: tiny, and (on 1 video in 500) as published.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import fabula
from fabula import io
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.learn.data import Steps
from fabula.learn.models.pdvc import Config, Model
from fabula.learn.pss import predictions
from fabula.learn.simulate import Recipe, simulate
from fabula.media.stores.features import Features


def invented(videos: int) -> Corpus:
    """Videos of 120 s with 3.6 events on average."""
    rng = np.random.default_rng(0)
    stories = {}
    for v in range(videos):
        D = float(rng.uniform(20, 220))
        cuts = np.sort(rng.uniform(0, D, 2 * int(rng.integers(2, 6)))).reshape(-1, 2)
        events = tuple(Event(Segment(float(s), float(e) + 0.01), f"thing {v % 97} happens") for s, e in cuts)
        stories[f"v_{v:05d}"] = Story(f"v_{v:05d}", events, D)
    return Corpus(stories, "invented")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--videos", type=int, default=4900)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    refs = invented(args.videos)
    with tempfile.TemporaryDirectory() as folder:
        simulate(refs, Path(folder) / "f.safetensors", recipe=Recipe(rate=0.5))
        store = Features(Path(folder) / "f.safetensors")
        words = (*(f"w{i}" for i in range(1606)), "<unk>")
        sizes = {
            "tiny": (Config.tiny(feature_dim=store.dim, vocabulary=words), refs),
            "published": (
                Config(feature_dim=store.dim, vocabulary=words),
                Corpus(dict(list(refs.items())[::500]), "part"),
            ),
        }
        for label, (config, some) in sizes.items():
            torch.manual_seed(0)
            model = Model(config).eval()
            began, cpu = time.perf_counter(), time.process_time()
            told = predictions(model, Steps(some, store, config.frames, targets=False), 16)
            predicted = time.perf_counter() - began
            io.write(told, Path(folder) / "told.json", "submission")
            result = fabula.score(Path(folder) / "told.json", some, task="procedure", metrics="SODA_d")
            whole, cpu = time.perf_counter() - began, time.process_time() - cpu
            print(
                f"{label:9} {len(some):5} videos  predict {len(some) / predicted:7.1f} videos/s  "
                f"end to end {whole:6.1f} s ({cpu:.1f} s of processor)  SODA-D {result['SODA_d'].value:.3f}"
            )


if __name__ == "__main__":
    main()
