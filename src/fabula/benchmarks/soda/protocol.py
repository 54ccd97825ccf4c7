"""SODA's own evaluator (Fujita et al., ECCV 2020), three ways to run it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fabula.benchmarks.base import Protocol, Settings
from fabula.metrics.stories import soda_a, soda_b, soda_c, soda_d

make = partial(
    Protocol,
    task="dense",
    paper="Fujita et al., ECCV 2020",
    repository="github.com/fujiso/SODA",
    commit="9cb3e2c",
)


story: Settings = {"refs": "merged", "missing": "drop", "order": "start", "segments": "raw", "eps": 1e-8}
words: Settings = {"text": "meteor", "roles": "gold-as-hypothesis", "tok": "ptb", "nonascii": "blank"}
METRICS = (
    soda_a.Metric(**story, **words, backtrack="marked"),
    soda_b.Metric(**story, **words, backtrack="marked"),
    soda_c.Metric(**story, **words),
    soda_d.Metric(**story),
)
# SODA's own evaluator with --multi_reference off, its default: the sets of a video are pooled.
SODA_2021 = make(
    name="soda-2021",
    metrics=METRICS,
    quirks=(
        "The caption scorer gets its sides exchanged: the gold sentence is its hypothesis.",
        "Reference videos without predictions are left out of the mean.",
        "Several reference files are merged per video, so that recall is divided by all their events.",
        "a and b read pairs off the table by marks instead of following the best path; one pair always comes out.",
        "A video whose prediction list is empty ends the published program; here it counts as 0.",
    ),
)
MULTI = tuple(replace(m, refs="best", order="predictions") for m in METRICS)

# SODA's own evaluator with --multi_reference: per video the reference file with the best F1 (for a: per τ).
SODA_2021_MULTI = make(
    name="soda-2021-multi",
    metrics=MULTI,
    quirks=(
        "Per video the reference file with the best F1 counts, the first on ties.",
        "References are taken in file order, not sorted by start.",
        *(q for q in SODA_2021.quirks if "merged" not in q),
    ),
)

TEXT = "bertscore-r:roberta-large"  # layer 17 of 24, no idf, no rescaling: the package's defaults
BATCH_QUIRK = (
    "bert_score pads a batch with zeros, which win over negative similarities: a pair's score may move by some "
    "thousandths with the captions beside it. Here every pair is as it is alone."
)
# SODA's own evaluator with -m BertScore: RoBERTa's recall with the sides exchanged, on tokenised lower-case words.
SODA_BERTSCORE = make(
    name="soda-bertscore",
    metrics=tuple(m.with_params({"text": TEXT}) for m in METRICS if "text" in m.defaults()),
    quirks=(
        "Recall is taken with the sides exchanged: it is the BERT precision of the prediction.",
        "Captions reach the encoder tokenised, lower-cased and without non-ASCII characters, unlike its training.",
        "Unrelated captions score about .8 with RoBERTa: no baseline is taken off.",
        BATCH_QUIRK,
        *SODA_2021.quirks[1:],
    ),
)

PROTOCOLS = (SODA_2021, SODA_2021_MULTI, SODA_BERTSCORE)
