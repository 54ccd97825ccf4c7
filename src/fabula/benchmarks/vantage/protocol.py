"""VANTAGE-Bench's dense captions (VANTAGE-Bench, 2026): SODA_c by RoBERTa's F1, and its two factors apart."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol, Settings
from fabula.benchmarks.soda.protocol import BATCH_QUIRK
from fabula.metrics.stories import soda_c, soda_parts

story: Settings = {"refs": "single", "missing": "empty", "order": "predictions", "segments": "raw"}
words: Settings = {"text": "bertscore:roberta-large", "tok": "none"}

PROTOCOL = Protocol(
    name="vantage-dvc",
    task="dense",
    paper="VANTAGE-Bench, 2026",
    repository="github.com/Clemson-Capstone/VANTAGE-Bench",
    commit="abeb383",
    metrics=(soda_c.Metric(**story, **words), soda_parts.Metric(**story, **words, backtrack="marked")),
    tables="vantage",
    quirks=(
        "Videos without a readable prediction drop out of every mean.",
        "One pair comes out of a table of zeros, so that BertScore_F1 (text_f1) is above 0 where nothing overlaps.",
        "Unrelated captions at exact segments score about .8 to .85: no baseline is taken off BERTScore.",
        BATCH_QUIRK,
        "mIoU is the mean over all pairs of all videos; its CSV prints that one number for every category.",
        "Predictions are sorted by start, references stay in file order.",
        "A time that cannot be read ends the published program; here the event is left out and counted.",
        "Without the package bert_score every pair scores 0.5 there, with a line of warning; here it is an error.",
    ),
)
