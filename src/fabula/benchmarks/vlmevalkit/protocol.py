"""VLMEvalKit: its evaluators of DREAM-1K, OMTG-Bench and VDC."""

from __future__ import annotations

from functools import partial

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import onetomany
from fabula.metrics.questions import autodq, vdc

make = partial(Protocol, repository="github.com/open-compass/VLMEvalKit", commit="e8e78f0")


# VLMEvalKit's evaluator of DREAM-1K: AutoDQ asked once, its answers taken as they come.
AUTODQ_VLMEVALKIT = make(
    name="autodq-vlmevalkit",
    task="questions",
    paper="Wang et al., Tarsier, 2024",
    metrics=(
        autodq.Metric(
            judge="vlmevalkit",
            read="vlmevalkit",
            tries=1,
            count="any",
            eventless="one",
            missing="drop",
            failed="drop",
        ),
    ),
    quirks=(
        "Empty and missing predictions are left out of the means.",
        "An answer in which nothing can be read lists no events, which scores 1 on that side, or entails none, which "
        "scores 0.",
        "Judgements are counted whatever their number: more of them than events give a share above 1.",
        "A class with a blank around it ('entailment ') is not counted.",
        "A sample whose judgements have another shape (texts instead of objects) is left out.",
        "A call that gets no answer counts as an answer in which nothing can be read; here it ends the run.",
    ),
)

# OMTG-Bench in VLMEvalKit (2025; vlmeval/dataset/omtgbench.py): all windows of a query, counted and matched.
OMTG = make(
    name="omtg",
    task="grounding",
    paper="OMTG-Bench, 2025",
    metrics=(onetomany.Metric(reader="omtg", merge="in-place", missing="drop"),),
    quirks=(
        "The union is made in place: where the first window by start touches or overlaps others, it is matched as long "
        "as their stretch; windows of later stretches are matched as they are.",
        "Where answer and reference are both empty tIoU is 0, though F1 is 1.",
        "A reference that its reader cannot read is an empty one.",
        "Of an answer that says 'ends at 95' the 9 is read.",
    ),
)

# VLMEvalKit's evaluator of VDC, which keeps one judgement a caption: that of the question that finished last.
VDC_VLMEVALKIT = make(
    name="vdc-vlmevalkit",
    task="questions",
    paper="Chai et al., ICLR 2025",
    metrics=(
        vdc.Metric(
            judge="vlmevalkit",
            read="json",
            numbers="number",
            yes="lower",
            questions="last",
            failed="drop",
            negative="drop",
            undefined="nan",
        ),
    ),
    quirks=(
        "Answers and judgements are stored under the caption's index: of all questions one survives, the one that "
        "finishes last. With several threads that is left to chance; here it is the last one of the list, and only "
        "that one is asked.",
        "A caption whose judgement cannot be read is left out; the mean score of nothing is NaN, the accuracy 0.",
        "The judge's answer is evaluated as Python code where it is no JSON; here literals are read, nothing is run.",
        "It ends where a score is text, or where a caption is missing; here the one is left out, the other counts 0.",
        "Captions of a type other than the five are not counted.",
        "A caption with a score below 0 is left out of the mean of scores, and not of the accuracy.",
    ),
)

PROTOCOLS = (AUTODQ_VLMEVALKIT, OMTG, VDC_VLMEVALKIT)
