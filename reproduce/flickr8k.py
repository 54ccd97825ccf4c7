"""Flickr8k expert judgements (Hodosh et al., JAIR 2013): Kendall's τ-c of caption metrics with people.

    python reproduce/flickr8k.py DATA/flickr8k_human [METRIC …]

Each judged caption is scored against the five captions of its image, pairs whose candidate is one of them left out;
each of the three judgements counts on its own: 5,664 pairs, 16,992 judgements. `fabula meta --flickr8k` tells more.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fabula.core.notes import silent
from fabula.stats.ranks import Ranks
from fabula.verbs.trust.meta import judge_flickr8k

METRICS = ("BLEU_1", "BLEU_4", "ROUGE_L", "METEOR", "CIDEr")


def taus(folder: Path, metrics: tuple[str, ...] = METRICS) -> dict[str, float]:
    judged = judge_flickr8k(folder, "expert", metrics, silent)
    people = [j.value for j in judged.judgements]
    return {name: float(Ranks.of(scores, people).tau_c()[0]) for name, scores in judged.scores.items()}


if __name__ == "__main__":
    for metric, tau in taus(Path(sys.argv[1]), tuple(sys.argv[2:]) or METRICS).items():
        print(f"{metric}\t{100 * tau:.3f}")
