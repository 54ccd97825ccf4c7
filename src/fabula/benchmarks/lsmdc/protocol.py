"""LSMDC: people in filled blanks (Park et al., ECCV 2020), and MICap's evaluation."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.captions import cider, ispice, meteor, rouge_l, spice
from fabula.metrics.identity import fitb

# The fill-in-the-blanks evaluator of LSMDC (Park et al., ECCV 2020), which MICap uses too.
LSMDC_FILLIN = Protocol(
    name="lsmdc-fillin",
    task="identity",
    paper="Park et al., ECCV 2020",
    repository="github.com/jamespark3922/lsmdc-fillin",
    commit="1e42016",
    metrics=(fitb.Metric(labels="exact", short="shift"),),
    quirks=(
        "Ids are the text between commas: of '[1, 1]' it reads '[1' and ' 1]', two people.",
        "The ids of a set are laid end to end: a clip with one too few moves all that follow it in the set.",
        "A lone '_' where the references have a blank counts as an id.",
        "It ends where ids are wanting at the end of a set, where clips stand in another order, or where no blank is "
        "guessed right; here the first is an error that names the clip, the second is met by name, the third counts 0.",
    ),
)

# MICap's evaluation (Raajesh et al., CVPR 2024): filled blanks as LSMDC does it, captionsets with ids by iSPICE.
MICAP = Protocol(
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
        "Without it SPICE's parser reads a last sentence of two words, 'P2 winces', as a noun phrase: the third of "
        "the paper's Fig. 7 has iSPICE 38.10 and SPICE 90.41; with its full stop 57.14 and 91.66, as printed there.",
        "FITB: the quirks of lsmdc-fillin.",
    ),
)

PROTOCOLS = (LSMDC_FILLIN, MICAP)
