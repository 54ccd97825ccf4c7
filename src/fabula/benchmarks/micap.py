"""MICap's evaluation (Raajesh et al., CVPR 2024): filled blanks as LSMDC does it, captionsets with ids by iSPICE."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.captions import cider, ispice, meteor, rouge_l, spice
from fabula.metrics.identity import fitb

PROTOCOL = Protocol(
    name="micap",
    task="identity",
    paper="Raajesh et al., CVPR 2024",
    repository="github.com/katha-ai/MovieIdentityCaptioner-CVPR2024",
    commit="8c328e6",
    metrics=(
        fitb.Metric(labels="exact", short="shift"),
        meteor.Metric(tok="none", agg="mean", passing="pipe"),
        rouge_l.Metric(tok="none"),
        cider.Metric(tok="none", idf="batch:16"),
        spice.Metric(tok="none"),
        ispice.Metric(boundary="blank", skip_empty="yes"),
    ),
    quirks=(
        "Captions are not tokenised: METEOR, ROUGE-L and CIDEr read what blanks separate, full stops and all.",
        "METEOR is the mean over captionsets.",
        "CIDEr takes document frequencies from batches of 16 captionsets, so that the number depends on their order.",
        "iSPICE leaves out captionsets whose candidate has no tuple with an id; where none is left its mean is NaN.",
        "An id is a whole word, or stands before a full stop: 'P1,' and \"P1's\" are not renamed, 'p1' is not 'P1'.",
        "Ids above P18 are not renamed, ids above P11 do not count; the last full stop of a captionset is lost.",
        "FITB: the quirks of lsmdc-fillin.",
    ),
)
