"""lmms-eval's YouCook2 (tasks/youcook2/utils.py; Zhou et al., AAAI 2018): captions of given segments, by video."""

from __future__ import annotations

from typing import Any

from fabula.benchmarks.base import Protocol
from fabula.metrics.captions import bleu, cider, meteor, rouge_l

EACH: dict[str, Any] = {"over": "videos", "nonascii": "blank", "missing": "drop"}

PROTOCOL = Protocol(
    name="youcook2-lmms",
    task="captions",
    paper="Zhang et al., lmms-eval, 2024",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(
        *(metric(take="mean", **EACH) for metric in bleu.METRICS),
        meteor.Metric(**EACH),
        rouge_l.Metric(**EACH),
        cider.Metric(**EACH),
    ),
    quirks=(
        "BLEU-1, -2, -3 and -4 are one number, the mean of the four: the list of four is averaged.",
        "Scores are made of the segments of one video, then averaged over videos; CIDEr's document frequencies are "
        "those of the video, so that a video with one segment has CIDEr 0.",
        "The model sees each segment cut out: no time is judged.",
    ),
)
