"""A training step and a prediction of PDVC at published size (batch 1, standard captioner), against another checkout.

    python bench/training.py                       # ours alone
    python bench/training.py --before ../old       # and another checkout with its .venv, in turn, ratio in one run

Each side is a process of its own with one thread; the two take turns. A step is loss, backward, clipping and Adam on
one video of 200 frames with 8 steps whose captions have 4 to 16 words; a prediction captions all 100 queries to the
end, for weights that nobody trained seldom say stop. Weights are the same on both sides: drawn from each parameter's
name. Both must say the same to 1e-5: losses and predicted steps, and, in float64, norms of gradients (in float32 a
sample at the edge between two frames may get either side's slope). Processor time, the least of all repeats.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _run import NotMeasured, Side

STEPS, WORDS = 8, 1606  # of YouCook2: steps of a video, words of the vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--before", type=Path, help="another checkout, with its own .venv")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side")
    parser.add_argument("--one", action="store_true", help="measure this checkout (used by the script itself)")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure()))
        return
    with tempfile.TemporaryDirectory() as folder:
        sides = [Side.of("now", Path(__file__).parent.parent, Path(folder), sys.executable)]
        if given.before:
            sides.append(Side.of("before", given.before, Path(folder)))
        found: dict[str, list[dict[str, Any]]] = {side.name: [] for side in sides}
        for _ in range(given.rounds):
            for side in sides:
                found[side.name].append(json.loads(side.run([__file__, "--one"]).said.splitlines()[-1]))
    best = {name: {what: min(r[what] for r in runs) for what in ("step", "predict")} for name, runs in found.items()}
    for what in ("step", "predict"):
        line = f"{what:8} now {1000 * best['now'][what]:7.1f} ms"
        if given.before:
            line += f"   before {1000 * best['before'][what]:7.1f} ms   {best['before'][what] / best['now'][what]:.2f}×"
        print(line)
    if given.before:
        off = difference(found["now"][0]["said"], found["before"][0]["said"])
        print(f"largest difference of what they say: {off:.1e}")
        if off > 1e-5:
            raise NotMeasured(f"the two do not say the same: they differ by {off:.1e}")


def measure() -> dict[str, Any]:
    """Seconds of processor time of a step and of a prediction, and what came out."""
    import torch

    from fabula.learn.data import Batch
    from fabula.learn.models.pdvc import Config, Model

    torch.set_num_threads(1)
    words = (*(f"w{i}" for i in range(WORDS)), "<unk>")
    model = Model(Config(vocabulary=words, dropout=0.0, caption_dropout=0.0, count_rates=()))
    for name, p in model.named_parameters():
        p.data.copy_(draw(name, p))
    batch = one_video()
    optimizer = torch.optim.Adam(model.parameters(), 5e-5, weight_decay=1e-4)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model.loss(batch)["loss"].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimizer.step()

    said = {name: value.item() for name, value in model.loss(batch).items()}
    wide = {n: v.double() if torch.is_tensor(v) and v.is_floating_point() else v for n, v in vars(batch).items()}
    model.double().loss(Batch(**wide))["loss"].backward()
    said |= {f"gradient of {n}": p.grad.norm().item() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    model.float()
    model.eval()
    story = model.predict(batch)[0]
    for i, event in enumerate(story.events):
        said |= {f"event {i} start": event.segment.start / 300, f"event {i} end": event.segment.end / 300}
        said[f"event {i} words"] = float(zlib.crc32((event.caption or "").encode()))
    predict = fastest(lambda: model.predict(batch), 3)
    model.train()
    return {"step": fastest(step, 4), "predict": predict, "said": said}


def draw(name: str, p: Any) -> Any:
    """Numbers of a trained model's size, a function of the parameter's name."""
    import torch

    drawn = torch.randn(p.shape, generator=torch.Generator().manual_seed(zlib.crc32(name.encode())))
    if p.dim() == 1:
        return 0.1 * drawn + ("norm" in name and name.endswith("weight"))
    return drawn * (2 / sum(p.shape[:2])) ** 0.5


def one_video() -> Any:
    import torch

    from fabula.learn.data import Batch

    torch.manual_seed(0)
    at = torch.rand(2 * STEPS).sort().values.view(1, STEPS, 2)
    length = torch.randint(4, 17, (STEPS,)) + 2
    W = int(length.max())
    mask = (torch.arange(W) < length[:, None])[None]
    inner = (torch.arange(W) < length[:, None] - 1) & (torch.arange(W) > 0)
    tokens = torch.randint(1, WORDS + 2, (1, STEPS, W)) * inner
    everywhere = torch.ones(1, 200, dtype=torch.bool)
    features, steps = torch.randn(1, 200, 512), torch.ones(1, STEPS, dtype=torch.bool)
    return Batch(["video"], features, everywhere, torch.tensor([300.0]), at, steps, tokens, mask)


def fastest(work: Callable[[], Any], repeats: int) -> float:
    work()
    spent = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def difference(a: dict[str, float], b: dict[str, float]) -> float:
    """The largest, relative where numbers are large."""
    if a.keys() != b.keys():
        return float("inf")
    return max(abs(a[n] - b[n]) / max(1.0, abs(a[n])) for n in a)


if __name__ == "__main__":
    main()
