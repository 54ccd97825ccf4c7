"""DenseCap mAP over 1,000 images × 300 boxes, against evaluators written plainly as the published ones are.

    python bench/regions.py [--images N]

Boxes and captions are made up: 50 references an image, of which some overlap, 300 detections around them and elsewhere.
Without METEOR: no caption is compared in either. With METEOR: ours in both; the plain one asks it for every record, as
the published ones do, ours for the records that can count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _data import ratio
from _plain_densecap import Plain

from fabula import metrics, score
from fabula.data.regions import Picture
from fabula.metrics.regions import Pictures
from fabula.metrics.regions.base import meteors

BOXES, REFERENCES = 300, 50
WORDS = (
    "a",
    "the",
    "red",
    "man",
    "woman",
    "dog",
    "street",
    "sign",
    "on",
    "of",
    "in",
    "wearing",
    "white",
    "shirt",
    "tree",
)


def phrase(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, int(rng.integers(3, 8))))


def images(n: int) -> Iterator[tuple[Picture, Picture]]:
    """References and detections. Half of the detections are a reference moved by a few pixels."""
    rng = np.random.default_rng(0)
    texts = [phrase(rng) for _ in range(2000)]
    for i in range(n):
        place = rng.uniform(0, 500, (REFERENCES, 2))
        refs = np.concatenate([place, rng.uniform(20, 200, (REFERENCES, 2))], axis=1).round()
        refs[::5] = refs[1::5] + rng.integers(-2, 3, refs[1::5].shape)
        near = refs[rng.integers(0, REFERENCES, BOXES // 2)] + rng.normal(0, 6, (BOXES // 2, 4))
        far = np.concatenate(
            [rng.uniform(0, 600, (BOXES - len(near), 2)), rng.uniform(5, 250, (BOXES - len(near), 2))], 1
        )
        boxes = np.concatenate([near, far])
        boxes[:, 2:] = np.maximum(boxes[:, 2:], 1)
        said = tuple(texts[k] for k in rng.integers(0, len(texts), BOXES))
        told = tuple(texts[k] for k in rng.integers(0, len(texts), REFERENCES))
        scores = rng.normal(0, 2, BOXES) + np.r_[np.ones(len(near)), np.zeros(len(far))]
        yield Picture(str(i), refs, told), Picture(str(i), boxes, said, scores)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    made = work()
    return made, time.perf_counter() - began


def none(candidates: Any, references: Any) -> list[float]:
    return [0.1] * len(candidates)


def plainly(pairs: list[tuple[Picture, Picture]], judge: Any, vectorised: bool) -> dict[str, float]:
    plain = Plain(pixel=0, vectorised=vectorised)
    for ref, pred in pairs:
        assert pred.scores is not None
        gt = ref.corners().tolist()
        plain.add(pred.corners().tolist(), pred.scores.tolist(), pred.captions, gt, ref.captions)
    return plain.evaluate(judge)


def ours(pairs: list[tuple[Picture, Picture]], judge: Any) -> dict[str, float]:
    metric = metrics.metric("DenseCap_mAP")
    return metric.fold(metric.table(Pictures({r.id: r for r, _ in pairs}, (p for _, p in pairs), judge)))


def written(folder: Path, n: int) -> tuple[Path, Path]:
    """The same images as files: Fabula's lines for the detections, Visual Genome's form for the references."""
    preds, refs = folder / "preds.jsonl", folder / "refs.json"
    with preds.open("w") as stream:
        for _, p in images(n):
            assert p.scores is not None
            entry = {"boxes": p.boxes.tolist(), "scores": p.scores.tolist(), "captions": p.captions}
            stream.write(json.dumps({"image_id": p.id, **entry}) + "\n")
    names = ("x", "y", "width", "height")
    regions = [
        {
            "id": int(r.id),
            "regions": [
                {**dict(zip(names, b, strict=True)), "phrase": c}
                for b, c in zip(r.boxes.tolist(), r.captions, strict=True)
            ],
        }
        for r, _ in images(n)
    ]
    refs.write_text(json.dumps(regions))
    return preds, refs


def peak_memory() -> int:
    """Megabytes, of this process alone (what getrusage says is inherited from the parent)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def memory(preds: Path, refs: Path) -> None:
    """Peak memory and time of scoring from files, in a process of its own; called with --measure."""
    meteors(["a dog"], [["a dog"]])
    before = peak_memory()
    result, took = timed(lambda: score(preds, refs, task="regions"))
    peak = peak_memory()
    size = preds.stat().st_size / 2**20
    print(
        f"from files, METEOR included: {took:.2f} s, {result.counts['predictions']:,} boxes in {size:.0f} MB of lines; "
        f"memory {before} MB before, {peak} MB at its peak"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--measure", nargs=2, type=Path, help=argparse.SUPPRESS)
    found = parser.parse_args()
    if found.measure:
        memory(*found.measure)
        return
    pairs = list(images(found.images))
    for name, judge in (("without METEOR", none), ("with METEOR", meteors)):
        judge(["a dog"], [["a dog"]])  # the index is opened before the clock starts
        mine, fast = timed(lambda judge=judge: ours(pairs, judge))
        for style, vectorised in (("box by box, as in Lua", False), ("IoU per image, as in PyTorch", True)):
            theirs, slow = timed(lambda judge=judge, v=vectorised: plainly(pairs, judge, v))
            assert all(abs(mine[k] - theirs[k]) < 1e-9 for k in mine), (mine, theirs)
            ratio(f"DenseCap mAP, {found.images:,} images × {BOXES} boxes, {name}", slow, fast, style, "ours")
    with tempfile.TemporaryDirectory() as folder:
        for n in (found.images // 4, found.images):
            files = written(Path(folder), n)
            subprocess.run([sys.executable, __file__, "--measure", *map(str, files)], check=True)


if __name__ == "__main__":
    main()
