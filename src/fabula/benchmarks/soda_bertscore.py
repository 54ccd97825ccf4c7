"""SODA's own evaluator with -m BertScore: RoBERTa's recall with the sides exchanged, on tokenised lower-case words."""

from __future__ import annotations

from fabula.benchmarks import soda_2021
from fabula.benchmarks.base import Protocol

TEXT = "bertscore-r:roberta-large"  # layer 17 of 24, no idf, no rescaling: the package's defaults

BATCH_QUIRK = (
    "bert_score pads a batch with zeros, which win over negative similarities: a pair's score may move by some "
    "thousandths with the captions beside it. Here every pair is as it is alone."
)

PROTOCOL = Protocol(
    name="soda-bertscore",
    task="dense",
    paper=soda_2021.PAPER,
    repository=soda_2021.REPOSITORY,
    commit=soda_2021.COMMIT,
    metrics=tuple(m.with_params({"text": TEXT}) for m in soda_2021.METRICS if "text" in m.defaults()),
    quirks=(
        "Recall is taken with the sides exchanged: it is the BERT precision of the prediction.",
        "Captions reach the encoder tokenised, lower-cased and without non-ASCII characters, unlike its training.",
        "Unrelated captions score about .8 with RoBERTa: no baseline is taken off.",
        BATCH_QUIRK,
        *soda_2021.PROTOCOL.quirks[1:],
    ),
)
