"""T5 and GPT-2 learn 16 captionsets by heart: CIDEr of what they write again (10 is word for word).

python bench/lm_overfit.py [--steps 200]        both bases, only CLIP and all features, tiny models at random
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import fabula
from fabula.core.notes import Notes
from fabula.learn.identity.clips import read_sets_of
from fabula.learn.tasks.micap import score_captions
from fabula.learn.worlds.films import Recipe, write_world

WANTED = 5.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as temporary:
        world = Path(temporary) / "world"
        write_world(world, Recipe(train_films=4, val_films=1, test_films=1, clips=8))
        sets = read_sets_of(world, "train", Notes())
        assert len(sets) == 16, len(sets)
        for preset in ("t5-clip", "t5-all", "gpt2-clip", "gpt2-all"):
            run = Path(temporary) / preset
            settings = {"steps": steps, "lr": 3e-3, "schedule": "cosine", "clip_value": None, "clip_norm": 1.0,
                        "threads": 1, "device": "cpu"}  # fmt: skip
            fabula.train("micap", preset=preset, tiny=True, data=world / "train.jsonl", features=world, out=run,
                         settings=settings)  # fmt: skip
            told = fabula.predict(
                "micap", run, task="caption", data=world / "train.jsonl", features=world, device="cpu"
            )
            scores = score_captions({name: one.captions or () for name, one in told.items()}, sets, ("CIDEr", "METEOR"))
            print(f"{preset:10} CIDEr {scores['CIDEr']:.2f}  METEOR {scores['METEOR']:.3f}  (CIDEr: above {WANTED})")


if __name__ == "__main__":
    main()
