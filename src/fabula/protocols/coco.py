"""COCO caption evaluation (Chen et al., 2015) as pycocoevalcap 1.2 runs it: PTB, BLEU, METEOR, ROUGE-L, CIDEr-D."""

from __future__ import annotations

from fabula.metrics.captions import bleu, cider, meteor, rouge_l
from fabula.protocols.base import Protocol

METRICS = (*bleu.METRICS, meteor.Metric, rouge_l.Metric, cider.Metric)

PROTOCOL = Protocol(
    name="coco",
    task="captions",
    paper="Chen et al., arXiv 2015",
    repository="github.com/salaniz/pycocoevalcap",
    commit="ad63453",
    metrics=tuple(metric(missing="drop") for metric in METRICS),
    quirks=(
        "METEOR is that of the summed statistics, not the mean over images.",
        "Brackets survive the tokeniser's drop list, which spells them in upper case.",
        "Images without a candidate are left out, as its example does.",
    ),
)
