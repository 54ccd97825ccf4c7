"""VLMEvalKit's evaluator of VDC, which keeps one judgement a caption: that of the question that finished last."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.questions import vdc

PROTOCOL = Protocol(
    name="vdc-vlmevalkit",
    task="questions",
    paper="Chai et al., ICLR 2025",
    repository="github.com/open-compass/VLMEvalKit",
    commit="e8e78f0",
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
