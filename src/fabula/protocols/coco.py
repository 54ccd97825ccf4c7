"""COCO caption evaluation (Chen et al., 2015) as pycocoevalcap 1.2 runs it: PTB, BLEU, METEOR, ROUGE-L, CIDEr-D."""

from __future__ import annotations

from fabula.metrics import bleu_1, bleu_2, bleu_3, bleu_4, cider, meteor, rouge_l
from fabula.protocols._protocol import Protocol

FILES = (bleu_1, bleu_2, bleu_3, bleu_4, meteor, rouge_l, cider)

PROTOCOL = Protocol(
    name="coco",
    task="captions",
    paper="Chen et al., arXiv 2015",
    repository="github.com/salaniz/pycocoevalcap",
    commit="ad63453",
    metrics=tuple(file.Metric(missing="drop") for file in FILES),
    quirks=(
        "METEOR is that of the summed statistics, not the mean over images.",
        "Brackets survive the tokeniser's drop list, which spells them in upper case.",
        "Images without a candidate are left out, as its example does.",
    ),
)
