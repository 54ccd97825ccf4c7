"""COCO caption evaluation (Chen et al., 2015) as pycocoevalcap 1.2 runs it: PTB, BLEU, METEOR, ROUGE-L, CIDEr-D."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.captions import bleu, cider, meteor, rouge_l

PROTOCOL = Protocol(
    name="coco",
    task="captions",
    paper="Chen et al., arXiv 2015",
    repository="github.com/salaniz/pycocoevalcap",
    commit="ad63453",
    metrics=(
        *(metric(missing="drop") for metric in bleu.METRICS),
        meteor.Metric(missing="drop", ties="file"),
        rouge_l.Metric(missing="drop"),
        cider.Metric(missing="drop"),
    ),
    quirks=(
        "METEOR is that of the summed statistics, not the mean over images.",
        "Of references with one METEOR the first of the file brings its statistics: the number depends on their order.",
        "Brackets survive the tokeniser's drop list, which spells them in upper case.",
        "Images without a candidate are left out, as its example does.",
        "A carriage return, vertical tab, form feed, U+2028 or U+2029 in a caption ends a line for its tokeniser: "
        "every later caption is compared with its neighbour's references. Not so here; a warning counts such items.",
    ),
)
