"""What the evaluators that descend from densevid_eval share (Krishna et al., ICCV 2017)."""

from __future__ import annotations

from typing import Any

from fabula.benchmarks.base import Settings
from fabula.metrics.base import Metric
from fabula.metrics.stories import dvc, para, prf, soda_c

PAPER = "Krishna et al., ICCV 2017"
TIOU = (0.3, 0.5, 0.7, 0.9)
RAW: Settings = {"eps": 1e-8, "segments": "raw", "order": "file"}
FIRST_1000: Settings = {"top": 1000}

RANDOM_QUIRK = "A prediction that overlaps nothing is compared with random letters; METEOR does not depend on them."
POOLED_QUIRK = "Every prediction is paired with every reference it overlaps, in all reference files together."
VIDEO_QUIRK = "Scores are made per video: METEOR's aggregate, BLEU's statistics, CIDEr's document frequencies."


def words(garbage: str, nonascii: str = "blank", **rules: object) -> tuple[Metric, ...]:
    """METEOR, CIDEr, ROUGE-L and BLEU where segments overlap, all reference files pooled."""
    shared: Settings = {**RAW, "refs": "merged", "garbage": garbage, "nonascii": nonascii, "tiou": TIOU, **rules}
    return (
        dvc.Meteor(**shared, agg="corpus"),
        dvc.Cider(**shared, idf="video"),
        dvc.RougeL(**shared),
        *(bleu(**shared) for bleu in (dvc.Bleu1, dvc.Bleu2, dvc.Bleu3, dvc.Bleu4)),
    )


def detection(f1: str = "means", **rules: object) -> Metric:
    """Precision and recall over the four τ; the best of each over reference files."""
    return prf.Metric(**{**RAW, "refs": "best", "best_by": "each", "tau": TIOU, "f1": f1, **rules})


def soda_mean(**rules: object) -> Metric:
    """SODA_c run on each reference file alone, then averaged, as PDVC wraps it."""
    given: Settings = {"refs": "mean", "missing": "drop", "order": "start", "segments": "raw", "eps": 1e-8}
    return soda_c.Metric(**{**given, "roles": "gold-as-hypothesis", "nonascii": "blank", **rules})


def paragraphs(**rules: Any) -> tuple[Metric, ...]:
    kinds = (para.Meteor, para.Cider, para.RougeL, para.Bleu4)
    return tuple(kind(**{"order": "file", **rules}) for kind in kinds)
