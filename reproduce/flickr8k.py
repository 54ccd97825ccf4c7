"""Flickr8k expert judgements (Hodosh et al., JAIR 2013): Kendall's τ-c of caption metrics with people.

    python reproduce/flickr8k.py DATA/flickr8k_human

Each judged caption is scored against the five captions of its image, pairs whose candidate is one of them left out;
each of the three judgements counts on its own: 5,664 pairs, 16,992 judgements.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from scipy.stats import kendalltau

import fabula

METRICS = ("BLEU_1", "BLEU_4", "ROUGE_L", "METEOR", "CIDEr")


def judged(folder: Path) -> tuple[list[dict[str, object]], list[list[int]]]:
    """Items of candidate and references, and the three judgements of each."""
    captions: dict[str, str] = {}
    for line in (folder / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        name, text = line.split("\t", 1)
        captions[name] = text
    items, judgements = [], []
    for line in (folder / "ExpertAnnotations.txt").read_text(encoding="utf-8").splitlines():
        image, caption, *scores = line.split("\t")
        if caption.split("#")[0] == image:
            continue
        references = [captions[f"{image}#{k}"] for k in range(5)]
        items.append({"id": len(items), "cand": captions[caption], "refs": references})
        judgements.append([int(s) for s in scores])
    return items, judgements


def taus(folder: Path, metrics: tuple[str, ...] = METRICS) -> dict[str, float]:
    items, judgements = judged(folder)
    with tempfile.TemporaryDirectory() as work:
        pairs = Path(work) / "pairs.jsonl"
        pairs.write_text("".join(json.dumps(item) + "\n" for item in items))
        result = fabula.score(pairs, task="captions", metrics=list(metrics))
    people = [s for scores in judgements for s in scores]
    found = {}
    for name in metrics:
        values = [v for v, scores in zip(result.rows[name]["value"], judgements, strict=True) for _ in scores]
        found[name] = float(kendalltau(values, people, variant="c").statistic)
    return found


if __name__ == "__main__":
    for metric, tau in taus(Path(sys.argv[1])).items():
        print(f"{metric}\t{100 * tau:.3f}")
